"""Numbers over seeds as table cells, curves and dots."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.report import style
from fairgym.results.numbers import few_seeds_text, number
from fairgym.statistics.intervals import (
    FEW_SEEDS,
    Numbers,
    bootstrap_interval,
    interquartile_mean,
    mean_interval,
)

NULL_MEAN = ", null mean"  # suffix of a column name
MOST_BANDS = 3  # in one panel
LONGEST = 14  # letters of a label that stands at the end of its line

CAPTION = (
    "Lines are interquartile means over seeds, bands and bars stratified bootstrap 95% intervals."
    " In figures of many lines, each has its own column of panels; the others are grey there."
)


def interval_text(low: float, high: float) -> str:
    """Return an interval for a table: "[0.40, 0.60]"."""
    return f"[{number(low)}, {number(high)}]"


def mean_text(values: Numbers) -> str:
    """Return the mean of one value per seed with Student's t interval, for a table.

    Of two or three seeds, for which an interval says little, the values follow in brackets.
    """
    return _estimate_text(*mean_interval(values)) + _few(values)


def iqm_text(values: Numbers) -> str:
    """Return the interquartile mean of one value per seed with its bootstrap interval.

    Values of two or three seeds follow as in `mean_text`.
    """
    return _estimate_text(*bootstrap_interval(values)) + _few(values)


def null_text(null: Numbers) -> str:
    """Return the null mean of an interquartile mean over seeds, for a table.

    Args:
        null: Numbers of each seed under permutations, shape (seeds, permutations).

    Returns:
        Mean and 95% interval, over the permutations, of the interquartile mean over seeds.
    """
    middle = float(np.mean(interquartile_mean(null, axis=0)))
    return _estimate_text(middle, *null_interval(null))


def null_interval(null: Numbers) -> tuple[float, float]:
    """Return the 95% interval, over the permutations, of the interquartile mean over seeds.

    Args:
        null: Numbers of each seed under permutations, shape (seeds, permutations).
    """
    low, high = np.quantile(interquartile_mean(null, axis=0), [0.025, 0.975])
    return float(low), float(high)


def null_bar(panel: Axes, null: Numbers, y: float) -> None:
    """Plot the interval of the null mean along the x axis, as a grey bar behind a point."""
    panel.plot(null_interval(null), [y, y], color=style.GRID, lw=7, solid_capstyle="butt", zorder=0)


def cell(column: str, values: Numbers) -> str:
    """Return a table cell: the interquartile mean over seeds, or the null mean.

    Args:
        column: Name of the column. If it ends with `NULL_MEAN`, the cell is the null mean.
        values: Values for `iqm_text` or `null_text`.
    """
    return null_text(values) if column.endswith(NULL_MEAN) else iqm_text(values)


def _few(values: Numbers) -> str:
    """Return the values of two or three seeds, unless they are equal."""
    several = few_seeds_text(values)
    return f" ({several})" if several else ""


def _estimate_text(estimate: float, low: float, high: float) -> str:
    return f"{number(estimate)} {interval_text(low, high)}"


class Curves(NamedTuple):
    """Panel of curves.

    Attributes:
        lines: Label -> (x positions, values with one row per seed).
        xlabel: Label of the x axis.
        ylabel: Label of the y axis.
        title: Title of the panel.
        null: Numbers of each seed under permutations, (seeds, permutations): a grey band shows the
            95% interval of their interquartile mean over seeds.
    """

    lines: Mapping[str, tuple[Sequence[float] | np.ndarray, Numbers]]
    xlabel: str
    ylabel: str = ""
    title: str = ""
    null: Numbers | None = None


@style.styled
def curves_figure(
    panels: Sequence[Curves],
    columns: int,
    height: float,
    sharey: bool = False,
) -> Figure:
    """Return panels of curves.

    Up to `MOST_BANDS` lines share a panel below a common legend, each with its band. Of more, each
    has a column of panels of its own, with the others in grey.

    Args:
        panels: The panels, all with the same labels.
        columns: Panels per row.
        height: Inches per row.
        sharey: True if all panels have one y axis.
    """
    labels = list(panels[0].lines)
    looks = looks_of(labels)
    if len(labels) > MOST_BANDS:
        return multiples(panels, looks)
    rows = style.legend_rows(labels)
    figure, axes = style.panels(len(panels), columns, height, legend_rows=rows, sharey=sharey)
    for axis, panel in zip(axes, panels, strict=True):
        ends = []
        if panel.null is not None:
            axis.axhspan(*null_interval(panel.null), color=style.GRID, lw=0, zorder=0)
        for label, (x, values) in panel.lines.items():
            last = curve(axis, x, values, looks[label], label)
            ends.append((last, label, looks[label]["color"]))
        if panel.title:
            style.set_title(axis, panel.title)
        _along(axis, panel.xlabel)
        style.set_ylabel(axis, panel.ylabel)
        if 1 < len(labels) and max(map(len, labels)) <= LONGEST:
            style.label_line_ends(axis, ends)
    curve_legend(figure, labels, looks)
    return figure


def multiples(
    panels: Sequence[Curves],
    looks: Mapping[str, Mapping[str, Any]],
    levels: Sequence[Mapping[str, float]] = (),
) -> Figure:
    """Return a row of panels for each of these, with a column for each line.

    Args:
        panels: Curves, all with the same labels.
        looks: Label -> look of its line.
        levels: For each of them baselines drawn in all panels of its row: words -> value.
    """
    labels = list(panels[0].lines)
    names = list(dict.fromkeys(name for one in levels for name in one))
    figure, axes = style.panels(
        len(panels) * len(labels),
        len(labels),
        1.55,
        legend_rows=style.legend_rows(names),
        sharex="row",
        sharey="row",
    )
    baselines = {name: style.baseline_line(index) for index, name in enumerate(names)}
    for row, panel in enumerate(panels):
        for column, (label, (x, values)) in enumerate(panel.lines.items()):
            axis = axes[row * len(labels) + column]
            for other, (places, several) in panel.lines.items():
                if other != label:
                    middle = interquartile_mean(np.asarray(several, np.float64), axis=0)
                    axis.plot(places, middle, color=style.BASELINE_COLOUR, lw=0.7, alpha=0.6)
            curve(axis, x, values, looks[label], label)
            for name, level in (levels[row] if levels else {}).items():
                axis.axhline(level, **baselines[name])
            if row == 0:
                style.set_title(axis, label)
            alike = all(other.xlabel == panel.xlabel for other in panels)
            _along(axis, "" if alike and row < len(panels) - 1 else panel.xlabel)
            axis.locator_params(axis="x", nbins=3)
        above = [panel.title] if panel.title else []
        axes[row * len(labels)].set_ylabel("\n".join([*above, textwrap.fill(panel.ylabel, 22)]))
    style.top_legend(figure, [Line2D([], [], label=n, **one) for n, one in baselines.items()])
    return figure


def _along(axis: Axes, label: str) -> None:
    """Label x, with room between the numbers; epochs are whole numbers."""
    if label == "epoch":
        style.epoch_axis(axis)
    else:
        axis.set_xlabel(label)
        axis.locator_params(axis="x", nbins=5)


def looks_of(labels: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Label -> look of its line."""
    return dict(zip(labels, style.policy_lines(labels), strict=True))


