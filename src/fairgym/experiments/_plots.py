"""Parts of figures that experiments share."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.report import style
from fairgym.training.statistics import bootstrap_interval

CAPTION = (
    "Lines are interquartile means over seeds, bands and bars stratified bootstrap 95% intervals."
)


def curve(panel: Axes, x: Any, values: Any, index: int, label: str) -> None:
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
    panel.plot(x, middle, label=label, zorder=3, **line)
    panel.fill_between(x, low, high, color=line["color"], alpha=style.BAND_ALPHA, lw=0)


def curve_legend(figure: Figure, labels: Iterable[str]) -> None:
    """Plot the legend of curves that all panels have, in the order of their index."""
    lines = [Line2D([], [], label=label, **style.policy_line(i)) for i, label in enumerate(labels)]
    style.top_legend(figure, lines)


def dot(panel: Axes, x: float, values: Any, colour: str, marker: str = "o") -> None:
    """Plot an estimate with its interval as a bar, and every seed as a faint dot beside it."""
    values = np.asarray(values, np.float64)
    middle, low, high = bootstrap_interval(values)
    panel.plot([x] * len(values), values, "o", color=colour, alpha=0.3, ms=4, mew=0)
    panel.plot([x + 0.15] * 2, [low, high], color=colour, lw=1.6)
    panel.plot([x + 0.15], [middle], marker, color=colour, ms=6)
