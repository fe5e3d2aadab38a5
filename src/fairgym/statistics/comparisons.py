"""Comparisons: a paired test, disparities beside luck, shares of variance, what none beats."""

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from fairgym.statistics.intervals import Numbers, mean_interval

EXACT_PAIRS = 12  # 2^12 sign patterns are enumerated
SAMPLED_PATTERNS = 20_000


class PairedTest(NamedTuple):
    """Two conditions compared over the same seeds.

    Attributes:
        difference: mean of a - b.
        low: lower end of Student's t interval of that mean; NaN for a single pair.
        high: upper end of that interval.
        p: two-sided probability of a mean at least as far from 0, were the signs of the
            differences a matter of chance. With n pairs it is never below 2 / 2^n.
    """

    difference: float
    low: float
    high: float
    p: float


def paired_test(a: Numbers, b: Numbers | float, level: float = 0.95, seed: int = 0) -> PairedTest:
    """Sign-flip permutation test of paired values: is the mean of a - b different from 0?

    All sign patterns are enumerated for up to 12 pairs; beyond, 20,000 are sampled.

    Args:
        a: one value per seed.
        b: the values of the other condition with the same seeds, or one number.
        level: probability that the interval holds the mean.
        seed: seed of the sampled patterns.

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
        patterns[0] = 0  # what was observed is one of the patterns
    means = np.abs((1 - 2 * patterns) @ difference) / count
    slack = 1e-12 * np.abs(difference).mean()  # rounding must not tell equal means apart
    return PairedTest(mean, low, high, float(np.mean(means >= abs(mean) - slack)))


@dataclasses.dataclass(frozen=True)
class Null:
    """A disparity beside those of the same episodes whose people's groups are permuted.

    All are means over the episodes of raw values: more is better, parity is the most.

    Attributes:
        value: the disparity.
        mean: its mean over the permutations, which luck alone makes.
        bound: the value that only the given share of the permutations stays on the fair side of.
        excess: value - mean; what is not luck, below 0 if the groups are further apart.
        clear: True if the value lies beyond the bound.
    """

    value: float
    mean: float
    bound: float

    @property
    def excess(self) -> float:
        """Part that is not luck: the value less the mean of the permutations."""
        return self.value - self.mean

    @property
    def clear(self) -> bool:
        """True if the groups are further apart than in all but a few of the permutations."""
        return self.value < self.bound


def null_of(values: np.ndarray, permuted: np.ndarray, level: float = 0.95) -> Null:
    """A mean disparity beside its distribution under permutations.

    Args:
        values: raw value of each episode; all of them defined.
        permuted: the same under permutations, shape (episodes, permutations); NaN where it is
            undefined. Those of an episode have nothing to do with those of another, so that each
            column is one permutation of them all.
        level: share of the permutations on the side of parity of the bound.
    """
    known = np.isfinite(permuted)
    some = known.any(axis=0)
    if not some.any():
        return Null(np.nan, np.nan, np.nan)
    # a permutation that leaves it undefined in every episode tells nothing
    draws = np.mean(permuted[:, some], axis=0, where=known[:, some], dtype=np.float64)
    value = float(np.mean(values, dtype=np.float64))
    return Null(value, float(np.mean(draws)), float(np.quantile(draws, 1.0 - level)))


def explained(values: np.ndarray, codes: np.ndarray) -> Any:
    """Share of the variance that lies between groups: the correlation ratio eta squared.

    Args:
        values: Numbers along the last axis.
        codes: Group of each of them.
    """
    centred = values - values.mean(axis=-1, keepdims=True)
    total = np.sum(centred**2, axis=-1)
    between = np.zeros(centred.shape[:-1])
    for code in np.unique(codes):
        inside = centred[..., codes == code]
        between = between + inside.sum(axis=-1) ** 2 / inside.shape[-1]
    return np.where(total > 0.0, between / np.where(total > 0.0, total, 1.0), 0.0)


def non_dominated(points: np.ndarray) -> np.ndarray:
    """True for each point that no other one is at least as good as in both and better in one.

    Args:
        points: Two numbers each, more is better, shape (points, 2).
    """
    order = np.lexsort((-points[:, 1], -points[:, 0]))
    x, y = points[order].T
    # of those that are better in x, the best in y; of those with the same x the first one has it
    starts = np.searchsorted(-x, -x, side="left")
    best_so_far = np.concatenate(([-np.inf], np.maximum.accumulate(y)))
    beaten = (best_so_far[starts] >= y) | (y[starts] > y)
    found = np.empty(len(points), bool)
    found[order] = ~beaten
    return found


def hypervolume(points: np.ndarray, reference: tuple[float, float]) -> float:
    """Area that lies between a reference and points, of which more is better.

    Args:
        points: Shape (points, 2); those that are not better than the reference in both add none.
        reference: The point (x, y).
    """
    above = points[(points > np.array(reference)).all(axis=1)]
    area, height = 0.0, reference[1]
    for x, y in above[np.argsort(-above[:, 0], kind="stable")]:
        area += (x - reference[0]) * max(0.0, y - height)
        height = max(height, y)
    return float(area)
