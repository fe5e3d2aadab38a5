"""Comparisons: tests of two conditions, null distributions, shares of variance, Pareto fronts."""

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from fairgym.statistics.intervals import Numbers, mean_interval

EXACT_PAIRS = 12  # 2^12 sign patterns are enumerated
SAMPLED_PATTERNS = 20_000


class PairedTest(NamedTuple):
    """Test of two conditions over the same seeds.

    Attributes:
        difference: Mean of a - b.
        low: Lower limit of Student's t interval of the mean; NaN for a single pair.
        high: Upper limit of that interval.
        p: Two-sided probability of a mean at least as far from 0 if the signs of the differences
            are random. With n pairs it is at least 2 / 2^n.
    """

    difference: float
    low: float
    high: float
    p: float


def paired_test(a: Numbers, b: Numbers | float, level: float = 0.95, seed: int = 0) -> PairedTest:
    """Test by sign-flip permutation whether the mean of paired differences a - b is not 0.

    All sign patterns are enumerated for up to 12 pairs; with more pairs 20,000 are sampled.

    Args:
        a: One value per seed.
        b: Values of the other condition with the same seeds, or one number.
        level: Confidence level of the interval.
        seed: Seed of the sampled patterns.

    Examples:
        >>> from fairgym.statistics.comparisons import paired_test
        >>> test = paired_test([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
        >>> test.difference, test.p
        (2.0, 0.25)
    """
    first = np.asarray(a, np.float64).reshape(-1)
    difference = first - np.broadcast_to(np.asarray(b, np.float64), first.shape)
    count = difference.size
    mean, low, high = mean_interval(difference, level)
    if count == 0 or not np.isfinite(difference).all():
        return PairedTest(mean, low, high, math.nan)
    if count <= EXACT_PAIRS:
        patterns = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    else:
        patterns = np.random.default_rng(seed).integers(2, size=(SAMPLED_PATTERNS, count))
        patterns[0] = 0  # the observed pattern is one of them
    means = np.abs((1 - 2 * patterns) @ difference) / count
    slack = 1e-12 * np.abs(difference).mean()  # rounding must not separate equal means
    return PairedTest(mean, low, high, float(np.mean(means >= abs(mean) - slack)))


class WelchTest(NamedTuple):
    """Test of two conditions whose seeds are independent.

    Attributes:
        difference: Mean of a minus mean of b.
        low: Lower limit of Welch's t interval; NaN with fewer than two seeds on a side.
        high: Upper limit of that interval.
        p: Two-sided p-value of Welch's t test.
    """

    difference: float
    low: float
    high: float
    p: float


def welch_test(a: Numbers, b: Numbers, level: float = 0.95) -> WelchTest:
    """Test whether two independent samples have different means (B. L. Welch 1947).

    The variances may differ; degrees of freedom by Welch and Satterthwaite.

    Args:
        a: One value per seed.
        b: Values of the other condition; the numbers of seeds may differ.
        level: Confidence level of the interval.

    Examples:
        >>> from fairgym.statistics.comparisons import welch_test
        >>> test = welch_test([1.0, 2.0, 3.0], [2.0, 4.0, 6.0, 8.0])
        >>> [round(value, 2) for value in test]
        [-3.0, -6.9, 0.9, 0.1]
    """
    from scipy.special import stdtr, stdtrit  # here: `import fairgym` is quick without it

    sides = [np.asarray(values, np.float64).reshape(-1) for values in (a, b)]
    if any(side.size == 0 for side in sides):
        return WelchTest(*[math.nan] * 4)
    difference = float(sides[0].mean() - sides[1].mean())
    if any(side.size < 2 for side in sides):
        return WelchTest(difference, math.nan, math.nan, math.nan)
    of_means = [float(side.var(ddof=1)) / side.size for side in sides]
    variance = sum(of_means)
    if variance == 0.0:
        return WelchTest(difference, difference, difference, float(difference == 0.0))
    parts = zip(of_means, sides, strict=True)
    degrees = variance**2 / sum(one**2 / (side.size - 1) for one, side in parts)
    error = math.sqrt(variance)
    half = float(stdtrit(degrees, (1.0 + level) / 2.0)) * error
    p = 2.0 * float(stdtr(degrees, -abs(difference) / error))
    return WelchTest(difference, difference - half, difference + half, p)


