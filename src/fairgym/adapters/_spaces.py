"""Gymnasium spaces for fairgym's observations and actions."""

from typing import Any

import numpy as np

from fairgym.adapters._flat import PARTS, Ends, ends_of
from fairgym.adapters._padding import Padding
from fairgym.core import ActionSpace, EntitySpace, FairgymError

try:
    from gymnasium import spaces
except ImportError as error:  # pragma: no cover - needs an installation without the extra
    raise FairgymError(
        "this adapter needs gymnasium and pettingzoo: pip install -e '.[interop]'"
        " in a clone of fairgym"
    ) from error


def observation_space(
    space: EntitySpace, *, structured: bool = False, scaled: bool = False
) -> spaces.Space[Any]:
    """Return the space of one vector, or of a dictionary with features, presence and context.

    A vector has the declared ends of its numbers (`fairgym.adapters._flat.ends_of`). The boxes of a
    dictionary are unbounded, because its features may lie outside their usual range.

    Args:
        space: The declared space.
        structured: Whether to return the dictionary.
        scaled: Whether the vector is scaled to [0, 1].
    """
    if not structured:
        return _between(ends_of(space, scaled=scaled))
    shapes = ((space.capacity, len(space.features)), (space.capacity,), (len(space.context),))
    parts: dict[str, spaces.Space[Any]] = {
        name: _box(-np.inf, np.inf, shape)
        for name, shape in zip(PARTS, shapes, strict=True)
        if np.prod(shape)
    }
    parts["present"] = _box(0.0, 1.0, (space.capacity,))
    return spaces.Dict({"observation": spaces.Dict(parts)})


def action_space(space: ActionSpace) -> spaces.Space[Any]:
    """Return the space of numbers in [0, 1], or of the number of an option.

    Shares and units are weights, which the environment divides by their sum, because samples of a
    box do not sum to one.
    """
    if space.discrete:
        return spaces.Discrete(len(space.elements))
    return _box(0.0, 1.0, space.shape)


def padded_spaces(padding: Padding, *, scaled: bool) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
    """Return the spaces of everybody's padded observations and actions."""
    size = padding.action_size
    acted = spaces.Discrete(size) if padding.discrete else _box(0.0, 1.0, (size,))
    return _between(padding.ends(scaled=scaled)), acted


def reward_space(names: tuple[str, ...]) -> spaces.Space[Any]:
    """Return the space of vectors with one number per name."""
    return _box(-np.inf, np.inf, (len(names),))


def _box(low: float, high: float, shape: tuple[int, ...]) -> spaces.Box:
    return spaces.Box(low, high, shape, np.float32)


def _between(ends: Ends) -> spaces.Box:
    low, high = ends
    return spaces.Box(low, high, dtype=np.float32)
