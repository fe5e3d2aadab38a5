"""Discrete actions: one of several options, or one row of an observation.

An action is a whole number, the option's index. Its mean over an episode is the share of steps in
which each option was chosen, so every option is an element of the action.
"""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core.errors import FairgymError, check_shape
from fairgym.core.params import LARGEST_INTEGER
from fairgym.core.spaces import ActionSpace, Element, declared

# Used instead of minus infinity, which gives NaN gradients.
IMPOSSIBLE = -1e30


def option_logits(
    space: ActionSpace, logits: Float[Array, " options"], mask: Bool[Array, " rows"]
) -> Float[Array, " options"]:
    """Return the logits of the options; those of masked rows are very low."""
    if not space.chooses_row:
        return logits
    others = jnp.ones(logits.shape[0] - mask.shape[0], bool)  # "none" can always be chosen
    return jnp.where(jnp.concatenate([mask, others]), logits, IMPOSSIBLE)


class Choice(ActionSpace):
    """Base of `Discrete` and `OneEntity`: an action is the index of an option."""

    discrete: ClassVar[bool] = True
    dtype: ClassVar[DTypeLike] = jnp.int32

    @property
    def size(self) -> int:
        """Number of options."""
        return len(self.elements)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one action: `()`."""
        return ()

    @property
    def takes(self) -> str:
        """Description of an action in words."""
        last, names = self.size - 1, self.names
        if last < 5:
            return f"a whole number from 0 to {last}: {', '.join(names)}"
        return f"a whole number from 0 to {last}: {names[0]}, {names[1]}, ..., {names[last]}"

    def sample(self, key: PRNGKeyArray) -> Int[Array, ""]:
        """Sample uniformly from all options."""
        return jax.random.randint(key, (), 0, self.size)

    def contains(self, action: Array) -> Bool[Array, ""]:
        """Return True if the action is a whole number and the index of an option."""
        if jnp.shape(action) != ():
            return jnp.array(False)
        number = jnp.asarray(action)
        return (number >= 0) & (number < self.size) & (number == jnp.floor(number))

    def clip(self, action: Array) -> Int[Array, "..."]:
        """Return the nearest option; NaN becomes option 0."""
        action, last = jnp.asarray(action), self.size - 1
        if jnp.issubdtype(action.dtype, jnp.inexact):
            action = jnp.round(jnp.nan_to_num(action, nan=0.0, posinf=last, neginf=0.0))
        return jnp.clip(action, 0, last).astype(jnp.int32)

    def from_logits(
        self, logits: Float[Array, " options"], mask: Bool[Array, " rows"]
    ) -> Int[Array, ""]:
        """Return the option with the highest logit, the first in a tie."""
        place = jnp.argmax(option_logits(self, logits, mask)).astype(jnp.int32)
        return jnp.minimum(place, self.size - 1)  # "none" follows any number of masked rows

    def counted(
        self, action: Int[Array, ""], mask: Bool[Array, " rows"]
    ) -> tuple[Float[Array, " options"], Float[Array, ""]]:
        """Return the one-hot encoding of the chosen option, with a count of 1."""
        return jax.nn.one_hot(action, self.size, dtype=jnp.float32), jnp.float32(1.0)


@dataclasses.dataclass(frozen=True)
class Discrete(Choice):
    """One of several options.

    Attributes:
        options: The options, in order; a string is the name of an `Element`.

    Raises:
        FairgymError: There are no options, or two options have the same name.

    Examples:
        >>> import jax.numpy as jnp
        >>> from fairgym.core import Discrete
        >>> space = Discrete(("deny", "approve"))
        >>> space.names[int(space.clip(jnp.array(1.3)))]
        'approve'
    """

    options: tuple[Any, ...]

    def __post_init__(self) -> None:
        """Convert strings to elements."""
        object.__setattr__(self, "options", declared(self.options))
        if not self.options:
            raise FairgymError("options must have at least one option, got ()")

    @property
    def elements(self) -> tuple[Element, ...]:  # type: ignore[override]
        """Elements of the action: the options."""
        return self.options


@dataclasses.dataclass(frozen=True)
class OneEntity(Choice):
    """One row of the agent's observation, or none of them.

    The agent observes everybody, row i is entity i, and no row is masked. A feature marks who is
    absent, because choosing an absent person is a valid action too.

    Attributes:
        capacity: Number of rows.
        none: Whether the agent may choose nobody, which is option number `capacity`.
        present: Name of the feature that is 1 for people who are present and 0 for the others; ""
            if nobody is ever absent.

    Examples:
        >>> import jax.numpy as jnp
        >>> from fairgym.core import OneEntity
        >>> space = OneEntity(3, none=True)
        >>> space.names, int(space.from_logits(jnp.array([0.1, 2.0, 0.3, 1.0]), jnp.ones(3, bool)))
        (('person_0', 'person_1', 'person_2', 'none'), 1)
    """

    chooses_row: ClassVar[bool] = True

    capacity: int
    none: bool = False
    present: str = ""

    def __post_init__(self) -> None:
        """Check the size."""
        check_shape("capacity", self.capacity, 1, LARGEST_INTEGER)

    @property
    def elements(self) -> tuple[Element, ...]:  # type: ignore[override]
        """Elements of the action: the rows, and nobody if allowed."""
        rows = tuple(Element(f"person_{row}") for row in range(self.capacity))
        return (*rows, Element("none")) if self.none else rows

    @property
    def size(self) -> int:
        """Number of options: the rows, and one more for nobody if allowed."""
        return self.capacity + self.none

    @property
    def outputs(self) -> int:
        """Outputs of a network: one per row, and one for nobody if allowed."""
        return 2 if self.none else 1
