"""Rates of decisions by group: intervals, gaps, ratios and tests, for many groups at a time."""

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Values = np.ndarray
else:  # NumPy's operations return a number where an array has no axis
    Values = np.ndarray | np.floating

SMALL = 5.0  # expected count below which a test is exact
_HALVINGS = 60  # of an interval in which a limit is sought


@dataclasses.dataclass(frozen=True)
class Shares:
    """Shares of favourable decisions, and how much is known about them.

    Arrays have any shape, such as (groups,) or (periods, groups).

    Attributes:
        rate: Share from 0 to 1; NaN where there is no decision.
        n: Effective number of independent decisions, as of `effective_shares`.
        degrees: Degrees of freedom of the variance that `n` was estimated from; infinite if all
            decisions are independent.
    """

    rate: Values
    n: Values
    degrees: Any = np.inf

    @classmethod
    def of(cls, favourable: Any, n: Any) -> "Shares":
        """Return the shares of counted, independent decisions.

        Args:
            favourable: Number of favourable decisions.
            n: Number of all decisions.
        """
        below = np.asarray(n, np.float64)
        above = np.asarray(favourable, np.float64)
        rate = np.divide(above, below, out=np.full(below.shape, np.nan), where=below > 0)
        return cls(rate, below)

    def size(self, level: float) -> Values:
        """Return the effective numbers, reduced for the degrees of freedom (Korn and Graubard)."""
        from scipy.special import stdtrit  # here: `import fairgym` is quick without it

        degrees = np.asarray(self.degrees, np.float64)
        few = np.isfinite(degrees)
        normal = normal_quantile(level)
        t = stdtrit(np.where(few, np.maximum(degrees, 1e-9), 1.0), (1.0 + level) / 2.0)
        return np.asarray(self.n, np.float64) * np.where(few, (normal / t) ** 2, 1.0)

    def __getitem__(self, place: Any) -> "Shares":
        """Return the shares of some groups or periods."""
        degrees = np.broadcast_to(self.degrees, np.shape(self.rate))
        return Shares(self.rate[place], np.asarray(self.n)[place], degrees[place])


@functools.cache
def normal_quantile(level: float) -> float:
    """Return the z with P(|Z| < z) = level for the standard normal distribution."""
    from scipy.special import ndtri  # here: `import fairgym` is quick without it

    return float(ndtri((1.0 + level) / 2.0))


def wilson_interval(shares: Shares, level: float = 0.95) -> tuple[Values, Values]:
    """Return the limits of Wilson's score interval of each share (E. B. Wilson 1927).

    Args:
        shares: The shares.
        level: Confidence level.

    Returns:
        `(low, high)` within [0, 1]; NaN without decisions.

    Examples:
        >>> from fairgym.statistics.proportions import Shares, wilson_interval
        >>> low, high = wilson_interval(Shares.of([15, 0], [148, 20]))
        >>> low.round(4).tolist(), high.round(4).tolist()
        ([0.0624, 0.0], [0.1605, 0.1611])
    """
    rate, n = np.asarray(shares.rate, np.float64), shares.size(level)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = normal_quantile(level) ** 2 / n
        centre = rate + square / 2.0
        half = np.sqrt(square * (rate * (1.0 - rate) + square / 4.0))
        low, high = (centre - half) / (1.0 + square), (centre + half) / (1.0 + square)
    # against rounding: the interval contains the share, and ends at 0 or 1 if the share is that
    low, high = np.maximum(np.minimum(low, rate), 0.0), np.minimum(np.maximum(high, rate), 1.0)
    nothing = np.isfinite(rate) & np.isnan(low)  # is known, as of a single cluster
    return np.where(nothing, 0.0, low), np.where(nothing, 1.0, high)


