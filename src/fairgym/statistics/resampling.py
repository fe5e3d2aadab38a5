"""Resampling of persons, clusters or periods, for totals of many cells at a time."""

from typing import Any

import numpy as np

_BLOCK = 16  # resamples at a time
_LEVELS = 1 << 16  # of the random numbers that become Poisson weights


def resampled_totals(
    values: np.ndarray,
    cells: np.ndarray,
    number: int,
    resamples: int,
    seed: int,
    weight: np.ndarray | None = None,
    units: np.ndarray | None = None,
) -> np.ndarray:
    """Return totals of every cell when persons or clusters are drawn again.

    Each unit counts as often as a Poisson number of mean 1 says, divided by the mean of these
    numbers (the Poisson bootstrap, J. A. Hanley and B. MacGibbon 2006). Units with one row are
    drawn by the number of units with equal rows.

    Args:
        values: Zeros and ones, shape (rows,).
        cells: Index of each row's cell, such as its period and group.
        number: Number of cells.
        resamples: Number of resamples.
        seed: Seed.
        weight: Weights of at least 0; None if all rows count alike.
        units: Whole numbers that tell persons or clusters apart; None if all rows are independent.

    Returns:
        Sums of weights and of weighted values, float32 with the shape (resamples, 2, number).
    """
    rng = np.random.default_rng(seed)
    y = np.asarray(values, np.float32)
    w = np.ones(len(y), np.float32) if weight is None else weight.astype(np.float32)
    if units is None:
        place, several = np.zeros(len(y), np.int64), np.zeros(len(y), bool)
    else:
        place = np.unique(units, return_inverse=True)[1]
        several = (np.bincount(place) > 1)[place]
    if weight is not None:  # rows of different weights are not equal
        several = np.ones(len(y), bool)
        place = np.arange(len(y)) if units is None else place
    total = np.zeros((resamples, 2 * number), np.float32)
    drawn = np.zeros(resamples)
    alone = 2 * cells[~several].astype(np.int64) + (y[~several] > 0.0)
    counts = np.bincount(alone, minlength=2 * number)
    size = int(counts.sum())
    if size:
        for first in range(0, resamples, _BLOCK):
            rows = slice(first, min(first + _BLOCK, resamples))
            found = rng.poisson(counts, (rows.stop - first, 2 * number))
            total[rows, number:] += found[:, 1::2]
            total[rows, :number] += found[:, 0::2] + found[:, 1::2]
            drawn[rows] += found.sum(axis=1)
    if several.any():
        matrix = _contributions(place[several], cells[several], number, y[several], w[several])
        size += matrix.shape[1]
        table = _poisson_table()
        for first in range(0, resamples, _BLOCK):
            rows = slice(first, min(first + _BLOCK, resamples))
            shape = (matrix.shape[1], rows.stop - first)
            weights = table[rng.integers(0, _LEVELS, shape, dtype=np.uint16)]
            total[rows] += (matrix @ weights).T
            drawn[rows] += weights.sum(axis=0, dtype=np.float64)
    total *= (size / np.maximum(drawn, 1.0))[:, None].astype(np.float32)
    return total.reshape(resamples, 2, number)


def circular_blocks(steps: int, length: int, resamples: int, seed: int) -> np.ndarray:
    """Return steps drawn again in blocks of neighbours, the last one followed by the first.

    After D. N. Politis and J. P. Romano (1992).

    Args:
        steps: Number of steps.
        length: Length of the blocks.
        resamples: Number of resamples.
        seed: Seed.

    Returns:
        Indices of steps, shape (resamples, steps).

    Examples:
        >>> from fairgym.statistics.resampling import circular_blocks
        >>> circular_blocks(6, 3, 2, seed=1).tolist()
        [[2, 3, 4, 3, 4, 5], [4, 5, 0, 5, 0, 1]]
    """
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, steps, (resamples, -(-steps // length)))
    found = (starts[:, :, None] + np.arange(length)) % steps
    return found.reshape(resamples, -1)[:, :steps]


def critical_value(noise: np.ndarray, level: float, spread: np.ndarray | None = None) -> float:
    """Return how many standard errors all intervals of a family must have at either side.

    It is the quantile of the largest |noise| / standard error (max-t).

    Args:
        noise: Resampled estimates minus their centre, shape (resamples, ...).
        level: Simultaneous confidence level.
        spread: Standard errors, shape (...); None for those of the noise.
    """
    flat = np.nan_to_num(noise.reshape(len(noise), -1))
    own = np.sqrt(np.mean(flat**2, axis=0)) if spread is None else spread.reshape(-1)
    used = np.isfinite(own) & (own > 0.0)
    if not used.any():
        return 0.0
    largest = np.max(np.abs(flat[:, used]) / own[used], axis=1)
    return float(np.quantile(largest, level))


def _contributions(
    units: np.ndarray, cells: np.ndarray, number: int, values: np.ndarray, weight: np.ndarray
) -> Any:
    """Return what each unit adds to each total, a sparse array (2 cells, units)."""
    from scipy.sparse import coo_array  # here: `import fairgym` is quick without it

    order = np.unique(units, return_inverse=True)[1]
    ones = values > 0.0
    rows = np.concatenate([cells, cells[ones] + number])
    columns = np.concatenate([order, order[ones]])
    data = np.concatenate([weight, (weight * values)[ones]])
    return coo_array((data, (rows, columns)), (2 * number, int(order.max()) + 1)).tocsc()


def _poisson_table() -> np.ndarray:
    """Return the Poisson number of mean 1 of every random number of 16 bits."""
    from scipy.special import pdtr

    below = pdtr(np.arange(12), 1.0)
    return np.searchsorted(below, (np.arange(_LEVELS) + 0.5) / _LEVELS).astype(np.float32)
