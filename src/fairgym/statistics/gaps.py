"""Systematic gaps between groups: signed, with simultaneous intervals and a permutation test."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fairgym.core import FairgymError
from fairgym.statistics.intervals import (
    crossed_interval,
    paired_episodes,
    paired_interval,
    t_quantile,
)

# One array (episodes, groups), or one per seed in the same episodes.
Rates = np.ndarray | Sequence[np.ndarray] | Sequence[Sequence[float]]

# Rates are computed in single precision: differences below its rounding are ties.
ROUNDING = float(np.finfo(np.float32).eps)

# Episodes count as skewed if their skewness exceeds so many standard errors of a normal sample.
SKEWED = 2.0


@dataclasses.dataclass(frozen=True)
class Gap:
    """The systematic gap between two groups: the mean over episodes of a difference of rates.

    Attributes:
        first: Index of a group.
        second: Index of another group, above `first`.
        mean: Mean of the first group's rate minus the second's, or the difference of two policies
            in this gap.
        low: Lower limit of its interval.
        high: Upper limit of its interval.
    """

    first: int
    second: int
    mean: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0, so that the sign of the gap is known."""
        return self.low > 0.0 or self.high < 0.0


class GapTest(NamedTuple):
    """A permutation test of the systematic gaps between all groups.

    Attributes:
        statistic: Standard deviation over groups of the mean deviation from the mean of all
            groups, in the rate's unit; NaN without an episode in which two groups are defined.
        p: Probability of a statistic at least as large under the null hypothesis that the group
            makes no difference to people; at least 1 / (1 + permutations).
        permutations: Number of permutations.
    """

    statistic: float
    p: float
    permutations: int


def systematic_gaps(rates: Rates, level: float = 0.95) -> tuple[Gap, ...]:
    """Return the signed gap of every pair of groups, with simultaneous intervals.

    The gap of a pair is the mean over episodes of the difference of its rates. This finds a
    consistent effect even if it is small compared with the variation between episodes. Intervals
    are those of `crossed_interval`, over seeds and episodes, at the level
    1 - (1 - level) / pairs (Bonferroni): together they contain all true gaps at least as often as
    `level` says. If episodes are more skewed than normal samples, as with rare outcomes in a small
    group, an interval is longer on the side of the long tail.

    Args:
        rates: Rate of each group in each episode, shape (episodes, groups); or one such array per
            seed, in the same episodes. NaN where a rate is 0/0: pairs with that group drop the
            episode.
        level: Simultaneous confidence level of all intervals.

    Returns:
        A gap per pair of groups, in the order (0, 1), (0, 2), ..., (1, 2), ...; none for one group.
        Undefined values are NaN, as in `crossed_interval`.

    Raises:
        FairgymError: An array has another shape, or seeds have different shapes.

    Examples:
        >>> from fairgym.statistics import systematic_gaps
        >>> (gap,) = systematic_gaps([[0.5, 0.4], [0.7, 0.5], [0.6, 0.5]])
        >>> round(gap.mean, 3), round(gap.low, 3), round(gap.high, 3), gap.clear
        (0.133, -0.01, 0.277, False)
    """
    table = _by_seed(rates, "rates", 2)

    def gap(i: int, j: int, each: float) -> Gap:
        pair = table[..., i] - table[..., j]
        mean, low, high = crossed_interval(pair, each)
        below, above = _lengthened(_mean(pair, 0), each)
        return Gap(i, j, mean, low - below, high + above)

    return tuple(gap(*pair) for pair in _pairs(table.shape[-1], level))


