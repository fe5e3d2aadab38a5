"""Memories of what stakeholders received: status functions U, and memories shown to agents.

Each is a `fairgym.core.Memory`, a fold over the components of the steps. A `Status` also computes
from its memory how well each stakeholder is doing (Alamdari et al. 2024, section 4). This is a
vector with one entry per group, region or person, as many as its component has.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from fairgym.core import Components, Environment, FairgymError, Feature, Memory, check_shape
from fairgym.core.errors import require_number
from fairgym.core.sums import CompensatedSum, sum_compensated
from fairgym.fairness.aggregations import AllEqual
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
    """Base of memories that hold one sum per stakeholder and can be observed.

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

    def initial(self, like: Components) -> CompensatedSum:
        """Return zeros: nobody has received anything."""
        return CompensatedSum.of(jnp.zeros_like(entries(like, self.component)))

    def _added(self, memory: CompensatedSum, components: Components) -> CompensatedSum:
        """Return the discounted past plus the present: gamma_p U + u."""
        past = memory if self.discount == 1.0 else memory.times(self.discount)
        return past.plus(getattr(components, self.component))

    def shown(self, memory: CompensatedSum) -> dict[str, Array]:
        """Return the sums by the name that their features begin with."""
        return {f"remembered_{self.component}": memory.value}

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
        high, whole = self.most * env.horizon, self.discount == 1.0
        if not whole:
            high = min(high, self.most / (1.0 - self.discount))
        return amounts_of(env, self.component, f"remembered_{self.component}", high, whole)


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

    def update(self, memory: CompensatedSum, components: Components) -> CompensatedSum:
        """Return the sums after a step."""
        return self._added(memory, components)

    def status(self, memory: CompensatedSum) -> Float[Array, " stakeholders"]:
        """Return the sums."""
        return memory.value

    def neighbours(
        self, memory: CompensatedSum, offsets: Sequence[float]
    ) -> tuple[CompensatedSum, Bool[Array, " others"]]:
        """Return counterfactual memories in which each stakeholder has an offset more.

        The paper uses the 2^n memories with offsets 1 and 2 (section 6.1, A.2).

        Args:
            memory: Memory m.
            offsets: Offsets to add, in all combinations over the stakeholders.

        Returns:
            `(memories, legal)`, with a first axis over memories. `legal` is False for m itself and
            where an entry is below 0.

        Raises:
            FairgymError: If there are more than 4,096 memories; see `sample_neighbours`.
        """
        size = memory.total.shape[0]
        if len(offsets) ** size > MOST_NEIGHBOURS:
            raise FairgymError(
                f"offsets must make at most {MOST_NEIGHBOURS:,} memories, got"
                f" {len(offsets) ** size:,} ({len(offsets)} offsets for {size} stakeholders)"
            )
        every = list(itertools.product(offsets, repeat=size))
        return _shifted(memory, jnp.asarray(every, memory.total.dtype))

    def sample_neighbours(
        self, memory: CompensatedSum, offsets: Sequence[float], key: PRNGKeyArray, count: int
    ) -> tuple[CompensatedSum, Bool[Array, " others"]]:
        """Return counterfactual memories with a random offset for each stakeholder.

        For many stakeholders, whose combinations cannot be listed. Each memory is drawn by itself,
        so that one may occur twice.

        Args:
            memory: Memory m.
            offsets: Offsets to draw from, all with the same probability.
            key: A JAX key.
            count: Number of memories.

        Returns:
            As `neighbours`.
        """
        shape = (count, memory.total.shape[0])
        given = jnp.asarray(offsets, memory.total.dtype)
        return _shifted(memory, jax.random.choice(key, given, shape))


def _shifted(
    memory: CompensatedSum, offsets: Float[Array, "others stakeholders"]
) -> tuple[CompensatedSum, Bool[Array, " others"]]:
    """Return memories with offsets added, and whether each is legal."""
    others = memory.plus(offsets)
    there = jnp.all(others.value >= 0.0, axis=1)
    return others, there & jnp.any(others.value != memory.value, axis=1)


