"""Memories of what stakeholders received: status functions U, and memories shown to agents.

Each is a `fairgym.core.Memory`, a fold over the components of the steps. A `Status` also computes
from its memory how well each stakeholder is doing (Alamdari et al. 2024, section 4). This is a
vector with one entry per group, region or person, as many as its component has.
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

# The last rows, and the index of the next one.
Rows = tuple[Float[Array, "steps stakeholders"], Int[Array, ""]]
LARGEST_PERIOD = 1_000_000
MOST_NEIGHBOURS = 4_096


@runtime_checkable
class Status(Memory, Protocol):
    """Memory that determines U: a memory augmentation in which U is Markovian.

    After Alamdari et al. (2024), definitions 5.1 and 5.2.
    """

    def status(self, memory: PyTree) -> Float[Array, " stakeholders"]:
        """Return the stakeholder status vector U."""
        ...


def entries(like: Components, component: str) -> Array:
    """Return a component with one entry per stakeholder.

    Raises:
        FairgymError: If there is no such component, or it has no entry per stakeholder.
    """
    there = [field.name for field in dataclasses.fields(like)]
    vectors = [name for name in there if jnp.ndim(getattr(like, name)) == 1]
    if component not in vectors:
        problem = "is unknown" if component not in there else "has no entry per stakeholder"
        raise FairgymError(
            f"component must be one of {', '.join(vectors)}, got {component!r}, which {problem}"
        )
    return getattr(like, component)


@dataclasses.dataclass(frozen=True)
class _PerStakeholder:
    """Base of memories that hold one number per stakeholder and can be observed.

    If stakeholders are people, each person's row of an observation shows their number. Otherwise
    the context shows one number per stakeholder.

    Attributes:
        component: Name of the component that is summed.
        discount: Share gamma_p of the past that is kept after a step.
        most: Largest amount that a stakeholder normally gets in a step, for the declared range of
            the feature; a whole number if stakeholders get whole units.
    """

    component: str
    discount: float = 1.0
    most: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        require_number("discount", self.discount, 0.0, 1.0)
        require_number("most", self.most, 0.0)

    def initial(self, like: Components) -> Float[Array, " stakeholders"]:
        """Return zeros: nobody has received anything."""
        return jnp.zeros_like(entries(like, self.component))

    def _added(
        self, memory: Float[Array, " stakeholders"], components: Components
    ) -> Float[Array, " stakeholders"]:
        """Return the discounted past plus the present: gamma_p U + u."""
        past = memory if self.discount == 1.0 else self.discount * memory
        return past + getattr(components, self.component)

    def shown(self, memory: Float[Array, " stakeholders"]) -> dict[str, Array]:
        """Return the memory by the name that its features begin with."""
        return {f"remembered_{self.component}": memory}

    def features(self, env: Environment) -> tuple[str, tuple[Feature, ...]]:
        """Return the axis along which `shown` is observed, and the features that declare it.

        Args:
            env: Environment that emits the component.

        Returns:
            `("person", features)` with a column of the rows, or `("", features)` with one number
            of the context per stakeholder.

        Raises:
            FairgymError: If the environment has no such component per stakeholder.
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
class Full(_PerStakeholder):
    """Sum of a component per stakeholder: U itself, and the memory Full of the paper.

    With `discount` 1 it is the paper's. Below 1 it is the past-discounted status of Kumar and Yeoh
    (2026), U <- gamma_p U + u.

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
        """Return the sums after a step."""
        return self._added(memory, components)

    def status(self, memory: Float[Array, " stakeholders"]) -> Float[Array, " stakeholders"]:
        """Return the sums."""
        return memory

    def neighbours(
        self, memory: Float[Array, " stakeholders"], offsets: Sequence[float]
    ) -> tuple[Float[Array, "others stakeholders"], Bool[Array, " others"]]:
        """Return counterfactual memories in which each stakeholder has an offset more.

        The paper uses the 2^n memories with offsets 1 and 2 (section 6.1, A.2).

        Args:
            memory: Memory m.
            offsets: Offsets to add, in all combinations over the stakeholders.

        Returns:
            `(memories, legal)`. `legal` is False for m itself and where an entry is below 0.

        Raises:
            FairgymError: If there are more than 4,096 memories.
        """
        size = memory.shape[0]
        if len(offsets) ** size > MOST_NEIGHBOURS:
            raise FairgymError(
                f"offsets must make at most {MOST_NEIGHBOURS:,} memories, got"
                f" {len(offsets) ** size:,} ({len(offsets)} offsets for {size} stakeholders)"
            )
        others = memory + jnp.asarray(list(itertools.product(offsets, repeat=size)), memory.dtype)
        return others, jnp.all(others >= 0.0, axis=1) & jnp.any(others != memory, axis=1)


@dataclasses.dataclass(frozen=True)
class Min(_PerStakeholder):
    """Sums per stakeholder minus the smallest of them (section 6.1, Min).

    It keeps the differences of U and not U itself. An aggregation of its status therefore equals
    that of U only if it ignores equal amounts for all, as `RelaxedParity` does.
    """

    def update(
        self, memory: Float[Array, " stakeholders"], components: Components
    ) -> Float[Array, " stakeholders"]:
        """Return the sums after a step, minus the smallest."""
        added = self._added(memory, components)
        return added - jnp.min(added)

    def status(self, memory: Float[Array, " stakeholders"]) -> Float[Array, " stakeholders"]:
        """Return the differences."""
        return memory

    def neighbours(
        self, memory: Float[Array, " stakeholders"], offsets: Sequence[float]
    ) -> tuple[Float[Array, "others stakeholders"], Bool[Array, " others"]]:
        """Return counterfactual memories in which the first largest entry has an offset more.

        For two stakeholders, <0, x> has the neighbours <0, x + offset> (section A.4.2: offsets 1
        to 5 and -5 to -1).

        Args:
            memory: Memory m.
            offsets: Offsets to add to its largest entry.

        Returns:
            `(memories, legal)`. `legal` is False for m itself and where the entry is below 0.
        """
        largest = jnp.arange(memory.shape[0]) == jnp.argmax(memory)
        steps = jnp.asarray(offsets, memory.dtype)
        others = memory + steps[:, None] * largest
        return others, jnp.all(others >= 0.0, axis=1) & (steps != 0.0)


@dataclasses.dataclass(frozen=True)
class Reset(_PerStakeholder):
    """Sums per stakeholder that restart from 0 whenever all are equal (section 6.1, Reset).

    This is a memory for agents, not a status: it does not keep how often it restarted.
    """

    def update(
        self, memory: Float[Array, " stakeholders"], components: Components
    ) -> Float[Array, " stakeholders"]:
        """Return the sums after a step, or zeros if they are all equal."""
        added = self._added(memory, components)
        return jnp.where(jnp.all(added == added[0]), 0.0, added)


@dataclasses.dataclass(frozen=True)
class Recent:
    """Sum of a component per stakeholder over the last steps.

    Attributes:
        component: Name of the component.
        steps: Number of steps that are remembered.
    """

    component: str
    steps: int

    def __post_init__(self) -> None:
        """Check the number of steps."""
        check_shape("steps", self.steps, 1, LARGEST_PERIOD)

    def initial(self, like: Components) -> Rows:
        """Return rows of zeros, and the index of the next row."""
        size = entries(like, self.component).shape[0]
        return jnp.zeros((self.steps, size)), jnp.int32(0)

    def update(
        self,
        memory: Rows,
        components: Components,
    ) -> Rows:
        """Replace the oldest row by this step's."""
        rows, place = memory
        return rows.at[place].set(getattr(components, self.component)), (place + 1) % self.steps

    def status(self, memory: Rows) -> Float[Array, " stakeholders"]:
        """Return the sums over the remembered steps; they are exact for counts."""
        return jnp.sum(memory[0], axis=0)


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
        check_shape("period", self.period, 1, LARGEST_PERIOD)

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


def stakeholder_component(env: Environment, component: str) -> Any:
    """Return the declaration of a component with one entry per stakeholder.

    Raises:
        FairgymError: If the environment has no such component.
    """
    per = [name for name, info in env.spec.component_info.items() if info.per in env.spec.axes]
    if component not in per:
        raise FairgymError(
            f"component must have an entry per stakeholder of {env.name} (one of"
            f" {', '.join(per)}), got {component!r}"
        )
    return env.spec.component_info[component]
