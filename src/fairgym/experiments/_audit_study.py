"""How often the audit's intervals of rates, gaps and series contain the true values."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fairgym.audit.groups import sides_of
from fairgym.audit.over_time import course_of, gap_rows, series_by, window_of
from fairgym.audit.parts import Cell, number_of
from fairgym.audit.profiles import with_profile
from fairgym.audit.roles import Roles
from fairgym.audit.schemes import computed, schemes, trace_of
from fairgym.audit.scored import named_schemes
from fairgym.audit.trends import trend
from fairgym.experiments._audit_tables import (
    REFERENCE,
    Case,
    Course,
    Tables,
    design,
    table_of,
    tables,
)
from fairgym.statistics.clusters import correlations, effective_shares
from fairgym.statistics.pairs import pair_gaps
from fairgym.statistics.proportions import (
    Shares,
    difference_interval,
    odds_ratio_interval,
    rate_interval,
    ratio_interval,
)

RESAMPLES = 500  # of the percentile bootstrap
MOST_ROWS = 1_000_000  # at a time
OVER_TIME = with_profile(
    Roles(
        decision="favourable",
        groups=("group",),
        time="period",
        reference=REFERENCE,
        resamples=400,  # of 1,000, to save time
    )
)

Held = dict[str, np.ndarray]
Interval = Callable[[Shares], tuple[Any, Any]]


def table_covered(rng: np.random.Generator, case: Case, replicates: int) -> Held:
    """Return in which tables the intervals contain the true values.

    Returns:
        "rates" (tables, groups); "differences", "ratios" and "odds" against the largest group
        (tables, groups - 1); "pairs" (all gaps at once), "largest" (the largest gap), "bias"
        (of the largest gap) and "bootstrap" (the percentile interval of the largest gap), each
        (tables,); with units or weights, in place of the last, "alone": the rates if all rows count
        as independent.
    """
    most = max(MOST_ROWS // sum(case.sizes), 1)
    found = [_covered(rng, case, part) for part in _parts(replicates, most)]
    return {name: np.concatenate([one[name] for one in found]) for name in found[0]}


def shares_of(made: Tables, groups: int) -> tuple[Shares, np.ndarray]:
    """Return the shares of all tables (tables, groups), and the correlations of their groups."""
    number = len(made.values)
    cells = np.arange(number)[:, None] * groups + made.groups
    units, weight = made.units, made.weight
    if units is not None:
        own = units + np.arange(number)[:, None] * (int(units.max()) + 1)
        flat = effective_shares(
            made.values.ravel(), cells.ravel(), number * groups, _flat(weight), own.ravel()
        )
    else:
        flat = effective_shares(made.values.ravel(), cells.ravel(), number * groups, _flat(weight))
    degrees = np.broadcast_to(flat.degrees, flat.rate.shape)
    shares = Shares(*(one.reshape(number, groups) for one in (flat.rate, flat.n, degrees)))
    rho = np.broadcast_to(np.eye(groups), (number, groups, groups)).copy()
    if units is not None:
        for place in range(number):
            own_weight = None if weight is None else weight[place]
            given = (made.values[place], made.groups, groups, own_weight, units[place])
            between = correlations(*given)
            if between is not None:
                rho[place] = between
    return shares, rho


def bootstrap_largest(
    rng: np.random.Generator, above: np.ndarray, n: np.ndarray, resamples: int = RESAMPLES
) -> tuple[np.ndarray, np.ndarray]:
    """Return the 95% percentile bootstrap interval of the largest gap, as fairlearn makes it.

    All rows of a table are drawn again with replacement; the limits are quantiles of the difference
    between the highest and the lowest rate.

    Args:
        rng: Random number generator.
        above: Favourable decisions, shape (tables, groups).
        n: All decisions, of the same shape; every table has as many.
        resamples: Number of resamples.
    """
    total = int(n[0].sum())
    ends = []
    for first in range(0, len(n), 100):
        some = slice(first, first + 100)
        share = np.concatenate([above[some], n[some] - above[some]], axis=1) / total
        drawn = rng.multinomial(total, share[:, None], (len(share), resamples))
        ones, zeros = np.split(drawn, 2, axis=-1)
        size = ones + zeros
        rate = np.divide(ones, size, out=np.full(size.shape, np.nan), where=size > 0)
        gap = np.nanmax(rate, axis=-1) - np.nanmin(rate, axis=-1)
        ends.append(np.quantile(gap, [0.025, 0.975], axis=-1))
    low, high = np.concatenate(ends, axis=1)
    return low, high


def _covered(rng: np.random.Generator, case: Case, number: int) -> Held:
    groups, rates = len(case.sizes), np.array(case.rates)
    made = tables(rng, case, number)
    shares, rho = shares_of(made, groups)
    n = np.broadcast_to(np.bincount(made.groups), (number, groups))
    cells = np.arange(number)[:, None] * groups + made.groups
    above = np.bincount(cells.ravel(), made.values.ravel(), number * groups)
    above = above.reshape(number, groups)
    alone = Shares.of(above, n)
    reference = int(np.argmax(case.sizes))
    others = np.flatnonzero(np.arange(groups) != reference)
    ours, theirs = shares[:, others], shares[:, [reference] * len(others)]
    between = rho[:, others, reference]
    p, q = rates[others], rates[reference]
    odds = p * (1.0 - q) / (q * (1.0 - p))
    every = pair_gaps(shares, correlations=rho)
    largest = float(np.ptp(rates))
    found = {
        "rates": inside(rates, *rate_interval(shares)),
        "differences": inside(p - q, *difference_interval(ours, theirs, 0.95, between)[1:]),
        "ratios": inside(p / q, *ratio_interval(ours, theirs, 0.95, between)[1:]),
        "odds": inside(odds, *odds_ratio_interval(ours, theirs, 0.95, between)[1:]),
        "pairs": inside(rates[every.first] - rates[every.second], every.low, every.high).all(
            axis=-1
        ),
        "largest": inside(largest, every.largest_low, every.largest_high),
        "bias": every.largest - largest,
    }
    if case.units.number or case.weighted:
        found["alone"] = inside(rates, *rate_interval(alone))
    else:
        found["bootstrap"] = inside(largest, *bootstrap_largest(rng, above, n))
    return found


def rate_coverage(n: int, rates: np.ndarray, interval: Interval = rate_interval) -> np.ndarray:
    """Return the exact coverage of the interval of a rate of n decisions, for true rates."""
    count = np.arange(n + 1)
    low, high = interval(Shares.of(count, np.full(n + 1, n)))
    covered = inside(rates[:, None], low, high)
    return np.sum(_chance(n, rates) * covered, axis=1)


def pair_coverage(n: int, m: int, rates: np.ndarray) -> Held:
    """Return the exact coverage of the intervals of two groups of n and m decisions.

    Args:
        n: Decisions of one group.
        m: Decisions of the reference.
        rates: True rates of both.

    Returns:
        "differences", "ratios" and "odds", each of the shape (rates, rates). Ratios that are
        undefined do not count.
    """
    ours = Shares.of(np.arange(n + 1)[:, None], np.full((n + 1, 1), n))
    theirs = Shares.of(np.arange(m + 1), np.full(m + 1, m))
    p, q = rates[:, None], rates
    truths = {"differences": p - q, "ratios": p / q, "odds": p * (1.0 - q) / (q * (1.0 - p))}
    functions = (difference_interval, ratio_interval, odds_ratio_interval)
    first, second = _chance(n, rates), _chance(m, rates)
    found = {}
    for (name, truth), function in zip(truths.items(), functions, strict=True):
        _, low, high = function(ours, theirs)
        known = ~np.isnan(low)
        covered = np.empty(truth.shape)
        for place in np.ndindex(truth.shape):
            chance = first[place[0]][:, None] * second[place[1]] * known
            right = inside(truth[place], low, high) > 0.0
            covered[place] = chance[right].sum() / chance.sum()
        found[name] = covered
    return found


def course_covered(rng: np.random.Generator, case: Course, replicates: int) -> Held:
    """Return in which tables over time the intervals of the gap contain the true values.

    Returns:
        "differences" and "ratios" (mean over periods), "band" (all periods at once), "cumulative"
        (at the end), "window" (at the end), "trend" and "worst", each (tables,).
    """
    rows, held = design(rng, case), []
    gap, window = case.rates @ np.array([1.0, -1.0]), window_of(case.periods)
    ratio = case.rates[:, 0] / case.rates[:, 1]
    slope = np.array((gap[-1] - gap[0]) / (case.periods - 1))
    names = tuple(map(str, range(case.periods)))
    for _ in range(replicates):
        table = table_of(rng, case, rows)
        series = series_by(table, "group", OVER_TIME)
        (side,) = sides_of(table, "group", OVER_TIME)
        assert series is not None
        course = course_of(table, series, side, OVER_TIME, window)
        gaps = gap_rows(side, course, names, OVER_TIME, window)
        row = trend(course, names, OVER_TIME)
        held.append(
            {
                "differences": _share(gaps, "", gap),
                "ratios": _share(gaps, "ratio_", ratio),
                "band": float(np.nanmin(_held(gaps, "band_", gap))),
                # sizes do not change from period to period
                "cumulative": _share(gaps[-1:], "cumulative_", gap.mean()),
                "window": _share(gaps[-1:], "window_", gap[-window:].mean()),
                "trend": _share([row], "trend_", slope),
                "worst": _share([row], "worst_", gap[int(str(row["worst"]))]),
            }
        )
    return joined(held)


def schemes_covered(rng: np.random.Generator, case: Course, replicates: int) -> Held:
    """Return in which tables over time the intervals of schemes contain the true scores.

    Returns:
        Name of a scheme -> whether the interval contains the score of the true rates (tables,);
        "scores", the same of all schemes (tables, schemes); and "balances", whether those of all
        groups are right.
    """
    rows, held, rates = design(rng, case), [], case.rates
    sizes = np.broadcast_to(np.array(case.sizes, float), rates.shape)
    every = named_schemes(case.periods, float(sizes.sum()))
    scores, _ = computed(tuple(one.scheme for one in every), trace_of(sizes, sizes * rates), None)
    so_far = np.cumsum(rates, axis=0) / np.arange(1, case.periods + 1)[:, None]
    balances = (so_far - so_far.mean(axis=1, keepdims=True)).mean(axis=0)
    for _ in range(replicates):
        table = table_of(rng, case, rows)
        series = series_by(table, "group", OVER_TIME)
        assert series is not None
        found = {part.name: part.rows for part in schemes(table, [series], OVER_TIME)}
        own = {
            str(row["scheme"]): _share([row], "", float(score))
            for row, score in zip(found["schemes"], scores, strict=False)
        }
        held.append(own | {"balances": float(_held(found["balances"], "", balances).min())})
    right = joined(held)
    of_schemes = [right[one.name] for one in every if one.name in right]
    return right | {"scores": np.stack(of_schemes, axis=1)}


def _held(rows: Sequence[Mapping[str, Cell]], prefix: str, truth: np.ndarray | float) -> np.ndarray:
    """Whether the limits of rows contain the true values; NaN where there are none."""
    low, high = (
        np.array([number_of(row, f"{prefix}{end}") for row in rows]) for end in ("low", "high")
    )
    return inside(truth, low, high)


def _share(rows: Sequence[Mapping[str, Cell]], prefix: str, truth: np.ndarray | float) -> float:
    """Share of rows whose limits contain the true values; NaN where there are none."""
    found = _held(rows, prefix, truth)
    return float(np.nanmean(found)) if np.isfinite(found).any() else math.nan


def joined(held: Sequence[Mapping[str, float]]) -> Held:
    """Return names -> one number per table; names that are nowhere known are left out."""
    found = {name: np.array([one[name] for one in held]) for name in held[0]}
    return {name: one for name, one in found.items() if np.isfinite(one).any()}


def inside(truth: np.ndarray | float, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Whether intervals contain the true values, up to rounding; NaN where there is none."""
    slack = 1e-9
    found = (low <= truth + slack) & (truth - slack <= high)
    return np.where(np.isnan(low) | np.isnan(high), np.nan, found)


def _chance(n: int, rates: np.ndarray) -> np.ndarray:
    """Probabilities of 0 to n favourable decisions, shape (rates, n + 1)."""
    from scipy.stats import binom  # here: listing experiments is quick without it

    return binom.pmf(np.arange(n + 1), n, rates[:, None])


def _flat(values: np.ndarray | None) -> np.ndarray | None:
    return None if values is None else values.ravel()


def _parts(replicates: int, most: int) -> Iterator[int]:
    """Split replicates into parts."""
    while replicates > 0:
        yield min(most, replicates)
        replicates -= most
