"""The base of action spaces: what an agent decides, with the elements it declares.

The spaces are in modules by family: numbers in [0, 1] (`unit`), shares of budgets and units divided
over places (`shares`) and choices among options (`choices`). A space knows how
actions are sampled, checked and clipped, how a network's outputs become an action (`from_logits`),
and how actions are averaged (`counted`), so that nobody needs to ask which kind of space it is.
`clip` brings any array of the right shape into the space; environments call it inside `step`, so
that no policy can break the dynamics.
"""

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core.errors import FairgymError

Numbers = TypeVar("Numbers", bound=np.ndarray | jax.Array)  # an action of NumPy or JAX


@dataclasses.dataclass(frozen=True)
class Element:
    """One number of an action.

    Attributes:
        name: Slug, unique within the action; it is used in log keys and files.
        label: Words for the number, without group; those of the name if empty.
        group: The group, or part of a partition, that it is for; "" if it is for all.
        of: Name of the element (share of a budget) that this one is a split of.
        unit: Unit of the value; "" for a plain number in [0, 1].
        meaning: What a higher value does, for readers of reports; "" where the name says it.
    """

    name: str
    label: str = ""
    group: str = ""
    of: str = ""
    unit: str = ""
    meaning: str = ""

    def __post_init__(self) -> None:
        """Fill in the label."""
        if not self.label:
            object.__setattr__(self, "label", self.name.replace("_", " "))

    @property
    def title(self) -> str:
        """Label and group: "threshold, advantaged"."""
        return f"{self.label}, {self.group.replace('_', ' ')}" if self.group else self.label


def per_group(
    name: str,
    groups: Sequence[str],
    *,
    label: str = "",
    of: str = "",
    unit: str = "",
    meaning: str = "",
) -> tuple[Element, ...]:
    """One element for each group, or a single one without groups.

    Args:
        name: Slug of what is decided; that of an element is NAME_GROUP.
        groups: Names of the groups, or of the parts that a budget is split over.
        label: Words for the number; those of the name if empty.
        of: Name of the element that these split.
        unit: Unit of the values.
        meaning: What a higher value does.

    Examples:
        >>> from fairgym.core import per_group
        >>> [(element.name, element.title) for element in per_group("relief", ("north", "south"))]
        [('relief_north', 'relief, north'), ('relief_south', 'relief, south')]
    """
    label = label or name.replace("_", " ")
    if not groups:
        return (Element(name, label, "", of, unit, meaning),)
    return tuple(
        Element(f"{name}_{group}".replace(" ", "_").lower(), label, group, of, unit, meaning)
        for group in groups
    )


def declared(elements: Sequence[Element | str]) -> tuple[Element, ...]:
    """Elements, where a plain text is the name of one."""
    found = tuple(e if isinstance(e, Element) else Element(e) for e in elements)
    names = [element.name for element in found]
    for name in names:
        if names.count(name) > 1:
            raise FairgymError(f"element {name!r} is declared twice; names differ within an action")
    return found


class ActionSpace(abc.ABC):
    """Base of all action spaces; what it has itself is that of one short vector for everybody.

    Attributes:
        per_entity: True if an action has one entry for each row of the observation.
        independent: True if its numbers can be set independently of each other.
        discrete: True if an action is the number of an option; its elements are the options, its
            mean the share of steps in which each was chosen.
        chooses_row: True if the options are rows of the observation. The agent then sees everybody,
            row i is entity i, and no row is masked.
        dtype: Type of the numbers of an action.
        elements: Meanings of the numbers of a mean action; one for all rows of a per-entity action.
    """

    per_entity: ClassVar[bool] = False
    independent: ClassVar[bool] = False
    discrete: ClassVar[bool] = False
    chooses_row: ClassVar[bool] = False
    dtype: ClassVar[DTypeLike] = jnp.float32

    elements: Any

    @property
    def largest(self) -> float:
        """Largest number that an element of a mean action can have; the least is 0."""
        return 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one action."""
        return (len(self.elements),)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the elements."""
        return tuple(element.name for element in self.elements)

    @property
    def outputs(self) -> int:
        """Number of outputs of a network that treats all rows alike."""
        return len(self.elements)

    @property
    @abc.abstractmethod
    def takes(self) -> str:
        """Description of an action in words, for error messages."""

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray) -> Array:
        """Sample one action uniformly."""

    @abc.abstractmethod
    def contains(self, action: Array) -> Bool[Array, ""]:
        """True if this array has the right shape and lies inside the space."""

    @abc.abstractmethod
    def clip(self, action: Array) -> Array:
        """The nearest action of the space; not-a-number counts as 0."""

    def holding(self, action: Numbers, held: Sequence[int]) -> Numbers:
        """An action in which the numbers of some elements hold, brought to the sums of the space.

        Args:
            action: One number from 0 to `largest` per element, of NumPy or JAX.
            held: Places of the elements that hold; where they leave nothing for the others of
                their sum, or no others are there, they are divided by the sum.
        """
        return action

    @abc.abstractmethod
    def from_logits(self, logits: Array, mask: Bool[Array, " people"]) -> Array:
        """The action that a network's outputs stand for.

        Args:
            logits: Any real numbers, shaped as an action; of a choice one for each option.
            mask: True for the rows of the observation that hold a person.
        """

    def counted(self, action: Array, mask: Bool[Array, " people"]) -> tuple[Array, Array]:
        """An action's contribution to a mean action: `(sum, count)`, the sum one per element."""
        return action, jnp.float32(1.0)

    def at_rows(self, action: Array, rows: Int[Array, " sample"]) -> Array:
        """The part of an action that concerns these rows of the observation."""
        return action

    def sum_over_elements(self, values: Array, mask: Bool[Array, " people"]) -> Float[Array, ""]:
        """Sum of one value per element; a per-entity element has the mean over people present."""
        return jnp.sum(values)

    def mean_over_elements(self, values: Array, mask: Bool[Array, " people"]) -> Float[Array, ""]:
        """Mean of one value per element; a per-entity element has the mean over people present."""
        return jnp.mean(values)


def mean_over_present(
    values: Float[Array, " people"], mask: Bool[Array, " people"]
) -> Float[Array, ""]:
    """Mean over the rows that hold a person; 0 without any."""
    return jnp.sum(jnp.where(mask, values, 0.0)) / jnp.maximum(jnp.sum(mask), 1.0)


def check_action(space: ActionSpace, agent: str, action: jax.Array) -> None:
    """Raise a FairgymError unless the action has the shape that the space takes."""
    if jnp.shape(action) != space.shape:
        raise FairgymError(
            f"the action of agent {agent!r} has shape {jnp.shape(action)}; it takes {space.shape}:"
            f" {space.takes}"
        )
