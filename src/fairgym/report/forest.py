"""Points with their intervals below each other, and cells of a map: parts of figures in pages."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from fairgym.report import style
from fairgym.report.drawn import keep, mark

WIDTH = 7.0  # inches of a figure in a page of one column
_LONGEST = 30  # characters of a name


class Point(NamedTuple):
    """A point of a forest.

    Attributes:
        name: Name along the axis.
        value: The number.
        low: Lower limit of its interval; NaN without one.
        high: Upper limit.
        text: What is told under the pointer.
        of: Whose number it is, for the numbers of the figure; the name by default.
    """

    name: str
    value: float
    low: float
    high: float
    text: str
    of: str = ""


def forest(panel: Axes, points: Sequence[Point], title: str) -> None:
    """Draw points with their intervals, the first one at the top.

    Args:
        panel: The panel.
        points: The points.
        title: What the numbers are.
    """
    places = range(len(points) - 1, -1, -1)
    colour = style.group_colour(0)
    for place, one in zip(places, points, strict=True):
        ends = [one.low, one.high]
        (line,) = panel.plot(ends, [place, place], color=colour, lw=2, solid_capstyle="butt")
        (dot,) = panel.plot([one.value], [place], color=colour, marker="o", ms=6.5, ls="", zorder=3)
        mark(line, one.text)
        mark(dot, one.text)
        keep(panel, one.of or one.name, title, one.value, *ends)
    rows_axis(panel, [one.name for one in points])
    panel.margins(x=0.08)


def rows_axis(panel: Axes, names: Sequence[str]) -> None:
    """Write names along y, the first one at the top; a row has the height 1."""
    panel.set_yticks(range(len(names) - 1, -1, -1), list(names))
    panel.set_ylim(-0.6, len(names) - 0.4)
    panel.tick_params(axis="y", length=0, pad=7, labelcolor=style.INK)
    panel.grid(axis="y", visible=False)


def map_cell(
    panel: Axes, across: int, down: int, colour: str, alpha: float, written: str, text: str
) -> None:
    """Draw a cell of a map with what is written in it.

    Args:
        panel: The panel; a cell has the size 1.
        across: Place along x.
        down: Place along y.
        colour: Colour of the cell.
        alpha: Its opacity.
        written: Text in the cell.
        text: What is told under the pointer.
    """
    corner = (across - 0.48, down - 0.46)
    box = Rectangle(corner, 0.96, 0.92, color=colour, alpha=alpha, lw=0)
    panel.add_patch(box)
    mark(box, text)
    panel.text(across, down, written, ha="center", va="center", size=8.5, color=style.INK)


def map_axes(panel: Axes, across: Sequence[str], down: Sequence[str], *, turned: bool) -> None:
    """Write the names of the columns and rows of a map, the first row at the top."""
    panel.set_xlim(-0.5, len(across) - 0.5)
    panel.set_ylim(len(down) - 0.5, -0.5)
    about = {"rotation": 30, "ha": "right"} if turned else {}
    panel.set_xticks(range(len(across)), list(across), **about)
    panel.set_yticks(range(len(down)), list(down))
    panel.tick_params(length=0, labelcolor=style.INK)
    panel.grid(visible=False)
    panel.spines[:].set_visible(False)


def short(name: object) -> str:
    """Return a name on one line, cut off if it is long."""
    text = " ".join(str(name).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
