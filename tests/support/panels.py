"""What a figure shows."""

import types
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fairgym.core import Environment


def titled(figure: Figure) -> dict[str, Any]:
    """The panels that show something, by title."""
    return {axes.get_title(loc="left"): axes for axes in figure.axes if axes.get_title(loc="left")}


def trace_of(env: Environment, every: np.ndarray, **given: Any) -> Any:
    """A trace whose components are all alike, but for those that are given."""
    return types.SimpleNamespace(**(dict.fromkeys(env.spec.component_info, every) | given))
