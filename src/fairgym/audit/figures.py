"""Figures of an audit: rates, gaps, crossed groups, and changes over time.

Figures are drawn from the rows of a table, by the columns that it has.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fairgym.audit.columns import TOGETHER
from fairgym.audit.parts import Cell, Column, Part, cell_text, number_of
from fairgym.audit.roles import CROSS, Roles
from fairgym.report import style
from fairgym.report.drawn import keep, mark
from fairgym.report.svg import Captioned
from fairgym.results.numbers import number_in, number_told

WIDTH = 7.0  # inches
MOST = 40  # groups or pairs of one grouping in a figure
MOST_ACROSS = 12  # columns of a heat map
MOST_LINES = 7  # in a panel
MOST_POINTS = 600  # of lines, that have points of their own
OUTER = ("band_low", "band_high")  # limits that hold for all periods together
_LONGEST = 30  # characters of a name

Rows = Sequence[Mapping[str, Cell]]


def figures_of(part: Part, roles: Roles) -> dict[str, Captioned]:
    """Return the figures of a table, by name; none if it has no rows that a figure shows."""
    keys = {key for row in part.rows for key in row}
    found: dict[str, Captioned] = {}
    level = f"{roles.level:.0%}"
    axis = next((key for key in ("period", "cut") if key in keys), "")
    if axis:
        column = next((one for one in part.columns if one.unit and one.limits), None)
        if column is not None and "grouping" in keys:
            drawn = lines_figure(part.rows, axis, column)
            about = f"A band is the {level} interval of single values."
            if set(OUTER) <= keys:
                about += " The wide, pale one holds for the whole line."
            found[part.name] = Captioned(drawn, part.title, about)
        return found
    if {"grouping", "group", "rate", "low", "high"} <= keys and part.name.endswith("rates"):
        column = _column(part, "rate")
        shown = (
            f"A point is a group's share, and the line its {level} interval. In parentheses: the"
            " number of decisions."
        )
        seen = _extremes(part.rows, column.title)
        found[part.name] = Captioned(rates_figure(part.rows, column), seen, shown)
        crossed = _crossed(part.rows)
        if crossed is not None:
            about = (
                "The stronger the colour, the larger the share. Grey: fewer decisions than are"
                " compared; blank: no decision."
            )
            found[f"{part.name}_crossed"] = Captioned(
                heat_map(part.rows, column, *crossed), "Two columns at once", about
            )
    if {"difference", "ratio", "reference"} <= keys and part.rows:
        about = (
            f"A point is a group's gap to the reference, and the line its {level} interval. At the"
            " solid line there is no gap." + " The dotted line is the profile's." * bool(roles.line)
        )
        seen = _widest(part, "reference")
        found[part.name] = Captioned(gaps_figure(part, roles.line), seen, about)
    elif {"difference", "other"} <= keys:
        about = (
            f"A point is the first group's rate minus the second's, and the line its {level}"
            " interval, which holds for all pairs of a column together."
        )
        found[part.name] = Captioned(pairs_figure(part), _widest(part, "other"), about)
    if found and any(len(own) > MOST for own in _by_grouping(part.rows).values()):
        first = found[part.name]
        about = f"{first.caption} The figure has the {MOST} largest of each column."
        found[part.name] = first._replace(caption=about)
    return found


@style.styled
def rates_figure(rows: Rows, column: Column) -> Figure:
    """Draw the rate of every group with its interval, a panel per grouping."""
    every = _by_grouping([row for row in rows if row.get("rate") is not None], "n")
    figure, panels = _stacked(every, 1)
    for panel, (grouping, own) in zip(panels, every.items(), strict=True):
        names = [f"{_short(row['group'])} ({row['n']:,})" for row in own]
        _forest(panel, own, names, column, [f"{row['group']}" for row in own])
        style.set_title(panel, f"By {grouping}")
    for panel in panels:
        style.keep_within(panel, "x", 0.0, 100.0)
    panels[-1].set_xlabel(f"{column.title} (%)")
    return figure


@style.styled
def gaps_figure(part: Part, line: float = 0.0) -> Figure:
    """Draw each group's difference and ratio to the reference, a row of panels per grouping.

    Args:
        part: Table of gaps.
        line: Ratio at which a line is drawn; 0 for none.
    """
    every = _by_grouping(part.rows, "difference")
    columns = [_column(part, key) for key in ("difference", "ratio")]
    figure, panels = _stacked(every, 2)
    for place, (grouping, own) in enumerate(every.items()):
        names = [f"{_short(row['group'])} − {_short(row['reference'])}" for row in own]
        of = [f"{row['group']} against {row['reference']}" for row in own]
        for side, column in enumerate(columns):
            panel = panels[2 * place + side]
            _forest(panel, own, names if not side else ["" for _ in own], column, of)
            panel.axvline(float(side), color=style.MUTED, lw=1, zorder=1)
            if side and line:
                panel.axvline(line, color=style.MUTED, lw=1, ls=":", zorder=1)
            style.set_title(panel, f"By {grouping}" if not side else "")
    panels[-2].set_xlabel("difference of rates (points)")
    panels[-1].set_xlabel(columns[1].title)
    return figure


@style.styled
def pairs_figure(part: Part) -> Figure:
    """Draw the difference of every pair of groups, a panel per grouping."""
    every = _by_grouping(part.rows, "difference")
    figure, panels = _stacked(every, 1)
    for panel, (grouping, own) in zip(panels, every.items(), strict=True):
        names = [f"{_short(row['group'])} − {_short(row['other'])}" for row in own]
        of = [f"{row['group']} against {row['other']}" for row in own]
        _forest(panel, own, names, _column(part, "difference"), of)
        panel.axvline(0.0, color=style.MUTED, lw=1, zorder=1)
        style.set_title(panel, f"By {grouping}")
    panels[-1].set_xlabel("difference of rates (points)")
    return figure


@style.styled
def heat_map(rows: Rows, column: Column, across: str, down: str) -> Figure:
    """Draw the rates of the groups that two columns make together.

    Args:
        rows: Rates of the groups of each column, and of both.
        column: The rate.
        across: Grouping along x.
        down: Grouping along y.
    """
    every = _by_grouping(rows)
    names = [[str(row["group"]) for row in every[one]] for one in (across, down)]
    cells = {str(row["group"]): row for row in every[f"{across}{CROSS}{down}"]}
    rates = [number_of(row, "rate") for row in cells.values() if _shown(row)]
    low, high = min(rates, default=0.0), max(rates, default=1.0)
    figure, (panel,) = style.panels(1, 1, 0.9 + 0.45 * len(names[1]), width=WIDTH)
    for i, first in enumerate(names[0]):
        for j, second in enumerate(names[1]):
            row = cells.get(f"{first}{TOGETHER}{second}")
            if row is None:
                continue
            shade = (number_of(row, "rate") - low) / ((high - low) or 1.0) if _shown(row) else 0.0
            colour = style.group_colour(0) if _shown(row) else style.GRID
            alpha = 0.08 + 0.47 * shade if _shown(row) else 1.0
            box = Rectangle((i - 0.48, j - 0.46), 0.96, 0.92, color=colour, alpha=alpha, lw=0)
            panel.add_patch(box)
            text = cell_text(row, column) if row.get("rate") is not None else str(row["note"])
            mark(box, f"{row['group']}: {text}{_of(row)}")
            value = number_of(row, "rate") if row.get("rate") is not None else float("nan")
            written = f"{100.0 * value:.1f}%" if _shown(row) else "few"
            panel.text(i, j, written, ha="center", va="center", size=8.5, color=style.INK)
            keep(panel, second, first, 100.0 * value)
    panel.set_xlim(-0.5, len(names[0]) - 0.5)
    panel.set_ylim(len(names[1]) - 0.5, -0.5)
    turned = {"rotation": 30, "ha": "right"} if sum(map(len, names[0])) > 70 else {}
    panel.set_xticks(range(len(names[0])), list(map(_short, names[0])), **turned)
    panel.set_yticks(range(len(names[1])), list(map(_short, names[1])))
    panel.tick_params(length=0, labelcolor=style.INK)
    panel.grid(visible=False)
    panel.spines[:].set_visible(False)
    style.set_title(panel, f"{column.title} (%): {across} across, {down} down")
    return figure


@style.styled
def lines_figure(rows: Rows, axis: str, column: Column) -> Figure:
    """Draw a number over periods or cut scores, a panel per grouping and a line per group.

    Args:
        rows: Rows with "grouping", perhaps "group", the axis, the number and its limits; with the
            limits `OUTER`, a wider band is drawn, too.
        axis: Key of what runs along x: a number, or a name, whose order is that of the rows.
        column: The number.
    """
    every = _by_grouping(rows)
    figure, panels = style.panels(len(every), 1, 2.6, width=WIDTH)
    factor = 100.0 if column.unit in ("share", "points") else 1.0
    for panel, (grouping, own) in zip(panels, every.items(), strict=True):
        names = list(dict.fromkeys(row[axis] for row in own))
        numeric = all(isinstance(name, float) for name in names)
        lines = list(dict.fromkeys(map(_series, own)))[:MOST_LINES]
        for place, name in enumerate(lines):
            of = [row for row in own if _series(row) == name]
            x = [number_of(row, axis) if numeric else names.index(row[axis]) for row in of]
            _line(
                panel, of, np.array(x, float), column, factor, name, style.one_of(place, len(lines))
            )
        if not numeric:
            shown = np.unique(
                np.linspace(0, len(names) - 1, min(len(names), 8)).round().astype(int)
            )
            panel.set_xticks(shown, [str(names[one]) for one in shown])
        if column.signed:
            panel.axhline(0.0, color=style.MUTED, lw=1, zorder=1)
        style.set_title(panel, f"By {grouping}")
        panel.set_ylabel(f"{column.title} ({'points' if column.signed else '%'})")
        if len(lines) > 1:
            panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    panels[-1].set_xlabel(axis)
    return figure


def _line(
    panel: Axes,
    rows: Rows,
    x: np.ndarray,
    column: Column,
    factor: float,
    name: str,
    look: dict[str, Any],
) -> None:
    """Draw one group's line with its bands, and a point per period if they are few."""
    keys = (column.key, *column.limits, *(OUTER if OUTER[0] in rows[0] else ()))
    value, *bands = (
        factor * np.array([number_of(row, key) for row in rows], float) for key in keys
    )
    for place in range(0, len(bands), 2):
        alpha = 0.18 if place == 0 else 0.08
        low, high = bands[place : place + 2]
        band = panel.fill_between(x, low, high, color=look["color"], alpha=alpha, lw=0)
        mark(band, series=name)
    (line,) = panel.plot(x, value, label=_short(name), **look)
    mark(line, series=name)
    for place, row in enumerate(rows):
        when = row.get("period", row.get("cut"))
        keep(panel, name, str(when), value[place], *(band[place] for band in bands[:2]))
        if len(rows) <= MOST_POINTS and np.isfinite(value[place]):
            (dot,) = panel.plot(x[place], value[place], "o", color=look["color"], ms=4)
            mark(dot, f"{name}, {when}: {cell_text(row, column)}{_of(row)}".lstrip(", "), name)


