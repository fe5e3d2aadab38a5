"""The education population: columns, codes and the fitted GPA score.

The columns are those of table 6 of the MAFE paper (appendix H) that come from IPUMS Higher Ed, with
the codes of this survey.
"""

from collections.abc import Mapping

import numpy as np

from fairgym.data.bias import strength_for
from fairgym.data.fitting import linear_score, split
from fairgym.data.population import Score
from fairgym.data.race import indicators
from fairgym.data.store import Column

GROUPS = ("majority", "minority")
CORE_SCORE = "gpa"

# The nine Census divisions, in the order of the codes 0 to 8.
REGIONS = (
    "New England",
    "Middle Atlantic",
    "East North Central",
    "West North Central",
    "South Atlantic",
    "East South Central",
    "West South Central",
    "Mountain",
    "Pacific",
)
DISPARITY_COLUMNS = {"region": REGIONS}

# Codes from 1. Fields of study (NBAMEMG, NDGMEMG) and occupations (NOCPRMG): computer and
# mathematical, life, physical and social sciences, engineering, related to science and engineering,
# not science or engineering. Employers (EMSEC): 2-year college or other school system, 4-year
# college or medical institution, government, business or industry, government of another country.
# Their size (EMSIZE): 10 or fewer, up to 24, 99, 499, 999, 4,999 and 24,999, 25,000 or more.
# Degrees (DGRDG): bachelor, master, doctorate or professional; the survey's 4 (professional) counts
# as 3.

# Values of the column race. Hispanic people count as Hispanic whatever their race. "native" are
# American Indians and Alaskans (and Hawaiians, if a survey lists them). Underrepresented
# minorities are Black, Hispanic and Native people; "underrepresented" is for surveys that do not
# say which.
RACES = ("white", "black", "asian", "hispanic", "native", "other", "underrepresented")
MINORITIES = ("black", "hispanic", "native", "underrepresented")


def _codes(labels: tuple[str, ...], start: int = 1) -> str:
    """Return the meaning of codes as one line."""
    return ", ".join(f"{code} {label}" for code, label in enumerate(labels, start))


COLUMNS = {
    "female": Column("float32", "0 no, 1 yes"),
    "race_black": Column("float32", "0 no, 1 yes"),
    "race_asian": Column("float32", "0 no, 1 yes"),
    "race_other": Column("float32", "0 no, 1 yes (Hispanic, Native, others)"),
    "major_first": Column("float32", "code 1 to 7"),
    "major_highest": Column("float32", "code 1 to 7"),
    "occupation": Column("float32", "code 1 to 7"),
    "salary": Column("float32", "dollars per year"),
    "hours_per_week": Column("float32", "hours per week"),
    "employer_sector": Column("float32", "code 1 to 5"),
    "employer_size": Column("float32", "code 1 to 8"),
    "undergraduate_loans": Column("float32", "dollars"),
    "graduate_loans": Column("float32", "dollars"),
    "degree": Column("float32", "code 1 to 3"),
    "gpa": Column("float32", "grade points, 0 to 4"),
    "age": Column("float32", "years"),
    "region": Column("int8", _codes(REGIONS, 0)),
    "group": Column("int8", _codes(GROUPS, 0)),
    "race": Column("string", ", ".join(RACES)),
}

# Columns that nothing in the environment changes.
FIXED = (
    "female",
    "race_black",
    "race_asian",
    "race_other",
    "major_first",
    "major_highest",
    "occupation",
)
# Columns that the planner's money moves; an improvement must not lower the score.
SIGNS: dict[str, int] = {
    "hours_per_week": 1,
    "employer_sector": 1,
    "employer_size": 1,
    "undergraduate_loans": -1,
    "graduate_loans": -1,
}
# Features of the GPA score: the survey's columns (table 6) with sex, race and minority status as
# in the paper, and codes as numbers. Excluded are the columns that change during a pass (salary,
# degree, age), so that they do not change the score, and the region, whose codes have no order.
FEATURES = (*FIXED[:4], "group", *FIXED[4:], *SIGNS)
RIDGE = 1.0


def outcomes(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return degree, salary and debt of each person as 0 or 1, shape (n,) each."""
    debt = columns["undergraduate_loans"] + columns["graduate_loans"]
    return {
        "master or more": (columns["degree"] >= 2).astype(np.float64),
        "salary over 50,000": (columns["salary"] > 50_000).astype(np.float64),
        "took out loans": (debt > 0).astype(np.float64),
    }


def race_columns(race: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns that follow from race: three indicators, group and race.

    White people have no indicator. `race_other` is everyone who is not white, Black or Asian,
    including Hispanic people of any race.

    Args:
        race: One of `RACES` for each person, shape (n,).
    """
    group = np.isin(race, MINORITIES).astype(np.int8)
    return {**indicators(race), "group": group, "race": np.asarray(race, dtype=str)}


def fit_education_scores(columns: Mapping[str, np.ndarray]) -> dict[str, Score]:
    """Fit the score "gpa": a ridge regression of GPA on `FEATURES`, clipped to [0, 4].

    The penalty is 1 on the squared weights of the standardised features. The score is fitted on a
    random 80% of the rows and evaluated on the other 20%. The weights of movable columns follow
    `SIGNS`.

    Args:
        columns: At least `FEATURES` and "gpa", shape (n,) each.

    Returns:
        The score by name, with the metrics "r2" on the held-out rows, "rows" and "held_out_rows".

    Raises:
        FairgymError: If there are fewer than 20 rows, or scikit-learn is not installed.
    """
    target = np.asarray(columns["gpa"], np.float64)
    parts = split(columns, FEATURES)
    return {CORE_SCORE: linear_score(parts, target, high=4.0, ridge=RIDGE, signs=SIGNS)}


def fit_bias_strength(columns: Mapping[str, np.ndarray]) -> float:
    """Return the `bias_strength` that sets the groups' GPA 0.5 standard deviations apart.

    It has 4 digits, and is 0 if they are already farther apart.
    """
    return round(strength_for(np.asarray(columns["gpa"], np.float64), columns["group"]), 4)
