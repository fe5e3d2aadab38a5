"""Numbers of a figure: drawn values are remembered, for a table beside it and for the pointer."""

import math
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

BAND_ALPHA = 0.18
NULL = "null, 95% quantile"  # series of the null distribution of a disparity


class Drawn(NamedTuple):
    """One value of a figure, with the ends of its interval or band (NaN without one)."""

    axes: Axes
    series: str
    x: object
    value: float
    low: float = math.nan
    high: float = math.nan


class Mark(NamedTuple):
    """What a page tells about a part of a drawing: its numbers, and the series that it is of."""

    text: str
    series: str


_DRAWN: weakref.WeakKeyDictionary[Figure, list[Drawn]] = weakref.WeakKeyDictionary()
_MARKS: weakref.WeakKeyDictionary[Figure, list[Mark]] = weakref.WeakKeyDictionary()
_TITLES: weakref.WeakKeyDictionary[Axes, tuple[str, str]] = weakref.WeakKeyDictionary()


def keep(axes: Axes, *row: Any) -> None:
    """Remember a drawn value for `numbers_of`: its series, x, value, low and high."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    _DRAWN.setdefault(figure, []).append(Drawn(axes, *row))


def mark(artist: Artist, text: str = "", series: str = "") -> None:
    """Give a part of a drawing the text that a page shows under the pointer.

    Args:
        artist: The part, which lies in a figure.
        text: Its numbers; "" for none.
        series: Name of the series that it is of, by which a page shows and hides it.
    """
    figure = artist.get_figure(root=True)
    assert isinstance(figure, Figure)
    marks = _MARKS.setdefault(figure, [])
    artist.set_gid(f"mark-{len(marks)}")
    marks.append(Mark(text, series))


def marks_of(figure: Figure) -> list[Mark]:
    """Return the marks of a figure; the part with the id "mark-N" has the one at place N."""
    return _MARKS.get(figure, [])


def name_panel(axes: Axes, title: str, below: str) -> None:
    """Remember a panel's title and the line below it, for `numbers_of`."""
    _TITLES[axes] = (title, below)


def curve(
    axes: Axes,
    x: Sequence[float] | np.ndarray,
    mean: np.ndarray,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
    *,
    label: str,
    alpha: float = BAND_ALPHA,
    **look: Any,
) -> None:
    """Draw a line with its band, and remember the numbers.

    Args:
        axes: The panel.
        x: Positions of the points.
        mean: The line.
        low: Lower edge of the band; None for a line without one.
        high: Upper edge.
        label: Name of the line.
        alpha: Opacity of the band.
        **look: For `Axes.plot`.
    """
    axes.plot(x, mean, label=label, zorder=3, **look)
    band = low is not None and high is not None
    if band:
        axes.fill_between(x, low, high, color=look["color"], alpha=alpha, lw=0)  # type: ignore[arg-type]
    edges = (low, high) if band else (np.full(len(mean), np.nan),) * 2
    for values in zip(x, mean, *edges, strict=True):  # type: ignore[arg-type]
        keep(axes, label, *values)


def numbers_of(figure: Figure) -> list[dict[str, object]]:
    """Return the numbers that a figure draws, one row per point.

    Args:
        figure: A figure that a function of `fairgym.report` has drawn.

    Returns:
        Rows with "panel", "of" (the line below its title), "series", "axis" (meaning of x, "" for a
        word), "x", "value", "low" and "high" (ends of the interval or band, or None), "unit".
    """
    rows = []
    for one in _DRAWN.get(figure, []):
        title, below = _TITLES.get(one.axes, ("", ""))
        axis, unit = one.axes.get_xlabel(), one.axes.get_ylabel()
        if isinstance(one.x, str):  # values are drawn along x where y has no unit
            axis, unit = "", unit or axis.partition("\n")[0]
        numbers = {n: float(getattr(one, n)) for n in ("value", "low", "high")}
        rows.append(
            {
                "panel": title,
                "of": below,
                "series": one.series.replace("\n", " "),
                "axis": _one_line(axis),
                "x": one.x if isinstance(one.x, str) else float(f"{one.x:.6g}"),
                **{n: float(f"{x:.6g}") if math.isfinite(x) else None for n, x in numbers.items()},
                "unit": _one_line(unit),
            }
        )
    return rows


def _one_line(text: str) -> str:
    return text.replace("\n", " ")
