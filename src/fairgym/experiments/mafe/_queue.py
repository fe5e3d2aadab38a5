"""The loan system's queue: waits as published, and as those wait who are still in it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fairgym import experiments as ex
from fairgym.core import Environment

Counted = Callable[[Any], np.ndarray]  # of an episode's sums: (episodes, groups)

COLUMNS = (
    "Months; shares of people. The mean wait of those paid out is the published one, which counts"
    " a wait when it ends, and so is the wait disparity; the time in the queue of either group and"
    " its disparity count the months so far of those who are still in it. At the end: the share of"
    " all people who are in the queue, the median of the times that these have waited so far, and"
    " of those of either group who were ever approved the share that was never paid out."
)


def queue(env: Environment, episodes: Sequence[Any]) -> dict[str, np.ndarray]:
    """Measures of the queue by words, one number per seed; luck is (seeds, permutations).

    Args:
        env: The loan system.
        episodes: Held-out episodes of each seed, measured under permutations.
    """
    ends: dict[str, list[float]] = {"share": [], "median": []}
    for found in episodes:
        last = {
            name: found.waits["waiting"][name][np.arange(found.episodes), found.lengths, -1]
            for name in ends
        }
        ends["share"].append(last["share"].mean())
        ends["median"].append(mean(last["median"][last["share"] > 0.0]))
    uneven = {}
    for column in ("wait disparity", "queue disparity"):
        values, luck = ex.disparity(episodes, column.replace(" ", "_"))
        uneven |= {column: values, column + ex.BY_LUCK: luck}
    wait = [found.totals.waited.sum() / found.totals.disbursed.sum() for found in episodes]

    def by_group(words: str, count: Counted, among: Counted) -> dict[str, np.ndarray]:
        sums = [[of(found.totals).sum(axis=0) for of in (count, among)] for found in episodes]
        rates = np.array([counted / np.maximum(everybody, 1.0) for counted, everybody in sums])
        return {f"{words}, {group}": rates[:, i] for i, group in enumerate(env.groups)}

    return {
        "mean wait of those paid out": np.array(wait),
        **by_group("time in the queue", lambda sums: sums.waiting, lambda sums: sums.approved),
        **uneven,
        "waiting at the end": np.array(ends["share"]),
        "median wait of these": np.array(ends["median"]),
        **by_group(
            "never paid out",
            lambda sums: sums.first_approved - sums.first_disbursed,
            lambda sums: sums.first_approved,
        ),
    }


def means(episodes: Sequence[Any], name: str) -> np.ndarray:
    """Mean of a metric over the episodes in which it is defined, by seed; 0 without any."""
    return np.array([mean(one.metrics[name][one.defined[name]]) for one in episodes])


def mean(values: np.ndarray) -> float:
    """Mean of the values; 0 without any."""
    return float(np.mean(values)) if values.size else 0.0
