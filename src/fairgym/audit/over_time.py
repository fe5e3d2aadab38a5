"""Rates and gaps over time, with fairness schemes."""

import numpy as np

from fairgym.audit.groups import MOST, Side, compared, sides_of
from fairgym.audit.parts import Cell, Column, Part, number_of
from fairgym.audit.roles import Roles
from fairgym.audit.schemes import schemes
from fairgym.audit.table import Decisions
from fairgym.audit.trends import trend
from fairgym.results.numbers import Estimate, number_in, number_told, told
from fairgym.statistics.clusters import effective_shares
from fairgym.statistics.proportions import (
    Shares,
    difference_interval,
    rate_interval,
    ratio_interval,
)
from fairgym.statistics.series import (
    BLOCKS,
    UNITS,
    GapSeries,
    Resampling,
    Rows,
    Series,
    block_length,
    gap_series,
    normal_half,
    series_of,
)

LONG, WINDOW, LONG_WINDOW = 36, 3, 12  # periods: a long series, and the windows


def over_time(decisions: Decisions, roles: Roles) -> list[Part]:
    """Return rates and gaps by period, trends and schemes; none without two periods."""
    periods = decisions.periods
    if periods is None or len(periods.names) < 2:
        return []
    found = {grouping: series_by(decisions, grouping, roles) for grouping in decisions.groupings}
    every = {grouping: one for grouping, one in found.items() if one is not None}
    if not every:
        return []
    window = window_of(len(periods.names))
    gaps: list[dict[str, Cell]] = []
    trends: list[dict[str, Cell]] = []
    findings: list[str] = []
    for grouping, series in every.items():
        for side in sides_of(decisions, grouping, roles):
            course = course_of(decisions, series, side, roles, window)
            gaps += gap_rows(side, course, periods.names, roles, window)
            row = {**side.names} | trend(course, periods.names, roles)
            trends.append(row)
            findings += _finding(row, roles)
    limits = _limits(decisions, roles, list(every.values()))
    return [
        _rates_part(decisions, list(every.values()), roles),
        _gaps_part(gaps, roles, window, limits),
        _trends_part(trends, roles, findings),
        *schemes(decisions, list(every.values()), roles),
    ]


def series_by(decisions: Decisions, grouping: str, roles: Roles) -> Series | None:
    """Return the series of a grouping's compared groups; None without two of them."""
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
    group, values = place[codes.codes], decisions.favourable
    rows = Rows(values, periods.codes, group, decisions.weight, decisions.units)
    settings = Resampling(roles.level, roles.resamples, roles.seed)
    return series_of(rows, grouping, tuple(names), len(periods.names), settings)


def course_of(
    decisions: Decisions, series: Series, side: Side, roles: Roles, window: int
) -> GapSeries:
    """Return the gap of a group to its reference by period."""
    codes = decisions.periods.codes if decisions.periods is not None else side.of_row
    known = (codes >= 0) & (side.of_row >= 0)
    cells = np.where(known, 2 * codes.astype(np.int64) + side.of_row, -1)
    found = effective_shares(
        decisions.favourable, cells, 2 * len(series.n), decisions.weight, decisions.units
    )
    settings = Resampling(roles.level, roles.resamples, roles.seed)
    sides = (side.group, side.reference)
    return gap_series(series, sides, (found[1::2], found[0::2]), window, settings)


def window_of(periods: int) -> int:
    """Return the number of periods of sliding windows."""
    return LONG_WINDOW if periods >= LONG else WINDOW


