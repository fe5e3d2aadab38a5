"""Numbers over seeds as table cells, curves and dots."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.report import style
from fairgym.results.numbers import number
from fairgym.statistics.intervals import (
    Numbers,
    bootstrap_interval,
    interquartile_mean,
    mean_interval,
)

NULL_MEAN = ", null mean"  # suffix of a column name

CAPTION = (
    "Lines are interquartile means over seeds, bands and bars stratified bootstrap 95% intervals."
)


def interval_text(low: float, high: float) -> str:
    """Return an interval for a table: "[0.40, 0.60]"."""
    return f"[{number(low)}, {number(high)}]"


def mean_text(values: Numbers) -> str:
    """Return the mean of one value per seed with Student's t interval, for a table."""
    return _estimate_text(*mean_interval(values))


def iqm_text(values: Numbers) -> str:
    """Return the interquartile mean of one value per seed with its bootstrap interval."""
    return _estimate_text(*bootstrap_interval(values))


def null_text(null: Numbers) -> str:
    """Return the null mean of an interquartile mean over seeds, for a table.

    Args:
        null: Numbers of each seed under permutations, shape (seeds, permutations).

    Returns:
        Mean and 95% interval, over the permutations, of the interquartile mean over seeds.
    """
    found = interquartile_mean(null, axis=0)
    low, high = np.quantile(found, [0.025, 0.975])
    return _estimate_text(float(np.mean(found)), float(low), float(high))


def cell(column: str, values: Numbers) -> str:
    """Return a table cell: the interquartile mean over seeds, or the null mean.

    Args:
        column: Name of the column. If it ends with `NULL_MEAN`, the cell is the null mean.
        values: Values for `iqm_text` or `null_text`.
    """
    return null_text(values) if column.endswith(NULL_MEAN) else iqm_text(values)


def _estimate_text(estimate: float, low: float, high: float) -> str:
    return f"{number(estimate)} {interval_text(low, high)}"


class Curves(NamedTuple):
    """Panel of curves.

    Attributes:
        lines: Label -> (x positions, values with one row per seed).
        xlabel: Label of the x axis.
        ylabel: Label of the y axis.
        title: Title of the panel.
    """

    lines: Mapping[str, tuple[Sequence[float] | np.ndarray, Numbers]]
    xlabel: str
    ylabel: str = ""
    title: str = ""


@style.styled
def curves_figure(
    panels: Sequence[Curves],
    columns: int,
    height: float,
    order: Sequence[str] = (),
    sharey: bool = False,
) -> Figure:
    """Return panels of curves below a common legend.

    Args:
        panels: The panels, all with the same labels.
        columns: Panels per row.
        height: Inches per row.
        order: Labels in the order of colours, of which all figures with them are to have the same;
            by default those of the panels.
        sharey: True if all panels have one y axis.
    """
    labels = list(panels[0].lines)
    order = list(order) or labels
    rows = style.legend_rows(labels)
    figure, axes = style.panels(len(panels), columns, height, legend_rows=rows, sharey=sharey)
    for axis, panel in zip(axes, panels, strict=True):
        for label, (x, values) in panel.lines.items():
            curve(axis, x, values, order.index(label), label)
        if panel.title:
            style.set_title(axis, panel.title)
        if panel.xlabel == "epoch":
            style.epoch_axis(axis)
        else:
            axis.set_xlabel(panel.xlabel)
        style.set_ylabel(axis, panel.ylabel)
    curve_legend(figure, labels, order)
    return figure


def curve(
    panel: Axes, x: Sequence[float] | np.ndarray, values: Numbers, index: int, label: str
) -> None:
    """Plot interquartile means over seeds as a line with its band.

    Args:
        panel: The panel.
        x: Positions.
        values: One row per seed.
        index: Place of the line among those of the panel.
        label: Words for the legend.
    """
    line = style.policy_line(index)
    middle, low, high = bootstrap_interval(np.asarray(values, np.float64))
    x = np.asarray(x)
    panel.plot(x, middle, label=label, zorder=3, **line)
    panel.fill_between(x, low, high, color=line["color"], alpha=style.BAND_ALPHA, lw=0)


def curve_legend(
    figure: Figure, labels: Iterable[str], order: Sequence[str], more: Sequence[Line2D] = ()
) -> None:
    """Plot the legend of curves, coloured by their places in an order, and of more lines."""
    lines = [Line2D([], [], label=one, **style.policy_line(order.index(one))) for one in labels]
    style.top_legend(figure, [*lines, *more])


def dot(panel: Axes, x: float, values: Numbers, colour: str, marker: str = "o") -> None:
    """Plot an estimate with its interval as a bar, and every seed as a faint dot beside it."""
    values = np.asarray(values, np.float64)
    middle, low, high = bootstrap_interval(values)
    panel.plot([x] * len(values), values, "o", color=colour, alpha=0.3, ms=4, mew=0)
    panel.plot([x + 0.15] * 2, [low, high], color=colour, lw=1.6)
    panel.plot([x + 0.15], [middle], marker, color=colour, ms=6)
