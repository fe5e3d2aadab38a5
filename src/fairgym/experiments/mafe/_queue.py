"""The loan system's queue: waits as published, and as those wait who are still in it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairgym import experiments as ex

COLUMNS = (
    "Months; shares of people. The mean wait of those paid out is the published one, which counts"
    " a wait when it ends, and so is the wait disparity; the time in the queue and its disparity"
    " count the months so far of those who are still in it. At the end: the share of all people"
    " who are in the queue, the median of the times that these have waited so far, and of those"
    " ever approved the share that was never paid out."
)


def queue(episodes: Sequence[Any]) -> dict[str, np.ndarray]:
    """Measures of the queue by words, one number per seed; luck is (seeds, permutations).

    Args:
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
    return {
        "mean wait of those paid out": np.array(wait),
        "time in the queue": 0.0 - means(episodes, "queue_time"),
        **uneven,
        "waiting at the end": np.array(ends["share"]),
        "median wait of these": np.array(ends["median"]),
        "never paid out": 1.0 - means(episodes, "served_rate"),
    }


def means(episodes: Sequence[Any], name: str) -> np.ndarray:
    """Mean of a metric over the episodes in which it is defined, by seed; 0 without any."""
    return np.array([mean(one.metrics[name][one.defined[name]]) for one in episodes])


def mean(values: np.ndarray) -> float:
    """Mean of the values; 0 without any."""
    return float(np.mean(values)) if values.size else 0.0
