"""Spaces of actions: what an agent decides, with declared elements and all of their behaviour.

A space knows how actions are sampled, checked and clipped, how a network's outputs become an
action (`from_logits`), and how actions are averaged (`counted`), so that nobody needs to ask which
kind of space it is. `clip` brings any array of the right shape into the space; environments call it
inside `step`, so that no policy can break the dynamics.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core.elements import Element, declared
from fairgym.core.errors import FairgymError


@runtime_checkable
class ActionSpace(Protocol):
    """Interface of all action spaces.

    Attributes:
        per_entity: True if an action has one entry for each row of the observation.
        independent: True if its numbers can be set independently of each other.
        discrete: True if an action is a choice among options.
        dtype: type of the numbers of an action.
    """

    per_entity: ClassVar[bool]
    independent: ClassVar[bool]
    discrete: ClassVar[bool]
    dtype: ClassVar[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one action."""
        ...

    @property
    def elements(self) -> tuple[Element, ...]:
        """Meanings of the numbers of a mean action; one for all rows of a per-entity action."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the elements."""
        ...

    @property
    def takes(self) -> str:
        """Description of an action in words, for error messages."""
        ...

    def sample(self, key: PRNGKeyArray) -> Array:
        """Sample one action uniformly."""
        ...

    def contains(self, action: Array) -> Bool[Array, ""]:
        """True if this array has the right shape and lies inside the space."""
        ...

    def clip(self, action: Array) -> Array:
        """The nearest action of the space; not-a-number counts as 0."""
        ...

    def holding(self, action: Any, held: Sequence[int]) -> Any:
        """An action in which the numbers of some elements hold, brought to the sums of the space.

        Args:
            action: one number in [0, 1] per element, of NumPy or JAX.
            held: places of the elements that hold; where they leave nothing for the others of
                their sum, or no others are there, they are divided by the sum.
        """
        ...

    def from_logits(self, logits: Array, mask: Bool[Array, " people"]) -> Array:
        """The action that a network's outputs stand for.

        Args:
            logits: any real numbers, shaped as an action.
            mask: True for the rows of the observation that hold a person.
        """
        ...

    def counted(self, action: Array, mask: Bool[Array, " people"]) -> tuple[Array, Array]:
        """An action's contribution to a mean action: `(sum, count)`, the sum one per element."""
        ...

    def at_rows(self, action: Array, rows: Int[Array, " sample"]) -> Array:
        """The part of an action that concerns these rows of the observation."""
        ...

    def sum_over_elements(self, values: Array, mask: Bool[Array, " people"]) -> Float[Array, ""]:
        """Sum of one value per element; a per-entity element has the mean over people present."""
        ...

    def mean_over_elements(self, values: Array, mask: Bool[Array, " people"]) -> Float[Array, ""]:
        """Mean of one value per element; a per-entity element has the mean over people present."""
        ...


def mean_over_present(
    values: Float[Array, " people"], mask: Bool[Array, " people"]
) -> Float[Array, ""]:
    """Mean over the rows that hold a person; 0 without any."""
    return jnp.sum(jnp.where(mask, values, 0.0)) / jnp.maximum(jnp.sum(mask), 1.0)


