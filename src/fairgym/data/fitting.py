"""Fitting the scores of a population: regressions on 80% of its rows, judged on the others.

Features are standardised for the fit; the scores have their coefficients in raw units, rounded to
9 digits. Rounding makes the built files independent of the last bits, which differ between
processors. scikit-learn is imported when something is fitted.
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
    """A number to 9 significant digits."""
    return float(f"{float(value):.9g}")


@dataclass(frozen=True)
class Split:
    """Standardised features and the rows that are fitted on and held out.

    Attributes:
        features: names, in the order of the columns of `x`.
        means: features that are the mean of several columns.
        x: features standardised over the rows fitted on, shape (n, features).
        centre: mean of each feature over these rows.
        scale: standard deviation of each; 1 for a constant one, whose weight then comes out as 0.
        train: row numbers.
        test: row numbers.
    """

    features: tuple[str, ...]
    means: Mapping[str, tuple[str, ...]]
    x: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    train: np.ndarray
    test: np.ndarray

    def fitted(self, weights: np.ndarray, constant: float) -> np.ndarray:
        """Values of a linear model in the rows held out."""
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
        """A linear model of the standardised features as a `Score` in raw units."""
        raw = weights / self.scale
        intercept = float(constant - raw @ self.centre)
        metrics = {
            **metrics,
            "rows": float(len(self.train)),
            "held_out_rows": float(len(self.test)),
        }
        coefficients: dict[str, float] = {}
        for name, weight in zip(self.features, raw, strict=True):
            # An equal share of a mean's weight on each of its columns is the whole on their mean.
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
    """Splits the rows at random, 80% to fit on and 20% held out, and standardises the features.

    Args:
        columns: at least the features, shape (n,) each.
        features: names of what a score is fitted on.
        means: features that are the mean of several columns -> the names of these.
        stratify: labels whose shares are kept in both parts, shape (n,).

    Raises:
        FairgymError: fewer than 20 rows, or no scikit-learn.
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
        raise FairgymError(
            f"scores need at least {FEWEST_ROWS} people to be fitted on; there are {len(table)}"
        )
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
    """Weights and constant of least squares on the rows of the split.

    With a penalty, or with signs that are given.
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
    # A penalty is as many more rows; the features have mean 0 here, so the constant is the mean.
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
    """Fits a linear score by least squares to the rows of a split.

    Args:
        parts: the features and the split; a constant feature gets the weight 0.
        target: the number to predict, shape (n,).
        low: the score is clipped to [low, high] when it is applied, not in the fit.
        high: upper end.
        ridge: penalty on the squared weights of the standardised features (scikit-learn's
            alpha); 0 is ordinary least squares.
        signs: features whose weight may not be below 0 (1) or above 0 (-1); where least squares
            would have it otherwise, the weight is 0.

    Returns:
        The score; metrics: "r2" on the held-out rows (before clipping), "rows", "held_out_rows".
    """
    metrics = need("sklearn.metrics", "fitting scores")
    line = _least_squares(parts, target, ridge, signs or {})
    r2 = metrics.r2_score(target[parts.test], parts.fitted(*line))
    return parts.score("linear", *line, {"r2": round(float(r2), 6)}, low=low, high=high)


def logistic_score(
    parts: Split, outcome: np.ndarray, *, signs: Mapping[str, int] | None = None
) -> Score:
    """Fits a logistic score (no penalty) to the rows of a split.

    Args:
        parts: the features and the split.
        outcome: boolean, shape (n,).
        signs: features whose weight may not be below 0 (1) or above 0 (-1); those that come out
            otherwise are left out, with the weight 0, and the others fitted again.

    Returns:
        The score; metrics "auc" on the held-out rows, "rows", "held_out_rows".
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
    """The score of each person in float64, shape (n,)."""
    return score.predict({n: np.asarray(columns[n], np.float64) for n in score.coefficients})


def fit_amplification(
    core: np.ndarray, group: np.ndarray, groups: int, target: float = 0.5
) -> tuple[tuple[float, ...], float]:
    """The directions and the `bias_strength` that set the best and the worst group apart.

    Args:
        core: the core attribute, higher is better (`CORE_SIGN` times the score), shape (n,).
        group: code of each person's group, shape (n,).
        groups: number of groups.
        target: standardised mean difference wanted between the best and the worst group.

    Returns:
        The directions by rank, and the strength to 4 digits; 0 where there is one group only.
    """
    directions = directions_by_rank(core, group, groups)
    if not any(directions):
        return directions, 0.0
    return directions, round(strength_for(core, group, target, directions=directions), 4)
