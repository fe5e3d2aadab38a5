"""The base class of all environments.

A subclass implements four pure functions (`initial_state`, `observe`, `noise`, `transition`) and
declares everything else in `spec` and the spaces. `reset` and `step` are implemented here.
"""

import abc
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from fairgym.core.compiled import gather
from fairgym.core.components import Components, EnvironmentSpec
from fairgym.core.errors import FairgymError
from fairgym.core.observed import Entities, EntitySpace
from fairgym.core.params import Params, check_params
from fairgym.core.spaces import ActionSpace, check_action
from fairgym.core.struct import PopulationState

Observations = dict[str, Entities]
Actions = Mapping[str, Array]

StateT = TypeVar("StateT")
ParamsT = TypeVar("ParamsT", bound=Params)
ComponentsT = TypeVar("ComponentsT", bound=Components)


class Environment(abc.ABC, Generic[StateT, ParamsT, ComponentsT]):
    """A system with several agents; generic in its state, parameters and components.

    Subclasses are frozen dataclasses whose fields are shapes (horizon, ...). Environments with
    equal fields are equal and share compiled programs. Systems of people derive from
    `PopulationEnvironment`.

    Attributes:
        name: Registered name.
        horizon: Number of steps after which an episode is truncated.
    """

    name: ClassVar[str]

    horizon: int

    def __post_init__(self) -> None:
        """Check the constructor arguments that are declared by `param`.

        Raises:
            FairgymError: An argument has the wrong type or is out of its range.
        """
        check_params(self)

    # ------------------------------------------------------------------ for subclasses

    @cached_property
    @abc.abstractmethod
    def spec(self) -> EnvironmentSpec:
        """Declaration: agents, groups, components, metrics, baselines, words for reports."""

    @property
    @abc.abstractmethod
    def default_params(self) -> ParamsT:
        """Published values of the parameters."""

    @abc.abstractmethod
    def observation_space(self, agent: str) -> EntitySpace:
        """Return the space of the agent's observations; the same object at every call.

        Raises:
            FairgymError: Unknown agent (`fairgym.core.require_agent`).
        """

    @abc.abstractmethod
    def action_space(self, agent: str) -> ActionSpace:
        """Return the space of the agent's actions; the same object at every call.

        Raises:
            FairgymError: Unknown agent (`fairgym.core.require_agent`).
        """

    @abc.abstractmethod
    def initial_state(self, key: PRNGKeyArray, params: ParamsT) -> StateT:
        """Sample the state at the start of an episode, a `State` with time 0."""

    @abc.abstractmethod
    def observe(self, state: StateT, params: ParamsT) -> Observations:
        """Return the observation of each agent in this state."""

    @abc.abstractmethod
    def noise(self, key: PRNGKeyArray, params: ParamsT) -> PyTree:
        """Sample all random numbers of one step: a pytree of arrays."""

    @abc.abstractmethod
    def transition(
        self, noise: PyTree, state: StateT, actions: Actions, params: ParamsT
    ) -> tuple[StateT, ComponentsT, Bool[Array, ""]]:
        """Make one step in the order of the source; return `(state, components, terminated)`.

        Actions are already inside their spaces. The step increases `state.time` by one.
        """

    # ------------------------------------------------------------------ methods for users

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of the agents, in acting order (`spec.agents`)."""
        return self.spec.agents

    @property
    def metrics(self) -> Mapping[str, Any]:
        """Published metrics by name (`spec.metrics`)."""
        return self.spec.metrics

    @property
    def unwrapped(self) -> "Environment":
        """The environment itself; for a wrapper, the environment inside all wrappers."""
        return self

    def reset(self, key: PRNGKeyArray, params: ParamsT) -> tuple[Observations, StateT]:
        """Start an episode.

        Args:
            key: A JAX key.
            params: Parameters, such as `default_params`.

        Returns:
            `(obs, state)`: the observation of each agent, and the state.

        Raises:
            FairgymError: A parameter with one number per group or region has another length.
        """
        check_parts(self, params)
        state = self.initial_state(key, params)
        return self.observe(state, params), state

    def advance(
        self, key: PRNGKeyArray, state: StateT, actions: Actions, params: ParamsT
    ) -> tuple[StateT, ComponentsT, Bool[Array, ""]]:
        """Make a step without observations: clip actions, sample noise, apply the transition.

        Raises:
            FairgymError: An agent's action is missing, or an agent is unknown.
        """
        require_agents(self, actions, "action")
        clipped = {agent: self.action_space(agent).clip(actions[agent]) for agent in self.agents}
        return self.transition(self.noise(key, params), state, clipped, params)

    def step(
        self, key: PRNGKeyArray, state: StateT, actions: Actions, params: ParamsT
    ) -> tuple[
        Observations, StateT, ComponentsT, Bool[Array, ""], Bool[Array, ""], dict[str, PyTree]
    ]:
        """Make one step. Out-of-range actions are clipped, and shares are renormalised.

        Args:
            key: A fresh JAX key.
            state: State returned by `reset` or `step`.
            actions: One array per agent, with the shape of its action space.
            params: Parameters, such as `default_params`.

        Returns:
            `(obs, state, components, terminated, truncated, info)`. There is no automatic reset. Do
            not step beyond the horizon: scheduled events are stored only up to it.

        Raises:
            FairgymError: An agent's action is missing or has the wrong shape, or an agent is
                unknown.
        """
        check_actions(self, actions)
        state, components, terminated = self.advance(key, state, actions, params)
        truncated = time_of(state) >= self.horizon
        return self.observe(state, params), state, components, terminated, truncated, {}


def time_of(state: PyTree) -> Int[Array, ""]:
    """Return the number of steps made so far (`State.time`)."""
    return state.time


def check_parts(env: Environment, params: Params) -> None:
    """Raise a FairgymError unless array parameters have one number per entry of their axis."""
    for name, info in params.info().items():
        shape = jnp.shape(getattr(params, name))
        if info.per and shape and shape != (len(env.spec.parts_of(info.per)),):
            raise FairgymError(
                f"{name} must be one number, or one per {info.per}"
                f" ({', '.join(env.spec.parts_of(info.per))}), got the shape {shape}"
            )


def require_agents(env: Environment, given: object, what: str) -> None:
    """Raise a FairgymError unless `given` has exactly one entry for each agent."""
    if not isinstance(given, Mapping):
        kind = "None" if given is None else f"a {type(given).__name__}"
        raise _refused(
            env, f"{kind} is given where a mapping has one {what} for each agent by name"
        )
    for agent in env.agents:
        if agent not in given:
            raise _refused(env, f"no {what} for {agent!r}")
    for agent in given:
        require_agent(env, agent)


def require_agent(env: Environment, agent: str) -> str:
    """Return an agent's name, or raise a FairgymError unless the environment has the agent."""
    if agent not in env.agents:
        raise _refused(env, f"unknown agent {agent!r}")
    return agent


