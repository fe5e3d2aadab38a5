"""Memories of what stakeholders have got: status functions U, and what agents may be shown of them.

Each is a `fairgym.core.Memory`: a fold over the components of the steps. A `Status` also tells from
what it remembers how well each stakeholder is doing (Alamdari et al. 2024, section 4): a vector
with one entry per group, region or person, as many as its component has.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from fairgym.core import Components, Environment, FairgymError, Feature, Memory, check_shape
from fairgym.core.errors import require_number
from fairgym.wrappers.augmented import PERSON

# The last rows, and the place of the next one.
Rows = tuple[Float[Array, "steps stakeholders"], Int[Array, ""]]
LARGEST_PERIOD = 1_000_000
MOST_NEIGHBOURS = 4_096


@runtime_checkable
class Status(Memory, Protocol):
    """A memory that U is a function of: a memory augmentation in which U is Markovian.

    After Alamdari et al. (2024), definitions 5.1 and 5.2.
    """

    def status(self, memory: PyTree) -> Float[Array, " stakeholders"]:
        """The stakeholder status vector U."""
        ...


def entries(like: Components, component: str) -> Array:
    """A component with one entry per stakeholder.

    Raises:
        FairgymError: there is no such component, or it has not one entry per stakeholder.
    """
    there = [field.name for field in dataclasses.fields(like)]
    vectors = [name for name in there if jnp.ndim(getattr(like, name)) == 1]
    if component not in vectors:
        problem = "is none" if component not in there else "has not one entry per stakeholder"
        raise FairgymError(
            f"component is {component!r}, which {problem}; it takes: {', '.join(vectors)}"
        )
    return getattr(like, component)


@dataclasses.dataclass(frozen=True)
class _Shown:
    """Common part of memories that hold one number per stakeholder and may be observed.

    Where stakeholders are people, each person's row of an observation shows their number; else the
    context shows one number per stakeholder.

    Attributes:
        component: the component that is summed up.
        discount: gamma_p, what is left of the past after a step.
        most: the most that a stakeholder normally gets in a step, for the declared range of what is
            shown; a whole number if they get whole units.
    """

    component: str
    discount: float = 1.0
    most: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        require_number("discount", self.discount, 0.0, 1.0)
        require_number("most", self.most, 0.0)

    def initial(self, like: Components) -> Float[Array, " stakeholders"]:
        """Zeros: nobody has got anything."""
        return jnp.zeros_like(entries(like, self.component))

    def _added(
        self, memory: Float[Array, " stakeholders"], components: Components
    ) -> Float[Array, " stakeholders"]:
        """The discounted past and the present together: gamma_p U + u."""
        past = memory if self.discount == 1.0 else self.discount * memory
        return past + getattr(components, self.component)

    def shown(self, memory: Float[Array, " stakeholders"]) -> dict[str, Array]:
        """The memory by the name that its features begin with."""
        return {f"remembered_{self.component}": memory}

    def features(self, env: Environment) -> tuple[str, tuple[Feature, ...]]:
        """The axis that `shown` goes along, and the features that declare it.

        Args:
            env: the environment that emits the component.

        Returns:
            `("person", features)` with a column of the rows, or `("", features)` with one number
            of the context per stakeholder.

        Raises:
            FairgymError: the environment has no such component per stakeholder.
        """
        info = stakeholder_component(env, self.component)
        name, high, levels = f"remembered_{self.component}", self.most * env.horizon, 0
        if self.discount < 1.0:
            high = min(high, self.most / (1.0 - self.discount))
        elif high == int(high):
            levels = int(high) + 1

        def feature(name: str, meaning: str) -> Feature:
            return Feature(name, 0.0, float(high), info.unit, meaning, levels=levels)

        if info.per == PERSON:
            return PERSON, (feature(name, info.description),)
        return "", tuple(
            feature(f"{name}_{place}", f"{info.description}: {part}")
            for place, part in enumerate(env.spec.parts_of(info.per))
        )


@dataclasses.dataclass(frozen=True)
class Full(_Shown):
    """Sum of a component per stakeholder: U itself, and the memory Full of the paper.

    With `discount` below 1 it is the past-discounted status of Kumar and Yeoh (2026),
    U <- gamma_p U + u; 1 is the paper's.

    Examples:
        >>> import fairgym
        >>> from fairgym.core import no_components
        >>> from fairgym.fairness import Full
        >>> env = fairgym.make("loan_simple", population=100, horizon=10)
        >>> nothing = no_components(env, env.default_params)
        >>> full = Full("disbursed")
        >>> full.status(full.update(full.initial(nothing), nothing)).tolist()
        [0.0, 0.0]
    """

    def update(
        self, memory: Float[Array, " stakeholders"], components: Components
    ) -> Float[Array, " stakeholders"]:
        """The sums after a step."""
        return self._added(memory, components)

    def status(self, memory: Float[Array, " stakeholders"]) -> Float[Array, " stakeholders"]:
        """The sums themselves."""
        return memory

    def neighbours(
        self, memory: Float[Array, " stakeholders"], offsets: Sequence[float]
    ) -> tuple[Float[Array, "others stakeholders"], Bool[Array, " others"]]:
        """Counterfactual memories: every stakeholder has got an offset more.

        The paper's are the 2^n memories with offsets 1 and 2 (section 6.1, A.2).

        Args:
            memory: the memory m.
            offsets: what is added, in all combinations over the stakeholders.

        Returns:
            `(memories, legal)`; False for m itself and where somebody has less than nothing.

        Raises:
            FairgymError: more than 4,096 memories.
        """
        size = memory.shape[0]
        if len(offsets) ** size > MOST_NEIGHBOURS:
            raise FairgymError(
                f"{len(offsets)} offsets for {size} stakeholders make {len(offsets) ** size:,}"
                f" memories; it takes {MOST_NEIGHBOURS:,} at most"
            )
        others = memory + jnp.asarray(list(itertools.product(offsets, repeat=size)), memory.dtype)
        return others, jnp.all(others >= 0.0, axis=1) & jnp.any(others != memory, axis=1)


@dataclasses.dataclass(frozen=True)
class Min(_Shown):
    """Sums per stakeholder less the least of them: what the others are ahead (section 6.1, Min).

    It tells the differences of U and not U itself, so that an aggregation of its status is that of
    U only where equal amounts for all change nothing, as in `RelaxedParity`.
    """

    def update(
        self, memory: Float[Array, " stakeholders"], components: Components
    ) -> Float[Array, " stakeholders"]:
        """The sums after a step, less their least."""
        added = self._added(memory, components)
        return added - jnp.min(added)

    def status(self, memory: Float[Array, " stakeholders"]) -> Float[Array, " stakeholders"]:
        """The differences."""
        return memory

    def neighbours(
        self, memory: Float[Array, " stakeholders"], offsets: Sequence[float]
    ) -> tuple[Float[Array, "others stakeholders"], Bool[Array, " others"]]:
        """Counterfactual memories: the first of those furthest ahead gains an offset.

        Of two stakeholders, <0, x> has the neighbours <0, x + offset> (section A.4.2: offsets 1 to
        5 and -5 to -1).

        Args:
            memory: the memory m.
            offsets: what is added to its largest entry.

        Returns:
            `(memories, legal)`; False for m itself and where the entry would fall below 0.
        """
        ahead = jnp.arange(memory.shape[0]) == jnp.argmax(memory)
        steps = jnp.asarray(offsets, memory.dtype)
        others = memory + steps[:, None] * ahead
        return others, jnp.all(others >= 0.0, axis=1) & (steps != 0.0)


@dataclasses.dataclass(frozen=True)
class Reset(_Shown):
    """Sums per stakeholder that begin anew whenever all are equal (section 6.1, Reset).

    A memory for agents and no status: it does not tell how often it began anew.
    """

    def update(
        self, memory: Float[Array, " stakeholders"], components: Components
    ) -> Float[Array, " stakeholders"]:
        """The sums after a step, zeros if they are equal."""
        added = self._added(memory, components)
        return jnp.where(jnp.all(added == added[0]), 0.0, added)


@dataclasses.dataclass(frozen=True)
class Recent:
    """Sum of a component per stakeholder over the last steps.

    Attributes:
        component: the component.
        steps: number of steps that are remembered.
    """

    component: str
    steps: int

    def __post_init__(self) -> None:
        """Check the number of steps."""
        check_shape("steps", self.steps, 1, LARGEST_PERIOD)

    def initial(self, like: Components) -> Rows:
        """No rows yet: zeros, and the place of the next one."""
        size = entries(like, self.component).shape[0]
        return jnp.zeros((self.steps, size)), jnp.int32(0)

    def update(
        self,
        memory: Rows,
        components: Components,
    ) -> Rows:
        """The row of this step takes the place of the oldest."""
        rows, place = memory
        return rows.at[place].set(getattr(components, self.component)), (place + 1) % self.steps

    def status(self, memory: Rows) -> Float[Array, " stakeholders"]:
        """The sums over the steps remembered: exact for counts, whatever came before them."""
        return jnp.sum(memory[0], axis=0)


@dataclasses.dataclass(frozen=True)
class Counter:
    """Number of steps modulo a period.

    As the filter B of periodic fairness it is true after every `period` steps, so that an episode
    of T steps has floor(T / period) assessments (Alamdari et al. 2024, definition 4.2); B is
    Markovian in this memory (section 5.3).

    Attributes:
        period: number of steps between assessments.
    """

    period: int

    def __post_init__(self) -> None:
        """Check the period."""
        check_shape("period", self.period, 1, LARGEST_PERIOD)

    def initial(self, like: Components) -> Int[Array, ""]:
        """No step yet."""
        return jnp.int32(0)

    def update(self, memory: Int[Array, ""], components: Components) -> Int[Array, ""]:
        """One step more."""
        return (memory + 1) % self.period

    def passes(self, memory: Int[Array, ""]) -> Bool[Array, ""]:
        """True if a period has just ended."""
        return memory == 0

    def shown(self, memory: Int[Array, ""]) -> dict[str, Array]:
        """The number of steps by its name."""
        return {"steps_in_period": memory.astype(jnp.float32)}

    def features(self, env: Environment) -> tuple[str, tuple[Feature, ...]]:
        """One number of the context."""
        return "", (
            Feature(
                "steps_in_period",
                0.0,
                float(max(self.period - 1, 1)),
                env.spec.time_unit,
                levels=max(self.period, 2),
            ),
        )


def stakeholder_component(env: Environment, component: str) -> Any:
    """Declaration of a component with one entry per stakeholder.

    Raises:
        FairgymError: the environment has no such component.
    """
    per = [name for name, info in env.spec.component_info.items() if info.per in env.spec.axes]
    if component not in per:
        raise FairgymError(
            f"component is {component!r}; of {env.name} it takes one with an entry per"
            f" stakeholder: {', '.join(per)}"
        )
    return env.spec.component_info[component]
