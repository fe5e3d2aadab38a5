"""Gaps between two groups within strata: pooled differences and odds ratios, and what is left."""

import dataclasses
import math

import numpy as np

from fairgym.statistics.clusters import few_units
from fairgym.statistics.intervals import t_quantile
from fairgym.statistics.proportions import normal_quantile


@dataclasses.dataclass(frozen=True)
class Strata:
    """Decisions of two groups, counted within strata.

    Attributes:
        favourable: Favourable decisions, float64 with the shape (2, strata): theirs, then ours.
        n: All decisions, of the same shape.
    """

    favourable: np.ndarray
    n: np.ndarray

    @classmethod
    def of(
        cls,
        values: np.ndarray,
        side: np.ndarray,
        strata: np.ndarray,
        weight: np.ndarray | None = None,
    ) -> "Strata":
        """Count decisions, or add up their weights.

        Args:
            values: Zeros and ones, shape (rows,).
            side: 1 for ours, 0 for theirs.
            strata: Index of each row's stratum.
            weight: Weights of at least 0; None if all rows count alike.
        """
        number = int(strata.max(initial=-1)) + 1
        cells = side.astype(np.int64) * number + strata
        w = np.ones(len(cells)) if weight is None else weight
        counts = (np.bincount(cells, one, 2 * number) for one in (w * values, w))
        return cls(*(one.reshape(2, number) for one in counts))

    @property
    def both(self) -> np.ndarray:
        """Whether a stratum has decisions of both groups."""
        return np.all(self.n > 0.0, axis=0)

    @property
    def rates(self) -> np.ndarray:
        """Rates, shape (2, strata); 0 without decisions."""
        return _over(self.favourable, self.n)