def _extremes(rows: Rows, title: str) -> str:
    """Say which group has the lowest and which the highest rate."""
    known = [row for row in rows if _shown(row)]
    if len(known) < 2:
        return "Rates by group"
    low, high = (side(known, key=lambda row: number_of(row, "rate")) for side in (min, max))
    return (
        f"Lowest: {low['group']}, {number_told(number_of(low, 'rate'), 'share')}; highest:"
        f" {high['group']}, {number_told(number_of(high, 'rate'), 'share')} {title}"
    )


def _widest(part: Part, other: str) -> str:
    """Say which gap is the widest."""
    row = max(part.rows, key=lambda one: abs(number_of(one, "difference")))
    gap = number_of(row, "difference")
    return (
        f"Widest: {row['group']} has {number_in(abs(gap), 'share')} points"
        f" {'less' if gap < 0.0 else 'more'} than {row[other]}"
    )


def _forest(
    panel: Axes, rows: Rows, names: Sequence[str], column: Column, told: Sequence[str]
) -> None:
    """Draw a number of every row as a point with its interval, the first row at the top.

    Args:
        panel: The panel.
        rows: The rows.
        names: Names along the axis.
        column: The number.
        told: What the text under the pointer begins with.
    """
    factor = 100.0 if column.unit in ("share", "points") else 1.0
    places = range(len(rows) - 1, -1, -1)
    colour = style.group_colour(0)
    for place, row, about in zip(places, rows, told, strict=True):
        value, *ends = (factor * number_of(row, key) for key in (column.key, *column.limits))
        text = f"{about}: {cell_text(row, column)}{_of(row)}"
        (line,) = panel.plot(ends, [place, place], color=colour, lw=2, solid_capstyle="butt")
        (dot,) = panel.plot([value], [place], color=colour, marker="o", ms=6.5, ls="", zorder=3)
        mark(line, text)
        mark(dot, text)
        keep(panel, about, column.title, value, *ends)
    panel.set_yticks(places, names)
    panel.set_ylim(-0.6, len(rows) - 0.4)
    panel.tick_params(axis="y", length=0, pad=7, labelcolor=style.INK)
    panel.grid(axis="y", visible=False)
    panel.margins(x=0.08)


