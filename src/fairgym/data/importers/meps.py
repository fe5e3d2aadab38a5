"""Importer of the Medical Expenditure Panel Survey from IPUMS: the people of MAFE-Health.

It reads an extract of IPUMS MEPS with the variables of table 4 of Lazri et al. for 2014 to 2016:
YEAR, AGE, SEX, REGIONMEPS, FAMSIZE, RACEA, USBORN, EDUC, HINOTCOV, CHOLHIGHEV, SMOKENOW, INCTOT,
FTOTVAL, POVLEV, AEFFORT, ANERVOUS, ARESTLESS, AHOPELESS, ASAD, AWORTHLESS, HEALTH. The paper's
other names for the same variables (REGION, RACE, HICOV) are accepted as well.

Codes are those of the IPUMS Health Surveys. Codes that are not answers (not in universe, refused,
not ascertained, unknown) are missing. Rows with a missing value are dropped, as in the paper. This
drops children, since only adults are asked about smoking and distress. RACEA does not contain
Hispanic origin, so Hispanic people count by their race.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from fairgym.data.importers._ipums import Variable, amounts, between, read_extract, recode
from fairgym.data.importers._report import Report
from fairgym.data.population import write_population
from fairgym.data.populations import health
from fairgym.data.race import indicators
from fairgym.data.store import typed

SOURCE = "meps"
POPULATION = "health"
FILE = "the DDI codebook (.xml) of an IPUMS MEPS extract, its .dat or .csv beside it"
YEARS = (2014, 2015, 2016)

# EDUC -> years of schooling, from 16 on by degree. Codes from 996 (no degree, years unknown) on are
# missing; 0 is not in universe.
EDUCATION_YEARS = {
    100: 10,  # 12th grade or less, no diploma
    101: 6,  # grade 8 or less
    102: 0,  # never attended, or kindergarten only
    103: 8,  # grades 1 to 11
    **{103 + grade: grade for grade in range(1, 9)},  # grades 1 to 8
    112: 10,  # grades 9 to 12, no diploma
    113: 9,
    114: 10,
    115: 11,
    116: 12,  # 12th grade, no diploma
    200: 12,  # high school diploma or GED
    201: 12,
    202: 12,
    300: 13,  # some college, no four-year degree
    301: 13,
    302: 14,  # associate degree
    303: 14,
    400: 16,  # bachelor's degree
    500: 18,  # master's, professional or doctoral degree
    501: 18,
    502: 19,
    503: 20,
    504: 14,  # other degree: mostly below a bachelor's
}
_NO_YES = recode({1: 0, 2: 1})
_OFTEN = between(0, 4)  # 0 none to 4 all of the time; 6 not in universe, 7 to 9 unknown


def _race(codes: np.ndarray) -> np.ndarray:
    """Decode RACEA by its hundreds: 1 white, 2 black, 4 Asian or Pacific, 3, 5 and 6 other."""
    hundreds = np.floor(codes / 100)
    known = np.isin(hundreds, [1, 2, 3, 4, 5, 6])
    return np.where(known, hundreds, np.nan)


def _born_in_us(codes: np.ndarray) -> np.ndarray:
    """Decode USBORN: 10 to 12 no, 20 yes, 96 to 99 unknown."""
    known = ((codes >= 10) & (codes <= 12)) | (codes == 20)
    return np.where(known, codes == 20, np.nan)


# A year's income can be a loss; it then counts as `health.LOWEST_INCOME`.
_INCOME = amounts(-5_000_000, 5_000_000)
VARIABLES = {
    "year": Variable(("YEAR",), between(1900, 2100)),
    "age": Variable(("AGE",), between(0, 120)),
    "female": Variable(("SEX",), recode({1: 0, 2: 1}), {1: "male", 2: "female"}),
    "family_size": Variable(("FAMSIZE",), between(1, 50)),
    "race": Variable(("RACEA", "RACE", "RACENEW"), _race, {100: "white", 200: "black"}),
    "born_in_us": Variable(("USBORN",), _born_in_us, {10: "no", 20: "yes"}),
    "education_years": Variable(
        ("EDUC",), recode(EDUCATION_YEARS), {201: "high school", 400: "bachelor", 501: "master"}
    ),
    "high_cholesterol": Variable(("CHOLHIGHEV",), _NO_YES, {1: "no", 2: "yes"}),
    "smokes_now": Variable(("SMOKENOW",), _NO_YES, {1: "no", 2: "yes"}),
    "personal_income": Variable(("INCTOT",), _INCOME),
    "family_income": Variable(("FTOTVAL",), _INCOME),
    "poverty_level": Variable(("POVLEV",), amounts(-9_990, 9_990)),
    "effort": Variable(("AEFFORT",), _OFTEN, {0: "none", 4: "all"}),
    "nervous": Variable(("ANERVOUS",), _OFTEN, {0: "none", 4: "all"}),
    "restless": Variable(("ARESTLESS",), _OFTEN, {0: "none", 4: "all"}),
    "hopeless": Variable(("AHOPELESS",), _OFTEN, {0: "none", 4: "all"}),
    "sad": Variable(("ASAD",), _OFTEN, {0: "none", 4: "all"}),
    "worthless": Variable(("AWORTHLESS",), _OFTEN, {0: "none", 4: "all"}),
    # HINOTCOV asks whether there is no coverage, HICOV whether there is.
    "insured": Variable({"HINOTCOV": recode({1: 1, 2: 0}), "HICOV": _NO_YES}),
    "self_rated_health": Variable(("HEALTH",), between(1, 5), {1: "excellent", 5: "poor"}),
    "region": Variable(("REGIONMEPS", "REGION"), between(1, 4), {1: "northeast", 3: "south"}),
}
# Columns that `population_columns` changes, as described in the file.
_LOWEST_HOW = f"observed; where below {health.LOWEST_INCOME:,.0f} (losses too), that"
REPAIRED = {
    "personal_income": _LOWEST_HOW,
    "family_income": _LOWEST_HOW,
    "poverty_level": "observed; where below 0, that",
    "education_years": "years that the grade or degree of EDUC stands for",
}
RACE_NAMES = {1: "white", 2: "black", 4: "asian"}


def population_columns(read: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the columns of the health population, with the types of the file."""
    codes = read["race"].astype(int)
    race = np.array([RACE_NAMES.get(code, "other") for code in codes])
    columns = {**read, "race": race, **indicators(race), "group": read["region"] - 1}
    for name in ("personal_income", "family_income"):
        columns[name] = np.maximum(columns[name], health.LOWEST_INCOME)
    columns["poverty_level"] = np.maximum(columns["poverty_level"], 0.0)
    return typed(columns, health.COLUMNS)


