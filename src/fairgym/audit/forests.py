"""Figures of an audit with a row per group: rates, gaps, and a heat map of crossed groups."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairgym.audit.columns import TOGETHER
from fairgym.audit.parts import Cell, Column, Part, cell_text, number_of
from fairgym.audit.roles import CROSS
from fairgym.report import style
from fairgym.report.drawn import keep
from fairgym.report.forest import WIDTH, Point, forest, map_axes, map_cell, short

MOST = 40  # groups or pairs of one grouping in a figure
MOST_ACROSS = 12  # columns of a heat map

Rows = Sequence[Mapping[str, Cell]]


@style.styled
def rates_figure(rows: Rows, column: Column) -> Figure:
    """Draw the rate of every group with its interval, a panel per grouping."""
    every = by_grouping([row for row in rows if row.get("rate") is not None], "n")
    figure, panels = _stacked(every, 1)
    for panel, (grouping, own) in zip(panels, every.items(), strict=True):
        names = [f"{short(row['group'])} ({number_of(row, 'n'):,.0f})" for row in own]
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
    every = by_grouping(part.rows, "difference")
    columns = [column_of(part, key) for key in ("difference", "ratio")]
    figure, panels = _stacked(every, 2)
    for place, (grouping, own) in enumerate(every.items()):
        names = [f"{short(row['group'])} − {short(row['reference'])}" for row in own]
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
def points_figure(part: Part, key: str, label: str) -> Figure:
    """Draw a number per row with its interval, a panel per grouping.

    Args:
        part: Table with the number.
        key: Key of the number, which is 0 if groups are alike.
        label: What stands below the axis.
    """
    every = by_grouping(part.rows, key)
    figure, panels = _stacked(every, 1)
    for panel, (grouping, own) in zip(panels, every.items(), strict=True):
        names = [sides_text(row, short) for row in own]
        told = [sides_text(row, str) for row in own]
        _forest(panel, own, names, column_of(part, key), told)
        panel.axvline(0.0, color=style.MUTED, lw=1, zorder=1)
        style.set_title(panel, f"By {grouping}")
    panels[-1].set_xlabel(label)
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
    every = by_grouping(rows)
    names = [[str(row["group"]) for row in every[one]] for one in (across, down)]
    cells = {str(row["group"]): row for row in every[f"{across}{CROSS}{down}"]}
    rates = [number_of(row, "rate") for row in cells.values() if compared_row(row)]
    low, high = min(rates, default=0.0), max(rates, default=1.0)
    figure, (panel,) = style.panels(1, 1, 0.9 + 0.45 * len(names[1]), width=WIDTH)
    for i, first in enumerate(names[0]):
        for j, second in enumerate(names[1]):
            row = cells.get(f"{first}{TOGETHER}{second}")
            if row is None:
                continue
            shade = (
                (number_of(row, "rate") - low) / ((high - low) or 1.0) if compared_row(row) else 0.0
            )
            colour = style.group_colour(0) if compared_row(row) else style.GRID
            alpha = 0.08 + 0.47 * shade if compared_row(row) else 1.0
            text = (
                cell_text(row, column) if row.get("rate") is not None else str(row.get("note", ""))
            )
            value = number_of(row, "rate") if row.get("rate") is not None else float("nan")
            written = f"{100.0 * value:.1f}%" if compared_row(row) else "few"
            told = f"{row['group']}: {text}{of_decisions(row)}"
            map_cell(panel, i, j, colour, alpha, written, told)
            keep(panel, second, first, 100.0 * value)
    shown = [list(map(short, one)) for one in names]
    map_axes(panel, *shown, turned=sum(map(len, names[0])) > 70)
    style.set_title(panel, f"{column.title} (%): {across} across, {down} down")
    return figure


def crossed_columns(rows: Rows) -> tuple[str, str] | None:
    """Return two columns whose crossed groups are in the rows, if they fit in a heat map."""
    sizes = Counter(str(row["grouping"]) for row in rows)
    pairs = [(a, b) for a in sizes for b in sizes if f"{a}{CROSS}{b}" in sizes]
    fitting = [(a, b) for a, b in pairs if sizes[a] <= MOST_ACROSS and sizes[b] <= MOST]
    return fitting[0] if fitting else None


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
    points = []
    for row, name, about in zip(rows, names, told, strict=True):
        value, low, high = (factor * number_of(row, key) for key in (column.key, *column.limits))
        text = f"{about}: {cell_text(row, column)}{of_decisions(row)}"
        points.append(Point(name, value, low, high, text, about))
    forest(panel, points, column.title)


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


def by_grouping(rows: Rows, size: str = "") -> dict[str, Rows]:
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


def sides_text(row: Mapping[str, Cell], written: Callable[[Cell], str]) -> str:
    """Return whose number a row has: "f − m" for a difference, with the method if it has one."""
    other = row.get("other", row.get("reference"))
    method = f", {row['method']}" if "method" in row else ""
    against = f" − {written(other)}" if other is not None else ""
    return f"{written(row['group'])}{against}{method}"


def column_of(part: Part, key: str) -> Column:
    """Return the column of a key."""
    return next(one for one in part.columns if one.key == key)


def compared_row(row: Mapping[str, Cell]) -> bool:
    """Return whether a group of crossed columns is large enough to compare."""
    return row.get("rate") is not None and not row.get("note")


def of_decisions(row: Mapping[str, Cell]) -> str:
    """Return the number of decisions of a row, to follow its value."""
    n = row.get("n")
    return f", {n:,} decisions" if isinstance(n, int) else ""
