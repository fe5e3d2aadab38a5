"""Pictures of a state, for `render_mode="rgb_array"`: horizontal bars, drawn by matplotlib."""

import importlib.util
from collections.abc import Mapping, Sequence

import numpy as np

from fairgym.core import FairgymError

WIDTH, DOTS = 6.4, 100  # inches, and dots per inch
_BAR, _AROUND, _TALLEST = 0.22, 1.2, 20.0  # inches: of a bar, around the bars, of a picture


def check_render_mode(mode: object, modes: Sequence[str]) -> None:
    """Raise a FairgymError unless a render mode is one of `modes` or None, and can be drawn."""
    if mode is not None and mode not in modes:
        raise FairgymError(f"render_mode must be None or one of {', '.join(modes)}, got {mode!r}")
    if mode == "rgb_array" and importlib.util.find_spec("matplotlib") is None:
        raise FairgymError(
            "render_mode 'rgb_array' needs matplotlib, which is not installed: pip install -e"
            " '.[plot]' in a clone of fairgym"
        )


def bars(
    title: str, rows: Mapping[str, Sequence[float]], series: Sequence[str], axis: str, most: float
) -> np.ndarray:
    """Draw one bar per row and series.

    Args:
        title: Title of the picture.
        rows: Name of each row, from top to bottom -> one number per series.
        series: Names of the series; a single one needs no legend.
        axis: Label of the axis.
        most: Its upper end.

    Returns:
        The picture, uint8 of shape (height, width, 3).
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height = min(_BAR * len(rows) * len(series) + _AROUND, _TALLEST)
    figure = Figure(figsize=(WIDTH, height), dpi=DOTS, layout="constrained")
    canvas, axes = FigureCanvasAgg(figure), figure.subplots()
    places, thick = np.arange(len(rows)), 0.8 / len(series)
    for number, name in enumerate(series):
        values = [row[number] for row in rows.values()]
        axes.barh(places - 0.4 + (number + 0.5) * thick, values, thick, label=name)
    axes.set_yticks(places, list(rows), fontsize=7)
    axes.set(xlim=(0.0, most), xlabel=axis, title=title)
    axes.invert_yaxis()
    if len(series) > 1:
        axes.legend(fontsize=7)
    canvas.draw()
    return np.array(canvas.buffer_rgba())[..., :3].copy()