def import_meps(
    path: str | Path,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Import an IPUMS MEPS extract as the source "meps" of the health population.

    It keeps people of 2014 to 2016 who answered every question. Incomes below 1,000 dollars a year
    (including losses) count as 1,000, poverty levels below 0 as 0. The health risk, the regions'
    directions and `bias_strength` are fitted on the import. An earlier import is replaced once the
    new one is complete.

    Args:
        path: The DDI codebook (.xml), with the data file beside it.
        progress: Called with (rows read so far, total rows) after every chunk.

    Returns:
        Counts of rows read, kept and dropped by reason, and the metrics of the fitted score.

    Raises:
        FairgymError: If `read_extract` (`fairgym.data.importers._ipums`) raises one, there are too
            few people to fit a score, or the data folder cannot be written.
    """
    read, report = read_extract(SOURCE, path, VARIABLES, years=YEARS, progress=progress)
    columns = population_columns(read)
    scores = health.fit_health_scores(columns)
    directions, report.bias_strength = health.fit_regions(columns, scores)
    report.shares = {"insured": float(columns["insured"].mean(dtype=np.float64))}
    report.cite = "https://meps.ipums.org/meps/"
    report.metrics = {name: score.metrics for name, score in scores.items()}
    folder = write_population(
        POPULATION,
        SOURCE,
        columns,
        REPAIRED,
        scores,
        report.bias_strength,
        directions=directions,
    )
    report.folder = str(folder)
    return report


run = import_meps
