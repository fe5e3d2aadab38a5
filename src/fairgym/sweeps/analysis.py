"""Analysis of sweeps: settings over seeds, and Pareto fronts.

All functions take the rows of `results_of` and the names of the settings that differ.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fairgym.core import FairgymError
from fairgym.statistics.intervals import FEW_SEEDS, bootstrap_interval, interquartile_mean
from fairgym.statistics.learners import front_of
from fairgym.sweeps.results import GAPS, METRICS, Row, has_measure, is_measure
from fairgym.sweeps.sweeping import FINISHED

LEVEL = 0.95


def measures_of(rows: Sequence[Row]) -> list[str]:
    """Return the names of the columns with results of runs."""
    return [name for name in (rows[0] if rows else ()) if is_measure(name)]


def measure_named(rows: Sequence[Row], name: str, field: str) -> str:
    """Return the column of a measure that a user names, such as "profit" for "metrics/profit".

    Raises:
        FairgymError: The rows have no such measure.
    """
    known = measures_of(rows)
    for column in (name, METRICS + name, GAPS + name):
        if column in known:
            return column
    takes = ", ".join(column.removeprefix(METRICS) for column in known)
    raise FairgymError(f"{field} must be a measure of these runs ({takes}), got {name!r}")


def by_setting(rows: Sequence[Row], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row for each setting, over its finished runs.

    Returns:
        Rows with the settings by name, "seeds" (the number of finished runs), and for each measure
        M its interquartile mean as "M" and the limits of its bootstrap 95% CI as "M/low" and
        "M/high". They are None where undefined; with one seed the limits are None. "M/values" has
        the values of two or three seeds, for which an interval says little; otherwise None.
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


# ---------------------------------------------------------------- Pareto front


class Point(NamedTuple):
    """A setting in the plane of two measures.

    Attributes:
        settings: The settings that differ, by name.
        seeds: Number of runs.
        x: Interquartile mean of the first measure.
        y: Interquartile mean of the second measure.
        optimal: Whether it is on the Pareto front: no other setting is at least as good in both
            measures and better in one.
        probability: Bootstrap probability that it is on the front, over resampled seeds.
    """

    settings: Mapping[str, object]
    seeds: int
    x: float
    y: float
    optimal: bool
    probability: float


class Front(NamedTuple):
    """The Pareto front of a sweep in two measures; higher is better in both.

    Attributes:
        points: All settings, ordered by the first measure from the best.
        reference: Reference point (x, y) of the hypervolume.
        hypervolume: Area between the reference and the front.
        low: Lower limit of its bootstrap 95% CI.
        high: Upper limit of its bootstrap 95% CI.
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
    """Return the Pareto front of two measures, with the probability that each setting is on it.

    The bootstrap resamples the runs of each setting with replacement, x and y of a run together,
    and finds the front of the interquartile means, 2,000 times.

    Args:
        rows: Runs; those that are not finished or lack one of the measures do not count.
        names: Settings that differ.
        x: Column of the first measure; higher is better.
        y: Column of the second measure; higher is better.
        reference: Reference point of the hypervolume; by default the worst value of all settings
            in each measure.
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
    worst_x, worst_y = np.min([interquartile_mean(table, axis=0) for table in tables], axis=0)
    start = (float(worst_x), float(worst_y)) if reference is None else reference
    found = front_of(tables, start, LEVEL, seed=seed)
    points = [
        Point(one, len(table), float(a), float(b), bool(best), float(chance))
        for one, table, (a, b), best, chance in zip(
            settings, tables, found.means, found.optimal, found.probability, strict=True
        )
    ]
    points.sort(key=lambda point: (-point.x, -point.y))
    return Front(points, start, found.hypervolume, found.low, found.high)


# ---------------------------------------------------------------- rows


def _grouped(rows: Sequence[Row], names: Sequence[str]) -> list[tuple[dict[str, Any], list[Row]]]:
    """Return settings in order, each with its finished runs."""
    found: dict[tuple[Any, ...], tuple[dict[str, Any], list[Row]]] = {}
    for row in rows:
        settings = {name: row[name] for name in names}
        several = found.setdefault(tuple(settings.values()), (settings, []))[1]
        if row["status"] == FINISHED:
            several.append(row)
    return list(found.values())


def _numbers(rows: Sequence[Row], measure: str) -> np.ndarray:
    return np.array([row[measure] for row in rows if has_measure(row, measure)], np.float64)
