"""Filters B: the points in time at which fairness is assessed (Alamdari et al. 2024, section 4.1).

A filter is a memory that tells after each step whether the step counts. `Counter` of
`fairgym.fairness.memories` is the filter of periodic fairness.
"""

import dataclasses
from typing import Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from fairgym.core import Components, FairgymError, Memory
from fairgym.core.errors import require_number


@runtime_checkable
class Filter(Memory, Protocol):
    """B(tau_t): a memory in which B is Markovian (definitions 4.4 and 5.8)."""

    def passes(self, memory: PyTree) -> Bool[Array, ""]:
        """True if the step after which this is remembered is assessed."""
        ...


@dataclasses.dataclass(frozen=True)
class Always:
    """Every step: anytime fairness (definition 4.3)."""

    def initial(self, like: Components) -> tuple[()]:
        """Nothing to remember."""
        return ()

    def update(self, memory: tuple[()], components: Components) -> tuple[()]:
        """Nothing to remember."""
        return ()

    def passes(self, memory: tuple[()]) -> Bool[Array, ""]:
        """Always True."""
        return jnp.array(True)


def _total(components: Components, component: str) -> Float[Array, ""]:
    """A component summed over its entries.

    Raises:
        FairgymError: there is no such component.
    """
    if not hasattr(components, component):
        names = ", ".join(field.name for field in dataclasses.fields(components))
        raise FairgymError(f"component is {component!r}; it takes: {names}")
    return jnp.sum(getattr(components, component))


@dataclasses.dataclass(frozen=True)
class When:
    """Steps in which a component counts something, such as a doughnut that is not wasted.

    Attributes:
        component: the component.
    """

    component: str

    def initial(self, like: Components) -> Bool[Array, ""]:
        """False."""
        return _total(like, self.component) > 0

    def update(self, memory: Bool[Array, ""], components: Components) -> Bool[Array, ""]:
        """True if this step counts something."""
        return _total(components, self.component) > 0

    def passes(self, memory: Bool[Array, ""]) -> Bool[Array, ""]:
        """The memory itself."""
        return memory


@dataclasses.dataclass(frozen=True)
class EachTime:
    """Steps in which a component's sum reaches another multiple of an amount: every dozen.

    (The example of definition 4.4.) A step that passes several multiples is assessed once.

    Attributes:
        component: the component, summed over its entries.
        amount: the amount.
    """

    component: str
    amount: float

    def __post_init__(self) -> None:
        """Check the amount."""
        require_number("amount", self.amount, 0.0)
        if self.amount == 0:
            raise FairgymError("amount is 0; it takes a number above 0")

    def initial(self, like: Components) -> tuple[Float[Array, ""], Bool[Array, ""]]:
        """No sum since the last multiple, which was not now."""
        return jnp.zeros_like(_total(like, self.component)), jnp.array(False)

    def update(
        self, memory: tuple[Float[Array, ""], Bool[Array, ""]], components: Components
    ) -> tuple[Float[Array, ""], Bool[Array, ""]]:
        """The sum since the last multiple, and True if that is now."""
        since = memory[0] + _total(components, self.component)
        return since % self.amount, since >= self.amount

    def passes(self, memory: tuple[Float[Array, ""], Bool[Array, ""]]) -> Bool[Array, ""]:
        """True if a multiple was reached in this step."""
        return memory[1]