def curve(
    panel: Axes,
    x: Sequence[float] | np.ndarray,
    values: Numbers,
    look: Mapping[str, Any],
    label: str,
) -> float:
    """Plot interquartile means over seeds as a line with its band, and return the last mean.

    Two or three seeds, of which a band says little, are thin lines too.

    Args:
        panel: The panel.
        x: Positions.
        values: One row per seed.
        look: Look of the line.
        label: Words for the legend.
    """
    values, x = np.asarray(values, np.float64), np.asarray(x)
    middle, low, high = bootstrap_interval(values)
    if 2 <= len(values) <= FEW_SEEDS:
        panel.plot(x, values.T, color=look["color"], lw=0.6, alpha=0.6, zorder=2)
    panel.plot(x, middle, label=label, zorder=3, **look)
    panel.fill_between(x, low, high, color=look["color"], alpha=style.BAND_ALPHA, lw=0)
    return float(middle[-1])


def curve_legend(
    figure: Figure, labels: Iterable[str], looks: Mapping[str, Mapping[str, Any]]
) -> None:
    """Plot the legend of curves."""
    style.top_legend(figure, [Line2D([], [], label=one, **looks[one]) for one in labels])


def dot(
    panel: Axes,
    x: float,
    values: Numbers,
    colour: str,
    marker: str = "o",
    null: Numbers | None = None,
) -> None:
    """Plot an estimate with its interval as a bar, and every seed as a faint dot beside it.

    Args:
        panel: The panel.
        x: Place of the seeds; the estimate is to the right of them.
        values: A number per seed.
        colour: Colour.
        marker: Marker of the estimate.
        null: Numbers of each seed under permutations, (seeds, permutations): a grey band shows the
            95% interval of their interquartile mean over seeds.
    """
    values = np.asarray(values, np.float64)
    if null is not None:
        low, high = null_interval(null)
        panel.fill_between([x - 0.1, x + 0.25], low, high, color=style.GRID, lw=0, zorder=0)
    middle, low, high = bootstrap_interval(values)
    panel.plot([x] * len(values), values, "o", color=colour, alpha=0.3, ms=4, mew=0)
    panel.plot([x + 0.15] * 2, [low, high], color=colour, lw=1.6)
    panel.plot([x + 0.15], [middle], marker, color=colour, ms=6)
