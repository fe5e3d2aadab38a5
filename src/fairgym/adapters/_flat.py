"""Layout of an observation as one vector: its numbers, their names and their ends.

The vector has the features row by row, then 1 for each row that holds a person and 0 for the
others, then the context.
"""

import functools
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fairgym.core import Entities, EntitySpace, Feature, computed_once

PARTS = ("features", "present", "context")  # in the order of the vector

Ends = tuple[np.ndarray, np.ndarray]


def size_of(space: EntitySpace) -> int:
    """Return the length of the vector."""
    return space.capacity * (len(space.features) + 1) + len(space.context)


def names_of(space: EntitySpace) -> tuple[str, ...]:
    """Return the name of each number: "fico[3]" and "present[3]" of row 3, "time"."""
    rows = range(space.capacity)
    return (
        *(f"{feature.name}[{row}]" for row in rows for feature in space.features),
        *(f"present[{row}]" for row in rows),
        *(feature.name for feature in space.context),
    )


def ends_of(space: EntitySpace, *, scaled: bool = False) -> Ends:
    """Return the lowest and the highest value of each number, as two vectors.

    They are the declared ends of the features. Those of rows include 0, because an empty row holds
    zeros. With `scaled` they are 0 and 1, except for features without declared ends.
    """
    low, high = _ends(space.features, scaled)
    low_context, high_context = _ends(space.context, scaled)
    none, people = np.zeros(space.capacity, np.float32), space.capacity
    return (
        np.concatenate([np.tile(np.minimum(low, 0.0), people), none, low_context]),
        np.concatenate([np.tile(np.maximum(high, 0.0), people), none + 1.0, high_context]),
    )


# otherwise XLA computes a number again wherever a vector of all of them is written
@functools.partial(computed_once, static=("space", "scaled"))
def within_ends(observation: Entities, space: EntitySpace, *, scaled: bool) -> Entities:
    """Return an observation whose numbers lie within their declared ends.

    Args:
        observation: As `Environment.observe` returns it; numbers may lie outside.
        space: Its space.
        scaled: Whether to scale the ends of each feature to 0 and 1. Features of which an end is
            not finite stay as they are.
    """

    def bounded(numbers: Array, features: Sequence[Feature]) -> Array:
        if scaled:
            low, high = _ends(features, scaled=False)
            known = np.isfinite(low) & np.isfinite(high)
            span = np.where(known & (high > low), high - low, np.float32(1.0))
            numbers = (numbers - np.where(known, low, np.float32(0.0))) / span
        return jnp.clip(numbers, *_ends(features, scaled))

    features = bounded(observation.features, space.features)
    return observation.replace(
        features=jnp.where(observation.mask[:, None], features, 0.0),
        context=bounded(observation.context, space.context),
    )


def parts_of(observation: Entities) -> dict[str, Float[Array, "..."]]:
    """Return the arrays of an observation by name, without empty ones."""
    parts = (observation.features, observation.mask.astype(jnp.float32), observation.context)
    return {name: part for name, part in zip(PARTS, parts, strict=True) if part.size}


def _ends(features: Sequence[Feature], scaled: bool) -> Ends:
    """Return the lower and the upper end of each feature."""
    low = np.array([feature.low for feature in features], np.float32)
    high = np.array([feature.high for feature in features], np.float32)
    if not scaled:
        return low, high
    known = np.isfinite(low) & np.isfinite(high)
    return np.where(known, np.float32(0.0), low), np.where(known, np.float32(1.0), high)
