"""Imputation for surveys: samples from given shares, and from similar rows.

Random numbers come from a generator that the caller seeds (`fairgym.data.sampling.stream`), so the
built files are the same each time.
"""

from collections.abc import Sequence

import numpy as np

GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
FEWEST_DONORS = 5


def sample_levels(
    shares: np.ndarray, order: Sequence[np.ndarray], rng: np.random.Generator
) -> np.ndarray:
    """Sample a level for each row such that every stretch of an order has the right shares.

    Each row has level k with its own probability. Rows are processed in the given order, with
    multiples of the golden ratio as random numbers. These fill [0, 1) evenly over any stretch, so
    that similar rows have the right shares up to a row or two, without the noise of independent
    samples.

    Args:
        shares: Probability of each level, shape (n, levels); rows sum to 1.
        order: Sort keys of shape (n,), most important first; ties are in random order.
        rng: Generator; n + 1 uniform numbers are drawn.

    Returns:
        Level numbers, shape (n,).
    """
    ties = rng.random(len(shares))
    index = np.lexsort((ties, *reversed(order)))
    position = np.empty(len(shares))
    position[index] = (rng.random() + GOLDEN * np.arange(len(shares))) % 1.0
    passed = np.cumsum(shares, axis=1)[:, :-1] <= position[:, None]
    return passed.sum(axis=1)


def donors_alike(
    known: np.ndarray, keys: Sequence[np.ndarray], rng: np.random.Generator
) -> np.ndarray:
    """Return for each row a donor row: itself if its value is known, else a similar row.

    Similar rows have the same values of all keys. If fewer than five of them are known, the last
    key is dropped, and so on; without any key every known row is a donor.

    Args:
        known: True where the value is known, shape (n,); at least one must be.
        keys: Criteria of similarity, most important first, shape (n,) each.
        rng: Generator for the choice of donors.

    Returns:
        Row numbers, shape (n,).
    """
    donor = np.arange(len(known))
    waiting = ~known
    for used in range(len(keys), -1, -1):
        cell = np.zeros(len(known), np.int64)
        for key in keys[:used]:
            cell = cell * (int(key.max()) + 1) + key.astype(np.int64)
        for one in np.unique(cell[waiting]):
            inside = cell == one
            givers = np.flatnonzero(inside & known)
            if len(givers) >= (FEWEST_DONORS if used else 1):
                takers = np.flatnonzero(inside & waiting)
                donor[takers] = rng.choice(givers, len(takers))
                waiting[takers] = False
    return donor
