"""Actions that are choices: one option of several, or one row of an observation.

An action is a whole number, the option's place. Its mean over an episode is the share of steps in
which each option was chosen, so that every option is an element of the action.
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

# In place of minus infinity, which makes derivatives that are no numbers.
IMPOSSIBLE = -1e30


def option_logits(
    space: ActionSpace, logits: Float[Array, " options"], mask: Bool[Array, " rows"]
) -> Float[Array, " options"]:
    """Logits of the options of a choice; very low for rows of the observation that are masked."""
    if not space.chooses_row:
        return logits
    others = jnp.ones(logits.shape[0] - mask.shape[0], bool)  # "none" can always be chosen
    return jnp.where(jnp.concatenate([mask, others]), logits, IMPOSSIBLE)


class Choice(ActionSpace):
    """Common part of `Discrete` and `OneEntity`: an action is the number of an option."""

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
        """True if it is one whole number and an option has it."""
        if jnp.shape(action) != ():
            return jnp.array(False)
        number = jnp.asarray(action)
        return (number >= 0) & (number < self.size) & (number == jnp.floor(number))

    def clip(self, action: Array) -> Int[Array, "..."]:
        """The nearest option; not-a-number becomes option 0."""
        action, last = jnp.asarray(action), self.size - 1
        if jnp.issubdtype(action.dtype, jnp.inexact):
            action = jnp.round(jnp.nan_to_num(action, nan=0.0, posinf=last, neginf=0.0))
        return jnp.clip(action, 0, last).astype(jnp.int32)

    def from_logits(
        self, logits: Float[Array, " options"], mask: Bool[Array, " rows"]
    ) -> Int[Array, ""]:
        """The option with the highest logit, the first of several."""
        place = jnp.argmax(option_logits(self, logits, mask)).astype(jnp.int32)
        return jnp.minimum(place, self.size - 1)  # "none" stands behind however many masked rows

    def counted(
        self, action: Int[Array, ""], mask: Bool[Array, " rows"]
    ) -> tuple[Float[Array, " options"], Float[Array, ""]]:
        """1 for the option chosen and 0 for the others, which count once."""
        return jax.nn.one_hot(action, self.size, dtype=jnp.float32), jnp.float32(1.0)


@dataclasses.dataclass(frozen=True)
class Discrete(Choice):
    """One of several options.

    Attributes:
        options: Meanings of the options, in order; a text is taken as the name of an `Element`.

    Raises:
        FairgymError: There are no options, or two of one name.

    Examples:
        >>> import jax.numpy as jnp
        >>> from fairgym.core import Discrete
        >>> space = Discrete(("deny", "approve"))
        >>> space.names[int(space.clip(jnp.array(1.3)))]
        'approve'
    """

    options: tuple[Any, ...]

    def __post_init__(self) -> None:
        """Make elements of texts."""
        object.__setattr__(self, "options", declared(self.options))
        if not self.options:
            raise FairgymError("options is (); it takes at least one option")

    @property
    def elements(self) -> tuple[Element, ...]:  # type: ignore[override]
        """The options."""
        return self.options


@dataclasses.dataclass(frozen=True)
class OneEntity(Choice):
    """One row of the agent's observation, or none of them.

    The agent sees everybody, row i is entity i, and no row is masked: who is absent is told by a
    feature, since to choose somebody absent is an act as well.

    Attributes:
        capacity: Number of rows.
        none: True if the agent may choose nobody, which is option number `capacity`.
        present: Name of the feature that is 1 for who is there and 0 for who is absent; "" if
            nobody is ever absent.

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
        """The rows, and none of them."""
        rows = tuple(Element(f"person_{row}") for row in range(self.capacity))
        return (*rows, Element("none")) if self.none else rows

    @property
    def size(self) -> int:
        """Number of rows, and one more for nobody."""
        return self.capacity + self.none

    @property
    def outputs(self) -> int:
        """One for each row, and one for nobody."""
        return 2 if self.none else 1
