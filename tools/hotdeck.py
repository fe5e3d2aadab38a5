"""Imputation for surveys: samples from given shares, and from rows that are alike.

Every function takes its random numbers from a generator that the caller seeds
(`fairgym.data.sampling.stream`), so the built files come out the same each time.
"""

from collections.abc import Sequence

import numpy as np

GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
FEWEST_DONORS = 5


def sample_levels(
    shares: np.ndarray, order: Sequence[np.ndarray], rng: np.random.Generator
) -> np.ndarray:
    """Sample a level for each row such that stretches of an order have the shares they should.

    Each row has level k with its own probability. The rows are gone through in the given order
    with the multiples of the golden ratio as random numbers, which fill [0, 1) evenly over any
    stretch: so rows that are alike have their shares of levels up to a row or two, without the
    noise of independent samples.

    Args:
        shares: probability of each level, shape (n, levels); rows sum to 1.
        order: sort keys of shape (n,), most important first; ties are in random order.
        rng: source of n + 1 uniform numbers.

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
    """For each row a row whose value it may take: itself if known, else one that is alike.

    Alike are rows with the same values of all keys; where fewer than five of these are known, the
    last key is left out, and so on; without any key every known row may give.

    Args:
        known: True where the value is known, shape (n,); somewhere it must be.
        keys: sort of row by several criteria, most important first, shape (n,) each.
        rng: source of the choice of donors.

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