def gap_differences(rates: Rates, others: Rates, level: float = 0.95) -> tuple[Gap, ...]:
    """Return the paired differences between the gaps of two policies.

    Like `systematic_gaps`, with the intervals of `paired_interval`. An episode counts if both
    groups of the pair are defined under both policies and with every seed.

    Args:
        rates: Rates of one policy, as for `systematic_gaps`.
        others: Rates of the other policy, in the same episodes in the same order.
        level: Simultaneous confidence level of all intervals.

    Returns:
        A gap per pair of groups: the gap of `rates` minus the gap of `others`.

    Raises:
        FairgymError: The numbers of episodes or groups differ.
    """
    ours, theirs = _by_seed(rates, "rates", 2), _by_seed(others, "others", 2)
    if ours.shape[-1] != theirs.shape[-1]:
        raise FairgymError(
            f"rates has {ours.shape[-1]} groups and others {theirs.shape[-1]}; a difference of"
            " gaps needs the same groups for both"
        )

    def gap(i: int, j: int, each: float) -> Gap:
        sides = ours[..., i] - ours[..., j], theirs[..., i] - theirs[..., j]
        mean, low, high = paired_interval(*sides, each)
        first, second = paired_episodes(*sides)
        below, above = _lengthened(_mean(first, 0) - _mean(second, 0), each)
        return Gap(i, j, mean, low - below, high + above)

    return tuple(gap(*pair) for pair in _pairs(ours.shape[-1], level))


def largest_gap(gaps: Sequence[Gap]) -> tuple[float, float, float]:
    """Return the largest absolute gap between any two groups, with its interval.

    The interval follows from the simultaneous intervals. If all of them contain the true gaps, the
    largest absolute gap lies between the largest lower limit and the largest upper limit of all
    absolute gaps. It starts at 0 unless the interval of some pair excludes 0. A bootstrap of the
    largest gap cannot do so, because the largest of resampled gaps is rarely 0.

    Args:
        gaps: Gaps from `systematic_gaps`.

    Returns:
        `(largest, low, high)`. NaN without gaps; a limit is NaN if that of any pair is.

    Examples:
        >>> from fairgym.statistics.gaps import Gap, largest_gap
        >>> largest_gap([Gap(0, 1, -0.3, -0.5, -0.1), Gap(0, 2, 0.1, -0.1, 0.2)])
        (0.3, 0.1, 0.5)
    """
    if not gaps:
        return math.nan, math.nan, math.nan
    means, lows, highs = np.array([(gap.mean, gap.low, gap.high) for gap in gaps]).T
    least = np.maximum(np.maximum(lows, -highs), 0.0)
    most = np.maximum(highs, -lows)
    return float(np.max(np.abs(means))), float(np.max(least)), float(np.max(most))


def gap_test(rates: Rates, permuted: Rates) -> GapTest:
    """Return a permutation test of whether the rates of groups differ systematically.

    The statistic is the standard deviation over groups k of the mean over episodes e of
    r[k, e] - (mean over groups of r[., e]). Under the null hypothesis the group makes no
    difference to people, so permuting groups within episodes changes nothing (E. J. G. Pitman,
    Significance Tests Which May be Applied to Samples From any Populations, 1937). p = (1 + number
    of permutations with a statistic at least as large) / (1 + permutations) (Phipson and Smyth
    2010). Values within single-precision rounding count as equal. With several seeds the statistic
    is that of the means over seeds.

    The null hypothesis is that the group does not matter in any episode. The test also rejects it
    if each group is better off in some episodes and worse off in others. The intervals of
    `systematic_gaps` show whether a gap is systematic, and which group has it.

    A group whose rate is 0/0 in an episode is dropped there, and an episode with fewer than two
    groups left is dropped. The same rule applies under every permutation, which keeps the test
    exact. A permutation that leaves nothing counts as at least as large.

    Args:
        rates: Rates, as for `systematic_gaps`.
        permuted: Rates in the same episodes with people's groups permuted within each, shape
            (episodes, permutations, groups), or one such array per seed. The people of an episode
            are the same with every seed, so permutation p of an episode must be the same for all
            seeds; otherwise the test rejects too often.

    Raises:
        FairgymError: An array has another shape, or the shapes do not match.

    Examples:
        >>> import numpy as np
        >>> from fairgym.statistics import gap_test
        >>> rates = np.array([[0.5, 0.2], [0.6, 0.2]])
        >>> swapped = np.stack([rates, rates[:, ::-1], 0 * rates], axis=1)
        >>> test = gap_test(rates, swapped)
        >>> round(test.statistic, 3), test.p
        (0.175, 0.75)
    """
    table, drawn = _by_seed(rates, "rates", 2), _by_seed(permuted, "permuted", 3)
    seeds, episodes, permutations, groups = drawn.shape
    if table.shape != (seeds, episodes, groups):
        raise FairgymError(
            f"permuted has {seeds} seeds, {episodes} episodes and {groups} groups, but rates has"
            f" {', '.join(map(str, table.shape))}; a test needs the same numbers for both"
        )
    statistic = float(_spread(table))
    if math.isnan(statistic):
        return GapTest(math.nan, math.nan, permutations)
    drawn_statistics = _spread(np.moveaxis(drawn, 2, 0))
    slack = ROUNDING * float(np.nanmax(np.abs(table)))
    below = int(np.sum(drawn_statistics < statistic - slack))  # NaN is not below
    return GapTest(statistic, (1 + permutations - below) / (1 + permutations), permutations)


