"""Decisions counted by period and group, with resamples of persons, clusters, rows or periods."""

import dataclasses
import functools
import math

import numpy as np

from fairgym.statistics.clusters import few_units
from fairgym.statistics.intervals import t_quantile
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
        stretch: Factor of resampled standard errors at the confidence level (`stretched`).
    """

    grouping: str
    names: tuple[str, ...]
    n: np.ndarray
    favourable: np.ndarray
    kind: str
    drawn: np.ndarray | None
    stretch: float = 1.0

    @property
    def groups(self) -> int:
        """Number of compared groups."""
        return len(self.names) - (self.names[-1:] == ("",))

    def totals(
        self, group: str, reference: str, totals: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return totals (..., periods) of a group and of its reference, of totals by group.

        A reference that is no group is that of all other groups together.
        """
        ours = totals[..., self.names.index(group)]
        if reference in self.names:
            return ours, totals[..., self.names.index(reference)]
        return ours, totals.sum(axis=-1) - ours


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows of a table of decisions.

    Attributes:
        values: Zeros and ones, shape (rows,).
        periods: Index of each row's period; -1 if unknown.
        groups: Index of each row's group; -1 if unknown or left out.
        weight: Weights of at least 0; None if all rows count alike.
        units: Numbers of persons or clusters; None if all rows are independent.
    """

    values: np.ndarray
    periods: np.ndarray
    groups: np.ndarray
    weight: np.ndarray | None = None
    units: np.ndarray | None = None


def series_of(
    rows: Rows, grouping: str, names: tuple[str, ...], size: int, settings: "Resampling"
) -> Series:
    """Count decisions by period and group, and resample them.

    Args:
        rows: The decisions.
        grouping: Name of the grouping.
        names: Names of the groups; a last one "" is for all further groups.
        size: Number of periods.
        settings: Level, and the resampling.
    """
    resamples, seed = settings.resamples, settings.seed
    known, groups = np.flatnonzero((rows.groups >= 0) & (rows.periods >= 0)), len(names)
    cells = rows.periods[known].astype(np.int64) * groups + rows.groups[known]
    weight, units = (None if one is None else one[known] for one in (rows.weight, rows.units))
    values = rows.values[known]
    w = np.ones(len(known)) if weight is None else weight
    n, favourable = (
        np.bincount(cells, one, size * groups).reshape(size, groups) for one in (w, w * values)
    )
    kind = UNITS if units is not None else BLOCKS if size >= PERIODS_OF_BLOCKS else ROWS
    drawn = None
    if 2 * resamples * size * groups <= MOST_NUMBERS:
        if kind == BLOCKS:
            order = circular_blocks(size, block_length(size), resamples, seed)
            drawn = np.stack([n[order], favourable[order]], axis=1)
        else:
            given = (values, cells, size * groups, resamples, seed, weight, units)
            drawn = resampled_totals(*given).reshape(resamples, 2, size, groups)
    sizes = np.ones(0)
    if kind == BLOCKS:
        sizes = np.ones(-(-size // block_length(size)))
    elif units is not None:
        sizes = np.bincount(units, w)
    return Series(grouping, names, n, favourable, kind, drawn, stretched(sizes, settings.level))


def stretched(sizes: np.ndarray, level: float) -> float:
    """Return by how much intervals are longer than normal ones with the resampled standard error.

    Resamples of few units vary too little, and their standard error is uncertain: Student's
    quantile replaces the normal one, with the variance and the degrees of freedom of `few_units`.
    Blocks of periods are units of one size (R. Ibragimov and U. K. Mueller 2010, Journal of
    Business and Economic Statistics 28:453).

    Args:
        sizes: Decisions of every unit, shape (units,); of no length if rows are independent.
        level: Confidence level.
    """
    share = sizes / max(sizes.sum(), 1.0)
    factor, (degrees,) = few_units(sizes) if len(sizes) else (sizes, (0.0,))
    if not degrees > 0.0:
        return 1.0
    known = share > 0.0
    variance = (share[known] ** 2 @ factor[known]) / (share @ share)
    return math.sqrt(variance) * t_quantile(level, degrees) / normal_quantile(level)


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
        stretch: Factor of resampled standard errors, of `Series`.
    """

    ours: Shares
    theirs: Shares
    noise: np.ndarray
    cumulative: tuple[Shares, Shares, np.ndarray]
    window: tuple[Shares, Shares, np.ndarray]
    level: float
    band_level: float
    stretch: float

    @functools.cached_property
    def gap(self) -> np.ndarray:
        """Gap by period, NaN without decisions of both."""
        return self.ours.rate - self.theirs.rate


@dataclasses.dataclass(frozen=True)
class Resampling:
    """Settings of resampled series: confidence level, number of resamples, and seed."""

    level: float
    resamples: int
    seed: int


def gap_series(
    series: Series,
    sides: tuple[str, str],
    shares: tuple[Shares, Shares],
    window: int,
    settings: Resampling,
) -> GapSeries:
    """Return the gap of a group by period.

    Args:
        series: Series of the grouping.
        sides: Names of the group and of its reference.
        shares: Their shares by period, with effective numbers.
        window: Number of periods of the sliding windows.
        settings: Level, and the resampling.
    """
    ours, theirs = shares
    totals = [series.totals(*sides, one) for one in (series.n, series.favourable)]
    numbers = [(ours.n, theirs.n), totals]
    drawn = None
    if series.drawn is not None and series.kind != BLOCKS:
        drawn = [series.totals(*sides, series.drawn[:, place]) for place in (0, 1)]
    gap = ours.rate - theirs.rate
    if drawn is not None:
        noise = np.nan_to_num(_difference(drawn) - gap)
    else:
        noise = _independent_noise(ours, theirs, series.kind, settings)
    if series.kind == UNITS and drawn is not None:
        c = critical_value(noise, settings.level)
        band_level = max(_coverage(c), settings.level)
    else:
        band_level = settings.level ** (1.0 / max(int(np.isfinite(gap).sum()), 1))

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
            noise = np.nan_to_num(again - (sides[0].rate - sides[1].rate))
            error = series.stretch * np.sqrt(np.mean(noise**2, axis=0))
        return sides[0], sides[1], error

    sums = summed(0), summed(window)
    level = min(band_level, 1.0 - 1e-12)
    return GapSeries(ours, theirs, noise, *sums, settings.level, level, series.stretch)


def spread_of(ours: Shares, theirs: Shares) -> np.ndarray:
    """Return standard errors of differences, also where a rate is 0 or 1 (Agresti and Caffo)."""
    parts = []
    for one in (ours, theirs):
        n = np.maximum(one.n, SMALLEST_SPREAD)
        p = (np.nan_to_num(one.rate) * n + 1.0) / (n + 2.0)
        parts.append(p * (1.0 - p) / (n + 2.0))
    return np.sqrt(parts[0] + parts[1])


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


def _independent_noise(ours: Shares, theirs: Shares, kind: str, settings: Resampling) -> np.ndarray:
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
        order = circular_blocks(len(gap), block_length(len(gap)), settings.resamples, settings.seed)
        noise = residual[order] * spread
    else:
        rng = np.random.default_rng(settings.seed)
        noise = rng.normal(size=(settings.resamples, len(gap))) * spread
    return np.where(known, noise, 0.0)


def _coverage(c: float) -> float:
    """Return the level whose normal quantile is c."""
    from scipy.special import ndtr  # here: `import fairgym` is quick without it

    return float(2.0 * ndtr(c) - 1.0)


def normal_half(error: np.ndarray, level: float) -> np.ndarray:
    """Return half the width of normal intervals."""
    return normal_quantile(level) * error
