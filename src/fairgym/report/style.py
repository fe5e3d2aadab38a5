"""Style of every figure: fonts, panels, axes and legends."""

import contextlib
import functools
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec

from fairgym.core import FairgymError

try:
    import matplotlib
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import Container
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.ticker import MaxNLocator, ScalarFormatter
except ImportError as error:  # pragma: no cover - needs an installation without the extra
    raise FairgymError(
        "figures and reports need matplotlib, which is not installed: pip install -e '.[plot]'"
        " in a clone of fairgym"
    ) from error

from fairgym.report import drawn
from fairgym.report.looks import (  # noqa: F401 - one name for all that figures use
    ALGORITHMS,
    BASELINE_COLOUR,
    DASHES,
    GROUP_COLOURS,
    MARKERS,
    POLICY_COLOURS,
    baseline_line,
    group_colour,
    group_line,
    one_of,
    part_line,
    policy_line,
    policy_lines,
    policy_points,
)

P = ParamSpec("P")

INK, MUTED, GRID, PAPER = "#1d242c", "#5f6b78", "#dde2e8", "#ffffff"
BAND_ALPHA = drawn.BAND_ALPHA

WIDTH = 10.0  # inches
LABEL_HEIGHT = 10.5  # points between two labels at the ends of lines
_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "figure.dpi": 100,
    "figure.facecolor": PAPER,
    "font.family": "sans-serif",
    "font.size": 9,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.8,
    "savefig.facecolor": PAPER,
    "svg.fonttype": "path",
    "svg.hashsalt": "fairgym",
    "text.color": INK,
    "text.parse_math": False,  # names may have dollar signs
    "xtick.color": MUTED,
    "xtick.labelsize": 8,
    "ytick.color": MUTED,
    "ytick.labelsize": 8,
}