def _lengthened(episodes: np.ndarray, level: float) -> tuple[float, float]:
    """Lengths added to an interval below and above if episodes are skewed.

    Rare outcomes in a small group cause few large differences. The mean and its standard error are
    then small together, and t intervals are too short on the side of the long tail. That limit is
    moved by Hall's (1983, Annals of Statistics 11:569) correction for the skewness g,
    s g (2 t^2 + 1) / (6 n), if g is larger than in normal samples.

    Args:
        episodes: Difference of each episode; NaN where undefined.
        level: Level of the interval.
    """
    episodes = episodes[np.isfinite(episodes)]
    count, spread = episodes.size, float(np.std(episodes)) if episodes.size else 0.0
    if count < 3 or spread == 0.0:
        return 0.0, 0.0
    skewness = float(np.mean(((episodes - episodes.mean()) / spread) ** 3))
    error = math.sqrt(6.0 * (count - 2) / ((count + 1) * (count + 3)))
    if abs(skewness) <= SKEWED * error:
        return 0.0, 0.0
    t = t_quantile(level, count - 1)
    deviation = spread * math.sqrt(count / (count - 1))
    shift = deviation * skewness * (2.0 * t**2 + 1.0) / (6.0 * count)
    return max(-shift, 0.0), max(shift, 0.0)


def _spread(rates: np.ndarray) -> np.ndarray:
    """Return the statistic of `gap_test`.

    Args:
        rates: Shape (..., seeds, episodes, groups).
    """
    several = np.isfinite(rates).sum(axis=-1, keepdims=True) >= 2
    rates = np.where(several & np.isfinite(rates), rates, np.nan)
    deviations = rates - _mean(rates, -1)[..., None]
    of_groups = _mean(_mean(deviations, -2), -2)
    centred = of_groups - _mean(of_groups, -1)[..., None]
    return np.asarray(np.sqrt(_mean(centred**2, -1)))


def _mean(values: np.ndarray, axis: int) -> np.ndarray:
    """Mean of the defined values; NaN if there are none."""
    known = ~np.isnan(values)
    total, count = np.where(known, values, 0.0).sum(axis=axis), known.sum(axis=axis)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def _pairs(groups: int, level: float) -> Iterator[tuple[int, int, float]]:
    """Pairs of groups, each with the level of its interval."""
    pairs = list(itertools.combinations(range(groups), 2))
    for i, j in pairs:
        yield i, j, 1.0 - (1.0 - level) / len(pairs)


def _by_seed(rates: Rates, name: str, axes: int) -> np.ndarray:
    """Rates with a first axis over seeds.

    Args:
        rates: One array, or one per seed.
        name: Name of the argument in messages.
        axes: Number of axes of one array.
    """
    single = np.ndim(rates[0]) == axes - 1 if len(rates) else False
    parts = [np.asarray(one, np.float64) for one in ([rates] if single else rates)]
    shapes = sorted({part.shape for part in parts})
    if len(shapes) != 1 or len(shapes[0]) != axes:
        words = " and ".join(map(str, shapes)) or "none"
        raise FairgymError(
            f"{name} must be an array of {axes} axes, or one per seed of the same shape, got the"
            f" shape {words}"
        )
    return np.stack(parts)
