"""Base of action spaces, and the elements of actions.

Each family of spaces has a module: numbers in [0, 1] (`unit`), shares of budgets and units divided
over places (`shares`), and discrete options (`choices`). A space defines how actions are sampled,
checked and clipped, how a network's outputs become an action (`from_logits`), and how actions are
averaged (`counted`). So other code does not depend on the kind of space. `clip` maps any array of
the right shape into the space. Environments call it inside `step`, so no policy can break the
dynamics.
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

Numbers = TypeVar("Numbers", bound=np.ndarray | jax.Array)  # a NumPy or JAX action


@dataclasses.dataclass(frozen=True)
class Element:
    """One number of an action.

    Attributes:
        name: Slug, unique within the action; used in log keys and files.
        label: Words for the number, without the group; derived from the name if empty.
        group: Group, or subgroup, that it applies to; "" if it applies to all.
        of: Name of the element (share of a budget) that this one is a part of.
        unit: Unit of the value; "" for a plain number in [0, 1].
        meaning: Effect of a higher value, for reports; "" if the name is clear.
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
        """Label and group, such as "threshold, advantaged"."""
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
    """Make one element for each group, or a single one without groups.

    Args:
        name: Slug of the decision; the slug of an element is NAME_GROUP.
        groups: Names of the groups, or of the entries that a budget is split over.
        label: Words for the number; derived from the name if empty.
        of: Name of the element that these elements split.
        unit: Unit of the values.
        meaning: Effect of a higher value.

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
    """Return elements, converting strings to elements with that name."""
    found = tuple(e if isinstance(e, Element) else Element(e) for e in elements)
    names = [element.name for element in found]
    for name in names:
        if names.count(name) > 1:
            raise FairgymError(
                f"element {name!r} is declared twice; names must be unique within an action"
            )
    return found


class ActionSpace(abc.ABC):
    """Base of action spaces; its defaults are those of one short vector for everybody.

    Attributes:
        per_entity: Whether an action has one entry for each row of the observation.
        independent: Whether the numbers of an action can be set independently of each other.
        discrete: Whether an action is the index of an option. Its elements are the options, and its
            mean is the share of steps in which each option was chosen.
        chooses_row: Whether the options are rows of the observation. The agent then observes
            everybody, row i is entity i, and no row is masked.
        dtype: Data type of an action.
        elements: Elements of a mean action; a single one for a per-entity action.
    """

    per_entity: ClassVar[bool] = False
    independent: ClassVar[bool] = False
    discrete: ClassVar[bool] = False
    chooses_row: ClassVar[bool] = False
    dtype: ClassVar[DTypeLike] = jnp.float32

    elements: Any

    @property
    def largest(self) -> float:
        """Largest value of an element of a mean action; the smallest is 0."""
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
        """Number of outputs of an equivariant network."""
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
        """Return True if an array has the right shape and lies inside the space."""

    @abc.abstractmethod
    def clip(self, action: Array) -> Array:
        """Return the nearest action of the space; NaN counts as 0."""

    def holding(self, action: Numbers, held: Sequence[int]) -> Numbers:
        """Keep the values of some elements and adjust the others to the sums of the space.

        Args:
            action: One number from 0 to `largest` per element, of NumPy or JAX.
            held: Indices of the elements to keep. They are divided by their sum if they leave
                nothing for the others of their sum, or if there are no others.
        """
        return action

    @abc.abstractmethod
    def from_logits(self, logits: Array, mask: Bool[Array, " people"]) -> Array:
        """Return the action for a network's outputs.

        Args:
            logits: Any real numbers, shaped as an action; for discrete actions one per option.
            mask: True for the rows of the observation that hold a person.
        """

    def counted(self, action: Array, mask: Bool[Array, " people"]) -> tuple[Array, Array]:
        """Return an action's contribution to a mean action: `(sum per element, count)`."""
        return action, jnp.float32(1.0)

    def at_rows(self, action: Array, rows: Int[Array, " sample"]) -> Array:
        """Return the part of an action for these rows of the observation."""
        return action

    def sum_over_elements(self, values: Array, mask: Bool[Array, " people"]) -> Float[Array, ""]:
        """Sum one value per element; a per-entity element has the mean over people present."""
        return jnp.sum(values)

    def mean_over_elements(self, values: Array, mask: Bool[Array, " people"]) -> Float[Array, ""]:
        """Average one value per element; a per-entity element has the mean over people present."""
        return jnp.mean(values)


def mean_over_present(
    values: Float[Array, " people"], mask: Bool[Array, " people"]
) -> Float[Array, ""]:
    """Return the mean over the rows that hold a person; 0 if there are none."""
    return jnp.sum(jnp.where(mask, values, 0.0)) / jnp.maximum(jnp.sum(mask), 1.0)


def check_action(space: ActionSpace, agent: str, action: jax.Array) -> None:
    """Raise a FairgymError unless the action has the shape of the space."""
    if jnp.shape(action) != space.shape:
        raise FairgymError(
            f"the action of agent {agent!r} must have shape {space.shape} ({space.takes}), got"
            f" {jnp.shape(action)}"
        )
