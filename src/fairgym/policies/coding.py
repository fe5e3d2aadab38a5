"""Encodings of observations from their declared features: table indices and network inputs.

An encoding lists the rows in order, feature by feature, then the context. It distinguishes
entities, so use it only if row i is always the same entity.
"""

import dataclasses
import math
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from fairgym.core import Entities, EntitySpace, FairgymError, Feature

InputCode = Literal["scaled", "binary"]


@dataclasses.dataclass(frozen=True)
class _Code:
    """Base of encodings: the declared numbers of an observation in a vector.

    Attributes:
        space: Space of the observations.
    """

    space: EntitySpace

    @property
    def declared(self) -> tuple[Feature, ...]:
        """Feature of each number: those of all rows in order, then those of the context.

        Fixed features are left out, since the row determines them.
        """
        of_rows = tuple(feature for feature in self.space.features if not feature.fixed)
        return of_rows * self.space.capacity + self.space.context

    def numbers(self, observation: Entities) -> Float[Array, " numbers"]:
        """Return the numbers of an observation in the order of `declared`."""
        kept = [place for place, feature in enumerate(self.space.features) if not feature.fixed]
        rows = observation.features[:, np.array(kept, int)]
        return jnp.concatenate([rows.reshape(-1), observation.context])

    def level(self, observation: Entities) -> Float[Array, " numbers"]:
        """Return the index of each number among the values of its feature, from 0.

        The index is arbitrary for numbers out of range and meaningless for continuous features.
        """
        low, high = _ranges(self.declared)
        step = (high - low) / np.maximum([f.levels - 1 for f in self.declared], 1)
        return jnp.round((self.numbers(observation) - low) / step.astype(np.float32))


@dataclasses.dataclass(frozen=True)
class TableCode(_Code):
    """Index of an observation among all combinations of the declared values.

    Attributes:
        space: Space of the observations; every feature has a finite number of values.

    Raises:
        FairgymError: A feature is continuous.

    Examples:
        >>> import jax.numpy as jnp
        >>> from fairgym.core import Entities, EntitySpace, Feature
        >>> from fairgym.policies.coding import TableCode
        >>> code = TableCode(EntitySpace(2, (Feature("given", 0, 4, levels=5),)))
        >>> seen = Entities(jnp.array([[3.0], [4.0]]), jnp.ones(2, bool), jnp.zeros(0))
        >>> code.size, int(code.index(seen)[0])
        (25, 19)
    """

    def __post_init__(self) -> None:
        """Check that every feature has a finite number of values."""
        for feature in self.declared:
            if not feature.levels:
                raise FairgymError(
                    f"{feature.name!r} is a continuous feature; a table needs features that declare"
                    " a number of values (levels)"
                )

    @property
    def size(self) -> int:
        """Number of distinct observations."""
        return math.prod(feature.levels for feature in self.declared)

    def index(self, observation: Entities) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """Return the index of an observation, from 0 to `size` - 1, and whether it is in the table.

        An observation with a number outside its feature's range is not in the table; its index is
        that of the nearest observation in the table.
        """
        levels = np.array([feature.levels for feature in self.declared])
        places = np.cumprod(np.concatenate([[1], levels[:0:-1]]))[::-1]
        level = self.level(observation)
        inside = jnp.clip(level, 0, levels - 1)
        index = jnp.sum(inside.astype(jnp.int32) * places.astype(np.int32))
        return index, jnp.all(level == inside)


@dataclasses.dataclass(frozen=True)
class Inputs(_Code):
    """Inputs of a network.

    Attributes:
        space: Space of the observations.
        code: "scaled" divides each number by its declared range. "binary" encodes a feature with a
            finite number of values in bits, lowest first, as many as the largest value needs (7
            for 101 values), and scales continuous features.
    """

    code: InputCode = "scaled"

    @property
    def bits(self) -> tuple[int, ...]:
        """Number of inputs for each declared number."""
        if self.code == "scaled":
            return (1,) * len(self.declared)
        return tuple((f.levels - 1).bit_length() if f.levels else 1 for f in self.declared)

    @property
    def size(self) -> int:
        """Number of inputs."""
        return sum(self.bits)

    def __call__(self, observation: Entities) -> Float[Array, " inputs"]:
        """Return the inputs for an observation; values out of range lose their highest bits."""
        low, high = _ranges(self.declared)
        scaled = (self.numbers(observation) - low) / (high - low)
        if self.code == "scaled":
            return scaled
        source = np.repeat(np.arange(len(self.bits)), self.bits)
        place = np.concatenate([np.arange(count) for count in self.bits])
        counted = np.array([feature.levels > 0 for feature in self.declared])[source]
        level = jnp.maximum(self.level(observation), 0.0).astype(jnp.int32)
        bit = (level[source] >> place.astype(np.int32)) & 1
        return jnp.where(counted, bit.astype(jnp.float32), scaled[source])


def _ranges(
    features: tuple[Feature, ...],
) -> tuple[Float[np.ndarray, " numbers"], Float[np.ndarray, " numbers"]]:
    """Return the lower and upper ends of the ranges, one apart if they are equal."""
    low = np.array([feature.low for feature in features], np.float32)
    high = np.array([feature.high for feature in features], np.float32)
    return low, np.where(high > low, high, low + 1.0).astype(np.float32)