def rate_interval(shares: Shares, level: float = 0.95) -> tuple[Values, Values]:
    """Return the limits of Agresti and Coull's interval of each share.

    It has the centre of Wilson's interval, contains it, and is as wide as one of z^2 more decisions
    (A. Agresti and B. A. Coull 1998, The American Statistician 52:119). Wilson's interval covers a
    share near 0 or 1 in as few as 84% of the cases, this one in at least 93% from 30
    decisions on.

    Args:
        shares: The shares.
        level: Confidence level.

    Returns:
        `(low, high)` within [0, 1]; NaN without decisions.

    Examples:
        >>> from fairgym.statistics.proportions import Shares, rate_interval
        >>> low, high = rate_interval(Shares.of([15, 0], [148, 20]))
        >>> low.round(4).tolist(), high.round(4).tolist()
        ([0.0614, 0.0], [0.1615, 0.1898])
    """
    rate, n = np.asarray(shares.rate, np.float64), shares.size(level)
    square = normal_quantile(level) ** 2
    centre = (rate * n + square / 2.0) / (n + square)
    half = np.sqrt(square * centre * (1.0 - centre) / (n + square))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def difference_interval(
    ours: Shares, theirs: Shares, level: float = 0.95, correlation: Any = 0.0
) -> tuple[Values, Values, Values]:
    """Return differences of shares, ours - theirs, with Newcombe's interval.

    It is made of both Wilson intervals (MOVER; R. G. Newcombe 1998, Statistics in Medicine 17:873,
    method 10, and 17:2635 for correlated shares).

    Args:
        ours: Shares of one group.
        theirs: Shares of another one.
        level: Confidence level.
        correlation: Correlation of the two estimates, where clusters have decisions of both.

    Returns:
        `(difference, low, high)` within [-1, 1].

    Examples:
        >>> from fairgym.statistics.proportions import Shares, difference_interval
        >>> found = difference_interval(Shares.of(56, 70), Shares.of(48, 80))
        >>> [round(float(x), 4) for x in found]
        [0.2, 0.0524, 0.3339]
    """
    (low, high), (their_low, their_high) = (
        wilson_interval(ours, level),
        wilson_interval(theirs, level),
    )

    def joined(one: Values, other: Values) -> Values:
        cross = 2.0 * np.asarray(correlation) * one * other
        return np.sqrt(np.maximum(one**2 + other**2 - cross, 0.0))

    difference = np.asarray(ours.rate - theirs.rate)
    below = joined(ours.rate - low, their_high - theirs.rate)
    above = joined(high - ours.rate, theirs.rate - their_low)
    return difference, np.maximum(difference - below, -1.0), np.minimum(difference + above, 1.0)


def ratio_interval(
    ours: Shares, theirs: Shares, level: float = 0.95, correlation: Any = 0.0
) -> tuple[Values, Values, Values]:
    """Return ratios of shares, ours / theirs, with their interval.

    It is the score interval (P. A. R. Koopman 1984, Biometrics 40:513). Where the two estimates are
    correlated it is that of the logarithm, by the delta method, if both shares are above 0.

    Args:
        ours: Shares of one group.
        theirs: Shares of another one.
        level: Confidence level.
        correlation: Correlation of the two estimates.

    Returns:
        `(ratio, low, high)`; the ratio is NaN if both shares are 0, and infinite, as is the upper
        limit, if theirs alone is.

    Examples:
        >>> from fairgym.statistics.proportions import Shares, ratio_interval
        >>> found = ratio_interval(Shares.of(36, 40), Shares.of(16, 80))
        >>> [round(float(x), 2) for x in found]
        [4.5, 2.94, 7.15]
    """
    p, q, n, m, rho = _sides(ours, theirs, level, correlation)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = p / q
        low, high = _score_limits(_ratio_score, ratio, p, q, n, m, level)
        spread = _joint(np.sqrt((1.0 - p) / (p * n)), np.sqrt((1.0 - q) / (q * m)), rho)
        factor = np.exp(normal_quantile(level) * spread)
        by_logarithm = (rho != 0.0) & (p > 0.0) & (q > 0.0)
        low = np.where(by_logarithm, ratio / factor, low)
        high = np.where(by_logarithm, ratio * factor, high)
    return ratio, low, high


def odds_ratio_interval(
    ours: Shares, theirs: Shares, level: float = 0.95, correlation: Any = 0.0
) -> tuple[Values, Values, Values]:
    """Return odds ratios, (p / (1 - p)) / (q / (1 - q)), with their interval.

    It is the score interval (J. Cornfield 1956, without a correction for continuity). Where the two
    estimates are correlated it is that of the logarithm, if both shares are strictly between 0
    and 1.

    Args:
        ours: Shares p of one group.
        theirs: Shares q of another one.
        level: Confidence level.
        correlation: Correlation of the two estimates.

    Returns:
        `(odds ratio, low, high)`; NaN where it is 0/0.

    Examples:
        >>> from fairgym.statistics.proportions import Shares, odds_ratio_interval
        >>> found = odds_ratio_interval(Shares.of(36, 40), Shares.of(16, 80))
        >>> [round(float(x), 1) for x in found]
        [36.0, 11.5, 110.9]
    """
    p, q, n, m, rho = _sides(ours, theirs, level, correlation)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (p * (1.0 - q)) / (q * (1.0 - p))
        low, high = _score_limits(_odds_score, ratio, p, q, n, m, level)
        spread = _joint(1.0 / np.sqrt(p * (1.0 - p) * n), 1.0 / np.sqrt(q * (1.0 - q) * m), rho)
        factor = np.exp(normal_quantile(level) * spread)
        by_logarithm = (rho != 0.0) & np.isfinite(factor)
        low = np.where(by_logarithm, ratio / factor, low)
        high = np.where(by_logarithm, ratio * factor, high)
    return ratio, low, high