def _refused(env: Environment, problem: str) -> FairgymError:
    return FairgymError(f"{problem}; {env.name} has the agents: {', '.join(env.agents)}")


def check_actions(env: Environment, actions: Actions) -> None:
    """Raise a FairgymError unless there is an action of the right shape for each agent."""
    require_agents(env, actions, "action")
    for agent in env.agents:
        check_action(env.action_space(agent), agent, actions[agent])


def by_group(
    values: Float[Array, " n"], group: Int[Array, " n"], groups: int
) -> Float[Array, " groups"]:
    """Sum of `values` within each group."""
    member = (jnp.arange(groups)[:, None] == group).astype(jnp.float32)
    return jnp.dot(member, values, precision="highest")


class PopulationEnvironment(Environment[StateT, ParamsT, ComponentsT]):
    """A population of people with several agents.

    Its state is a `PopulationState`: every person has a group and a stage. Its `spec` names the
    stages and the core attribute.

    Attributes:
        population: Number of people.
    """

    population: int

    @abc.abstractmethod
    def people(self, state: StateT) -> dict[str, Float[Array, " population"]]:
        """Return every feature of every person by name, for reports, tests and plots."""

    def counting_people(self, state: PyTree) -> PyTree:
        """Return the initial state of an episode whose components are counted per person.

        For environments whose spec has `counts_people`. An environment whose state stores counts
        per group overrides this method to store them per person.
        """
        return state.replace(by_person=True)

    def _count(
        self, who: Array, state: PopulationState, rows: Int[Array, " n"] | None = None
    ) -> Float[Array, " groups"]:
        """Count the True entries (or sum the numbers) with `count_people`."""
        return count_people(who, state, len(self.spec.groups), rows)

    def census(self, state: PyTree) -> dict[str, Int[Array, " groups"]]:
        """Return the number of people per stage (key) and group (entry)."""
        group = jnp.arange(len(self.spec.groups))[:, None] == state.group[None, :]
        return {
            stage: jnp.sum(group & (state.stage == code)[None, :], axis=1, dtype=jnp.int32)
            for code, stage in enumerate(self.spec.stages)
        }


