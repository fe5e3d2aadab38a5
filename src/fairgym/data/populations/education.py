"""The education population: its columns, its codes and its fitted GPA score.

The columns are those of Table 6 of the MAFE paper (appendix H) that come from IPUMS Higher Ed,
with the codes that this survey uses.
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

# Text of the column race. Hispanic people count as such whatever their race, "native" are
# American Indians and Alaskans (and Hawaiians, where a survey tells them). Underrepresented
# minorities are Black, Hispanic and Native people; "underrepresented" is for a survey that does
# not say which.
RACES = ("white", "black", "asian", "hispanic", "native", "other", "underrepresented")
MINORITIES = ("black", "hispanic", "native", "underrepresented")


def _codes(labels: tuple[str, ...], start: int = 1) -> str:
    """The meaning of codes as one line."""
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

# What nothing in the environment moves.
FIXED = (
    "female",
    "race_black",
    "race_asian",
    "race_other",
    "major_first",
    "major_highest",
    "occupation",
)
# What the planner's money moves never lowers the score when it improves.
SIGNS: dict[str, int] = {
    "hours_per_week": 1,
    "employer_sector": 1,
    "employer_size": 1,
    "undergraduate_loans": -1,
    "graduate_loans": -1,
}
# What the GPA score is fitted on: the survey's columns (Table 6), sex, race and minority status
# among them, as the paper does, with the codes as numbers. Left out is what a pass through the
# environment moves (salary, degree, age), so that it does not move the score, and the region,
# whose nine codes have no order.
FEATURES = (*FIXED[:4], "group", *FIXED[4:], *SIGNS)
RIDGE = 1.0


def outcomes(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Degree, salary and debt of each person as yes or no, shape (n,) each."""
    debt = columns["undergraduate_loans"] + columns["graduate_loans"]
    return {
        "master or more": (columns["degree"] >= 2).astype(np.float64),
        "salary over 50,000": (columns["salary"] > 50_000).astype(np.float64),
        "took out loans": (debt > 0).astype(np.float64),
    }


def race_columns(race: np.ndarray) -> dict[str, np.ndarray]:
    """The columns that follow from a person's race: three indicators, group and race.

    White people are the base of the indicators; `race_other` is everyone who is not white, Black
    or Asian, Hispanic people of any race among them.

    Args:
        race: one of `RACES` for each person, shape (n,).
    """
    group = np.isin(race, MINORITIES).astype(np.int8)
    return {**indicators(race), "group": group, "race": np.asarray(race, dtype=str)}


def fit_education_scores(columns: Mapping[str, np.ndarray]) -> dict[str, Score]:
    """Fits the score "gpa": a ridge regression of GPA on `FEATURES`, clipped to [0, 4].

    The penalty is 1 on the squared weights of the standardised features, fitted on 80% of the
    rows, sampled at random, and judged on the other 20%; the weights of what moves are held to
    `SIGNS`.

    Args:
        columns: at least `FEATURES` and gpa, shape (n,) each.

    Returns:
        The score by name. Metrics: "r2" on the held-out rows, "rows", "held_out_rows".

    Raises:
        FairgymError: fewer than 20 rows, or no scikit-learn.
    """
    target = np.asarray(columns["gpa"], np.float64)
    parts = split(columns, FEATURES)
    return {CORE_SCORE: linear_score(parts, target, high=4.0, ridge=RIDGE, signs=SIGNS)}


def fit_bias_strength(columns: Mapping[str, np.ndarray]) -> float:
    """The `bias_strength` that sets the groups' own GPA 0.5 apart, to 4 digits.

    It is 0 where they are farther apart than that already.
    """
    return round(strength_for(np.asarray(columns["gpa"], np.float64), columns["group"]), 4)
