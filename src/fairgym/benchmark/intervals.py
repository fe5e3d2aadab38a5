"""Estimates over runs with their intervals and numbers of runs."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from fairgym.statistics.intervals import bootstrap_interval

FEWEST = 3  # runs for an interval: of two, a bootstrap interval covers half of the time


@dataclasses.dataclass(frozen=True)
class Interval:
    """An estimate with its 95% interval and the number of runs.

    Attributes:
        value: Interquartile mean over runs, or another estimate; NaN without runs.
        low: Lower limit; NaN with fewer than three runs.
        high: Upper limit.
        n: Number of runs.
    """

    value: float
    low: float
    high: float
    n: int


def iqm(values: Sequence[float]) -> Interval:
    """Return the interquartile mean of runs with its bootstrap interval; NaN are dropped."""
    known = np.array([x for x in values if math.isfinite(x)], np.float64)
    if not known.size:
        return Interval(math.nan, math.nan, math.nan, 0)
    return told(bootstrap_interval(known), known.size, known.size)


def over_tasks(scores: Sequence[np.ndarray]) -> Interval:
    """Return the interquartile mean over the runs of all tasks."""
    counts = list(map(len, scores))
    return told(bootstrap_interval(list(scores)), sum(counts), max(counts))


def told(found: tuple[float, float, float], n: int, most: int) -> Interval:
    """Return an estimate; without limits if no task has enough runs for a bootstrap."""
    value, low, high = found
    return (
        Interval(value, low, high, n) if most >= FEWEST else Interval(value, math.nan, math.nan, n)
    )
