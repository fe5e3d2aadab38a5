"""Gaps between all pairs of groups with simultaneous intervals, and p-values of several tests."""

import dataclasses
from typing import Any

import numpy as np

from fairgym.statistics.proportions import Shares, difference_interval


def holm(p_values: Any) -> np.ndarray:
    """Return p-values adjusted for their number by Holm's method; NaN are left out.

    Examples:
        >>> from fairgym.statistics.pairs import holm
        >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
        [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, np.float64)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    found = np.full(p.shape, np.nan)
    found[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return found


@dataclasses.dataclass(frozen=True)
class PairGaps:
    """Signed gaps between all pairs of groups, and the largest one, with simultaneous intervals.

    Attributes:
        first: Index of the first group of each pair, shape (pairs,).
        second: Index of the second group.
        gap: First group's rate minus the second's, shape (..., pairs).
        low: Lower limit. All intervals together contain the gaps at the confidence level.
        high: Upper limit.
        largest: Largest absolute gap, shape (...).
        largest_low: Lower limit of the largest gap.
        largest_high: Upper limit of the largest gap.
        widest: Index of the pair with the largest gap.
    """

    first: np.ndarray
    second: np.ndarray
    gap: np.ndarray
    low: np.ndarray
    high: np.ndarray
    largest: np.ndarray
    largest_low: np.ndarray
    largest_high: np.ndarray
    widest: np.ndarray


def pair_gaps(
    shares: Shares, level: float = 0.95, correlations: np.ndarray | None = None
) -> PairGaps:
    """Return all gaps between groups with simultaneous intervals (MOVER with Bonferroni).

    A percentile bootstrap of the largest gap is wrong: with three or more groups and common
    outcomes it excludes a true gap of 0. Here every gap has an interval at the level 1 - (1 -
    level) / pairs. The limits of the largest gap are the largest distance of an interval from 0,
    and the farthest end of all.

    Args:
        shares: Shares of the groups, shape (..., groups).
        level: Simultaneous confidence level.
        correlations: Correlations of the groups' estimates, shape (..., groups, groups).

    Examples:
        >>> from fairgym.statistics.pairs import pair_gaps
        >>> from fairgym.statistics.proportions import Shares
        >>> found = pair_gaps(Shares.of([40, 50, 45], [100, 100, 100]))
        >>> [round(float(x), 2) for x in (found.largest, found.largest_low, found.largest_high)]
        [0.1, 0.0, 0.26]
    """
    first, second = np.triu_indices(np.shape(shares.rate)[-1], 1)
    pairs = max(len(first), 1)
    rho = 0.0 if correlations is None else correlations[..., first, second]
    ours, theirs = shares[..., first], shares[..., second]
    gap, low, high = difference_interval(ours, theirs, 1.0 - (1.0 - level) / pairs, rho)
    size = np.where(np.isfinite(gap), np.abs(gap), -1.0)
    known = size.max(axis=-1, initial=-1.0) >= 0.0

    def most(values: np.ndarray) -> np.ndarray:
        return np.where(
            known, np.where(np.isfinite(values), values, 0.0).max(-1, initial=0.0), np.nan
        )

    return PairGaps(
        first,
        second,
        gap,
        low,
        high,
        most(size),
        most(np.maximum(np.maximum(low, -high), 0.0)),
        most(np.maximum(-low, high)),
        np.asarray(size.argmax(axis=-1)) if len(first) else np.zeros(known.shape, np.int64),
    )