def _limits(decisions: Decisions, roles: Roles, every: list[Series]) -> list[str]:
    """Sentences about what the intervals of series take for granted."""
    found = []
    periods = decisions.periods
    unknown = 0 if periods is None else int((periods.codes < 0).sum())
    if unknown:
        share = number_told(unknown / decisions.rows, "share")
        found.append(f"{unknown:,} decisions ({share}) are left out of the tables over time.")
    if any(one.drawn is None for one in every):
        found.append(
            "There are too many periods and groups to resample; schemes have no intervals. Group"
            " dates with --every month."
        )
    kinds = {one.kind for one in every}
    if UNITS not in kinds:
        blocks = block_length(len(every[0].n))
        found.append(
            f"Intervals over time resample blocks of {blocks} periods, as no column names persons."
            if BLOCKS in kinds
            else "Intervals over time take every row as independent, as no column names persons."
        )
    return found


def _rates_part(decisions: Decisions, every: list[Series], roles: Roles) -> Part:
    """Table of the rate of every group in every period, and so far."""
    rows: list[dict[str, Cell]] = []
    periods = decisions.periods
    names = periods.names if periods is not None else ()
    for series in every:
        codes = decisions.groupings[series.grouping]
        groups = series.groups
        place = np.full(len(codes.names) + 1, -1)
        place[[codes.names.index(name) for name in series.names[:groups]]] = np.arange(groups)
        group, period = place[codes.codes], periods.codes if periods is not None else codes.codes
        cells = np.where((group >= 0) & (period >= 0), period.astype(np.int64) * groups + group, -1)
        size = len(names) * groups
        found = effective_shares(
            decisions.favourable, cells, size, decisions.weight, decisions.units
        )
        counts = np.bincount(cells[cells >= 0], minlength=size).reshape(-1, groups)
        low, high = rate_interval(found, roles.level)
        rate, low, high = (one.reshape(-1, groups) for one in (found.rate, low, high))
        n, above = (np.cumsum(one, axis=0) for one in (series.n, series.favourable))
        so_far = np.divide(above, n, out=np.full(n.shape, np.nan), where=n > 0)
        for g in range(groups):
            for t, name in enumerate(names):
                row: dict[str, Cell] = {"grouping": series.grouping, "group": series.names[g]}
                row |= {"period": name}
                if counts[t, g] < max(roles.suppress, 1):
                    few = f"fewer than {roles.suppress} decisions" if roles.suppress else ""
                    rows.append(row | {"note": few or "no decisions"})
                    continue
                row |= {"n": int(counts[t, g]), "rate": float(rate[t, g]), "low": float(low[t, g])}
                row |= {"high": float(high[t, g]), "cumulative": float(so_far[t, g]), "note": ""}
                rows.append(row)
    columns = (
        Column("grouping", "by"),
        Column("group", "group"),
        Column("period", roles.time or "period"),
        Column("n", "decisions"),
        Column("rate", "favourable", "share", ("low", "high")),
        Column("cumulative", "so far", "share"),
        Column("note", ""),
    )
    about = (
        f"Share of favourable decisions by period, with Agresti and Coull's {roles.level:.0%}"
        " interval, and of all decisions so far."
    )
    return Part("periods", "Rates over time", about, rows, columns)


def gap_rows(
    side: Side, course: GapSeries, names: tuple[str, ...], roles: Roles, window: int
) -> list[dict[str, Cell]]:
    """Return rows of the gap in every period, so far, and in the last periods."""
    level = roles.level
    gap, low, high = difference_interval(course.ours, course.theirs, level)
    _, band_low, band_high = difference_interval(course.ours, course.theirs, course.band_level)
    ratio, ratio_low, ratio_high = ratio_interval(course.ours, course.theirs, level)
    columns = {
        "rate": course.ours.rate,
        "reference_rate": course.theirs.rate,
        "difference": gap,
        "low": low,
        "high": high,
        "band_low": band_low,
        "band_high": band_high,
        "ratio": ratio,
        "ratio_low": ratio_low,
        "ratio_high": ratio_high,
    }
    for name, one in (("cumulative", course.cumulative), ("window", course.window)):
        columns[name], columns[f"{name}_low"], columns[f"{name}_high"] = _summed(*one, level)
    small = np.minimum(course.ours.n, course.theirs.n) < max(roles.suppress, 1)
    rows = []
    for t, name in enumerate(names):
        row: dict[str, Cell] = {**side.names, "period": name}
        for key, values in columns.items():
            hidden = (small[t] and not key.startswith(("cumulative", "window"))) or (
                key.startswith("window") and t < window - 1
            )
            row[key] = None if hidden or np.isnan(values[t]) else float(values[t])
        rows.append(row)
    return rows


