"""Declarations of environments: components counted in a step, memories, and `EnvironmentSpec`.

An environment never computes a rate, a reward or a disparity. It counts, and `fairgym.fairness`
turns sums of these counts into metrics.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from fairgym.core.decisions import Decision
from fairgym.core.errors import FairgymError
from fairgym.core.struct import Struct


@dataclasses.dataclass(frozen=True)
class ComponentInfo:
    """Meaning of one component.

    Attributes:
        description: Meaning in plain words.
        unit: Unit: "people", "thousand dollars", ...
        symbol: The symbol in the source.
        used_by: Agents whose reward or fairness function uses it; empty means all.
        per: "" for a single number, otherwise the name or names of its axes ("group", "region");
            see `EnvironmentSpec.axes`.
        nonnegative: Whether it can never be below zero.
        level: Whether it is a state that is counted at every step, such as people insured. The sum
            of a level divided by the number of steps is a mean in its unit. False for events.
    """

    description: str
    unit: str
    symbol: str = ""
    used_by: tuple[str, ...] = ()
    per: str | tuple[str, ...] = ""
    nonnegative: bool = True
    level: bool = False

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes of the array, in order."""
        return (self.per,) if isinstance(self.per, str) and self.per else tuple(self.per)


def component(
    description: str,
    *,
    unit: str,
    symbol: str = "",
    used_by: tuple[str, ...] = (),
    per: str | tuple[str, ...] = "",
    nonnegative: bool = True,
    level: bool = False,
) -> Any:
    """Declare a field of a `Components` struct with its meaning."""
    info = ComponentInfo(description, unit, symbol, used_by, per, nonnegative, level)
    return eqx.field(metadata={"component": info})


def group_count(
    description: str, symbol: str = "", *used_by: str, unit: str = "people", level: bool = False
) -> Any:
    """Declare a component with one number per group.

    Args:
        description: Meaning in plain words.
        symbol: The symbol in the source.
        *used_by: Agents whose reward or fairness function uses it; all of them by default.
        unit: Unit of the number.
        level: Whether it is a state that is counted at every step.
    """
    return component(
        description, unit=unit, symbol=symbol, used_by=used_by, per="group", level=level
    )


class Components(Struct):
    """Base of component structs: float32 fields, scalar or with the declared axes."""

    @classmethod
    def info(cls) -> dict[str, ComponentInfo]:
        """Return the meaning of each field, by name."""
        return {
            field.name: field.metadata["component"]
            for field in dataclasses.fields(cls)
            if "component" in field.metadata
        }


