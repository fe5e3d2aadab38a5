"""Analysis of sweeps: settings over seeds, and those that none beats.

All functions take the rows of `results_of` and the names of the settings that differ.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fairgym.core import FairgymError
from fairgym.statistics.comparisons import hypervolume, non_dominated
from fairgym.statistics.intervals import bootstrap_interval, interquartile_mean
from fairgym.sweeps.results import GAPS, METRICS, Row, has_measure, is_measure
from fairgym.sweeps.sweeping import FINISHED

RESAMPLES = 2000  # of the seeds of each setting
LEVEL = 0.95
FEW_SEEDS = 3  # up to so many are told one by one beside their interval


def measures_of(rows: Sequence[Row]) -> list[str]:
    """Names of the columns that hold what runs came to."""
    return [name for name in (rows[0] if rows else ()) if is_measure(name)]


def measure_named(rows: Sequence[Row], name: str, field: str) -> str:
    """Column of a measure that a user names, such as "profit" for "metrics/profit".

    Raises:
        FairgymError: There is no such measure in the rows.
    """
    known = measures_of(rows)
    for column in (name, METRICS + name, GAPS + name):
        if column in known:
            return column
    takes = ", ".join(column.removeprefix(METRICS) for column in known)
    raise FairgymError(f"{field} must be one of {takes} of these runs, got {name!r}")


def by_setting(rows: Sequence[Row], names: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each setting, over its finished runs.

    Returns:
        The settings by name, "seeds", the number of finished runs, and for each measure M its
        interquartile mean as "M", and the limits of its bootstrap 95% interval as "M/low" and
        "M/high": None where it is undefined, as are the limits with one seed. "M/values" has the
        values of two or three seeds, over which an interval says little; None with fewer or more.
    """
    found = []
    for settings, several in _grouped(rows, names):
        row = {**settings, "seeds": len(several)}
        for measure in measures_of(rows):
            values = _numbers(several, measure)
            estimate = (math.nan,) * 3
            if len(values):
                estimate = bootstrap_interval(values)
            for ending, number in zip(("", "/low", "/high"), estimate, strict=True):
                row[measure + ending] = number if math.isfinite(number) else None
            few = 2 <= len(values) <= FEW_SEEDS
            row[f"{measure}/values"] = values.tolist() if few else None
        found.append(row)
    return found


# ---------------------------------------------------------------- what none beats


class Point(NamedTuple):
    """A setting by two measures.

    Attributes:
        settings: The settings that differ, by name.
        seeds: Number of its runs.
        x: Interquartile mean of the first measure.
        y: Interquartile mean of the second.
        optimal: True if no other setting is at least as good in both and better in one.
        probability: Share of the resamples of seeds in which it is so.
    """

    settings: Mapping[str, object]
    seeds: int
    x: float
    y: float
    optimal: bool
    probability: float


class Front(NamedTuple):
    """The Pareto front of a sweep, for two measures of which more is better.

    Attributes:
        points: All settings, the best in the first measure first.
        reference: The point (x, y) that the hypervolume is counted from.
        hypervolume: Area between the reference and the front.
        low: Lower limit of its bootstrap 95% interval.
        high: Upper limit.
    """

    points: list[Point]
    reference: tuple[float, float]
    hypervolume: float
    low: float
    high: float


def pareto(
    rows: Sequence[Row],
    names: Sequence[str],
    x: str,
    y: str,
    reference: tuple[float, float] | None = None,
    seed: int = 0,
) -> Front:
    """The settings that no other one beats in two measures, and how surely.

    A setting's runs are resampled with replacement, x and y of a run together, and the front is
    found anew among the interquartile means: 2,000 times.

    Args:
        rows: The runs; those that are not finished, or lack one of the measures, do not count.
        names: The settings that differ.
        x: Column of the first measure, more is better.
        y: Column of the second.
        reference: Point that the hypervolume is counted from; by default the worst of all
            settings in each measure.
        seed: Seed of the resampling.

    Raises:
        FairgymError: No run has both measures.
    """
    settings, tables = [], []
    for one, several in _grouped(rows, names):
        pairs = np.array(
            [(row[x], row[y]) for row in several if has_measure(row, x) and has_measure(row, y)]
        )
        if len(pairs):
            settings.append(one)
            tables.append(pairs.astype(np.float64))
    if not tables:
        raise FairgymError(f"no finished run has both {x} and {y}")
    means = np.array([interquartile_mean(table, axis=0) for table in tables])
    rng = np.random.default_rng(seed)
    drawn = np.empty((RESAMPLES, len(tables), 2))
    for place, table in enumerate(tables):
        picked = table[rng.integers(len(table), size=(RESAMPLES, len(table)))]
        drawn[:, place] = interquartile_mean(picked, axis=1)
    on_front = np.mean([non_dominated(one) for one in drawn], axis=0)
    worst_x, worst_y = means.min(axis=0).tolist()
    start = (worst_x, worst_y) if reference is None else reference
    low, high = np.quantile(
        [hypervolume(one, start) for one in drawn], [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    )
    optimal = non_dominated(means)
    points = [
        Point(one, len(table), float(a), float(b), bool(best), float(chance))
        for one, table, (a, b), best, chance in zip(
            settings, tables, means, optimal, on_front, strict=True
        )
    ]
    points.sort(key=lambda point: (-point.x, -point.y))
    return Front(points, start, hypervolume(means, start), float(low), float(high))


# ---------------------------------------------------------------- rows


def _grouped(rows: Sequence[Row], names: Sequence[str]) -> list[tuple[dict[str, Any], list[Row]]]:
    """Settings in their order, each with its finished runs."""
    found: dict[tuple[Any, ...], tuple[dict[str, Any], list[Row]]] = {}
    for row in rows:
        settings = {name: row[name] for name in names}
        several = found.setdefault(tuple(settings.values()), (settings, []))[1]
        if row["status"] == FINISHED:
            several.append(row)
    return list(found.values())


def _numbers(rows: Sequence[Row], measure: str) -> np.ndarray:
    return np.array([row[measure] for row in rows if has_measure(row, measure)], np.float64)
