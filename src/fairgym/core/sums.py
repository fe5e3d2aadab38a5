"""Sums of float32 numbers that keep their rounding errors."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.core.components import add_compensated
from fairgym.core.struct import Struct


class CompensatedSum(Struct):
    """Running sums, exact to about 48 bits. A plain float32 sum is exact to 24.

    Attributes:
        total: Rounded sums.
        lost: Rounding errors, which are to be added to them.
    """

    total: Float[Array, "..."]
    lost: Float[Array, "..."]

    @classmethod
    def of(cls, numbers: Float[Array, "..."]) -> "CompensatedSum":
        """Return sums that so far are these numbers."""
        return cls(total=numbers, lost=jnp.zeros_like(numbers))

    @property
    def value(self) -> Float[Array, "..."]:
        """Sums, rounded once."""
        return self.total + self.lost

    def plus(self, numbers: Float[Array, "..."]) -> "CompensatedSum":
        """Return the sums after these numbers are added; shapes are broadcast."""
        total, lost = add_compensated(self.total, self.lost, numbers)
        return CompensatedSum(total=total, lost=jnp.where(jnp.isfinite(total), lost, 0.0))

    def times(self, factor: float) -> "CompensatedSum":
        """Return the sums multiplied by a factor."""
        return CompensatedSum(total=factor * self.total, lost=factor * self.lost)


def sum_compensated(numbers: Float[Array, "rows ..."]) -> CompensatedSum:
    """Return the sum over the first axis with its rounding error, added in pairs."""
    total, lost = numbers, jnp.zeros_like(numbers)
    while total.shape[0] > 1:
        if total.shape[0] % 2:
            more = jnp.zeros_like(total[:1])
            total, lost = jnp.concatenate([total, more]), jnp.concatenate([lost, more])
        pairs = add_compensated(total[::2], lost[::2] + lost[1::2], total[1::2])
        total, lost = pairs
    return CompensatedSum(total=jnp.sum(total, axis=0), lost=jnp.sum(lost, axis=0))