def add_compensated(total: PyTree, lost: PyTree, value: PyTree) -> tuple[PyTree, PyTree]:
    """Add with Neumaier summation, leaf by leaf: `total + lost` is exact to about 48 bits.

    Args:
        total: Running sums, float32.
        lost: Rounding errors so far.
        value: Value to add.

    Returns:
        The new `(total, lost)`. A plain float32 sum would lose counts above 2^24.
    """

    def one(s: jax.Array, c: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        t = s + x
        c = c + jnp.where(jnp.abs(s) >= jnp.abs(x), (s - t) + x, (x - t) + s)
        return t, c

    leaves, treedef = jax.tree.flatten(total)
    pairs = [
        one(s, c, x)
        for s, c, x in zip(leaves, jax.tree.leaves(lost), jax.tree.leaves(value), strict=True)
    ]
    return (
        jax.tree.unflatten(treedef, [p[0] for p in pairs]),
        jax.tree.unflatten(treedef, [p[1] for p in pairs]),
    )


@runtime_checkable
class Counts(Protocol):
    """Any object with components as attributes: `Components`, sums of them, a namespace."""

    def __getattribute__(self, name: str, /) -> Array:
        """Return a component by its name."""
        ...


@runtime_checkable
class Memory(Protocol):
    """A memory (M, m_init, mu) of an episode (Alamdari et al. 2024, definition 5.2).

    Instead of (a, s'), mu takes the components of a step, which are a function of (s, a, s').

    An implementation is a frozen, hashable object whose methods are pure JAX functions. Its memory
    is a pytree of arrays whose shapes and dtypes do not change.

    Examples:
        >>> import dataclasses, fairgym, jax
        >>> from fairgym.policies import fixed_policies
        >>> @dataclasses.dataclass(frozen=True)
        ... class MostAtOnce:
        ...     def initial(self, like):
        ...         return like.applied.max()
        ...
        ...     def update(self, memory, components):
        ...         return jax.numpy.maximum(memory, components.applied.max())
        >>> env = fairgym.make("loan_simple", population=100, horizon=3)
        >>> policies = fixed_policies(env, dict.fromkeys(env.agents, "random"))
        >>> episode = fairgym.rollout(
        ...     env,
        ...     env.default_params,
        ...     policies,
        ...     jax.random.key(0),
        ...     trace=True,
        ...     memories={"most": MostAtOnce()},
        ... )
        >>> bool(episode.memories["most"] == episode.trace.applied.max() > 0)
        True
    """

    def initial(self, like: Components) -> PyTree:
        """Return the memory m_init at the start of an episode.

        Args:
            like: Components with the right shapes, all zero.
        """
        ...

    def update(self, memory: PyTree, components: Components) -> PyTree:
        """Return the memory mu(m, ...) after a step with these components."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class EnvironmentSpec:
    """Declaration of an environment, set by its class and modified by wrappers.

    Attributes:
        agents: Names of the agents, in acting order.
        groups: Names of the groups that components have entries for.
        components: The struct that `step` returns.
        metrics: Published metrics by name: functions of summed components (`fairgym.fairness`).
        version: Number that increases by one whenever the dynamics or defaults change, so that
            results of different versions are not mixed up.
        group_word: Word for a group ("region").
        time_unit: Length of a step, in the plural ("months").
        failure: Meaning of an end before the horizon ("the bank goes bankrupt").
        size_text: Size of the system in words, for titles; by default the number of groups.
        data_checksum: sha256 of the system's data; "" without data.
        periods: Number of steps between an agent's actions; agents not named act at every step.
            An agent with period k acts in steps 0, k, 2k, ...; its actions in between are ignored.
        partitions: Additional attributes of the people that reports have a table for: name of a
            feature in `people` -> names of its codes 0, 1, 2, ...
        parts: Additional axes of components and parameters: word for one entry ("person") -> names
            of the entries.
        terms: Names of the metrics in objectives such as "uniform"; the others are only measured.
            By default all metrics.
        schemes: Fairness schemes by name (`fairgym.fairness.Scheme`), scored in every rollout.
        measures: Fairness measures during an episode (`fairgym.fairness.Windowed`), by name.
            Learners use "short_term", "long_term" (the true value), and "long_term_window"
            (estimated from the last steps).
        memories: Memories by name that a run may add to the state (`fairgym.wrappers.augmented`).
        published: Weights of the published objective, over metrics and schemes by name.
        hyperparameters: Published hyperparameters of learners in this system: name of the algorithm
            -> values that differ from its defaults. Runs take them where they are given no others.
        default_objective: Name of the objective of runs that do not name one
            (`fairgym.fairness.Objective.named`).
        benefit: Component that measures what each stakeholder received; the default for welfare
            objectives. "" if there is none.
        baselines: Fixed joint policies to compare with: name -> agent -> specification. Names are
            slugs. A specification is "random", the name of a rule ("first-come"), a rule
            "module:function", the name of an option, one number, one number per element of the
            action, or numbers by the names of the elements (`fairgym.policies.fixed_policies`
            builds them). By default random actions of all agents.
        expected_components: Function of (observations, actions, params) that returns the
            expected components of a step given what the agents observe; components without an
            expectation are 0. None if the environment has no such function.
        stages: Names of the stages of a person, by stage code.
        core_attribute: Key of `people` whose distribution shows the groups' starting points.
        waits: Stage in which people wait -> key of `people` with the steps waited so far. Reports
            show how many people wait and their median wait.
        finished_only: Metric that counts only finished cases, such as the wait of people who were
            served -> metric of the share of finished cases. A shorter wait because fewer people are
            served is not reported as better.
        exchangeable: Whether people can be renumbered; False if a person's number has a meaning,
            such as a place in a network.
        counts_people: Whether `count_people` counts all components with one number per group, so
            that they are available per person.
        decisions: Decisions about persons or places that can be logged (`fairgym evaluate --log`),
            by name; the first is the default.
    """

    agents: tuple[str, ...]
    groups: tuple[str, ...]
    components: type[Components]
    metrics: Mapping[str, Any]
    version: int = 1
    group_word: str = "group"
    time_unit: str = "steps"
    failure: str = "the system fails"
    size_text: str = ""
    data_checksum: str = ""
    periods: Mapping[str, int] = dataclasses.field(default_factory=dict)
    partitions: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    parts: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    terms: tuple[str, ...] = ()
    schemes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    measures: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    memories: Mapping[str, Memory] = dataclasses.field(default_factory=dict)
    published: Mapping[str, float] = dataclasses.field(default_factory=dict)
    hyperparameters: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    default_objective: str = "uniform"
    benefit: str = ""
    baselines: Mapping[str, Mapping[str, object]] = dataclasses.field(default_factory=dict)
    expected_components: Callable[[PyTree, Mapping[str, Array], PyTree], PyTree] | None = None
    stages: tuple[str, ...] = ()
    core_attribute: str = ""
    waits: Mapping[str, str] = dataclasses.field(default_factory=dict)
    finished_only: Mapping[str, str] = dataclasses.field(default_factory=dict)
    exchangeable: bool = True
    counts_people: bool = False
    decisions: Mapping[str, Decision] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Fill in defaults that depend on other fields."""
        if not self.terms:
            object.__setattr__(self, "terms", tuple(self.metrics))
        if not self.baselines:
            object.__setattr__(self, "baselines", {"random": dict.fromkeys(self.agents, "random")})
        if not self.size_text:
            object.__setattr__(self, "size_text", f"{len(self.groups)} {self.group_word}s")

    @property
    def component_info(self) -> dict[str, ComponentInfo]:
        """Description, unit, symbol and agents of each component, by name."""
        return self.components.info()

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """Axes that components and parameters can have: word -> names of the entries, in order.

        Words are "group", the environment's word for it, and those of `partitions` and `parts`.
        """
        groups = {"group": self.groups, self.group_word: self.groups}
        return {**groups, **self.partitions, **self.parts}

    def parts_of(self, kind: str) -> tuple[str, ...]:
        """Return the names of the entries of an axis.

        Args:
            kind: A key of `axes`, such as "group".

        Raises:
            FairgymError: There is no such axis.
        """
        if kind not in self.axes:
            raise FairgymError(f"unknown axis {kind!r}; there are: {', '.join(self.axes)}")
        return self.axes[kind]