@dataclasses.dataclass(frozen=True)
class Min(_PerStakeholder):
    """Sums per stakeholder minus the smallest of them (section 6.1, Min).

    It keeps the differences of U and not U itself. An aggregation of its status therefore equals
    that of U only if it ignores equal amounts for all, as `RelaxedParity` does. Where amounts are
    not whole, equal sums can differ by float32 rounding.
    """

    def update(self, memory: CompensatedSum, components: Components) -> CompensatedSum:
        """Return the sums after a step, minus the smallest."""
        added = self._added(memory, components)
        least = jnp.argmin(added.value)
        return added.plus(-added.total[least]).plus(-added.lost[least])

    def status(self, memory: CompensatedSum) -> Float[Array, " stakeholders"]:
        """Return the differences."""
        return memory.value

    def neighbours(
        self, memory: CompensatedSum, offsets: Sequence[float]
    ) -> tuple[CompensatedSum, Bool[Array, " others"]]:
        """Return counterfactual memories in which the first largest entry has an offset more.

        For two stakeholders, <0, x> has the neighbours <0, x + offset> (section A.4.2: offsets 1
        to 5 and -5 to -1).

        Args:
            memory: Memory m.
            offsets: Offsets to add to its largest entry.

        Returns:
            `(memories, legal)`, with a first axis over memories. `legal` is False for m itself and
            where the entry is below 0.
        """
        largest = jnp.arange(memory.total.shape[0]) == jnp.argmax(memory.value)
        steps = jnp.asarray(offsets, memory.total.dtype)
        others = memory.plus(steps[:, None] * largest)
        return others, jnp.all(others.value >= 0.0, axis=1) & (steps != 0.0)


@dataclasses.dataclass(frozen=True)
class Reset(_PerStakeholder):
    """Sums per stakeholder that restart from 0 whenever all are equal (section 6.1, Reset).

    This is a memory for agents, not a status: it does not keep how often it restarted. Sums are
    equal as for `AllEqual`: up to float32 rounding, and exactly if they are whole.
    """

    def update(self, memory: CompensatedSum, components: Components) -> CompensatedSum:
        """Return the sums after a step, or zeros if they are all equal."""
        added = self._added(memory, components)
        anew = AllEqual()(added.value) == 1.0
        return jax.tree.map(lambda x: jnp.where(anew, 0.0, x), added)


@dataclasses.dataclass(frozen=True)
class Recent:
    """Sum of a component per stakeholder over the last steps.

    Attributes:
        component: Name of the component.
        steps: Number of steps that are remembered.
        most: As for `Full`.
    """

    component: str
    steps: int
    most: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_shape("steps", self.steps, 1, LARGEST_PERIOD)
        require_number("most", self.most, 0.0)

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
        """Return the sums over the remembered steps."""
        return sum_compensated(memory[0]).value

    def shown(self, memory: Rows) -> dict[str, Array]:
        """Return the sums by the name that their features begin with.

        The sums are all that agents see; when each amount leaves the window they do not.
        """
        return {f"recent_{self.component}": self.status(memory)}

    def features(self, env: Environment) -> tuple[str, tuple[Feature, ...]]:
        """Return the axis along which `shown` is observed, and the features that declare it.

        Args:
            env: Environment that emits the component.

        Raises:
            FairgymError: If the environment has no such component per stakeholder.
        """
        high = self.most * min(self.steps, env.horizon)
        return amounts_of(env, self.component, f"recent_{self.component}", high, True)


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


def amounts_of(
    env: Environment, component: str, name: str, high: float, whole: bool
) -> tuple[str, tuple[Feature, ...]]:
    """Return the declaration of an amount of a component for each stakeholder.

    Args:
        env: Environment that emits the component.
        component: Its name.
        name: Name of the feature of each person, or the beginning of the names in the context.
        high: Largest amount.
        whole: Whether amounts are whole numbers if the largest is one.

    Raises:
        FairgymError: If the environment has no such component per stakeholder.
    """
    info = stakeholder_component(env, component)
    levels = int(high) + 1 if whole and high == int(high) else 0

    def feature(name: str, meaning: str) -> Feature:
        return Feature(name, 0.0, float(high), info.unit, meaning, levels=levels)

    if info.per == PERSON:
        return PERSON, (feature(name, info.description),)
    return "", tuple(
        feature(f"{name}_{place}", f"{info.description}: {part}")
        for place, part in enumerate(env.spec.parts_of(info.per))
    )