def equality_test(ours: Shares, theirs: Shares, correlation: Any = 0.0) -> Values:
    """Return two-sided p-values of the hypothesis that two shares are equal.

    The test is Fisher's exact one where decisions are independent and a count below 5 is expected,
    else the z test with a pooled variance; with estimated effective numbers the t test.

    Args:
        ours: Shares of one group.
        theirs: Shares of another one.
        correlation: Correlation of the two estimates.

    Examples:
        >>> from fairgym.statistics.proportions import Shares, equality_test
        >>> p = equality_test(Shares.of([56, 9], [70, 10]), Shares.of([48, 3], [80, 10]))
        >>> p.round(4).tolist()
        [0.008, 0.0198]
    """
    from scipy.special import stdtr
    from scipy.stats import fisher_exact

    p, q, n, m, rho = _sides(ours, theirs, None, correlation)
    degrees = np.broadcast_to(np.minimum(ours.degrees, theirs.degrees), p.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = (p * n + q * m) / (n + m)
        own = np.sqrt(pooled * (1.0 - pooled))
        z = (p - q) / _joint(own / np.sqrt(n), own / np.sqrt(m), rho)
    z = np.where((p == q) & np.isfinite(pooled), 0.0, z)
    found = np.atleast_1d(2.0 * stdtr(np.minimum(degrees, 1e12), -np.abs(z)))
    expected = np.minimum(n, m) * np.minimum(pooled, 1.0 - pooled)
    for place in np.flatnonzero((expected < SMALL) & (rho == 0.0) & np.isinf(degrees)):
        (x, of), (y, others) = ((r.flat[place], k.flat[place]) for r, k in ((p, n), (q, m)))
        counts = np.array([x * of, y * others, of - x * of, others - y * others]).round()
        if np.array_equal(counts[:2] + counts[2:], [of, others]):
            found.flat[place] = fisher_exact(counts.astype(np.int64).reshape(2, 2))[1]
    return found.reshape(np.shape(p))


def _sides(
    ours: Shares, theirs: Shares, level: float | None, correlation: Any
) -> tuple[Values, ...]:
    """Rates and effective numbers of both sides, and their correlation, of one shape."""
    sizes = (
        np.asarray(one.n, np.float64) if level is None else one.size(level)
        for one in (ours, theirs)
    )
    return tuple(
        np.array(one, np.float64)
        for one in np.broadcast_arrays(ours.rate, theirs.rate, *sizes, correlation)
    )


def _joint(one: Values, other: Values, correlation: Values) -> Values:
    """Return the standard error of a difference."""
    return np.sqrt(np.maximum(one**2 + other**2 - 2.0 * correlation * one * other, 0.0))


def _score_limits(
    score: Any,
    ratio: Values,
    p: Values,
    q: Values,
    n: Values,
    m: Values,
    level: float,
) -> tuple[Values, Values]:
    """Ratios at which a score statistic reaches the normal quantile, sought by halving.

    `score` is a function of (ratio, p, q, n, m) that returns the squared statistic.
    """
    square = normal_quantile(level) ** 2
    start = np.log(np.where((ratio > 0.0) & np.isfinite(ratio), ratio, 1.0))
    limits = []
    for sign in (-1.0, 1.0):
        # from the estimate outwards; a ratio of 0 or infinity starts at the other end
        near = np.where(ratio == 0.0, -60.0, np.where(np.isinf(ratio), 60.0, start))
        far = np.full(p.shape, sign * 60.0)
        for _ in range(_HALVINGS):
            middle = 0.5 * (near + far)
            inside = score(np.exp(middle), p, q, n, m) < square
            near, far = np.where(inside, middle, near), np.where(inside, far, middle)
        limits.append(np.exp(0.5 * (near + far)))
    low = np.where(ratio == 0.0, 0.0, limits[0])
    high = np.where(np.isinf(ratio), np.inf, limits[1])
    unknown = np.isnan(ratio)
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def _ratio_score(ratio: Values, p: Values, q: Values, n: Values, m: Values) -> Values:
    """Squared score statistic of the hypothesis p = ratio q."""
    x, y = p * n, q * m
    a, b, c = (n + m) * ratio, n * ratio + x + m + y * ratio, x + y
    second = 2.0 * c / (b + np.sqrt(np.maximum(b * b - 4.0 * a * c, 0.0)))
    first = ratio * second
    variance = first * (1.0 - first) / n + ratio**2 * second * (1.0 - second) / m
    return _squared(p - ratio * q, variance)


def _odds_score(ratio: Values, p: Values, q: Values, n: Values, m: Values) -> Values:
    """Squared score statistic of the hypothesis that the odds ratio is `ratio`."""
    x, total = p * n, p * n + q * m
    # the expected count e: e (m - total + e) = ratio (n - e) (total - e)
    a, b, c = ratio - 1.0, ratio * (n + total) + m - total, ratio * n * total
    root = np.sqrt(np.maximum(b * b - 4.0 * a * c, 0.0))
    e = np.where(b > 0.0, 2.0 * c / (b + root), (b - root) / (2.0 * a))
    inverse = 1.0 / e + 1.0 / (n - e) + 1.0 / (total - e) + 1.0 / (m - total + e)
    return (x - e) ** 2 * inverse


def _squared(above: Values, variance: Values) -> Values:
    found = np.divide(above**2, variance, out=np.full(np.shape(above), np.inf), where=variance > 0)
    return np.where(above == 0.0, 0.0, found)
