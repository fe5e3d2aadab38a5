"""Actions that are numbers in [0, 1]: one per row of an observation, or a short vector."""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core.spaces import ActionSpace, Element, declared, mean_over_present


class _UnitInterval(ActionSpace):
    """Base of `PerEntity` and `Unit`: independent numbers in [0, 1]."""

    independent: ClassVar[bool] = True

    def sample(self, key: PRNGKeyArray) -> Float[Array, " size"]:
        """Sample each number uniformly from [0, 1)."""
        return jax.random.uniform(key, self.shape)

    def contains(self, action: Float[Array, "..."]) -> Bool[Array, ""]:
        """Return True if the shape fits and every number lies in [0, 1]."""
        if jnp.shape(action) != self.shape:
            return jnp.array(False)
        return jnp.all((action >= 0.0) & (action <= 1.0))

    def clip(self, action: Float[Array, "..."]) -> Float[Array, "..."]:
        """Clip to [0, 1]; NaN becomes 0."""
        return jnp.where(jnp.isnan(action), 0.0, jnp.clip(action, 0.0, 1.0))


@dataclasses.dataclass(frozen=True)
class PerEntity(_UnitInterval):
    """One number in [0, 1] for each row of the agent's observation.

    Attributes:
        capacity: Number of rows, including empty ones.
        element: Meaning of the number; a string is the name of an `Element`.

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
        """Convert a string to an element."""
        object.__setattr__(self, "element", declared([self.element])[0])

    @property
    def elements(self) -> tuple[Element, ...]:  # type: ignore[override]
        """Elements of the mean action: a single one."""
        return (self.element,)

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
        """Apply a sigmoid; rows without a person get 0."""
        return jnp.where(mask, jax.nn.sigmoid(logits), 0.0)

    def counted(
        self, action: Float[Array, " people"], mask: Bool[Array, " people"]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Sum over the people present, and count them."""
        present = jnp.sum(mask, dtype=jnp.float32)
        return jnp.sum(jnp.where(mask, action, 0.0)), present

    def at_rows(self, action: Array, rows: Int[Array, " sample"]) -> Array:
        """Return the entries of these rows."""
        return action[rows]

    def sum_over_elements(self, values: Array, mask: Bool[Array, " people"]) -> Float[Array, ""]:
        """Average over the people present (there is one element)."""
        return mean_over_present(values, mask)

    def mean_over_elements(self, values: Array, mask: Bool[Array, " people"]) -> Float[Array, ""]:
        """Average over the people present."""
        return mean_over_present(values, mask)


@dataclasses.dataclass(frozen=True)
class Unit(_UnitInterval):
    """A short vector of numbers in [0, 1].

    Attributes:
        elements: Elements of the vector, in order; a string is the name of an `Element`.

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
        """Convert strings to elements."""
        object.__setattr__(self, "elements", declared(self.elements))

    @property
    def takes(self) -> str:
        """Description of an action in words."""
        return f"{len(self.elements)} numbers in [0, 1]: {', '.join(self.names)}"

    def from_logits(
        self, logits: Float[Array, " size"], mask: Bool[Array, " people"]
    ) -> Float[Array, " size"]:
        """Apply a sigmoid to each number."""
        return jax.nn.sigmoid(logits)
