"""Shares of variance that factors explain, alone and with their interactions (Sobol's indices)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

RESAMPLES, LEVEL = 500, 0.95


class Share(NamedTuple):
    """Share of the variance of a quantity that a factor explains.

    Attributes:
        factor: Name of the factor.
        main: Share explained by the factor alone (Sobol's first-order index), with its 95%
            bootstrap interval over the points of the design.
        main_low: Lower limit.
        main_high: Upper limit.
        total: Share that remains if all others are known (Sobol's total index): the factor with
            all its interactions.
        total_low: Lower limit.
        total_high: Upper limit.
    """

    factor: str
    main: float
    main_low: float
    main_high: float
    total: float
    total_low: float
    total_high: float


def variance_shares(
    names: Sequence[str], found: np.ndarray, resamples: int = RESAMPLES
) -> list[Share]:
    """Return shares of variance from a design of Saltelli.

    Total shares are those of Jansen. Main shares are the mean of the estimators of Jansen, which is
    precise for large shares, and of Saltelli et al. (2010), which is precise for small ones,
    weighted by their inverse variances.

    Args:
        names: Names of the factors.
        found: Values in the blocks A, B, and A with one factor from B: (factors + 2, points).
        resamples: Number of resamples of the points, for the intervals.

    Returns:
        One share per factor; none if a value is not finite, or those of A and B are equal.
    """
    if not np.isfinite(found).all() or np.ptp(found[:2]) == 0.0:
        return []
    count = found.shape[1]
    draws = np.random.default_rng(0).integers(count, size=(resamples, count))
    points, drawn = _indices(found[:, None, :]), _indices(found[:, draws])
    shares = []
    for place, name in enumerate(names):
        ends = [one[place, 0] for one in points]
        spread = [one[place][np.isfinite(one[place])] for one in drawn]
        noise = [float(np.var(one)) if one.size else 0.0 for one in spread[:2]]
        weight = noise[1] / sum(noise) if sum(noise) > 0.0 else 1.0  # of the first estimator
        mains = weight * spread[0] + (1.0 - weight) * spread[1]
        main = float(weight * ends[0] + (1.0 - weight) * ends[1])
        shares.append(Share(name, main, *_limits(mains), float(ends[2]), *_limits(spread[2])))
    return shares


def _limits(draws: np.ndarray) -> tuple[float, float]:
    """Return the limits of the middle 95% of resamples."""
    if not draws.size:
        return np.nan, np.nan
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(draws, [tail, 1.0 - tail])
    return float(low), float(high)


def _indices(found: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return main indices by two estimators and total ones, from values (blocks, draws, points).

    Each is an array (factors, draws), NaN where all points of a draw are equal.
    """
    first, second, mixed = found[0], found[1], found[2:]
    both = np.concatenate([first, second], axis=1)
    variance = np.var(both, axis=1, ddof=1)
    variance = np.where(variance > 0.0, variance, np.nan)
    centred = second - both.mean(axis=1, keepdims=True)
    jansen = 1.0 - np.mean((second - mixed) ** 2, axis=2) / (2.0 * variance)
    saltelli = np.mean(centred * (mixed - first), axis=2) / variance
    return jansen, saltelli, np.mean((first - mixed) ** 2, axis=2) / (2.0 * variance)
