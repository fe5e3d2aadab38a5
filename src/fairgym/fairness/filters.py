"""Filters B: points in time at which fairness is assessed (Alamdari et al. 2024, section 4.1).

A filter is a memory that says after each step whether the step counts. `Counter` of
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
    """B(tau_t): a memory that makes B Markovian (definitions 4.4 and 5.8)."""

    def passes(self, memory: PyTree) -> Bool[Array, ""]:
        """Return whether the step that led to this memory is assessed."""
        ...


@dataclasses.dataclass(frozen=True)
class Always:
    """Filter that passes every step: anytime fairness (definition 4.3)."""

    def initial(self, like: Components) -> tuple[()]:
        """Return an empty memory."""
        return ()

    def update(self, memory: tuple[()], components: Components) -> tuple[()]:
        """Return an empty memory."""
        return ()

    def passes(self, memory: tuple[()]) -> Bool[Array, ""]:
        """Return True."""
        return jnp.array(True)


def _total(components: Components, component: str) -> Float[Array, ""]:
    """Return a component summed over its entries.

    Raises:
        FairgymError: If there is no such component.
    """
    if not hasattr(components, component):
        names = ", ".join(field.name for field in dataclasses.fields(components))
        raise FairgymError(f"component must be one of {names}, got {component!r}")
    return jnp.sum(getattr(components, component))


@dataclasses.dataclass(frozen=True)
class When:
    """Filter that passes steps in which a component is positive, such as a doughnut handed out.

    Attributes:
        component: Name of the component.
    """

    component: str

    def initial(self, like: Components) -> Bool[Array, ""]:
        """Return False."""
        return _total(like, self.component) > 0

    def update(self, memory: Bool[Array, ""], components: Components) -> Bool[Array, ""]:
        """Return whether the component is positive in this step."""
        return _total(components, self.component) > 0

    def passes(self, memory: Bool[Array, ""]) -> Bool[Array, ""]:
        """Return the memory itself."""
        return memory


@dataclasses.dataclass(frozen=True)
class EachTime:
    """Filter that passes steps in which a component's sum reaches another multiple of an amount.

    An example is "every dozen" (definition 4.4). A step that passes several multiples is assessed
    once.

    Attributes:
        component: Name of the component, summed over its entries.
        amount: Amount between assessments.
    """

    component: str
    amount: float

    def __post_init__(self) -> None:
        """Check the amount."""
        require_number("amount", self.amount, 0.0)
        if self.amount == 0:
            raise FairgymError("amount must be a number above 0, got 0")

    def initial(self, like: Components) -> tuple[Float[Array, ""], Bool[Array, ""]]:
        """Return a sum of 0 since the last multiple, and False."""
        return jnp.zeros_like(_total(like, self.component)), jnp.array(False)

    def update(
        self, memory: tuple[Float[Array, ""], Bool[Array, ""]], components: Components
    ) -> tuple[Float[Array, ""], Bool[Array, ""]]:
        """Return the sum since the last multiple, and whether one was reached in this step."""
        since = memory[0] + _total(components, self.component)
        return since % self.amount, since >= self.amount

    def passes(self, memory: tuple[Float[Array, ""], Bool[Array, ""]]) -> Bool[Array, ""]:
        """Return whether a multiple was reached in this step."""
        return memory[1]
