"""Look of every figure: colours, fonts, panels and legends."""

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
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.ticker import MaxNLocator, ScalarFormatter
except ImportError as error:  # pragma: no cover - needs an installation without the extra
    raise FairgymError(
        "figures and reports need matplotlib, which is not installed: pip install 'fairgym[plot]'"
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
    "xtick.color": MUTED,
    "xtick.labelsize": 8,
    "ytick.color": MUTED,
    "ytick.labelsize": 8,
}


@contextlib.contextmanager
def look() -> Iterator[None]:
    """A context in which the project's style holds, whatever the caller's settings are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def styled(function: Callable[P, Figure]) -> Callable[P, Figure]:
    """Decorator: plot in the project's style."""

    @functools.wraps(function)
    def plot(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with look():
            return function(*args, **kwargs)

    return plot


def panels(
    count: int, columns: int, height: float, *, legend_rows: int = 0, **kwargs: Any
) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels in rows of `columns`, `height` inches a row.

    Args:
        count: number of panels.
        columns: panels per row.
        height: inches per row.
        legend_rows: rows of a legend above the panels that the figure grows for.
        **kwargs: for `Figure.subplots`.
    """
    columns = max(1, min(columns, count))
    rows = math.ceil(count / columns)
    figure = Figure(
        figsize=(WIDTH, rows * height + 0.22 * legend_rows), layout="constrained", facecolor=PAPER
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
    """A figure of strips below each other, whose panels need not line up.

    Args:
        heights: height of each strip, inches.
        legend_rows: rows of a legend above them that the figure grows for.
    """
    head = 0.22 * legend_rows + 0.1 * bool(legend_rows)
    figure = Figure(figsize=(WIDTH, sum(heights) + head), layout="constrained", facecolor=PAPER)
    figure.get_layout_engine().set(h_pad=0.09, w_pad=0.08, hspace=0.02, wspace=0.03)  # type: ignore[union-attr]
    return figure, list(
        figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False).flat
    )


def prepare(panel: Axes) -> None:
    """Fix how ticks look: they are made when a figure is drawn, by the settings of that moment."""
    panel.tick_params(color=MUTED, labelcolor=MUTED, labelsize=8)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(Numbers())


class Numbers(ScalarFormatter):
    """Axis numbers with thousands separated, millions as "M", and without exponents."""

    def __init__(self) -> None:
        """Without a common offset or power of ten at the end of the axis."""
        super().__init__(useOffset=False)
        self.set_scientific(False)

    def __call__(self, x: float, pos: int | None = None) -> str:
        """The label of one tick."""
        view = self.axis.get_view_interval() if self.axis is not None else (0.0, x)
        largest = max(abs(view[0]), abs(view[1]))
        if largest < 1000:
            return super().__call__(x, pos)
        if largest < 1e6 or x == 0:
            return f"{x:,.0f}".replace("-", "−")
        scale, letter = (1e9, "B") if largest >= 1e9 else (1e6, "M")
        return f"{x / scale:g}{letter}".replace("-", "−")


def set_title(axes: Axes, text: str, below: str = "") -> None:
    """A title, with a line in small print between it and the panel; a long one is broken."""
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
    """A label of the y axis; a long one has two lines, broken after its last comma."""
    if len(text) > 24:
        head, comma, tail = text.rpartition(", ")
        text = f"{head},\n{tail}" if comma else textwrap.fill(text, len(text) // 2 + 4)
    axes.set_ylabel(text)


def epoch_axis(axes: Axes, label: str = "epoch") -> None:
    """Whole numbers along x."""
    axes.set_xlabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, min_n_ticks=1))


def top_legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """A legend above all panels, where it covers nothing."""
    if handles:
        figure.legend(
            handles=list(handles),
            loc="outside upper left",
            ncols=legend_columns([str(h.get_label()) for h in handles]),
            handlelength=2.6,
            columnspacing=1.6,
        )


def legend_columns(labels: Sequence[str]) -> int:
    """Number of columns that the longest label leaves room for."""
    longest = max((len(label) for label in labels), default=1)
    return max(1, min(len(labels), int(140 / (longest + 7))))


def legend_rows(labels: Sequence[str]) -> int:
    """Rows that `top_legend` takes for these labels."""
    return math.ceil(len(labels) / legend_columns(labels)) if labels else 0


def keep_within(panel: Axes, axis: str, low: float, high: float) -> None:
    """End an axis ("x" or "y") where its values end, such as at 100%; lines there stay whole."""
    bottom, top = getattr(panel, f"get_{axis}lim")()
    getattr(panel, f"set_{axis}lim")(max(bottom, low), min(top, high))
    for line in panel.lines:
        line.set_clip_on(False)


def label_line_ends(axes: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Names at the right ends of lines, moved apart where they would overlap.

    Args:
        axes: axes whose limits are final.
        ends: the last y value, the name and the colour of each line.
    """
    low, high = axes.get_ylim()
    gap = 0.085 * (high - low)
    order = sorted(range(len(ends)), key=lambda i: ends[i][0])
    places = [ends[i][0] for i in order]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + gap)
    over = max(0.0, (places[-1] if places else low) - high)
    for place, i in zip(places, order, strict=True):
        axes.annotate(
            ends[i][1],
            (1.0, place - over),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=ends[i][2],
        )
