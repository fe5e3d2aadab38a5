"""Intervals of shares, for quantities that are 0 or 1 in every episode, such as bankruptcy."""

import math
from typing import NamedTuple

import numpy as np

from fairgym.statistics.intervals import (
    Numbers,
    by_seed,
    crossed_interval,
    paired_episodes,
    t_quantile,
)
from fairgym.statistics.proportions import Shares, normal_quantile, wilson_interval

APART = 5.0  # times the range of a cluster, between two clusters


def share_interval(values: Numbers, level: float = 0.95) -> tuple[float, float, float]:
    """Return the share of ones among zeros and ones, with Clopper and Pearson's exact interval.

    The interval is within [0, 1], has a width even if all values are equal, and covers the true
    share at least at the nominal level (C. J. Clopper and E. S. Pearson 1934; R. G. Newcombe 1998,
    Statistics in Medicine 17:857, method 5). With one seed it is the interval of a binomial share
    of the episodes. Values of several seeds in the same episodes are not independent. The interval
    is then based on an effective number of values: the number of independent values with the
    variance of `crossed_interval` (Korn and Graubard 1998, Survey Methodology 24:193), or the
    number of episodes if all values are equal. It is at most the number of values, reduced for the
    degrees of freedom of the seeds.

    Args:
        values: Zeros and ones, one per episode, or one such array per seed; NaN where undefined.
        level: Confidence level.

    Returns:
        `(share, low, high)`; NaN without values.

    Examples:
        >>> from fairgym.statistics import share_interval
        >>> [round(x, 3) for x in share_interval([1.0] * 32)]
        [1.0, 0.891, 1.0]
    """
    share, number = _share(by_seed(values, "values"), level)
    if math.isnan(share):
        return math.nan, math.nan, math.nan
    from scipy.special import betaincinv  # here: `import fairgym` is quick without it

    ones, tail = share * number, (1.0 - level) / 2.0
    zeros = number - ones
    low = float(betaincinv(ones, zeros + 1.0, tail)) if share > 0.0 else 0.0
    high = float(betaincinv(ones + 1.0, zeros, 1.0 - tail)) if share < 1.0 else 1.0
    return share, low, high


def share_difference(
    ours: Numbers, theirs: Numbers, level: float = 0.95
) -> tuple[float, float, float]:
    """Return the paired difference of two policies' shares, with Newcombe's interval.

    It combines the Wilson intervals of both with the correlation of the pairs (R. G. Newcombe 1998,
    Statistics in Medicine 17:2635, method 10). It is within [-1, 1], and has a width even if the
    policies differ in every episode or in none. With several seeds, Wilson's intervals use the
    effective number of values of `share_interval`, and episodes are paired by their means over
    seeds.

    Args:
        ours: Zeros and ones, one per episode, or one such array per seed; NaN where undefined.
        theirs: Values of the other policy, in the same episodes in the same order.
        level: Confidence level.

    Returns:
        `(difference, low, high)` of ours - theirs, over the episodes in which every value is
        defined; NaN without such an episode.

    Raises:
        FairgymError: The numbers of episodes differ.

    Examples:
        >>> from fairgym.statistics import share_difference
        >>> [round(x, 3) for x in share_difference([1.0] * 32, [0.0] * 32)]
        [1.0, 0.848, 1.0]
    """
    sides = paired_episodes(ours, theirs)
    episodes = sides[0].shape[1]
    if not episodes:
        return math.nan, math.nan, math.nan
    (first, n), (second, m) = (_share(side, level) for side in sides)
    (low, high), (their_low, their_high) = _wilson(first, n, level), _wilson(second, m, level)
    ours_mean, theirs_mean = (side.mean(axis=0) for side in sides)
    covariance = float(np.mean((ours_mean - first) * (theirs_mean - second)))
    if covariance > 0.0:  # Newcombe's correction for continuity
        covariance = max(covariance - 0.5 / episodes, 0.0)
    scale = math.sqrt(_variance(first, n) * _variance(second, m))
    correlation = covariance / episodes / scale if scale > 0.0 else 0.0

    def joined(one: float, other: float) -> float:
        cross = 2.0 * min(max(correlation, -1.0), 1.0) * one * other
        return math.sqrt(max(one**2 + other**2 - cross, 0.0))

    difference = first - second
    below = joined(first - low, their_high - second)
    above = joined(high - first, second - their_low)
    return difference, max(difference - below, -1.0), min(difference + above, 1.0)


class TwoOutcomes(NamedTuple):
    """Values that fall into two clusters, such as seeds that learn one of two policies.

    Attributes:
        lower: Mean of the lower cluster.
        upper: Mean of the upper cluster.
        high: Number of values in the upper cluster.
        total: Number of all values.
    """

    lower: float
    upper: float
    high: int
    total: int

    def interval(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the mean and its interval, from the interval of the share of the upper cluster.

        The variation within the clusters is neglected.
        """
        share = share_interval(np.arange(self.total) < self.high, level)
        mean, low, high = (self.lower + (self.upper - self.lower) * each for each in share)
        return mean, low, high


def two_outcomes(values: Numbers) -> TwoOutcomes | None:
    """Return the two outcomes of values with two clusters; None if there are not exactly two.

    There are two clusters if the widest step between neighbouring values is at least 5 times the
    range of either side, and either side has at least two values. About 1 in 100 normal samples of
    five values, and hardly any larger one, has two clusters by this rule.

    Args:
        values: Independent values, such as one per seed; with fewer than five the result is None.

    Examples:
        >>> from fairgym.statistics.shares import two_outcomes
        >>> two_outcomes([0.0, 0.0, 1.0, 1.0, 1.0])
        TwoOutcomes(lower=0.0, upper=1.0, high=3, total=5)
    """
    ordered = np.sort(np.asarray(values, np.float64).reshape(-1))
    count = ordered.size
    if count < 5 or not np.isfinite(ordered).all():
        return None
    steps = np.diff(ordered)
    place = int(np.argmax(steps)) + 1
    ranges = float(np.ptp(ordered[:place])), float(np.ptp(ordered[place:]))
    if not 2 <= place <= count - 2 or not steps[place - 1] > APART * max(*ranges):
        return None
    means = float(ordered[:place].mean()), float(ordered[place:].mean())
    return TwoOutcomes(*means, count - place, count)


def _share(table: np.ndarray, level: float) -> tuple[float, float]:
    """Share of ones, and the effective number of independent values.

    Args:
        table: Zeros and ones (seeds, episodes); NaN where undefined.
        level: Confidence level.
    """
    known = np.isfinite(table)
    table = table[known.any(axis=1)][:, known.any(axis=0)]
    share, low, _ = crossed_interval(table, level)
    if len(table) < 2:
        return share, float(table.size)
    episodes = table.shape[1]
    if episodes == 1:
        return share, 1.0
    normal = normal_quantile(level)
    most = np.isfinite(table).sum() * (normal / t_quantile(level, min(table.shape) - 1)) ** 2
    half = share - low
    alike = float(episodes)  # all seeds may be one and the same policy
    return share, float(min(most, normal**2 * share * (1.0 - share) / half**2 if half else alike))


def _wilson(share: float, number: float, level: float) -> tuple[float, float]:
    """Wilson's score interval of a share of `number` independent values."""
    low, high = wilson_interval(Shares(np.asarray(share), np.asarray(number)), level)
    return float(low), float(high)


def _variance(share: float, number: float) -> float:
    """Variance of a share of `number` independent values."""
    return share * (1.0 - share) / number
