"""Gymnasium spaces for fairgym's observations and actions."""

from typing import Any

import numpy as np

from fairgym.core import ActionSpace, EntitySpace, FairgymError

try:
    from gymnasium import spaces
except ImportError as error:  # pragma: no cover - needs an installation without the extra
    raise FairgymError(
        "this adapter needs gymnasium and pettingzoo: pip install -e '.[interop]'"
        " in a clone of fairgym"
    ) from error


def observation_space(space: EntitySpace, *, structured: bool) -> spaces.Space[Any]:
    """Return the space of one vector, or of a dictionary with features, presence and context.

    Boxes are unbounded, because features may lie outside their usual range.

    Args:
        space: The declared space.
        structured: Whether to return the dictionary.
    """
    shapes = {
        "features": (space.capacity, len(space.features)),
        "present": (space.capacity,),
        "context": (len(space.context),),
    }
    if not structured:
        return _box(-np.inf, np.inf, (sum(int(np.prod(shape)) for shape in shapes.values()),))
    parts: dict[str, spaces.Space[Any]] = {
        n: _box(-np.inf, np.inf, shape) for n, shape in shapes.items() if np.prod(shape)
    }
    parts["present"] = _box(0.0, 1.0, shapes["present"])
    return spaces.Dict({"observation": spaces.Dict(parts)})


def action_space(space: ActionSpace) -> spaces.Space[Any]:
    """Return the space of numbers in [0, 1], or of the number of an option.

    Shares and units are weights, which the environment divides by their sum, because samples of a
    box do not sum to one.
    """
    if space.discrete:
        return spaces.Discrete(len(space.elements))
    return _box(0.0, 1.0, space.shape)


def reward_space(names: tuple[str, ...]) -> spaces.Space[Any]:
    """Return the space of vectors with one number per name."""
    return _box(-np.inf, np.inf, (len(names),))


def _box(low: float, high: float, shape: tuple[int, ...]) -> spaces.Box:
    return spaces.Box(low, high, shape, np.float32)