@contextlib.contextmanager
def look() -> Iterator[None]:
    """Apply the project's style within a context, whatever the caller's settings are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def styled(function: Callable[P, Figure]) -> Callable[P, Figure]:
    """Decorate a function so that it draws in the project's style."""

    @functools.wraps(function)
    def plot(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with look():
            return function(*args, **kwargs)

    return plot


def panels(
    count: int,
    columns: int,
    height: float,
    *,
    legend_rows: int = 0,
    width: float = WIDTH,
    **kwargs: Any,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with `count` panels in rows of `columns`, `height` inches a row.

    Args:
        count: Number of panels.
        columns: Panels per row.
        height: Inches per row.
        legend_rows: Rows of a legend above the panels, for which the figure grows.
        width: Inches of the figure.
        **kwargs: For `Figure.subplots`.
    """
    columns = max(1, min(columns, count))
    rows = math.ceil(count / columns)
    figure = Figure(
        figsize=(width, rows * height + 0.22 * legend_rows), layout="constrained", facecolor=PAPER
    )
    figure.get_layout_engine().set(h_pad=0.09, w_pad=0.08, hspace=0.02, wspace=0.03)  # type: ignore[union-attr]
    grid = figure.subplots(rows, columns, squeeze=False, **kwargs)
    axes = list(grid.flat)
    for spare in axes[count:]:
        spare.remove()
    for panel in axes[:count]:
        prepare(panel)
    return figure, axes[:count]


def strips(heights: Sequence[float], *, legend_rows: int = 0) -> tuple[Figure, list[SubFigure]]:
    """Return a figure of strips below each other, whose panels need not line up.

    Args:
        heights: Height of each strip in inches.
        legend_rows: Rows of a legend above them, for which the figure grows.
    """
    head = 0.22 * legend_rows + 0.1 * bool(legend_rows)
    figure = Figure(figsize=(WIDTH, sum(heights) + head), layout="constrained", facecolor=PAPER)
    figure.get_layout_engine().set(h_pad=0.09, w_pad=0.08, hspace=0.02, wspace=0.03)  # type: ignore[union-attr]
    return figure, list(
        figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False).flat
    )


def prepare(panel: Axes) -> None:
    """Set the look of ticks now: they are made later, under the settings of that moment."""
    panel.tick_params(color=MUTED, labelcolor=MUTED, labelsize=8)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(Numbers())


class Numbers(ScalarFormatter):
    """Axis numbers with separated thousands and "M" for millions, without exponents."""

    def __init__(self) -> None:
        """Use no common offset or power of ten."""
        super().__init__(useOffset=False)
        self.set_scientific(False)

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of one tick."""
        view = self.axis.get_view_interval() if self.axis is not None else (0.0, x)
        largest = max(abs(view[0]), abs(view[1]))
        if largest < 1000:
            return super().__call__(x, pos)
        if largest < 1e6 or x == 0:
            return f"{x:,.0f}".replace("-", "−")
        scale, letter = (1e9, "B") if largest >= 1e9 else (1e6, "M")
        return f"{x / scale:g}{letter}".replace("-", "−")


def set_title(axes: Axes, text: str, below: str = "") -> None:
    """Set a title, broken if long, with a line of small print below it."""
    drawn.name_panel(axes, text, below)
    place = axes.get_subplotspec()
    columns = 1 if place is None else place.get_gridspec().ncols
    # an arrow stays with the last word
    lines = textwrap.fill(text.replace(" ↑", "\u00a0↑").replace(" ↓", "\u00a0↓"), 96 // columns)
    axes.set_title(lines.replace("\u00a0", " "), pad=17 if below else None)
    if below:
        axes.annotate(
            below,
            (0, 1),
            xycoords="axes fraction",
            xytext=(0, 5),
            textcoords="offset points",
            fontsize=8,
            color=MUTED,
        )


def set_ylabel(axes: Axes, text: str) -> None:
    """Set the label of the y axis; break a long one after its last comma."""
    if len(text) > 24:
        head, comma, tail = text.rpartition(", ")
        text = f"{head},\n{tail}" if comma else textwrap.fill(text, len(text) // 2 + 4)
    axes.set_ylabel(text)


def epoch_axis(axes: Axes, label: str = "epoch") -> None:
    """Use whole numbers along x."""
    axes.set_xlabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, min_n_ticks=1))


def top_legend(figure: Figure, handles: Sequence[Artist | Container]) -> None:
    """Draw a legend above all panels, where it covers nothing."""
    if handles:
        figure.legend(
            handles=list(handles),
            loc="outside upper left",
            ncols=legend_columns([str(h.get_label()) for h in handles]),
            handlelength=2.6,
            columnspacing=1.6,
        )


def legend_columns(labels: Sequence[str]) -> int:
    """Return the number of columns for which the longest label leaves room."""
    longest = max((len(label) for label in labels), default=1)
    return max(1, min(len(labels), int(140 / (longest + 7))))


def legend_rows(labels: Sequence[str]) -> int:
    """Return the rows that `top_legend` takes for these labels."""
    return math.ceil(len(labels) / legend_columns(labels)) if labels else 0


def keep_within(panel: Axes, axis: str, low: float, high: float) -> None:
    """End an axis ("x" or "y") where its values end, such as at 100%; keep lines there whole."""
    bottom, top = getattr(panel, f"get_{axis}lim")()
    getattr(panel, f"set_{axis}lim")(max(bottom, low), min(top, high))
    for line in panel.lines:
        line.set_clip_on(False)


def label_line_ends(axes: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Write names at the right ends of lines, moved apart where they would overlap.

    Args:
        axes: Axes whose limits are final.
        ends: The last y value, the name and the colour of each line.
    """
    low, high = axes.get_ylim()
    figure = axes.get_figure(root=True)
    assert figure is not None
    gap = LABEL_HEIGHT * figure.dpi / 72 / axes.get_window_extent().height * (high - low)
    order = sorted(range(len(ends)), key=lambda i: ends[i][0])
    places = _apart([ends[i][0] for i in order], gap, low, high)
    for place, i in zip(places, order, strict=True):
        axes.annotate(
            ends[i][1],
            (1.0, place),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=ends[i][2],
        )


def _apart(values: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places of labels near ascending values, `gap` apart and within limits."""
    blocks: list[tuple[float, int]] = []  # middle and number of labels that touch
    for value in values:
        block = (value, 1)
        while blocks and block[0] - blocks[-1][0] < gap * (block[1] + blocks[-1][1]) / 2:
            other = blocks.pop()
            count = block[1] + other[1]
            block = ((block[0] * block[1] + other[0] * other[1]) / count, count)
        blocks.append(block)
    places = [
        middle + gap * (place - (count - 1) / 2)
        for middle, count in blocks
        for place in range(count)
    ]
    shift = max(0.0, low - places[0]) if places else 0.0
    shift -= max(0.0, places[-1] + shift - high) if places else 0.0
    return [place + shift for place in places]
