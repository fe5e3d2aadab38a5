"""Actions that are whole units divided over places."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core.errors import FairgymError, check_shape
from fairgym.core.shares import filled, in_proportion
from fairgym.core.spaces import ActionSpace, Numbers, declared

MOST_UNITS = 100_000


def apportion(shares: Float[Array, " places"], units: int) -> Int[Array, " places"]:
    """Whole units by shares: each goes to the largest share, of which 1/N is then taken away.

    The loop of Hu, Lear and Zhang (2023, section VI-B) in closed form, which is the method of
    largest remainders: each place has the whole part of its N s_k units, and what is then left goes
    to the largest remainders, one unit each. Of equal ones the first place is served first.

    Args:
        shares: one for each place; they sum to 1.
        units: N, the number of units.

    Examples:
        >>> import jax.numpy as jnp
        >>> from fairgym.core import apportion
        >>> apportion(jnp.array([0.5, 0.3, 0.2]), 6).tolist()
        [3, 2, 1]
    """
    whole = jnp.floor(shares * units)
    rest = shares * units - whole
    left = units - jnp.sum(whole)
    first = jnp.arange(shares.shape[0])[:, None] > jnp.arange(shares.shape[0])
    ahead = (rest > rest[:, None]) | ((rest == rest[:, None]) & first)
    return (whole + (jnp.sum(ahead, axis=1) < left)).astype(jnp.int32)


@dataclasses.dataclass(frozen=True)
class Allocation(ActionSpace):
    """Whole units divided over places, all of them.

    Attributes:
        units: number of units.
        elements: the places, in order; a text is taken as the name of an `Element`.

    Raises:
        FairgymError: no place, two of one name, or a number of units that is out of range.

    Examples:
        >>> import jax.numpy as jnp
        >>> from fairgym.core import Allocation
        >>> space = Allocation(6, ("north", "middle", "south"))
        >>> space.clip(jnp.array([2.0, 1.0, 0.9])).tolist()
        [3, 2, 1]
    """

    dtype: ClassVar[DTypeLike] = jnp.int32

    units: int
    elements: tuple[Any, ...]

    def __post_init__(self) -> None:
        """Check the units, and make elements of texts."""
        check_shape("units", self.units, 1, MOST_UNITS)
        object.__setattr__(self, "elements", declared(self.elements))
        if not self.elements:
            raise FairgymError("elements is (); it takes at least one place")

    @property
    def largest(self) -> float:
        """All units."""
        return float(self.units)

    @property
    def takes(self) -> str:
        """Description of an action in words."""
        return (
            f"{len(self.elements)} whole numbers from 0 that sum to {self.units}:"
            f" {', '.join(self.names)}"
        )

    def sample(self, key: PRNGKeyArray) -> Int[Array, " places"]:
        """Sample uniformly from all ways to divide the units: bars among stars in a random row."""
        places, units = len(self.elements), self.units
        row = jax.random.permutation(key, units + places - 1)[: places - 1]
        bars = jnp.concatenate([jnp.array([-1]), jnp.sort(row), jnp.array([units + places - 1])])
        return (jnp.diff(bars) - 1).astype(jnp.int32)

    def contains(self, action: Array) -> Bool[Array, ""]:
        """True if the shape fits, and the numbers are whole, not negative, and sum to the units."""
        if jnp.shape(action) != self.shape:
            return jnp.array(False)
        number = jnp.asarray(action)
        whole = jnp.all((number >= 0) & (number <= self.units) & (number == jnp.floor(number)))
        return whole & (jnp.sum(number) == self.units)

    def clip(self, action: Array) -> Int[Array, "..."]:
        """Divide the units in proportion; not-a-number and negatives become 0, zeros are even."""
        number = jnp.nan_to_num(jnp.asarray(action, jnp.float32), nan=0.0)
        return apportion(in_proportion(number), self.units)

    def holding(self, action: Numbers, held: Sequence[int]) -> Numbers:
        """Units that hold as they are; the others of their number in proportion to the rest.

        Units that hold are scaled if they are more than all, or no other place is there.
        """
        holds = np.isin(np.arange(len(self.elements)), np.array(held, int))
        xp = action.__array_namespace__()
        whole = xp.where(holds, xp.round(action), action)
        return xp.asarray(apportion(jnp.asarray(filled(xp, whole / self.units, holds)), self.units))

    def from_logits(
        self, logits: Float[Array, " places"], mask: Bool[Array, " people"]
    ) -> Int[Array, " places"]:
        """The units apportioned by a softmax."""
        return apportion(jax.nn.softmax(logits), self.units)

    def counted(
        self, action: Array, mask: Bool[Array, " people"]
    ) -> tuple[Float[Array, " places"], Float[Array, ""]]:
        """The numbers of units, which count once."""
        return action.astype(jnp.float32), jnp.float32(1.0)