class _UnitInterval:
    """Common part of `PerEntity` and `Unit`: every number lies in [0, 1] by itself."""

    independent: ClassVar[bool] = True
    discrete: ClassVar[bool] = False
    dtype: ClassVar[Any] = jnp.float32

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one action."""
        raise NotImplementedError

    def sample(self, key: PRNGKeyArray) -> Float[Array, " size"]:
        """Sample each number uniformly from [0, 1)."""
        return jax.random.uniform(key, self.shape)

    def contains(self, action: Float[Array, "..."]) -> Bool[Array, ""]:
        """True if the shape fits and every number lies in [0, 1]."""
        if jnp.shape(action) != self.shape:
            return jnp.array(False)
        return jnp.all((action >= 0.0) & (action <= 1.0))

    def clip(self, action: Float[Array, "..."]) -> Float[Array, "..."]:
        """Clip to [0, 1]; not-a-number becomes 0."""
        return jnp.clip(jnp.nan_to_num(action, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)

    def holding(self, action: Any, held: Sequence[int]) -> Any:
        """The action itself: its numbers have no sum."""
        return action


@dataclasses.dataclass(frozen=True)
class PerEntity(_UnitInterval):
    """One number in [0, 1] for each row of the agent's observation.

    Attributes:
        capacity: number of rows, people and empty places alike.
        element: meaning of the number; a text is taken as the name of an `Element`.

    Examples:
        >>> import jax.numpy as jnp
        >>> from fairgym.core import PerEntity
        >>> PerEntity(3, "priority").clip(jnp.array([0.5, 2.0, -1.0])).tolist()
        [0.5, 1.0, 0.0]
    """

    per_entity: ClassVar[bool] = True

    capacity: int
    element: Any = "score"

    def __post_init__(self) -> None:
        """Make the element of a text."""
        object.__setattr__(self, "element", declared([self.element])[0])

    @property
    def elements(self) -> tuple[Element, ...]:
        """The one element."""
        return (self.element,)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of the element."""
        return tuple(element.name for element in self.elements)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one action: `(capacity,)`."""
        return (self.capacity,)

    @property
    def takes(self) -> str:
        """Description of an action in words."""
        return f"{self.capacity} numbers in [0, 1], one for each row"

    def from_logits(
        self, logits: Float[Array, " people"], mask: Bool[Array, " people"]
    ) -> Float[Array, " people"]:
        """Sigmoids, 0 for rows without a person."""
        return jnp.where(mask, jax.nn.sigmoid(logits), 0.0)

    def counted(
        self, action: Float[Array, " people"], mask: Bool[Array, " people"]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Sum over the people present, and how many they are."""
        present = jnp.sum(mask, dtype=jnp.float32)
        return jnp.sum(jnp.where(mask, action, 0.0)), present

    def at_rows(self, action: Array, rows: Int[Array, " sample"]) -> Array:
        """The entries of these rows."""
        return action[rows]

    def sum_over_elements(self, values: Array, mask: Bool[Array, " people"]) -> Float[Array, ""]:
        """Mean over the people present: there is one element."""
        return mean_over_present(values, mask)

    def mean_over_elements(self, values: Array, mask: Bool[Array, " people"]) -> Float[Array, ""]:
        """Mean over the people present."""
        return mean_over_present(values, mask)


class _Vector:
    """Common part of `Unit` and `Shares`: an action is one short vector for everybody."""

    per_entity: ClassVar[bool] = False
    discrete: ClassVar[bool] = False
    dtype: ClassVar[Any] = jnp.float32

    elements: Any

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the elements."""
        return tuple(element.name for element in self.elements)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one action: `(number of elements,)`."""
        return (len(self.elements),)

    def by_name(self, action: Float[Array, " size"]) -> dict[str, Float[Array, ""]]:
        """Name of each element -> its number."""
        return {name: action[place] for place, name in enumerate(self.names)}

    def counted(
        self, action: Float[Array, " size"], mask: Bool[Array, " people"]
    ) -> tuple[Float[Array, " size"], Float[Array, ""]]:
        """The action itself, which counts once."""
        return action, jnp.float32(1.0)

    def at_rows(self, action: Array, rows: Int[Array, " sample"]) -> Array:
        """The whole action: it concerns all rows."""
        return action

    def sum_over_elements(self, values: Array, mask: Bool[Array, " people"]) -> Float[Array, ""]:
        """Sum over the elements."""
        return jnp.sum(values)

    def mean_over_elements(self, values: Array, mask: Bool[Array, " people"]) -> Float[Array, ""]:
        """Mean over the elements."""
        return jnp.mean(values)


@dataclasses.dataclass(frozen=True)
class Unit(_Vector, _UnitInterval):
    """A short vector of numbers in [0, 1].

    Attributes:
        elements: meanings of the numbers, in order; a text is taken as the name of an `Element`.

    Examples:
        >>> import jax.numpy as jnp
        >>> from fairgym.core import Unit, per_group
        >>> space = Unit(per_group("threshold", ("north", "south")))
        >>> space.names
        ('threshold_north', 'threshold_south')
        >>> bool(space.contains(jnp.array([0.2, 1.2])))
        False
    """

    elements: tuple[Any, ...]

    def __post_init__(self) -> None:
        """Make elements of texts."""
        object.__setattr__(self, "elements", declared(self.elements))

    @property
    def takes(self) -> str:
        """Description of an action in words."""
        return f"{len(self.elements)} numbers in [0, 1]: {', '.join(self.names)}"

    def from_logits(
        self, logits: Float[Array, " size"], mask: Bool[Array, " people"]
    ) -> Float[Array, " size"]:
        """Sigmoids."""
        return jax.nn.sigmoid(logits)


