"""Fitting the scores of a population: regressions on 80% of its rows, evaluated on the rest.

Features are standardised for the fit. Scores hold the coefficients in raw units, rounded to 9
digits, so that the built files do not depend on the last bits, which differ between processors.
scikit-learn is imported only when something is fitted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairgym.core.errors import FairgymError
from fairgym.data.bias import directions_by_rank, strength_for
from fairgym.data.population import Score
from fairgym.data.store import need

HELD_OUT = 0.2
FEWEST_ROWS = 20


def digits(value: float) -> float:
    """Round a number to 9 significant digits."""
    return float(f"{float(value):.9g}")


@dataclass(frozen=True)
class Split:
    """Standardised features, with the training rows and the held-out rows.

    Attributes:
        features: Names of the features, in the order of the columns of `x`.
        means: Features that are the mean of several columns.
        x: Features standardised over the training rows, shape (n, features).
        centre: Mean of each feature over these rows.
        scale: Standard deviation of each feature; 1 for a constant one, whose weight is then 0.
        train: Numbers of the training rows.
        test: Numbers of the held-out rows.
    """

    features: tuple[str, ...]
    means: Mapping[str, tuple[str, ...]]
    x: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    train: np.ndarray
    test: np.ndarray

    def fitted(self, weights: np.ndarray, constant: float) -> np.ndarray:
        """Return the values of a linear model in the held-out rows."""
        return self.x[self.test] @ weights + constant

    def score(
        self,
        kind: Any,
        weights: np.ndarray,
        constant: float,
        metrics: dict[str, float],
        low: float = 0.0,
        high: float = 1.0,
    ) -> Score:
        """Return a linear model of the standardised features as a `Score` in raw units."""
        raw = weights / self.scale
        intercept = float(constant - raw @ self.centre)
        metrics = {
            **metrics,
            "rows": float(len(self.train)),
            "held_out_rows": float(len(self.test)),
        }
        coefficients: dict[str, float] = {}
        for name, weight in zip(self.features, raw, strict=True):
            # The weight of a mean is shared equally by its columns.
            parts = self.means.get(name, (name,))
            for part in parts:
                coefficients[part] = digits(weight / len(parts))
        return Score(kind, digits(intercept), coefficients, metrics, low, high)


def split(
    columns: Mapping[str, np.ndarray],
    features: Sequence[str],
    *,
    means: Mapping[str, tuple[str, ...]] | None = None,
    stratify: np.ndarray | None = None,
) -> Split:
    """Split the rows at random into 80% for training and 20% held out; standardise the features.

    Args:
        columns: At least the features, shape (n,) each.
        features: Names of the features.
        means: Features that are the mean of several columns -> names of these columns.
        stratify: Labels whose shares are the same in both parts, shape (n,).

    Raises:
        FairgymError: If there are fewer than 20 rows, or scikit-learn is not installed.
    """
    selection = need("sklearn.model_selection", "fitting scores")
    means = dict(means or {})

    def feature(name: str) -> np.ndarray:
        parts = means.get(name, (name,))
        return np.sum([np.asarray(columns[part], np.float64) for part in parts], axis=0) / len(
            parts
        )

    table = np.stack([feature(name) for name in features], axis=1)
    if len(table) < FEWEST_ROWS:
        raise FairgymError(f"fitting scores needs at least {FEWEST_ROWS} people, got {len(table)}")
    train, test = selection.train_test_split(
        np.arange(len(table)), test_size=HELD_OUT, random_state=0, stratify=stratify
    )
    centre, scale = table[train].mean(axis=0), table[train].std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    x = (table - centre) / scale
    return Split(tuple(features), means, x, centre, scale, train, test)


def _least_squares(
    parts: Split, target: np.ndarray, ridge: float, signs: Mapping[str, int]
) -> tuple[np.ndarray, float]:
    """Return weights and constant of least squares on the training rows.

    A ridge penalty and signs of the weights may be given.
    """
    x, y = parts.x[parts.train], target[parts.train]
    if not signs:
        linear_model = need("sklearn.linear_model", "fitting scores")
        model = linear_model.Ridge(alpha=ridge) if ridge else linear_model.LinearRegression()
        model.fit(x, y)
        return model.coef_, float(model.intercept_)
    optimize = need("scipy.optimize", "fitting scores")
    count, mean = len(parts.features), y.mean()
    sign = np.array([signs.get(name, 0) for name in parts.features])
    # The penalty is written as further rows. Features have mean 0, so the constant is the mean.
    rows = np.concatenate([x, np.sqrt(ridge) * np.eye(count)])
    values = np.concatenate([y - mean, np.zeros(count)])
    used = x.std(axis=0) > 0
    low, high = np.where(sign > 0, 0.0, -np.inf), np.where(sign < 0, 0.0, np.inf)
    found = optimize.lsq_linear(rows[:, used], values, (low[used], high[used]), method="bvls")
    weights = np.zeros(count)
    weights[used] = found.x
    return weights, float(mean)


def linear_score(
    parts: Split,
    target: np.ndarray,
    *,
    low: float = 0.0,
    high: float = 1.0,
    ridge: float = 0.0,
    signs: Mapping[str, int] | None = None,
) -> Score:
    """Fit a linear score by least squares to the rows of a split.

    Args:
        parts: The features and the split. A constant feature has the weight 0.
        target: Numbers to predict, shape (n,).
        low: Lower bound; scores are clipped to [low, high] when applied, not in the fit.
        high: Upper bound.
        ridge: Penalty on the squared weights of the standardised features (scikit-learn's
            alpha); 0 is ordinary least squares.
        signs: Feature -> 1 if its weight must not be negative, -1 if it must not be positive. A
            weight of the wrong sign becomes 0.

    Returns:
        The score, with the metrics "r2" on the held-out rows (before clipping), "rows" and
        "held_out_rows".
    """
    metrics = need("sklearn.metrics", "fitting scores")
    line = _least_squares(parts, target, ridge, signs or {})
    r2 = metrics.r2_score(target[parts.test], parts.fitted(*line))
    return parts.score("linear", *line, {"r2": round(float(r2), 6)}, low=low, high=high)


def logistic_score(
    parts: Split, outcome: np.ndarray, *, signs: Mapping[str, int] | None = None
) -> Score:
    """Fit a logistic score (no penalty) to the rows of a split.

    Args:
        parts: The features and the split.
        outcome: Boolean outcomes, shape (n,).
        signs: Feature -> 1 if its weight must not be negative, -1 if it must not be positive.
            Features with the wrong sign are dropped (weight 0) and the others fitted again.

    Returns:
        The score, with the metrics "auc" on the held-out rows, "rows" and "held_out_rows".
    """
    linear_model = need("sklearn.linear_model", "fitting scores")
    metrics = need("sklearn.metrics", "fitting scores")
    x, train = parts.x, parts.train
    sign = np.array([(signs or {}).get(name, 0) for name in parts.features])
    used, wrong = np.ones(len(sign), bool), np.ones(len(sign), bool)
    weights, constant = np.zeros(len(sign)), 0.0
    while wrong.any():
        model = linear_model.LogisticRegression(
            C=np.inf, solver="newton-cholesky", tol=1e-8, max_iter=200
        ).fit(x[train][:, used], outcome[train])
        weights, constant = np.zeros(len(sign)), float(model.intercept_[0])
        weights[used] = model.coef_[0]
        wrong = weights * sign < 0
        used &= ~wrong
    auc = metrics.roc_auc_score(outcome[parts.test], parts.fitted(weights, constant))
    return parts.score("logistic", weights, constant, {"auc": round(float(auc), 6)})


def score_values(score: Score, columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return each person's score in float64, shape (n,)."""
    return score.predict({n: np.asarray(columns[n], np.float64) for n in score.coefficients})


def fit_amplification(
    core: np.ndarray, group: np.ndarray, groups: int, target: float = 0.5
) -> tuple[tuple[float, ...], float]:
    """Return the directions and the `bias_strength` that set the best and worst group apart.

    Args:
        core: The core attribute, higher is better (`CORE_SIGN` times the score), shape (n,).
        group: Code of each person's group, shape (n,).
        groups: Number of groups.
        target: Target standardised mean difference between the best and the worst group.

    Returns:
        The directions by rank, and the strength to 4 digits; 0 if there is only one group.
    """
    directions = directions_by_rank(core, group, groups)
    if not any(directions):
        return directions, 0.0
    return directions, round(strength_for(core, group, target, directions=directions), 4)