@dataclasses.dataclass(frozen=True)
class Pooled:
    """An estimate pooled over strata, with its interval; NaN where undefined."""

    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows behind strata, for variances that allow for clusters and weights.

    Attributes:
        values: Zeros and ones, shape (rows,).
        side: 1 for ours, 0 for theirs.
        strata: Index of each row's stratum.
        weight: Weights; None if all rows count alike.
        units: Numbers of persons or clusters; None if all rows are independent.
    """

    values: np.ndarray
    side: np.ndarray
    strata: np.ndarray
    weight: np.ndarray | None = None
    units: np.ndarray | None = None

    @property
    def plain(self) -> bool:
        """Whether all rows are independent and count alike."""
        return self.weight is None and self.units is None

    def variance(self, influence: np.ndarray) -> tuple[float, float]:
        """Return the variance of a sum of influences, and its degrees of freedom (`few_units`)."""
        sums = influence if self.units is None else np.bincount(self.units, influence)
        counted = np.ones(len(influence)) if self.weight is None else self.weight
        sizes = counted if self.units is None else np.bincount(self.units, counted)
        if np.count_nonzero(sizes) < 2:
            return math.nan, 0.0
        factor, (degrees,) = few_units(sizes)
        return float(factor @ sums**2), float(degrees)


def pooled_difference(rows: Rows, level: float = 0.95) -> Pooled:
    """Return the difference of rates, ours - theirs, pooled over strata (Mantel and Haenszel).

    The weight of a stratum is n m / (n + m). The variance is T. Sato's (1989, Biometrics 45:1323),
    right with few large and with many small strata. With clusters or weights it is the sandwich of
    the regression on the group with an intercept per stratum, whose coefficient the estimate is.

    Args:
        rows: The decisions.
        level: Confidence level.

    Examples:
        >>> import numpy as np
        >>> from fairgym.statistics.strata import Rows, pooled_difference
        >>> values = np.repeat([1, 0, 1, 0], [56, 14, 48, 32])
        >>> rows = Rows(values, np.repeat([1, 0], [70, 80]), np.zeros(150, int))
        >>> found = pooled_difference(rows)
        >>> round(found.value, 4), round(found.low, 4), round(found.high, 4)
        (0.2, 0.0575, 0.3425)
    """
    strata = Strata.of(rows.values, rows.side, rows.strata, rows.weight)
    below = _over(strata.n[0] * strata.n[1], strata.n.sum(axis=0))
    total = below.sum()
    if not total:
        return Pooled(math.nan, math.nan, math.nan)
    theirs, ours = strata.rates
    value = float(below @ (ours - theirs) / total)
    if rows.plain:
        (m, n), (c, a), degrees = strata.n, strata.favourable, 0
        square = (n + m) ** 2
        p = _over(n**2 * c - m**2 * a + n * m * (m - n) / 2.0, square)
        q = _over(a * (m - c) + c * (n - a), 2.0 * (n + m))
        variance = float(value * p.sum() + q.sum()) / total**2
    else:
        influence = _weighted(rows, *_residuals(rows, strata, value)) / total
        variance, degrees = rows.variance(influence)
    half = quantile(level, degrees) * math.sqrt(max(variance, 0.0))
    return Pooled(value, max(value - half, -1.0), min(value + half, 1.0))


def pooled_odds_ratio(rows: Rows, level: float = 0.95) -> Pooled:
    """Return the odds ratio, ours to theirs, pooled over strata (Mantel and Haenszel 1959).

    The variance of its logarithm is that of J. Robins, N. Breslow and S. Greenland (1986,
    Biometrics 42:311); with clusters or weights it is the linearised one.

    Args:
        rows: The decisions.
        level: Confidence level.

    Returns:
        The odds ratio and its limits; NaN where it is 0, infinite or 0/0.
    """
    strata = Strata.of(rows.values, rows.side, rows.strata, rows.weight)
    (c, a), (m, n) = strata.favourable, strata.n
    b, d, size = n - a, m - c, n + m
    r, s = _over(a * d, size), _over(b * c, size)
    above, below = float(r.sum()), float(s.sum())
    if not above or not below:
        return Pooled(math.nan, math.nan, math.nan)
    if rows.plain:
        p, q, degrees = _over(a + d, size), _over(b + c, size), 0
        variance = float(
            (p @ r) / (2.0 * above**2)
            + (p @ s + q @ r) / (2.0 * above * below)
            + (q @ s) / (2.0 * below**2)
        )
    else:
        common = _over(s, size) / below - _over(r, size) / above  # of N in both sums
        by_cell = np.stack(  # derivatives of the logarithm by each count, (cells, strata)
            [
                common + _over(a, size) / above,  # by d, theirs refused
                common - _over(b, size) / below,  # by c, theirs favourable
                common - _over(c, size) / below,  # by b, ours refused
                common + _over(d, size) / above,  # by a, ours favourable
            ]
        )
        cell = 2 * rows.side.astype(np.int64) + rows.values.astype(np.int64)
        derivative = by_cell[cell, rows.strata]
        variance, degrees = rows.variance(_weighted(rows, derivative))
    half = quantile(level, degrees) * math.sqrt(max(variance, 0.0))
    value = above / below
    return Pooled(value, value * math.exp(-half), value * math.exp(half))


@dataclasses.dataclass(frozen=True)
class Decomposition:
    """Parts of a raw gap, which add up to it.

    Attributes:
        raw: Our rate minus theirs.
        composition: Part due to different shares of the strata.
        within: Part due to different rates within strata.
        alone: Part due to strata in which one of the groups has no decisions.
    """

    raw: float
    composition: float
    within: float
    alone: float


def decomposition(strata: Strata) -> Decomposition:
    """Return how much of a gap is due to composition, and how much to rates within strata.

    After E. M. Kitagawa (1955, Journal of the American Statistical Association 50:1168), over the
    strata that have both groups; the others make a part of their own (H. Nopo 2008).

    Args:
        strata: Counted decisions.

    Examples:
        >>> import numpy as np
        >>> from fairgym.statistics.strata import Strata, decomposition
        >>> found = decomposition(
        ...     Strata(np.array([[40.0, 1.0], [8.0, 9.0]]), np.array([[80.0, 10.0], [10.0, 90.0]]))
        ... )
        >>> round(found.raw, 3), round(found.composition + found.within + found.alone, 3)
        (-0.286, -0.286)
    """
    theirs, ours = strata.favourable.sum(axis=1) / strata.n.sum(axis=1)
    both = strata.both
    if not both.any():
        return Decomposition(float(ours - theirs), 0.0, 0.0, float(ours - theirs))
    n, rates = strata.n[:, both], strata.rates[:, both]
    share = n / n.sum(axis=1, keepdims=True)
    composition = float((share[1] - share[0]) @ rates.mean(axis=0))
    within = float(share.mean(axis=0) @ (rates[1] - rates[0]))
    raw = float(ours - theirs)
    return Decomposition(raw, composition, within, raw - composition - within)


def partial_f(rows: Rows) -> float:
    """Return Cohen's partial f of the group within strata: |t| / sqrt(degrees of freedom).

    Infinite if the strata and the group account for every decision.
    """
    strata = Strata.of(rows.values, rows.side, rows.strata, rows.weight)
    below = _over(strata.n[0] * strata.n[1], strata.n.sum(axis=0))
    if not below.sum():
        return math.nan
    theirs, ours = strata.rates
    value = float(below @ (ours - theirs) / below.sum())
    _, residual = _residuals(rows, strata, value)
    used = strata.both[rows.strata]
    left = float(_weighted(rows, residual[used] ** 2, used=used).sum())
    return math.sqrt(value**2 * below.sum() / left) if left > 0.0 else math.inf


def robustness_value(f: float) -> float:
    """Return how strong a hidden factor must be to account for a gap, from 0 to 1.

    It is the share of what is left unexplained both of the decision and of the group that a factor
    must explain to bring the gap to 0 (C. Cinelli and C. Hazlett 2020, Journal of the Royal
    Statistical Society B 82:39).

    Args:
        f: Partial f, |t| / sqrt(degrees of freedom), of the gap or of its limit nearer to 0.

    Examples:
        >>> from fairgym.statistics.strata import robustness_value
        >>> round(robustness_value(4.18 / 783**0.5), 3)
        0.139
    """
    if math.isinf(f):
        return 1.0
    return 0.5 * (math.sqrt(f**4 + 4.0 * f**2) - f**2)


def quantile(level: float, degrees: float) -> float:
    """Return Student's quantile; the normal one if degrees are 0."""
    return t_quantile(level, degrees) if degrees else normal_quantile(level)


def _residuals(rows: Rows, strata: Strata, value: float) -> tuple[np.ndarray, np.ndarray]:
    """Return group and residual of each row, both minus their means within the strata."""
    size = strata.n.sum(axis=0)
    group = rows.side - _over(strata.n[1], size)[rows.strata]
    rate = _over(strata.favourable.sum(axis=0), size)
    return group, rows.values - rate[rows.strata] - value * group


def _weighted(rows: Rows, *factors: np.ndarray, used: np.ndarray | None = None) -> np.ndarray:
    """Return the product of factors and weights."""
    found = math.prod(factors[1:], start=factors[0])
    if rows.weight is None:
        return found
    return found * (rows.weight if used is None else rows.weight[used])


def _over(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.zeros(np.shape(below)), where=below > 0)
