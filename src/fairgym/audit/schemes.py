"""Fairness schemes of logged decisions: scores, balances, and their intervals."""

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from fairgym.audit.parts import Cell, Column, Part
from fairgym.audit.roles import Roles
from fairgym.audit.scored import NAMES, RATE, named_schemes, schemes_of_persons
from fairgym.audit.table import Decisions
from fairgym.core import Components
from fairgym.fairness.aggregations import Aggregation, Last, Least, RelaxedParity
from fairgym.fairness.extended import StakeholderFirst, TimepointFirst
from fairgym.fairness.filters import Counter, EachTime
from fairgym.fairness.rates import RateSoFar
from fairgym.fairness.schemes import Scheme
from fairgym.fairness.tables import declared
from fairgym.statistics.resampling import critical_value
from fairgym.statistics.series import Series

MOST_PERSONS = 4_000_000  # persons times periods
PERSONS = "persons"


def schemes(decisions: Decisions, every: Sequence[Series], roles: Roles) -> list[Part]:
    """Return the scores of all schemes by group and by person, and the groups' balances."""
    rows: list[dict[str, Cell]] = []
    balances: list[dict[str, Cell]] = []
    for series in every:
        more, own = _of_groups(series, roles.level)
        rows += more
        balances += own
    rows += _of_persons(decisions)
    columns = (
        Column("grouping", "by"),
        Column("title", "scheme"),
        Column("score", "score", "", ("low", "high")),
    )
    about = (
        "Schemes (U, W, B) of Alamdari et al. (2024) over all periods; more is better. Parity is"
        " minus the largest gap between rates so far, welfare is that of the rates or totals at the"
        f" end. {roles.level:.0%} intervals are those scores that simultaneous intervals of all"
        " groups' status allow, so that chance alone is not told as a gap."
    )
    found = [Part("schemes", "Fairness schemes", about, rows, columns)]
    if balances:
        found.append(_balances_part(balances, roles))
    return found


def trace_of(n: np.ndarray, favourable: np.ndarray) -> Components:
    """Return components of the shape (..., periods, stakeholders)."""
    values = (jnp.asarray(one, jnp.float32) for one in (n, favourable))
    return declared(NAMES, "group")(**dict(zip(NAMES, values, strict=True)))


@functools.partial(jax.jit, static_argnums=0)  # one program for all schemes
def computed(
    every: tuple[Scheme, ...], trace: Components, drawn: Components | None
) -> tuple[list[Array], dict[int, list[Array]]]:
    """Return the scores of schemes, and the course of their status in resamples.

    Args:
        every: The schemes.
        trace: Components of the shape (periods, stakeholders).
        drawn: Resampled components, (resamples, periods, stakeholders); None without.

    Returns:
        `(scores, statuses)`: for the first scheme of every status function its U after each
        period, of the trace and, if there are any, of all resamples.
    """
    length = jnp.asarray(jax.tree.leaves(trace)[0].shape[0])
    found: dict[int, list[Array]] = {}
    for place, scheme in enumerate(every):
        if scheme.status not in [one.status for one in every[:place]]:
            course = functools.partial(_course, scheme, length)
            found[place] = [course(trace)]
            found[place] += [jax.vmap(course)(drawn)] if drawn is not None else []
    return [scheme.of_trace(trace)[0] for scheme in every], found


def _course(scheme: Scheme, length: Array, trace: Components) -> Array:
    return scheme.course(trace, length)[1]


def _of_groups(series: Series, level: float) -> tuple[list[dict[str, Cell]], list[dict[str, Cell]]]:
    """Scores of a grouping's schemes, and the balances of its groups."""
    groups, rows = series.groups, []
    trace = trace_of(series.n[:, :groups], series.favourable[:, :groups])
    drawn = None
    if series.drawn is not None:
        drawn = trace_of(series.drawn[:, 0, :, :groups], series.drawn[:, 1, :, :groups])
    periods, n = len(series.n), series.n[:, :groups]
    every = [
        one for one in named_schemes(periods, float(n.sum())) if _assessed(one.scheme, n).any()
    ]
    scores, courses = computed(tuple(one.scheme for one in every), trace, drawn)
    known = {
        every[place].scheme.status: [np.asarray(one, np.float64) for one in course]
        for place, course in courses.items()
    }
    for one, score in zip(every, scores, strict=True):
        row: dict[str, Cell] = {"grouping": series.grouping, "scheme": one.name}
        row |= {"title": one.title, "score": float(score)}
        if drawn is not None:
            low, high = _limits(one.scheme, known[one.scheme.status], series, level)
            row |= {"low": low, "high": high}
        rows.append(row)
    own = [_overall(one) for one in known[RATE]]
    half = _half(own, level, series.stretch)
    balances: list[dict[str, Cell]] = []
    for g in range(groups):
        row = {"grouping": series.grouping, "group": series.names[g]}
        row |= {"balance": float(own[0][g]) / periods}
        if drawn is not None:
            row |= {"low": float(own[0][g] - half[g]) / periods}
            row |= {"high": float(own[0][g] + half[g]) / periods}
        balances.append(row)
    return rows, balances


