"""Analysis of sweeps: settings over seeds, those that none beats, and shares of variance.

All functions take the rows of `results_of` and the names of the settings that differ.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fairgym.core import FairgymError
from fairgym.statistics.comparisons import explained, hypervolume, non_dominated
from fairgym.statistics.intervals import bootstrap_interval, interquartile_mean
from fairgym.sweeps.results import GAPS, METRICS, is_measure
from fairgym.sweeps.sweeping import FINISHED

RESAMPLES = 2000  # of the seeds of each setting
PERMUTATIONS = 500  # of all runs
LEVEL = 0.95
SEEDS, REST = "seeds", "all others together"

Row = Mapping[str, Any]


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
    raise FairgymError(f"{field} is {name!r}; of these runs it takes one of {takes}")


def by_setting(rows: Sequence[Row], names: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each setting, over its finished runs.

    Returns:
        The settings by name, "seeds", the number of finished runs, and for each measure M its
        interquartile mean as "M", and the limits of its bootstrap 95% interval as "M/low" and
        "M/high": None where it is undefined, as are the limits with one seed.
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
        pairs = np.array([(row[x], row[y]) for row in several if _has(row, x) and _has(row, y)])
        if len(pairs):
            settings.append(one)
            tables.append(pairs.astype(np.float64))
    if not tables:
        raise FairgymError(f"no finished run has both {x} and {y}; it takes one at least")
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


# ---------------------------------------------------------------- what matters how much


class Share(NamedTuple):
    """Part of the variance of a measure over the runs of a sweep.

    Attributes:
        measure: Column of the measure.
        factor: Setting, or two settings whose joint effect is meant, beyond that of each;
            settings that change together are one. Or "seeds", for runs with equal settings, and
            "all others together", for effects of three settings and more.
        share: Sum of squares as a share of all of it.
        luck: Mean of the share if nothing but chance told the runs apart; NaN for the last two.
        bound: Share that luck stays below in 95% of the permutations; likewise.
    """

    measure: str
    factor: str
    share: float
    luck: float
    bound: float

    @property
    def clear(self) -> bool:
        """True if luck alone seldom makes so much."""
        return self.share > self.bound


class Effects(NamedTuple):
    """Shares of variance of a sweep.

    Attributes:
        shares: For each measure the settings, pairs of them, seeds and the rest.
        crossed: True if every combination has equally many runs, so that shares add up to 1;
            otherwise those of different settings overlap.
        constant: Measures that are equal in all runs, and have no shares.
    """

    shares: list[Share]
    crossed: bool
    constant: list[str]


def effects(
    rows: Sequence[Row], names: Sequence[str], measures: Sequence[str], seed: int = 0
) -> Effects:
    """Share of the variance of measures that each setting makes, alone and in pairs.

    The share of a setting is the sum of squares of the means by its values, over the total one: the
    correlation ratio, and in a crossed design the first-order index of Sobol. That of a pair is the
    same of the means by both, less the shares of each. Beside it stands what luck makes: the mean
    under permutations of the runs (of a pair those of what its two settings leave), and the bound
    of 95% of them.

    Args:
        rows: The runs; those that are not finished do not count.
        names: The settings that differ.
        measures: Columns; runs without a value are left out of that measure.
        seed: Seed of the permutations.

    Raises:
        FairgymError: Fewer than three runs are finished.
    """
    finished = [row for row in rows if row["status"] == FINISHED]
    if len(finished) < 3:
        raise FairgymError(f"{len(finished)} runs are finished; effects take three at least")
    factors = _factors(finished, names)
    cells = _codes(list(zip(*factors.values(), strict=True)), len(finished))
    sizes = np.bincount(cells)
    levels = math.prod(len(set(codes.tolist())) for codes in factors.values())
    shares: list[Share] = []
    constant = []
    for measure in measures:
        known = np.array([_has(row, measure) for row in finished])
        y = np.array([row[measure] for row in finished if _has(row, measure)], np.float64)
        if len(y) < 3 or np.ptp(y) == 0.0:
            constant.append(measure)
            continue
        here = {name: codes[known] for name, codes in factors.items()}
        shares += _shares_of(measure, y, here, cells[known], np.random.default_rng(seed))
    crossed = len(sizes) == levels and len(set(sizes.tolist())) == 1
    return Effects(shares, crossed, constant)


def _shares_of(
    measure: str,
    y: np.ndarray,
    factors: Mapping[str, np.ndarray],
    cells: np.ndarray,
    rng: np.random.Generator,
) -> list[Share]:
    """Shares of one measure."""
    draws = np.stack([rng.permutation(len(y)) for _ in range(PERMUTATIONS)])
    found = []
    for name, codes in factors.items():
        share = float(explained(y, codes))
        found.append(_beside_luck(measure, name, share, explained(y[draws], codes)))
    for one, two in itertools.combinations(factors, 2):
        both = _codes(list(zip(factors[one], factors[two], strict=True)), len(y))
        if len(set(both.tolist())) in (len(set(factors[k].tolist())) for k in (one, two)):
            continue  # no joint effect can be told from those of each

        def joint(values: np.ndarray, one: str = one, two: str = two, both: Any = both) -> Any:
            each = explained(values, factors[one]) + explained(values, factors[two])
            return explained(values, both) - each

        left = y - _means(y, factors[one]) - _means(y, factors[two]) + y.mean()
        # shares of what is left are brought back to shares of everything
        scale = float(np.var(left) / np.var(y))
        name = f"{one} x {two}"
        found.append(_beside_luck(measure, name, float(joint(y)), scale * joint(left[draws])))
    within = 1.0 - explained(y, cells)
    rest = 1.0 - within - sum(share.share for share in found)
    found.append(Share(measure, SEEDS, float(within), math.nan, math.nan))
    if len(factors) > 2:
        found.append(Share(measure, REST, float(rest), math.nan, math.nan))
    return found


def _beside_luck(measure: str, name: str, share: float, draws: np.ndarray) -> Share:
    bound = float(np.quantile(draws, LEVEL))
    return Share(measure, name, share, float(np.mean(draws)), bound)


def _means(y: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """For each run the mean of its group."""
    return (np.bincount(codes, y) / np.maximum(np.bincount(codes), 1))[codes]


def _factors(rows: Sequence[Row], names: Sequence[str]) -> dict[str, np.ndarray]:
    """Settings -> value of each run as a code; those that change together under one name."""
    found: dict[tuple[int, ...], list[str]] = {}
    for name in names:
        codes = _codes([row[name] for row in rows], len(rows))
        if codes.max() > 0:
            found.setdefault(tuple(codes.tolist()), []).append(name)
    return {" and ".join(several): np.array(codes) for codes, several in found.items()}


def _codes(values: Sequence[object], count: int) -> np.ndarray:
    """Numbers from 0 for equal values, in the order of their first mention."""
    numbers: dict[Any, int] = {}
    if not values:  # nothing tells the runs apart
        return np.zeros(count, int)
    return np.array([numbers.setdefault(value, len(numbers)) for value in values])


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


def _has(row: Row, measure: str) -> bool:
    value = row.get(measure)
    return row["status"] == FINISHED and value is not None and math.isfinite(value)


def _numbers(rows: Sequence[Row], measure: str) -> np.ndarray:
    return np.array([row[measure] for row in rows if _has(row, measure)], np.float64)
