"""Decisions counted by period and group, with resamples of persons, clusters, rows or periods."""

import dataclasses
import functools

import numpy as np

from fairgym.audit.groups import compared
from fairgym.audit.roles import Roles
from fairgym.audit.sides import MOST, Side
from fairgym.audit.table import Decisions
from fairgym.statistics.clusters import effective_shares
from fairgym.statistics.proportions import Shares, normal_quantile
from fairgym.statistics.resampling import circular_blocks, critical_value, resampled_totals

PERIODS_OF_BLOCKS = 20  # from which blocks of periods are drawn if there are no ids
MOST_NUMBERS = 40_000_000  # of resampled totals
SMALLEST_SPREAD = 1e-9

UNITS, ROWS, BLOCKS = "units", "rows", "blocks"


@dataclasses.dataclass(frozen=True)
class Series:
    """Decisions of a grouping's compared groups by period, and resamples of them.

    Attributes:
        grouping: Column with the groups.
        names: Names of the groups; with a pooled reference a last one, "", for all further ones.
        n: Decisions (sums of weights), float64 with the shape (periods, groups).
        favourable: Favourable decisions, of the same shape.
        kind: What is drawn again: "units" (persons, clusters), "rows", or "blocks" of periods.
        drawn: Totals of the resamples, (resamples, 2, periods, groups): all, favourable; None if
            there would be too many numbers.
    """

    grouping: str
    names: tuple[str, ...]
    n: np.ndarray
    favourable: np.ndarray
    kind: str
    drawn: np.ndarray | None

    @property
    def groups(self) -> int:
        """Number of compared groups."""
        return len(self.names) - (self.names[-1:] == ("",))

    def totals(self, side: Side, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return totals (..., periods) of a group and of its reference, of totals by group."""
        ours = totals[..., self.names.index(side.group)]
        if side.reference in self.names:
            return ours, totals[..., self.names.index(side.reference)]
        return ours, totals.sum(axis=-1) - ours


def series_of(decisions: Decisions, grouping: str, roles: Roles) -> Series | None:
    """Return the series of a grouping; None without two groups to compare."""
    periods, codes = decisions.periods, decisions.groupings[grouping]
    used = np.flatnonzero(compared(decisions, grouping, roles))
    if periods is None or len(used) < 2:
        return None
    if len(used) > MOST + 1:
        largest = np.argsort(-codes.counts()[used], kind="stable")
        used = np.sort(used[largest[: MOST + 1]])
    names = [codes.names[group] for group in used]
    place = np.full(len(codes.names) + 1, -1)
    if roles.reference == "pooled":
        place[:-1] = len(used)
        names.append("")
    place[used] = np.arange(len(used))
    group = place[codes.codes]
    rows = np.flatnonzero((group >= 0) & (periods.codes >= 0))
    size, groups = len(periods.names), len(names)
    cells = periods.codes[rows].astype(np.int64) * groups + group[rows]
    weight, units = (
        None if one is None else one[rows] for one in (decisions.weight, decisions.units)
    )
    values = decisions.favourable[rows]
    w = np.ones(len(rows)) if weight is None else weight
    n, favourable = (
        np.bincount(cells, one, size * groups).reshape(size, groups) for one in (w, w * values)
    )
    kind = UNITS if units is not None else BLOCKS if size >= PERIODS_OF_BLOCKS else ROWS
    drawn = None
    if 2 * roles.resamples * size * groups <= MOST_NUMBERS:
        if kind == BLOCKS:
            order = circular_blocks(size, block_length(size), roles.resamples, roles.seed)
            drawn = np.stack([n[order], favourable[order]], axis=1)
        else:
            given = (values, cells, size * groups, roles.resamples, roles.seed, weight, units)
            drawn = resampled_totals(*given).reshape(roles.resamples, 2, size, groups)
    return Series(grouping, tuple(names), n, favourable, kind, drawn)


def block_length(periods: int) -> int:
    """Return the length of blocks: the cube root of the number of periods."""
    return max(round(periods ** (1.0 / 3.0)), 1)


@dataclasses.dataclass(frozen=True)
class GapSeries:
    """The gap of a group to its reference by period.

    Attributes:
        ours: Shares of the group, shape (periods,), with effective numbers.
        theirs: Shares of the reference.
        noise: Resampled gaps minus the gaps, (resamples, periods); 0 where unknown.
        cumulative: Sums over the periods so far: ours, theirs, and the standard error of the
            difference, which is NaN if the decisions are independent.
        window: The same of the last periods.
        level: Confidence level.
        band_level: Level of the intervals of single periods that together have that level.
    """

    ours: Shares
    theirs: Shares
    noise: np.ndarray
    cumulative: tuple[Shares, Shares, np.ndarray]
    window: tuple[Shares, Shares, np.ndarray]
    level: float
    band_level: float

    @functools.cached_property
    def gap(self) -> np.ndarray:
        """Gap by period, NaN without decisions of both."""
        return self.ours.rate - self.theirs.rate


def gap_series(
    decisions: Decisions, series: Series, side: Side, roles: Roles, window: int
) -> GapSeries:
    """Return the gap of a group by period.

    Args:
        decisions: The decisions.
        series: Series of the grouping.
        side: The group and its reference.
        roles: Settings.
        window: Number of periods of the sliding windows.
    """
    ours, theirs = _shares(decisions, side, len(series.n))
    totals = [series.totals(side, one) for one in (series.n, series.favourable)]
    numbers = [(ours.n, theirs.n), totals]
    drawn = None
    if series.drawn is not None and series.kind != BLOCKS:
        drawn = [series.totals(side, series.drawn[:, place]) for place in (0, 1)]
    gap = ours.rate - theirs.rate
    if drawn is not None:
        noise = np.nan_to_num(_difference(drawn) - gap)
    else:
        noise = _independent_noise(ours, theirs, series.kind, roles)
    if series.kind == UNITS and drawn is not None:
        c = critical_value(noise, roles.level)
        band_level = max(_coverage(c), roles.level)
    else:
        band_level = roles.level ** (1.0 / max(int(np.isfinite(gap).sum()), 1))

    def summed(width: int) -> tuple[Shares, Shares, np.ndarray]:
        sides = []
        for place in (0, 1):
            n, above, effective = (
                _sums(one[place], width) for one in (numbers[1][0], numbers[1][1], numbers[0])
            )
            rate = np.divide(above, n, out=np.full(n.shape, np.nan), where=n > 0)
            sides.append(Shares(rate, effective))
        error = np.full(len(gap), np.nan)
        if series.kind == UNITS and drawn is not None:
            again = _difference([(_sums(one, width), _sums(two, width)) for one, two in drawn])
            error = np.sqrt(np.mean(np.nan_to_num(again - (sides[0].rate - sides[1].rate)) ** 2, 0))
        return sides[0], sides[1], error

    return GapSeries(
        ours, theirs, noise, summed(0), summed(window), roles.level, min(band_level, 1.0 - 1e-12)
    )


def spread_of(ours: Shares, theirs: Shares) -> np.ndarray:
    """Return standard errors of differences, also where a rate is 0 or 1 (Agresti and Caffo)."""
    parts = []
    for one in (ours, theirs):
        n = np.maximum(one.n, SMALLEST_SPREAD)
        p = (np.nan_to_num(one.rate) * n + 1.0) / (n + 2.0)
        parts.append(p * (1.0 - p) / (n + 2.0))
    return np.sqrt(parts[0] + parts[1])


def _shares(decisions: Decisions, side: Side, periods: int) -> tuple[Shares, Shares]:
    """Shares of both sides by period, with effective numbers."""
    codes = decisions.periods.codes if decisions.periods is not None else np.zeros(0, np.int32)
    known = (codes >= 0) & (side.of_row >= 0)
    cells = np.where(known, 2 * codes.astype(np.int64) + side.of_row, -1)
    found = effective_shares(
        decisions.favourable, cells, 2 * periods, decisions.weight, decisions.units
    )
    return found[1::2], found[0::2]


def _difference(totals: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Differences of rates of totals: ((ours, theirs) of all, (ours, theirs) of favourable)."""
    rates = [
        np.divide(above, n, out=np.full(n.shape, np.nan, np.float64), where=n > 0)
        for n, above in zip(totals[0], totals[1], strict=True)
    ]
    return rates[0] - rates[1]


def _sums(values: np.ndarray, width: int) -> np.ndarray:
    """Return sums over the last periods, of the last axis; over all so far if the width is 0."""
    found = np.cumsum(np.nan_to_num(values), axis=-1, dtype=np.float64)
    if width:
        found[..., width:] -= found[..., :-width].copy()
    return found


def _independent_noise(ours: Shares, theirs: Shares, kind: str, roles: Roles) -> np.ndarray:
    """Noise of the gaps without resampled persons: blocks of residuals from a line, or normal."""
    gap, spread = ours.rate - theirs.rate, spread_of(ours, theirs)
    known = np.isfinite(gap)
    periods = np.arange(len(gap))
    if kind == BLOCKS and known.sum() > 3:
        weights = np.where(known, spread**-2, 0.0)
        design = np.stack([np.ones(len(gap)), periods], axis=1)
        line = (
            design
            @ np.linalg.lstsq(
                design * np.sqrt(weights)[:, None],
                np.nan_to_num(gap) * np.sqrt(weights),
                rcond=None,
            )[0]
        )
        residual = np.where(known, (np.nan_to_num(gap) - line) / spread, 0.0)
        residual *= np.sqrt(known.sum() / (known.sum() - 2.0))
        order = circular_blocks(len(gap), block_length(len(gap)), roles.resamples, roles.seed)
        noise = residual[order] * spread
    else:
        rng = np.random.default_rng(roles.seed)
        noise = rng.normal(size=(roles.resamples, len(gap))) * spread
    return np.where(known, noise, 0.0)


def _coverage(c: float) -> float:
    """Return the level whose normal quantile is c."""
    from scipy.special import ndtr  # here: `import fairgym` is quick without it

    return float(2.0 * ndtr(c) - 1.0)


def normal_half(error: np.ndarray, level: float) -> np.ndarray:
    """Return half the width of normal intervals."""
    return normal_quantile(level) * error