def _overall(status: np.ndarray) -> np.ndarray:
    """Overall unfairness to each stakeholder, of status (..., periods, stakeholders)."""
    return (status - status.mean(axis=-1, keepdims=True)).sum(axis=-2)


def _half(pair: Sequence[np.ndarray], level: float, stretch: float) -> np.ndarray:
    """Half the widths of simultaneous intervals of an estimate with resamples (max-t)."""
    if len(pair) < 2:
        return np.full(pair[0].shape, np.nan)
    noise = pair[1] - pair[0]
    noise -= noise.mean(axis=0)
    return stretch * critical_value(noise, level) * np.sqrt(np.mean(noise**2, axis=0))


def _limits(
    scheme: Scheme, status: Sequence[np.ndarray], series: Series, level: float
) -> tuple[float, float]:
    """Least and greatest score that the simultaneous intervals of the status allow."""
    extended = scheme.extended
    if isinstance(extended, StakeholderFirst):
        own = [_overall(one) for one in status]
        size, half = np.abs(own[0]), _half(own, level, series.stretch)
        return -float(((size + half) ** 2).sum()), -float((np.maximum(size - half, 0) ** 2).sum())
    assert isinstance(extended, TimepointFirst)
    where = np.flatnonzero(_assessed(scheme, series.n[:, : series.groups]))
    if isinstance(extended.temporal, Last):
        where = where[-1:]
    every = [one[..., where, :] for one in status]
    if isinstance(extended.aggregation, RelaxedParity):
        first, second = np.triu_indices(series.groups, 1)
        gaps = [one[..., first] - one[..., second] for one in every]
        size, half = np.abs(gaps[0]), _half(gaps, level, series.stretch)
        low, high = (size + half).max(axis=-1), np.maximum(size - half, 0.0).max(axis=-1)
        fold = _fold(extended.temporal)
        return -fold(np.minimum(low, 1.0)), -fold(high)
    half = _half(every, level, series.stretch)[0]
    ends = [np.maximum(every[0][0] + way, 0.0) for way in (-half, half)]
    if isinstance(scheme.status, RateSoFar):
        ends = [np.minimum(one, 1.0) for one in ends]
    low, high = (_value(extended.aggregation, end) for end in ends)
    return low, high


def _fold(temporal: object) -> Callable[[np.ndarray], float]:
    """Aggregate of sizes of gaps over time, of which minus is the score."""
    return lambda sizes: float(sizes.max() if isinstance(temporal, Least) else sizes.mean())


def _value(aggregation: Aggregation, status: np.ndarray) -> float:
    return float(aggregation(jnp.asarray(status, jnp.float32)))


def _assessed(scheme: Scheme, n: np.ndarray) -> np.ndarray:
    """Return after which periods a scheme assesses, for the filters of `named_schemes`."""
    if isinstance(scheme.when, Counter):
        return (np.arange(len(n)) + 1) % scheme.when.period == 0
    if isinstance(scheme.when, EachTime):
        reached = np.floor(np.cumsum(n.sum(axis=1)) / scheme.when.amount + 1e-6)
        return np.diff(np.concatenate([[0.0], reached])) > 0.0
    return np.ones(len(n), bool)


def _of_persons(decisions: Decisions) -> list[dict[str, Cell]]:
    """Scores by person, who are all of the table: without intervals."""
    periods, person = decisions.periods, decisions.person
    if periods is None or person is None:
        return []
    rows = np.flatnonzero(periods.codes >= 0)
    _, who = np.unique(person[rows], return_inverse=True)
    size, persons = len(periods.names), int(who.max(initial=-1)) + 1
    if persons < 2 or persons == len(rows) or persons * size > MOST_PERSONS:
        return []
    cells = periods.codes[rows].astype(np.int64) * persons + who
    n, favourable = (
        np.bincount(cells, one, size * persons).reshape(size, persons)
        for one in (np.ones(len(rows)), decisions.favourable[rows])
    )
    trace = trace_of(n, favourable)
    every = schemes_of_persons()
    scores, _ = computed(tuple(one.scheme for one in every), trace, None)
    return [
        {
            "grouping": f"{persons:,} {PERSONS}",
            "scheme": one.name,
            "title": one.title,
            "score": float(score),
        }
        for one, score in zip(every, scores, strict=True)
    ]


def _balances_part(rows: list[dict[str, Cell]], roles: Roles) -> Part:
    columns = (
        Column("grouping", "by"),
        Column("group", "group"),
        Column("balance", "balance", "points", ("low", "high"), True),
    )
    about = (
        "Each group's rate so far minus the mean of all groups, on average over the periods: below"
        " 0 the group was treated worse, above 0 better; both can cancel out over time (stakeholder"
        f" first). Simultaneous {roles.level:.0%} intervals."
    )
    return Part("balances", "Balances of the groups", about, rows, columns)
