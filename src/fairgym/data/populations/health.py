"""The health population: columns, regions and the fitted health risk.

Columns are the variables of the IPUMS Medical Expenditure Panel Survey that MAFE-Health uses
(Lazri et al., table 4); comments give the IPUMS names. The built-in rows are people of NHANES
2017-18; `fairgym data import meps FILE` imports the survey itself.
"""

from collections.abc import Mapping

import numpy as np

from fairgym.core.errors import FairgymError
from fairgym.data.fitting import fit_amplification, linear_score, score_values, split
from fairgym.data.population import Score
from fairgym.data.store import Column

_YES = "0 no, 1 yes"
_OFTEN = "0 never to 4 all of the time"
_DOLLARS = "dollars per year"
COLUMNS = {
    "year": Column("float32", "calendar year"),  # YEAR
    "age": Column("float32", "years"),  # AGE
    "female": Column("float32", _YES),  # SEX
    "family_size": Column("float32", "people"),  # FAMSIZE
    "race_black": Column("float32", _YES),  # RACE; white is none of the three
    "race_asian": Column("float32", _YES),
    "race_other": Column("float32", _YES),
    "born_in_us": Column("float32", _YES),  # USBORN
    "education_years": Column("float32", "years"),  # EDUC
    "high_cholesterol": Column("float32", _YES),  # CHOLHIGHEV
    "smokes_now": Column("float32", _YES),  # SMOKENOW
    "personal_income": Column("float32", _DOLLARS),  # INCTOT
    "family_income": Column("float32", _DOLLARS),  # FTOTVAL
    "poverty_level": Column("float32", "percent of poverty line"),  # POVLEV
    "effort": Column("float32", _OFTEN),  # AEFFORT
    "nervous": Column("float32", _OFTEN),  # ANERVOUS
    "restless": Column("float32", _OFTEN),  # ARESTLESS
    "hopeless": Column("float32", _OFTEN),  # AHOPELESS
    "sad": Column("float32", _OFTEN),  # ASAD
    "worthless": Column("float32", _OFTEN),  # AWORTHLESS
    "insured": Column("float32", _YES),  # HICOV
    "self_rated_health": Column("float32", "1 excellent to 5 poor"),  # HEALTH
    "group": Column("int8", "0 Northeast, 1 Midwest, 2 South, 3 West"),  # REGION
    "race": Column("string", "white, black, asian, hispanic, other"),
}
CORE_SCORE = "health_risk"
CORE_SIGN = -1.0  # a higher risk is worse
GROUPS = ("Northeast", "Midwest", "South", "West")

# Columns that the planner's public health money moves.
INCOMES = ("personal_income", "family_income", "poverty_level")
DISTRESS = ("effort", "nervous", "restless", "hopeless", "sad", "worthless")
MOVABLE = INCOMES + DISTRESS
FIXED = (
    "year",
    "age",
    "female",
    "family_size",
    "race_black",
    "race_asian",
    "race_other",
    "born_in_us",
    "education_years",
    "high_cholesterol",
    "smokes_now",
)
# Features of the risk: not region, race text, insurance or self-rated health.
FEATURES = FIXED + MOVABLE
# More money must not raise the risk and more distress must not lower it, or the planner's money
# would harm. The three incomes are so collinear that a free fit does not ensure this.
SIGNS: dict[str, int] = {**dict.fromkeys(INCOMES, -1), **dict.fromkeys(DISTRESS, 1)}
LOWEST_RISK, HIGHEST_RISK = 1.0, 5.0

# Premiums and subsidies divide by income, so nobody has less (dollars per year).
LOWEST_INCOME = 1_000.0


def outcomes(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return two outcomes: insured, and self-rated health fair or poor."""
    return {
        "insured": columns["insured"].astype(np.float64),
        "fair or poor health": (columns["self_rated_health"] >= 4).astype(np.float64),
    }


def fit_health_scores(columns: Mapping[str, np.ndarray]) -> dict[str, Score]:
    """Fit the health risk: a linear regression of self-rated health, clipped to [1, 5].

    It is fitted by least squares on `FEATURES` of 80% of the rows and evaluated on the other 20%.
    The weights of the movable columns follow `SIGNS`. A constant column (the year of the built-in
    file) has the weight 0.

    Args:
        columns: At least `FEATURES` and "self_rated_health", shape (n,) each.

    Returns:
        "health_risk" -> the score, 1 (best) to 5 (worst), with the metrics "r2" on the held-out
        rows, "rows" and "held_out_rows".

    Raises:
        FairgymError: If there are fewer than 20 rows, all have the same health, or scikit-learn
            is not installed.
    """
    health = np.asarray(columns["self_rated_health"], np.float64)
    if len(health) and np.ptp(health) == 0:
        raise FairgymError(
            f"the health risk cannot be fitted: all {len(health):,} people have the same "
            f"self-rated health, {health[0]:g}"
        )
    parts = split(columns, FEATURES)
    score = linear_score(parts, health, low=LOWEST_RISK, high=HIGHEST_RISK, signs=SIGNS)
    return {CORE_SCORE: score}


def fit_regions(
    columns: Mapping[str, np.ndarray], scores: Mapping[str, Score]
) -> tuple[tuple[float, ...], float]:
    """Return the regions' directions by mean risk and the `bias_strength` for 0.5 deviations."""
    core = CORE_SIGN * score_values(scores[CORE_SCORE], columns)
    return fit_amplification(core, columns["group"], len(GROUPS))