@dataclasses.dataclass(frozen=True)
class Null:
    """A disparity and its null distribution: people's groups permuted in the same episodes.

    All numbers are means of raw values over the episodes: higher is better, parity is the maximum.

    Attributes:
        value: The disparity.
        mean: Null mean, over the permutations.
        bound: Quantile of the null distribution: a share `level` of the permutations is at least
            this value.
        excess: Excess over the null, value - mean; below 0 if the groups are further apart.
        clear: Whether the value is below the bound.
    """

    value: float
    mean: float
    bound: float

    @property
    def excess(self) -> float:
        """Excess over the null: the value minus the null mean."""
        return self.value - self.mean

    @property
    def clear(self) -> bool:
        """Whether the groups are further apart than in all but a few of the permutations."""
        return self.value < self.bound


def null_of(values: np.ndarray, permuted: np.ndarray, level: float = 0.95) -> Null:
    """Return a mean disparity with its null distribution.

    Args:
        values: Raw value of each episode; all defined.
        permuted: Raw values under permutations, shape (episodes, permutations); NaN where
            undefined. Permutations of different episodes are independent, so each column is one
            permutation of all episodes.
        level: Share of the permutations that are at least the bound.
    """
    known = np.isfinite(permuted)
    some = known.any(axis=0)
    if not some.any():
        return Null(np.nan, np.nan, np.nan)
    # a permutation that is undefined in every episode is dropped
    draws = np.mean(permuted[:, some], axis=0, where=known[:, some], dtype=np.float64)
    value = float(np.mean(values, dtype=np.float64))
    return Null(value, float(np.mean(draws)), float(np.quantile(draws, 1.0 - level)))


def explained(values: np.ndarray, codes: np.ndarray) -> Any:
    """Return the share of variance explained by groups: the correlation ratio eta squared.

    Args:
        values: Numbers along the last axis.
        codes: Group of each number.
    """
    centred = values - values.mean(axis=-1, keepdims=True)
    total = np.sum(centred**2, axis=-1)
    between = np.zeros(centred.shape[:-1])
    for code in np.unique(codes):
        inside = centred[..., codes == code]
        between = between + inside.sum(axis=-1) ** 2 / inside.shape[-1]
    return np.where(total > 0.0, between / np.where(total > 0.0, total, 1.0), 0.0)


def non_dominated(points: np.ndarray) -> np.ndarray:
    """Return for each point whether it is on the Pareto front.

    A point is dominated by another one that is at least as good in both numbers and better in one.

    Args:
        points: Shape (points, 2); higher is better in both.
    """
    order = np.lexsort((-points[:, 1], -points[:, 0]))
    x, y = points[order].T
    # best y of the points with higher x; among equal x the first point has the best y
    starts = np.searchsorted(-x, -x, side="left")
    best_so_far = np.concatenate(([-np.inf], np.maximum.accumulate(y)))
    dominated = (best_so_far[starts] >= y) | (y[starts] > y)
    found = np.empty(len(points), bool)
    found[order] = ~dominated
    return found


def hypervolume(points: np.ndarray, reference: tuple[float, float]) -> float:
    """Return the area between a reference and the points.

    Args:
        points: Shape (points, 2); higher is better in both. Points that are not above the
            reference in both add nothing.
        reference: Reference point (x, y).
    """
    above = points[(points > np.array(reference)).all(axis=1)]
    area, height = 0.0, reference[1]
    for x, y in above[np.argsort(-above[:, 0], kind="stable")]:
        area += (x - reference[0]) * max(0.0, y - height)
        height = max(height, y)
    return float(area)