@dataclasses.dataclass(frozen=True)
class Shares(_Vector):
    """One or more simplexes laid end to end: each block is non-negative and sums to 1.

    Attributes:
        blocks: the shares of each simplex, in order; a text is taken as the name of an `Element`.
            A block whose elements name another one in `of` splits that share further.

    Examples:
        >>> import jax.numpy as jnp
        >>> from fairgym.core import Shares, per_group
        >>> space = Shares((("beds", "rest"), per_group("beds", ("north", "south"), of="beds")))
        >>> action = space.clip(jnp.array([3.0, 1.0, 1.0, 1.0]))
        >>> action.tolist(), space.splits(action)["beds"].tolist()
        ([0.75, 0.25, 0.5, 0.5], [0.5, 0.5])
    """

    independent: ClassVar[bool] = False

    blocks: tuple[tuple[Any, ...], ...]

    def __post_init__(self) -> None:
        """Make elements of texts."""
        flat = iter(declared([element for block in self.blocks for element in block]))
        blocks = tuple(tuple(next(flat) for _ in block) for block in self.blocks)
        object.__setattr__(self, "blocks", blocks)

    @property
    def elements(self) -> tuple[Element, ...]:  # type: ignore[override]
        """The shares, block after block."""
        return tuple(element for block in self.blocks for element in block)

    @property
    def takes(self) -> str:
        """Description of an action in words."""
        parts = (f"{len(block)} shares that sum to 1" for block in self.blocks)
        return ", then ".join(parts)

    def split(self, action: Any) -> list[Any]:
        """Cut an action into its blocks."""
        parts, start = [], 0
        for block in self.blocks:
            parts.append(action[start : start + len(block)])
            start += len(block)
        return parts

    def splits(self, action: Float[Array, " size"]) -> dict[str, Float[Array, " parts"]]:
        """Name of each share that is split further -> the shares of its parts."""
        blocks = zip(self.blocks, self.split(action), strict=True)
        return {block[0].of: part for block, part in blocks if block[0].of}

    def sample(self, key: PRNGKeyArray) -> Float[Array, " size"]:
        """Sample each block uniformly from its simplex (a flat Dirichlet distribution)."""
        keys = jax.random.split(key, len(self.blocks))
        return jnp.concatenate(
            [
                jax.random.dirichlet(k, jnp.ones(len(block)))
                for k, block in zip(keys, self.blocks, strict=True)
            ]
        )

    def contains(self, action: Float[Array, "..."]) -> Bool[Array, ""]:
        """True if the shape fits, no share is negative and every block sums to 1 (to 1e-4)."""
        if jnp.shape(action) != self.shape:
            return jnp.array(False)
        sums = jnp.stack([jnp.sum(part) for part in self.split(action)])
        return jnp.all(action >= 0.0) & jnp.all(jnp.abs(sums - 1.0) < 1e-4)

    def clip(self, action: Float[Array, "..."]) -> Float[Array, "..."]:
        """Set negative shares to 0 and divide each block by its sum; an empty block is uniform."""
        parts = []
        for part in self.split(jnp.nan_to_num(action, nan=0.0)):
            # bounded and divided by the largest first: a sum of huge shares would overflow
            part = jnp.clip(part, 0.0, 1e30)
            largest = jnp.max(part)
            part = jnp.where(largest > 0.0, part / jnp.where(largest > 0.0, largest, 1.0), 1.0)
            parts.append(part / jnp.sum(part))
        return jnp.concatenate(parts)

    def holding(self, action: Any, held: Sequence[int]) -> Any:
        """Scale the shares that do not hold to what the others of their block leave.

        They divide it evenly if all of them are 0. Shares that hold are divided by their sum if it
        is above 1 or the block has no others; a block of zeros is uniform.
        """
        holds = np.isin(np.arange(len(self.elements)), np.array(held, int))
        blocks = zip(self.split(action), self.split(holds), strict=True)
        xp = action.__array_namespace__()
        return xp.concatenate([_filled(xp, part, fixed) for part, fixed in blocks])

    def from_logits(
        self, logits: Float[Array, " size"], mask: Bool[Array, " people"]
    ) -> Float[Array, " size"]:
        """A softmax for each block."""
        return jnp.concatenate([jax.nn.softmax(part) for part in self.split(logits)])


def _filled(xp: Any, part: Any, holds: np.ndarray) -> Any:
    """One block of shares in which some hold; `xp` is NumPy or JAX's."""
    given, others = xp.where(holds, part, 0.0), xp.where(holds, 0.0, part)
    others = xp.where(xp.sum(others) > 0.0, others, 1.0 - holds)
    total = xp.sum(given)
    left = xp.maximum(1.0 - total, 0.0)
    filled = given + others * left / xp.maximum(xp.sum(others), 1e-30)
    divisor = total if holds.all() else xp.maximum(total, 1.0)
    positive = divisor > 0.0
    return xp.where(positive, filled / xp.where(positive, divisor, 1.0), 1.0 / len(holds))


def check_action(space: ActionSpace, agent: str, action: jax.Array) -> None:
    """Raise a FairgymError unless the action has the shape that the space takes."""
    if jnp.shape(action) != space.shape:
        raise FairgymError(
            f"the action of agent {agent!r} has shape {jnp.shape(action)}; it takes {space.shape}:"
            f" {space.takes}"
        )
