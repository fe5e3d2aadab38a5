"""Actions that divide: shares of a budget, possibly nested, and whole units over places."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core.errors import FairgymError, check_shape
from fairgym.core.spaces import ActionSpace, Element, Numbers, declared


@dataclasses.dataclass(frozen=True)
class Shares(ActionSpace):
    """One or more simplexes laid end to end: each block is non-negative and sums to 1.

    Attributes:
        blocks: Shares of each simplex, in order; a string is the name of an `Element`. A block
            whose elements name another element in `of` splits that share further.

    Raises:
        FairgymError: A block splits a share that is not in an earlier block.

    Examples:
        >>> import jax.numpy as jnp
        >>> from fairgym.core import Shares, per_group
        >>> space = Shares((("beds", "rest"), per_group("beds", ("north", "south"), of="beds")))
        >>> action = space.clip(jnp.array([3.0, 1.0, 1.0, 1.0]))
        >>> action.tolist(), space.splits(action)["beds"].tolist()
        ([0.75, 0.25, 0.5, 0.5], [0.5, 0.5])
    """

    blocks: tuple[tuple[Any, ...], ...]

    def __post_init__(self) -> None:
        """Convert strings to elements."""
        flat = iter(declared([element for block in self.blocks for element in block]))
        blocks = tuple(tuple(next(flat) for _ in block) for block in self.blocks)
        object.__setattr__(self, "blocks", blocks)
        known: set[str] = set()
        for block in blocks:
            for name in {element.of for element in block} - {"", *known}:
                raise FairgymError(
                    "the field 'of' of a share must name a share of an earlier block"
                    f" ({', '.join(sorted(known)) or 'there is none'}), got {name!r}"
                )
            known |= {element.name for element in block}

    @property
    def elements(self) -> tuple[Element, ...]:  # type: ignore[override]
        """Elements of the action: the shares, block by block."""
        return tuple(element for block in self.blocks for element in block)

    @property
    def takes(self) -> str:
        """Description of an action in words."""
        parts = (f"{len(block)} shares that sum to 1" for block in self.blocks)
        return ", then ".join(parts)

    def split(self, action: Numbers) -> list[Numbers]:
        """Split an action into its blocks."""
        parts, start = [], 0
        for block in self.blocks:
            parts.append(action[start : start + len(block)])
            start += len(block)
        return parts

    def by_name(self, action: Float[Array, " size"]) -> dict[str, Float[Array, ""]]:
        """Return a dictionary: name of each share -> its value."""
        return {name: action[place] for place, name in enumerate(self.names)}

    def splits(self, action: Float[Array, " size"]) -> dict[str, Float[Array, " parts"]]:
        """Return a dictionary: name of each share that is split further -> its sub-shares."""
        blocks = zip(self.blocks, self.split(action), strict=True)
        return {block[0].of: part for block, part in blocks if block[0].of}

    def sample(self, key: PRNGKeyArray) -> Float[Array, " size"]:
        """Sample each block uniformly from its simplex (a flat Dirichlet distribution)."""
        # exponential numbers over their sum; `jax.random.dirichlet` draws gamma numbers in a loop
        numbers = jax.random.exponential(key, self.shape)
        return jnp.concatenate([part / jnp.sum(part) for part in self.split(numbers)])

    def contains(self, action: Float[Array, "..."]) -> Bool[Array, ""]:
        """Return True if the shape fits, no share is negative and blocks sum to 1 (to 1e-4)."""
        if jnp.shape(action) != self.shape:
            return jnp.array(False)
        sums = jnp.stack([jnp.sum(part) for part in self.split(action)])
        return jnp.all(action >= 0.0) & jnp.all(jnp.abs(sums - 1.0) < 1e-4)

    def clip(self, action: Float[Array, "..."]) -> Float[Array, "..."]:
        """Set negative shares to 0 and divide blocks by their sums; zeros become uniform."""
        blocks = self.split(jnp.nan_to_num(action, nan=0.0))
        return jnp.concatenate([in_proportion(part) for part in blocks])

    def holding(self, action: Numbers, held: Sequence[int]) -> Numbers:
        """Keep the held shares and scale the others of each block to fill the rest.

        The others divide the rest evenly if all of them are 0. The held shares are divided by their
        sum if it is above 1 or the block has no others. A block of zeros is uniform.
        """
        holds = np.isin(np.arange(len(self.elements)), np.array(held, int))
        blocks = zip(self.split(action), self.split(holds), strict=True)
        xp = action.__array_namespace__()
        return xp.concatenate([filled(xp, part, fixed) for part, fixed in blocks])

    def from_logits(
        self, logits: Float[Array, " size"], mask: Bool[Array, " people"]
    ) -> Float[Array, " size"]:
        """Apply a softmax to each block."""
        return jnp.concatenate([jax.nn.softmax(part) for part in self.split(logits)])


def in_proportion(numbers: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return shares proportional to numbers; negative ones count as 0, all zeros are uniform."""
    # clipped and divided by the largest first, since a sum of huge numbers would overflow
    numbers = jnp.clip(numbers, 0.0, 1e30)
    largest = jnp.max(numbers)
    numbers = jnp.where(largest > 0.0, numbers / jnp.where(largest > 0.0, largest, 1.0), 1.0)
    return numbers / jnp.sum(numbers)


