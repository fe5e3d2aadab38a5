"""The loan system's queue: waits as published, and as those wait who are still in it."""

from collections.abc import Sequence

import numpy as np

from fairgym.core import Environment
from fairgym.experiments import _parts as ex
from fairgym.report.results import ratio
from fairgym.training import Evaluation

COLUMNS = (
    "Months; shares of people. The mean wait of those paid out is the published one, which counts"
    " a wait when it ends, and so is the wait disparity; the time in the queue of either group and"
    " its disparity count the months so far of those who are still in it. At the end: the share of"
    " all people who are in the queue, the median of the times that these have waited so far, and"
    " of those of either group who were ever approved the share that was never paid out."
)


def queue(env: Environment, episodes: Sequence[Evaluation]) -> dict[str, np.ndarray]:
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

    def by_group(name: str) -> dict[str, np.ndarray]:
        names = env.metrics[name].numerator, env.metrics[name].denominator
        rates = [ratio(*(getattr(one.totals, each) for each in names)) for one in episodes]
        return {
            group: np.array([mean(one[np.isfinite(one[:, i]), i]) for one in rates])
            for i, group in enumerate(env.spec.groups)
        }

    return {
        "mean wait of those paid out": np.array(wait),
        **{
            f"time in the queue, {group}": months
            for group, months in by_group("queue_time").items()
        },
        **uneven,
        "waiting at the end": np.array(ends["share"]),
        "median wait of these": np.array(ends["median"]),
        **{
            f"never paid out, {group}": 1.0 - share
            for group, share in by_group("served_rate").items()
        },
    }


def mean(values: np.ndarray) -> float:
    """Mean of the values; 0 without any."""
    return float(np.mean(values)) if values.size else 0.0
