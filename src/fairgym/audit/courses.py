"""Figures of an audit along an axis: over time, over cut scores, and from a gap to its parts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairgym.audit.forests import Rows, by_grouping, of_decisions, sides_text
from fairgym.audit.parts import Cell, Column, cell_text, number_of
from fairgym.report import style
from fairgym.report.drawn import keep, mark
from fairgym.report.forest import WIDTH, short

MOST_LINES = 7  # in a panel
MOST_PANELS = 8  # of a waterfall
MOST_POINTS = 600  # of a line, that have marks of their own
AXES = {  # keys of what runs along x
    "period": "period",
    "cut": "cut score",
    "bin": "score",
    "after": "periods after the first refusal",
}
START = "score_from"  # key of where a bin of scores begins: a group may lack some bins
OUTER = ("band_low", "band_high")  # limits that hold for all periods together


@style.styled
def lines_figure(rows: Rows, axis: str, column: Column) -> Figure:
    """Draw a number over periods or cut scores, a panel per grouping and a line per group.

    Args:
        rows: Rows with "grouping", perhaps "group", the axis, the number and its limits; with the
            limits `OUTER`, a wider band is drawn, too.
        axis: Key of what runs along x: a number, or a name, whose order is that of the rows,
            or of the scores.
        column: The number.
    """
    every = by_grouping(rows)
    figure, panels = style.panels(len(every), 1, 2.6, width=WIDTH)
    for panel, (grouping, own) in zip(panels, every.items(), strict=True):
        ordered = sorted(own, key=lambda row: number_of(row, START)) if axis == "bin" else own
        names = list(dict.fromkeys(row[axis] for row in ordered))
        numeric = all(isinstance(name, int | float) for name in names)
        lines = list(dict.fromkeys(map(_series, own)))[:MOST_LINES]
        for place, name in enumerate(lines):
            of = [row for row in own if _series(row) == name]
            x = [number_of(row, axis) if numeric else names.index(row[axis]) for row in of]
            look = style.one_of(place, len(lines))
            _line(panel, of, np.array(x, float), axis, column, look)
        if not numeric:
            room = 66 // (2 + max(len(str(name)) for name in names))  # for names side by side
            places = np.linspace(0, len(names) - 1, min(len(names), 8, max(room, 2)))
            shown = np.unique(places.round().astype(int))
            panel.set_xticks(shown, [str(names[one]) for one in shown])
        if column.signed or not column.unit:  # no difference, or a ratio of 1
            panel.axhline(float(not column.signed), color=style.MUTED, lw=1, zorder=1)
        style.set_title(panel, f"By {grouping}")
        panel.set_ylabel(column.heading)
        if len(lines) > 1:
            panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    panels[-1].set_xlabel(AXES[axis])
    return figure


@style.styled
def waterfall(rows: Rows, column: Column) -> Figure:
    """Draw how parts lead from a gap to what is left of it, a panel per comparison.

    Args:
        rows: Rows with "step" and the number: the whole, its parts, and what is left.
        column: The number, a difference of shares.
    """
    every = comparisons(rows)
    sizes = [0.75 + 0.27 * len(own) for own in every.values()]
    mean = sum(sizes) / len(sizes)
    ratios = {"height_ratios": sizes}
    figure, panels = style.panels(len(every), 1, mean, width=WIDTH, gridspec_kw=ratios, sharex=True)
    reached: list[float] = []
    for panel, (title, own) in zip(panels, every.items(), strict=True):
        left = 0.0
        places = range(len(own) - 1, -1, -1)
        for order, (place, row) in enumerate(zip(places, own, strict=True)):
            value = 100.0 * number_of(row, column.key)
            whole = order in (0, len(own) - 1)
            start = 0.0 if whole else left - value
            left = value if order == 0 else start
            colour = style.BASELINE_COLOUR if order == 0 else style.group_colour(int(not whole))
            (bar,) = panel.barh(place, value, left=start, height=0.62, color=colour)
            written = cell_text(row, column)
            mark(bar, f"{row['step']}: {written} points")
            end = max(_ends(bar))
            gap = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
            panel.annotate(written, (end, place), size=8, color=style.INK, **gap)
            keep(panel, str(row["step"]), title, value)
        panel.axvline(0.0, color=style.MUTED, lw=1, zorder=1)
        panel.set_yticks(places, [short(row["step"]) for row in own])
        panel.tick_params(axis="y", length=0, pad=7, labelcolor=style.INK)
        panel.grid(axis="y", visible=False)
        reached += [0.0, *(end for bar in panel.patches for end in _ends(bar))]
        style.set_title(panel, title)
    room = 0.12 * (max(reached) - min(reached))
    panels[-1].set_xlim(min(reached) - room / 4, max(reached) + room)
    panels[-1].set_xlabel("difference of rates (points)")
    return figure


def _ends(bar: Any) -> tuple[float, float]:
    start = float(bar.get_x())
    return start, start + float(bar.get_width())


def axis_text(value: Cell) -> str:
    """Return a period, or a score."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def comparisons(rows: Rows) -> dict[str, Rows]:
    """Return the rows of each comparison by its name, the first ones if there are many."""
    found: dict[str, list[Mapping[str, Cell]]] = {}
    for row in rows:
        found.setdefault(f"By {row['grouping']}: {sides_text(row, short)}", []).append(row)
    return dict(list(found.items())[:MOST_PANELS])


def _line(
    panel: Axes,
    rows: Rows,
    x: np.ndarray,
    axis: str,
    column: Column,
    look: dict[str, Any],
) -> None:
    """Draw one group's line with its bands, and points if they are few."""
    factor = 100.0 if column.unit in ("share", "points") else 1.0
    name = _series(rows[0])
    keys = (column.key, *column.limits, *(OUTER if OUTER[0] in rows[0] else ()))
    value, *bands = (
        factor * np.array([number_of(row, key) for row in rows], float) for key in keys
    )
    for place in range(0, len(bands), 2):
        alpha = 0.18 if place == 0 else 0.08
        low, high = bands[place : place + 2]
        band = panel.fill_between(x, low, high, color=look["color"], alpha=alpha, lw=0)
        mark(band, series=name)
    (line,) = panel.plot(x, value, label=short(name), **look)
    mark(line, series=name)
    for place, row in enumerate(rows):
        when = axis_text(row[axis])
        keep(panel, name, str(when), value[place], *(band[place] for band in bands[:2]))
        if len(rows) <= MOST_POINTS and np.isfinite(value[place]):
            (dot,) = panel.plot(x[place], value[place], "o", color=look["color"], ms=4)
            mark(
                dot,
                f"{name}, {when}: {cell_text(row, column)}{of_decisions(row)}".lstrip(", "),
                name,
            )


def _series(row: Mapping[str, Cell]) -> str:
    """Return the group of a row, or the two groups that it compares."""
    sides = (row.get("group"), row.get("reference"))
    return " − ".join(str(one) for one in sides if one is not None)
