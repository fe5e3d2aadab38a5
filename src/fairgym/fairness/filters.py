"""Filters B: points in time at which fairness is assessed (Alamdari et al. 2024, section 4.1).

A filter is a memory that says after each step whether the step counts. Agents can observe the
filters that look back (`fairgym.wrappers.augmented`).
"""

import dataclasses
from typing import Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from fairgym.core import (
    Components,
    Environment,
    FairgymError,
    Feature,
    Memory,
    Struct,
    check_shape,
)
from fairgym.core.errors import require_number
from fairgym.core.sums import CompensatedSum, sum_compensated

LONGEST_PERIOD = 1_000_000  # steps
EXACT = 2.0**24  # whole numbers up to it are exact in float32
ROUNDING = 2.0**-23  # largest relative error of a rounded number, with a margin


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


def _described(env: Environment, component: str) -> str:
    """Return the description of a component.

    Raises:
        FairgymError: If the environment has no such component.
    """
    info = env.spec.component_info
    if component not in info:
        raise FairgymError(f"component must be one of {', '.join(info)}, got {component!r}")
    return info[component].description


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

    def shown(self, memory: Bool[Array, ""]) -> dict[str, Array]:
        """Return whether the last step passed, by its name."""
        return {f"last_step_{self.component}": memory.astype(jnp.float32)}

    def features(self, env: Environment) -> tuple[str, tuple[Feature, ...]]:
        """Return the declaration of one number of the context.

        Args:
            env: Environment that emits the component.
        """
        about = f"whether {_described(env, self.component)} in the last step"
        return "", (Feature(f"last_step_{self.component}", 0.0, 1.0, source=about, levels=2),)


@dataclasses.dataclass(frozen=True)
class Counter:
    """Number of steps modulo a period.

    As the filter B of periodic fairness it passes after every `period` steps. An episode of T
    steps then has floor(T / period) assessments (Alamdari et al. 2024, definition 4.2). B is
    Markovian in this memory (section 5.3).

    Attributes:
        period: Number of steps between assessments.
    """

    period: int

    def __post_init__(self) -> None:
        """Check the period."""
        check_shape("period", self.period, 1, LONGEST_PERIOD)

    def initial(self, like: Components) -> Int[Array, ""]:
        """Return 0 steps."""
        return jnp.int32(0)

    def update(self, memory: Int[Array, ""], components: Components) -> Int[Array, ""]:
        """Return one step more."""
        return (memory + 1) % self.period

    def passes(self, memory: Int[Array, ""]) -> Bool[Array, ""]:
        """Return whether a period has just ended."""
        return memory == 0

    def shown(self, memory: Int[Array, ""]) -> dict[str, Array]:
        """Return the number of steps by its name."""
        return {"steps_in_period": memory.astype(jnp.float32)}

    def features(self, env: Environment) -> tuple[str, tuple[Feature, ...]]:
        """Return the declaration of one number of the context."""
        return "", (
            Feature(
                "steps_in_period",
                0.0,
                float(max(self.period - 1, 1)),
                env.spec.time_unit,
                levels=max(self.period, 2),
            ),
        )


class SinceAssessed(Struct):
    """Memory of `EachTime`.

    Attributes:
        since: Sum since the last multiple.
        doubt: Largest error of the sum, as numbers that are not whole are rounded to float32.
        reached: Whether a multiple was reached in the last step.
    """

    since: CompensatedSum
    doubt: Float[Array, ""]
    reached: Bool[Array, ""]


@dataclasses.dataclass(frozen=True)
class EachTime:
    """Filter that passes steps in which a component's sum reaches a new multiple of an amount.

    An example is "every dozen" (definition 4.4). A step that passes several multiples is assessed
    once. Sums keep their rounding errors, and a multiple is reached if the sum is below it by no
    more than float32 rounds the numbers: ten times 0.7 reach 7, and whole numbers are exact.

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

    def initial(self, like: Components) -> SinceAssessed:
        """Return a sum of 0 since the last multiple, and False."""
        zero = jnp.zeros_like(_total(like, self.component))
        return SinceAssessed(CompensatedSum.of(zero), zero, jnp.array(False))

    def update(self, memory: SinceAssessed, components: Components) -> SinceAssessed:
        """Return the sum since the last multiple, and whether one was reached in this step."""
        numbers = jnp.reshape(getattr(components, self.component), (-1,))
        added = sum_compensated(numbers)
        since = memory.since.plus(added.total).plus(added.lost)
        rounded = jnp.where(numbers == jnp.round(numbers), 0.0, jnp.abs(numbers))
        high = np.float32(self.amount)
        low = np.float32(self.amount - float(high))

        def less(since: CompensatedSum, times: Float[Array, ""]) -> CompensatedSum:
            return since.plus(-times * high).plus(-times * low)

        # near a multiple the quotient may be rounded to either side, which the rest corrects
        times = jnp.floor(jnp.maximum(since.value, 0.0) / high)
        exact = float(self.amount).is_integer() & (times * high < EXACT)
        doubt = memory.doubt + ROUNDING * (
            jnp.sum(rounded) + jnp.where(exact | (times <= 1.0), 0.0, times * high)
        )
        slack = jnp.minimum(doubt, high / 2)
        rest = less(since, times)
        more = (rest.value >= high - slack).astype(jnp.float32)
        fewer = ((rest.value < -slack) & (times > 0.0)).astype(jnp.float32)
        reached = times + more - fewer > 0.0
        return SinceAssessed(less(rest, more - fewer), doubt, reached)

    def passes(self, memory: SinceAssessed) -> Bool[Array, ""]:
        """Return whether a multiple was reached in this step."""
        return memory.reached

    def shown(self, memory: SinceAssessed) -> dict[str, Array]:
        """Return the sum since the last multiple by its name."""
        value = jnp.clip(memory.since.value, 0.0, self.amount)
        return {f"since_assessed_{self.component}": value}

    def features(self, env: Environment) -> tuple[str, tuple[Feature, ...]]:
        """Return the declaration of one number of the context.

        Args:
            env: Environment that emits the component.
        """
        about = f"{_described(env, self.component)} since the last assessment"
        levels = int(self.amount) + 1 if float(self.amount).is_integer() else 0
        unit = env.spec.component_info[self.component].unit
        name, high = f"since_assessed_{self.component}", float(self.amount)
        return "", (Feature(name, 0.0, high, unit, about, levels=levels),)
