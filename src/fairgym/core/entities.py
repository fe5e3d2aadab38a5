"""Observations: a set of people, and a context that they share."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from fairgym.core.struct import Struct


class Entities(Struct):
    """An observation: one row per person the agent sees, in arbitrary order.

    Attributes:
        features: one row per place, zero where no person is; units are the space's.
        mask: True where a row holds a person.
        context: numbers that are the same for everybody (time, budget, beds).

    Examples:
        >>> import jax.numpy as jnp
        >>> from fairgym import Entities
        >>> age, income = jnp.array([30.0, 50.0, 0.0]), jnp.array([2.0, 3.0, 0.0])
        >>> seen = Entities.from_columns([age, income], jnp.array([True, True, False]), [])
        >>> seen.features.tolist()
        [[30.0, 2.0], [50.0, 3.0], [0.0, 0.0]]
        >>> seen.permuted(jnp.array([1, 0, 2])).mask.tolist()
        [True, True, False]
    """

    features: Float[Array, "capacity features"]
    mask: Bool[Array, " capacity"]
    context: Float[Array, " context"]

    @classmethod
    def from_columns(
        cls,
        columns: list[Float[Array, " capacity"]],
        mask: Bool[Array, " capacity"],
        context: list[Float[Array, ""]],
    ) -> "Entities":
        """Build an observation from one array per feature, with masked rows set to zero.

        The columns are stacked as rows and then transposed: the compiler stores a population
        feature by feature, which is the layout that the networks read fastest.
        """
        stacked = jnp.where(mask, jnp.stack([jnp.asarray(c, jnp.float32) for c in columns]), 0.0)
        return cls(
            features=stacked.T,
            mask=mask,
            context=jnp.stack([jnp.asarray(c, jnp.float32) for c in context])
            if context
            else jnp.zeros((0,), jnp.float32),
        )

    def permuted(self, order: jax.Array) -> "Entities":
        """The same people in another order; `order` is a permutation of the rows."""
        return Entities(self.features[order], self.mask[order], self.context)