def _stacked(every: Mapping[str, Rows], columns: int) -> tuple[Figure, list[Axes]]:
    """Return panels in a row per grouping, as high as it has rows."""
    sizes = [0.75 + 0.27 * len(rows) for rows in every.values()]
    return style.panels(
        columns * len(sizes),
        columns,
        sum(sizes) / len(sizes),
        width=WIDTH,
        gridspec_kw={"height_ratios": sizes},
        sharex="col",
    )


def _by_grouping(rows: Rows, size: str = "") -> dict[str, Rows]:
    """Return the rows of every grouping.

    Args:
        rows: The rows.
        size: Number whose largest `MOST` are kept, in the order of the table; "" to keep all.
    """
    found: dict[str, Rows] = {}
    for name in dict.fromkeys(str(row["grouping"]) for row in rows):
        own = [row for row in rows if row["grouping"] == name]
        if size and len(own) > MOST:
            least = sorted(abs(number_of(row, size)) for row in own)[-MOST]
            own = [row for row in own if abs(number_of(row, size)) >= least][:MOST]
        found[name] = own
    return found


def _series(row: Mapping[str, Cell]) -> str:
    """Return the group of a row, or the two groups that it compares."""
    sides = (row.get("group"), row.get("reference"))
    return " − ".join(str(one) for one in sides if one is not None)


def _crossed(rows: Rows) -> tuple[str, str] | None:
    """Return two columns whose crossed groups are in the rows, if they fit in a heat map."""
    sizes = Counter(str(row["grouping"]) for row in rows)
    pairs = [(a, b) for a in sizes for b in sizes if f"{a}{CROSS}{b}" in sizes]
    fitting = [(a, b) for a, b in pairs if sizes[a] <= MOST_ACROSS and sizes[b] <= MOST]
    return fitting[0] if fitting else None


def _column(part: Part, key: str) -> Column:
    return next(one for one in part.columns if one.key == key)


def _shown(row: Mapping[str, Cell]) -> bool:
    """Return whether a group of crossed columns is large enough to compare."""
    return row.get("rate") is not None and not row.get("note")


def _of(row: Mapping[str, Cell]) -> str:
    """Return the number of decisions of a row, to follow its value."""
    n = row.get("n")
    return f", {n:,} decisions" if isinstance(n, int) else ""


def _short(name: Cell) -> str:
    text = " ".join(str(name).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