def _summed(
    ours: Shares, theirs: Shares, error: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gap of sums over periods, with its interval."""
    gap, low, high = difference_interval(ours, theirs, level)
    if np.isnan(error).all():
        return gap, low, high
    half = normal_half(error, level)
    return gap, np.maximum(gap - half, -1.0), np.minimum(gap + half, 1.0)


def _gaps_part(rows: list[dict[str, Cell]], roles: Roles, window: int, limits: list[str]) -> Part:
    columns = (
        Column("grouping", "by"),
        Column("group", "group"),
        Column("reference", "against"),
        Column("period", roles.time or "period"),
        Column("difference", "difference", "points", ("low", "high"), True),
        Column("ratio", "ratio", "", ("ratio_low", "ratio_high")),
        Column("cumulative", "so far", "points", ("cumulative_low", "cumulative_high"), True),
        Column("window", f"last {window}", "points", ("window_low", "window_high"), True),
    )
    about = (
        "The group's rate minus the reference's in each period, of all decisions so far, and of the"
        f" last {window} periods. {roles.level:.0%} intervals of single periods; the band in the"
        " figure and in the data (band_low, band_high) holds for all periods together."
    )
    return Part("gaps_over_time", "Gaps over time", about, rows, columns, limits=limits)


def _trends_part(rows: list[dict[str, Cell]], roles: Roles, findings: list[str]) -> Part:
    line = f"under {roles.line:g} times" if roles.line else "below"
    columns = (
        Column("grouping", "by"),
        Column("group", "group"),
        Column("reference", "against"),
        Column("trend", "trend per period", "points", ("trend_low", "trend_high"), True),
        Column("worst", "worst period"),
        Column("worst_difference", "its difference", "points", ("worst_low", "worst_high"), True),
        Column("run", f"longest run {line} the reference"),
        Column("run_from", "from"),
        Column("run_to", "to"),
        Column("change", "change from"),
        Column("change_difference", "its size", "points", (), True),
        Column("change_p", "p"),
    )
    about = (
        f"Trend: change of the gap per period (weighted line, {roles.level:.0%} interval). Worst"
        " period: the lowest difference, with an interval that allows for the choice among all"
        f" periods. Run: periods in a row with a rate {line} that of the reference. Change: the"
        " period from which the mean gap differs most from before; p allows for the choice."
    )
    return Part("trends", "Trends of the gaps", about, rows, columns, findings)


def _finding(row: dict[str, Cell], roles: Roles) -> list[str]:
    """Sentence about the trend, the worst period and a change."""
    slope, low, high = (number_of(row, f"trend{end}") for end in ("", "_low", "_high"))
    who = f"By {row['grouping']}, {row['group']} minus {row['reference']}"
    found = []
    if np.isfinite(slope):
        size = told(Estimate(slope, low, high), "share", points=True)
        unclear = "" if low > 0.0 or high < 0.0 else "unclear: "
        found.append(f"{who}: {unclear}the gap changes by {size} per period.")
    worst, low, high = (number_of(row, f"worst_{end}") for end in ("difference", "low", "high"))
    if high < 0.0:
        size = told(Estimate(worst, low, high), "share", points=True)
        found.append(f"{who}: the worst period is {row['worst']}, {size}.")
    p = number_of(row, "change_p")
    if p < 1.0 - roles.level:
        change = number_of(row, "change_difference")
        way = "above" if change > 0.0 else "below"
        found.append(
            f"{who}: from {row['change']} on the mean gap is {number_in(abs(change), 'share')}"
            f" points {way} that of before."
        )
    return found