def count_people(
    who: Array, state: PopulationState, groups: int, rows: Int[Array, " n"] | None = None
) -> Float[Array, " groups"]:
    """Count people, or sum a number of each person, per group, for a component.

    Return one number per person instead if the state says so (`PopulationState.by_person`).

    Args:
        who: One entry per person.
        state: The state, with the group of each person.
        groups: Number of groups.
        rows: Row numbers of the people in `who`, without duplicates; everybody if None.
    """
    values = who.astype(jnp.float32)
    if not state.by_person:
        return by_group(values, state.group if rows is None else gather(state.group, rows), groups)
    if rows is None:
        return values
    return jnp.zeros(state.group.shape, jnp.float32).at[rows].add(values)


def no_components(env: Environment, params: Params) -> PyTree:
    """Return components with the environment's shapes, all zero.

    Shapes come from an abstract step; nothing is computed.

    Args:
        env: An environment.
        params: Parameters, such as `env.default_params`.
    """

    def step(key: PRNGKeyArray) -> PyTree:
        actions = {agent: env.action_space(agent).sample(key) for agent in env.agents}
        return env.advance(key, env.initial_state(key, params), actions, params)[1]

    shapes = jax.eval_shape(step, jax.random.key(0))
    return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)


def counts_people(env: Environment) -> bool:
    """Return True if the system inside all wrappers can count its components per person."""
    system = env.unwrapped
    return isinstance(system, PopulationEnvironment) and system.spec.counts_people


def group_counts(env: Environment) -> tuple[str, ...]:
    """Return the names of the components with one number per group."""
    words = (("group",), (env.spec.group_word,))
    return tuple(name for name, info in env.spec.component_info.items() if info.axes in words)


def in_groups(
    env: Environment, counts: ComponentsT, group: Int[Array, " people"], groups: int | None = None
) -> ComponentsT:
    """Sum components that were counted per person within groups.

    Args:
        env: The environment.
        counts: Components, or sums of them, with one number per person instead of per group.
        group: Group of each person, the person's own or any other.
        groups: Number of groups; that of the environment if None.
    """
    groups = len(env.spec.groups) if groups is None else groups
    sums = {name: by_group(getattr(counts, name), group, groups) for name in group_counts(env)}
    return counts.replace(**sums)


def in_parts(env: Environment, counts: ComponentsT, state: PyTree) -> dict[str, ComponentsT]:
    """Sum such components within each value of each attribute in `spec.partitions`."""
    people = cast(PopulationEnvironment, env).people(state) if env.spec.partitions else {}
    return {
        name: in_groups(env, counts, people[name].astype(jnp.int32), len(parts))
        for name, parts in env.spec.partitions.items()
    }
