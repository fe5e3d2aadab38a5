"""Parts of figures that several experiments share."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fairgym.report import style
from fairgym.training.statistics import bootstrap_interval

CAPTION = (
    "Lines are interquartile means over seeds, bands and bars stratified bootstrap 95% intervals."
)


def curve(panel: Axes, x: Any, values: Any, index: int, label: str) -> None:
    """A line with its band.

    Args:
        panel: where.
        x: positions.
        values: one row per seed.
        index: place of the line among those of the panel.
        label: for the legend.
    """
    line = style.policy_line(index)
    middle, low, high = bootstrap_interval(np.asarray(values, np.float64))
    panel.plot(x, middle, label=label, zorder=3, **line)
    panel.fill_between(x, low, high, color=line["color"], alpha=style.BAND_ALPHA, lw=0)


def dot(panel: Axes, x: float, values: Any, colour: str, marker: str = "o") -> None:
    """An estimate with its interval as a bar, and every seed as a faint dot beside it."""
    values = np.asarray(values, np.float64)
    middle, low, high = bootstrap_interval(values)
    panel.plot([x] * len(values), values, "o", color=colour, alpha=0.3, ms=4, mew=0)
    panel.plot([x + 0.15] * 2, [low, high], color=colour, lw=1.6)
    panel.plot([x + 0.15], [middle], marker, color=colour, ms=6)