def filled(xp: Any, part: Numbers, holds: np.ndarray) -> Numbers:
    """Return shares scaled to a sum of 1, with some held; `xp` is `numpy` or `jax.numpy`."""
    given, others = xp.where(holds, part, 0.0), xp.where(holds, 0.0, part)
    others = xp.where(xp.sum(others) > 0.0, others, 1.0 - holds)
    total = xp.sum(given)
    left = xp.maximum(1.0 - total, 0.0)
    filled = given + others * left / xp.maximum(xp.sum(others), 1e-30)
    divisor = total if holds.all() else xp.maximum(total, 1.0)
    positive = divisor > 0.0
    return xp.where(positive, filled / xp.where(positive, divisor, 1.0), 1.0 / len(holds))


MOST_UNITS = 100_000


def apportion(shares: Float[Array, " places"], units: int) -> Int[Array, " places"]:
    """Apportion whole units by shares: each unit goes to the largest share, which then loses 1/N.

    This is the loop of Hu, Lear and Zhang (2023, section VI-B) in closed form: the method of
    largest remainders. Each place gets the whole part of its N s_k units; the remaining units go to
    the largest remainders, one each. In a tie the first place comes first.

    Args:
        shares: Share of each place; they sum to 1.
        units: Number of units N.

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
    """Whole units that are all divided over places.

    Attributes:
        units: Number of units.
        elements: The places, in order; a string is the name of an `Element`.

    Raises:
        FairgymError: There is no place, two places have the same name, or the number of units is
            out of range.

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
        """Check the units, and convert strings to elements."""
        check_shape("units", self.units, 1, MOST_UNITS)
        object.__setattr__(self, "elements", declared(self.elements))
        if not self.elements:
            raise FairgymError("elements must have at least one place, got ()")

    @property
    def largest(self) -> float:
        """Largest value of an element: all units."""
        return float(self.units)

    @property
    def takes(self) -> str:
        """Description of an action in words."""
        return (
            f"{len(self.elements)} whole numbers from 0 that sum to {self.units}:"
            f" {', '.join(self.names)}"
        )

    def sample(self, key: PRNGKeyArray) -> Int[Array, " places"]:
        """Sample uniformly from all ways to divide the units (stars and bars)."""
        places, units = len(self.elements), self.units
        row = jax.random.permutation(key, units + places - 1)[: places - 1]
        bars = jnp.concatenate([jnp.array([-1]), jnp.sort(row), jnp.array([units + places - 1])])
        return (jnp.diff(bars) - 1).astype(jnp.int32)

    def contains(self, action: Array) -> Bool[Array, ""]:
        """Return True for whole non-negative numbers of the right shape that sum to the units."""
        if jnp.shape(action) != self.shape:
            return jnp.array(False)
        number = jnp.asarray(action)
        whole = jnp.all((number >= 0) & (number <= self.units) & (number == jnp.floor(number)))
        return whole & (jnp.sum(number) == self.units)

    def clip(self, action: Array) -> Int[Array, "..."]:
        """Divide the units in proportion; NaN and negatives become 0, all zeros are uniform."""
        number = jnp.nan_to_num(jnp.asarray(action, jnp.float32), nan=0.0)
        return apportion(in_proportion(number), self.units)

    def holding(self, action: Numbers, held: Sequence[int]) -> Numbers:
        """Keep the held units and divide the rest in proportion to the other numbers.

        The held units are scaled if they exceed all units, or if there is no other place.
        """
        holds = np.isin(np.arange(len(self.elements)), np.array(held, int))
        xp = action.__array_namespace__()
        whole = xp.where(holds, xp.round(action), action)
        return xp.asarray(apportion(jnp.asarray(filled(xp, whole / self.units, holds)), self.units))

    def from_logits(
        self, logits: Float[Array, " places"], mask: Bool[Array, " people"]
    ) -> Int[Array, " places"]:
        """Apportion the units by a softmax."""
        return apportion(jax.nn.softmax(logits), self.units)

    def counted(
        self, action: Array, mask: Bool[Array, " people"]
    ) -> tuple[Float[Array, " places"], Float[Array, ""]]:
        """Return the numbers of units, with a count of 1."""
        return action.astype(jnp.float32), jnp.float32(1.0)
