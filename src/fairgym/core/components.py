"""What environments declare: components, which a step counts, memories, and `EnvironmentSpec`.

An environment never computes a rate, a reward or a disparity. It counts; `fairgym.fairness`
turns sums of these counts into measures.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from fairgym.core.errors import FairgymError
from fairgym.core.struct import Struct


@dataclasses.dataclass(frozen=True)
class ComponentInfo:
    """Meaning of one component.

    Attributes:
        description: meaning in plain words.
        unit: "people", "thousand dollars", ...
        symbol: the symbol in the source.
        used_by: agents whose reward or fairness function it belongs to; empty means all.
        per: "" for one number, otherwise the axis, or axes, with an entry for each of its things
            ("group", "region"); see `EnvironmentSpec.axes`.
        nonnegative: True if it can never be below zero.
        level: True for a state that is counted at every step, such as people insured: divided by
            the number of steps, its sum is a mean in the unit. False for events.
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
        description: in plain words.
        symbol: the symbol in the source.
        *used_by: agents whose reward or fairness function it belongs to; all of them by default.
        unit: unit of the number.
        level: True for a state that is counted at every step.
    """
    return component(
        description, unit=unit, symbol=symbol, used_by=used_by, per="group", level=level
    )


class Components(Struct):
    """Base of the component structs: float32 fields, scalar or with the declared axes."""

    @classmethod
    def info(cls) -> dict[str, ComponentInfo]:
        """Meaning of each field, by name."""
        return {
            field.name: field.metadata["component"]
            for field in dataclasses.fields(cls)
            if "component" in field.metadata
        }


def add_compensated(total: PyTree, lost: PyTree, value: PyTree) -> tuple[PyTree, PyTree]:
    """Neumaier summation, leaf by leaf: `total + lost` is the exact sum to about 48 bits.

    Args:
        total: running sums, float32.
        lost: rounding errors so far.
        value: summand.

    Returns:
        The new `(total, lost)`. A plain float32 sum would lose people beyond 2^24.
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
    """Anything with components as attributes: `Components`, sums of them, a namespace in a test."""

    def __getattribute__(self, name: str, /) -> Array:
        """Return a component by its name."""
        ...


@runtime_checkable
class Memory(Protocol):
    """A memory (M, m_init, mu) of an episode (Alamdari et al. 2024, definition 5.2).

    mu takes the components of a step, which are a function of (s, a, s'), in place of (a, s').

    A frozen, hashable object whose methods are pure and of JAX operations only. The memory that it
    hands out is a pytree of arrays, whose shapes and types no update changes.

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
        """The memory m_init at the start of an episode.

        Args:
            like: components of the right shapes, all zero.
        """
        ...

    def update(self, memory: PyTree, components: Components) -> PyTree:
        """The memory mu(m, ...) after a step with these components."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class EnvironmentSpec:
    """Declaration of an environment, which a class fills in and a wrapper replaces in part.

    Attributes:
        agents: Names of the agents, in acting order.
        groups: Names of the groups that components have entries for.
        components: The struct that `step` emits.
        metrics: The published metrics by name: functions of summed components
            (`fairgym.fairness`).
        version: Number raised by one whenever the dynamics or defaults change, so that results of
            different versions are not taken for the same.
        group_word: Kind of the groups, in a word ("region").
        time_unit: Length of a step, in the plural ("months").
        failure: Meaning of an end before the horizon ("the bank goes bankrupt").
        size_text: Size of the system in words, for titles; by default the number of groups.
        data_checksum: sha256 of the data behind the system; "" without data.
        periods: Number of steps between an agent's actions; agents not named act at every step.
            Such an agent acts in steps 0, k, 2k, ...; what is given for it in between is ignored.
        partitions: Further partitions of the people, besides the groups, that reports have a
            table for: the name of a feature in `people` -> the names of its codes 0, 1, 2, ...
        parts: Further kinds of parts that components and parameters have an entry each for: the
            word of a kind ("person") -> names of its parts.
        terms: Names of the metrics that objectives such as "uniform" weigh; the others are
            measured. By default all metrics.
        schemes: Fairness schemes by name (`fairgym.fairness.Scheme`), scored in every rollout.
        measures: Measures of fairness in the course of an episode (`fairgym.fairness.Windowed`),
            by name. Learners that use them take "short_term", "long_term" as it really is, and
            "long_term_window" as it can be estimated from the last steps.
        memories: Memories by name that a run may put into the state
            (`fairgym.wrappers.augmented`).
        published: Weights of the published objective, over metrics and schemes by name.
        default_objective: Name of the objective of runs that do not name one
            (`fairgym.fairness.Objective.named`).
        benefit: Component that measures what each stakeholder received, the default of welfare
            objectives; "" where there is none.
        baselines: Fixed joint policies to compare with: name -> agent -> specification. Names are
            slugs. A specification is "random", the name of a rule ("first-come"), a rule
            "module:function", the name of an option, one number, one number per element of the
            action, or numbers by the names of the elements (`fairgym.policies.fixed_policies`
            builds them). By default random actions of all agents.
        expected_components: Function of (observations, actions, params) that returns the
            expected components of a step given what the agents observe; those that cannot be
            expected are 0. None if the environment has no such function.
        stages: Names of the stages that a person can be in, by stage code.
        core_attribute: Key of `people` whose distribution shows the groups' starting points.
        waits: Stage in which people wait -> the key of `people` with the whole steps that they
            have waited so far; reports tell how many wait, and the median of their times.
        finished_only: Measure of a rate that leaves out what has not come to its end, such as the
            wait of those who were served -> measure of the share that has. Who has less to wait
            because fewer are served is not called better off.
        exchangeable: Whether people may be numbered differently; False if a person's number means
            something, such as a place in a network.
        counts_people: Whether all that components count per group is counted by `count_people`,
            so that it can be told person by person.
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

    def __post_init__(self) -> None:
        """Fill in what follows from other fields."""
        if not self.terms:
            object.__setattr__(self, "terms", tuple(self.metrics))
        if not self.baselines:
            object.__setattr__(self, "baselines", {"random": dict.fromkeys(self.agents, "random")})
        if not self.size_text:
            object.__setattr__(self, "size_text", f"{len(self.groups)} {self.group_word}s")

    @property
    def component_info(self) -> dict[str, ComponentInfo]:
        """For each component its description, unit, symbol and the agents that it concerns."""
        return self.components.info()

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """Kinds of parts that components and parameters may have an entry each for.

        The word of a kind ("group", "person") -> names of its parts, in the order of the entries.
        """
        groups = {"group": self.groups, self.group_word: self.groups}
        return {**groups, **self.partitions, **self.parts}

    def parts_of(self, kind: str) -> tuple[str, ...]:
        """Names of the parts of a kind that parameters may differ over, one number each.

        Args:
            kind: A word of `axes`, such as "group".

        Raises:
            FairgymError: There is no such kind.
        """
        if kind not in self.axes:
            raise FairgymError(f"no parts of the kind {kind!r}; there are: {', '.join(self.axes)}")
        return self.axes[kind]
