"""The loan population: columns (MAFE, table 2), repairs and two fitted scores."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from fairgym.core.errors import FairgymError
from fairgym.data.bias import strength_for
from fairgym.data.fitting import (
    fit_amplification,
    linear_score,
    logistic_score,
    score_values,
    split,
)
from fairgym.data.population import Population, Score
from fairgym.data.race import HOW as RACE_HOW
from fairgym.data.race import RaceTable, group_of_race, sample_race
from fairgym.data.store import Column

COLUMNS = {
    "interest_rate": Column("float32", "fraction per year"),
    "term": Column("float32", "months"),
    "principal": Column("float32", "dollars"),
    "annual_income": Column("float32", "dollars per year"),
    "debt_to_income": Column("float32", "percent"),
    "fico_low": Column("float32", "points"),
    "fico_high": Column("float32", "points"),
    "months_since_delinquency": Column("float32", "months"),
    "group": Column("int8", "0 advantaged, 1 disadvantaged"),
    "race": Column("string", "white, asian, black, hispanic"),
    "sub_grade": Column("string", "A1 (best) to G5"),
    "defaulted": Column("int8", "0 no, 1 yes"),
    "months_to_default": Column("float32", "months"),
}
CORE_SCORE = "qualification"
GROUPS = ("advantaged", "disadvantaged")
# The values of the column race, which can also be the groups (`by_race`).
RACES = ("white", "Asian", "Black", "Hispanic")

# Features of the scores: columns of the data, but not group, race or sub-grade, and nothing that
# the environment computes. "fico" is the mean of fico_low and fico_high.
FEATURES = (
    "interest_rate",
    "term",
    "principal",
    "annual_income",
    "debt_to_income",
    "fico",
    "months_since_delinquency",
)
MEANS = {"fico": ("fico_low", "fico_high")}
# Columns that the end of a loan moves (equation 9): an improvement must not lower a score.
SIGNS: dict[str, int] = {
    "annual_income": 1,
    "debt_to_income": -1,
    "fico": 1,
    "months_since_delinquency": 1,
}

# Incomes and debt ratios above this quantile of the file are set to it. The largest are a hundred
# times the median, and would dominate a linear score.
CAP_QUANTILE = 0.995
# Value for a borrower who was never delinquent. The longest gap in the built-in file is 118.
NEVER_DELINQUENT = 120.0
NEVER_HOW = "where never delinquent (no value in the source): 120"


def outcomes(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outcomes of each loan: whether it defaulted, and the share of the term paid."""
    return {
        "default share": columns["defaulted"].astype(np.float64),
        "share of term paid": columns["months_to_default"].astype(np.float64) / columns["term"],
    }


def cap(values: np.ndarray, quantile: float = CAP_QUANTILE) -> np.ndarray:
    """Clip values at one of their quantiles, shape (n,)."""
    return np.minimum(values, np.quantile(values, quantile))


def complete(
    columns: Mapping[str, np.ndarray], table: RaceTable, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Apply the repairs shared by the built-in file and imports; impute race and group.

    Args:
        columns: Every column except group and race; months_since_delinquency is NaN if the
            borrower was never delinquent.
        table: P(race | FICO).
        rng: Generator for race.

    Returns:
        All of `COLUMNS`, as float64, int8 or text.
    """
    done = dict(columns)
    done["annual_income"] = cap(columns["annual_income"])
    done["debt_to_income"] = cap(columns["debt_to_income"])
    since = columns["months_since_delinquency"]
    done["months_since_delinquency"] = np.where(
        np.isnan(since), NEVER_DELINQUENT, np.minimum(since, NEVER_DELINQUENT)
    )
    done["race"] = sample_race(table, columns["fico_low"], rng)
    done["group"] = group_of_race(done["race"])
    return {name: done[name] for name in COLUMNS}


IMPUTED_BY_COMPLETE = {
    "months_since_delinquency": NEVER_HOW,
    "race": RACE_HOW,
    "group": f"from race, {RACE_HOW}",
}


def fit_loan_scores(columns: Mapping[str, np.ndarray]) -> dict[str, Score]:
    """Fit the qualification score and the payment propensity.

    "qualification" is a logistic regression (no penalty) of repaid (1 - defaulted).
    "propensity" is a linear regression of 1 if the loan did not default, otherwise of the months
    to default divided by the term. Both are fitted on `FEATURES` of a random 80% of the rows,
    stratified by default, and evaluated on the other 20%. The weights of movable columns follow
    `SIGNS`.

    Args:
        columns: At least `FEATURES` (with fico_low and fico_high for fico), "defaulted" and
            "months_to_default", shape (n,) each.

    Returns:
        The two scores by name, with the metrics "auc" (qualification) or "r2" (propensity) on the
        held-out rows, "rows" and "held_out_rows".

    Raises:
        FairgymError: If there are fewer than 20 rows or 5 of an outcome, or scikit-learn is not
            installed.
    """
    defaulted = np.asarray(columns["defaulted"]).astype(bool)
    bad, good = int(defaulted.sum()), int((~defaulted).sum())
    if bad + good < 20 or min(bad, good) < 5:
        raise FairgymError(
            f"fitting scores needs at least 20 loans, with 5 defaulted and 5 repaid, got {bad} "
            f"defaulted and {good} repaid"
        )
    paid = np.asarray(columns["months_to_default"], np.float64) / columns["term"]
    label = np.where(defaulted, paid, 1.0)
    parts = split(columns, FEATURES, means=MEANS, stratify=defaulted)
    return {
        "qualification": logistic_score(parts, ~defaulted, signs=SIGNS),
        "propensity": linear_score(parts, label, signs=SIGNS),
    }


def fit_bias_strength(columns: Mapping[str, np.ndarray], scores: Mapping[str, Score]) -> float:
    """Return the `bias_strength` (4 digits) that sets the groups' qualification 0.5 apart."""
    return round(strength_for(score_values(scores[CORE_SCORE], columns), columns["group"]), 4)


def by_race(data: Population) -> Population:
    """Return the population with the races as groups, amplified by their rank in the core score.

    Args:
        data: A loan population with its two groups.
    """
    race = data.columns["race"]
    group = np.select([race == name.lower() for name in RACES], range(len(RACES))).astype(np.int8)
    core = score_values(data.scores[CORE_SCORE], data.columns)
    directions, strength = fit_amplification(core, group, len(RACES))
    return dataclasses.replace(
        data,
        columns=data.columns | {"group": group},
        directions=directions,
        bias_strength=strength,
    )
