"""What a figure shows."""

import types
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fairgym.core import Environment


def titled(figure: Figure) -> dict[str, Any]:
    """The panels that show something, by title."""
    return {axes.get_title(loc="left"): axes for axes in figure.axes if axes.get_title(loc="left")}


def drawn_lines(figure: Figure) -> list[tuple[str, str, str]]:
    """Points of all named lines, as label, x, y in six digits; of level lines without x."""
    found = []
    for axes in figure.axes:
        for line in axes.get_lines():
            x, y = (np.asarray(each, float) for each in line.get_data())
            label = str(line.get_label()).replace("\n", " ")
            if label.startswith("_"):
                continue
            if line.get_transform() != axes.transData:  # from the left edge to the right one
                x, y = np.array([np.nan]), y[:1]
            found += [(label, six_digits(a), six_digits(b)) for a, b in zip(x, y, strict=True)]
    return sorted(found)


def six_digits(value: float) -> str:
    """A number as it stands in a table of a figure's numbers; "" where there is none."""
    return f"{value:.6g}" if np.isfinite(value) else ""


def told_lines(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The same of the numbers of a figure."""
    numbers = [(r["x"] if not isinstance(r["x"], str) else np.nan, r["value"]) for r in rows]
    return sorted(
        (row["series"], six_digits(x), "" if y is None else six_digits(y))
        for row, (x, y) in zip(rows, numbers, strict=True)
    )


def trace_of(env: Environment, every: np.ndarray, **given: Any) -> Any:
    """A trace whose components are all alike, but for those that are given."""
    return types.SimpleNamespace(**(dict.fromkeys(env.spec.component_info, every) | given))
