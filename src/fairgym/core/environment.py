"""The base class of all environments.

A subclass writes four pure functions (`initial_state`, `observe`, `noise`, `transition`) and
declares its agents, spaces and components; the rest, `reset` and `step` with it, is here.
"""

import abc
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core.components import ComponentInfo, Components, Memory
from fairgym.core.errors import FairgymError
from fairgym.core.observed import Entities, EntitySpace
from fairgym.core.params import Params
from fairgym.core.spaces import ActionSpace, check_action

Observations = dict[str, Entities]
Actions = Mapping[str, Array]

StateT = TypeVar("StateT")
ParamsT = TypeVar("ParamsT", bound=Params)
ComponentsT = TypeVar("ComponentsT", bound=Components)


class Environment(abc.ABC, Generic[StateT, ParamsT, ComponentsT]):
    """A system in which several agents act; generic in its state, parameters and components.

    Subclasses are frozen dataclasses whose fields are shapes (horizon, ...): two environments with
    equal fields are equal and share compiled programs. A system of people derives from
    `PopulationEnvironment`.

    Attributes:
        name: the name it is registered under.
        version: raised by one whenever its dynamics or defaults change, so that results of
            different versions are not taken for the same.
        agents: names of the agents, in acting order.
        groups: names of the groups that components have entries for.
        group_word: kind of the groups, in a word ("region").
        time_unit: length of a step, in the plural ("months").
        failure: what it means that an episode ends before its horizon ("the bank fails").
        components: the struct that `step` emits.
        default_objective: name of the objective of runs that do not name one
            (`fairgym.fairness.Objective.named`).
        benefit: component with one entry per stakeholder whose sums are what each of them has
            got, the status of welfare objectives that name no component; "" where there is none.
        horizon: number of steps after which an episode is truncated.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    agents: ClassVar[tuple[str, ...]]
    groups: ClassVar[tuple[str, ...]]
    group_word: ClassVar[str] = "group"
    time_unit: ClassVar[str] = "steps"
    failure: ClassVar[str] = "the system fails"
    components: ClassVar[type[Components]]
    default_objective: ClassVar[str] = "uniform"
    benefit: ClassVar[str] = ""

    horizon: int

    # ------------------------------------------------------------------ what a subclass writes

    @property
    @abc.abstractmethod
    def default_params(self) -> ParamsT:
        """The published numbers."""

    @property
    @abc.abstractmethod
    def metrics(self) -> Mapping[str, Any]:
        """The published metrics by name: functions of summed components (`fairgym.fairness`)."""

    @abc.abstractmethod
    def observation_space(self, agent: str) -> EntitySpace:
        """Space of the agent's observations; the same object at every call.

        Raises:
            FairgymError: an unknown agent (`fairgym.core.require_agent`).
        """

    @abc.abstractmethod
    def action_space(self, agent: str) -> ActionSpace:
        """Space of the agent's actions; the same object at every call.

        Raises:
            FairgymError: an unknown agent (`fairgym.core.require_agent`).
        """

    @abc.abstractmethod
    def initial_state(self, key: PRNGKeyArray, params: ParamsT) -> StateT:
        """Sample the state at the start of an episode, a `State` with time 0."""

    @abc.abstractmethod
    def observe(self, state: StateT, params: ParamsT) -> Observations:
        """Observation of each agent in this state."""

    @abc.abstractmethod
    def noise(self, key: PRNGKeyArray, params: ParamsT) -> Any:
        """All the randomness of one step: a pytree of arrays."""

    @abc.abstractmethod
    def transition(
        self, noise: Any, state: StateT, actions: Actions, params: ParamsT
    ) -> tuple[StateT, ComponentsT, Bool[Array, ""]]:
        """One step in the order of the source: `(state, components, terminated)`.

        Actions are inside their spaces already. Advances `state.time` by one.
        """

    @property
    def data_checksum(self) -> str:
        """sha256 of the data behind the system; "" without data."""
        return ""

    @property
    def baselines(self) -> Mapping[str, Mapping[str, Any]]:
        """Fixed joint policies to compare with: name -> agent -> specification.

        Names are slugs. A specification is "random", the name of a rule ("first-come"), a rule
        "module:function", the name of an option, one number, one number per element of the action,
        or numbers by the names of the elements (`fairgym.policies.fixed_policies` builds them).
        """
        return {"random": dict.fromkeys(self.agents, "random")}

    @property
    def periods(self) -> Mapping[str, int]:
        """Number of steps between an agent's actions; agents not named act at every step.

        Such an agent acts in steps 0, k, 2k, ...; what is given for it in between is ignored.
        """
        return {}

    @property
    def size_text(self) -> str:
        """Size of the system in words, for titles."""
        return f"{len(self.groups)} {self.group_word}s"

    @property
    def axes(self) -> Mapping[str, tuple[str, ...]]:
        """Kinds of parts that components and parameters may have an entry each for.

        The word of a kind ("group", "person") -> names of its parts, in the order of the entries.
        """
        return {"group": self.groups, self.group_word: self.groups}

    @property
    def schemes(self) -> Mapping[str, Any]:
        """Fairness schemes by name (`fairgym.fairness.Scheme`), scored in every rollout."""
        return {}

    @property
    def measures(self) -> Mapping[str, Any]:
        """Measures of fairness in the course of an episode (`fairgym.fairness.Windowed`), by name.

        Learners that care for them take "short_term", "long_term" as it really is, and
        "long_term_window" as it can be estimated from the last steps.
        """
        return {}

    @property
    def memories(self) -> Mapping[str, Memory]:
        """Memories by name that a run may put into the state (`fairgym.wrappers.augmented`)."""
        return {}

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the metrics that objectives such as "uniform" weigh; the others are measured."""
        return tuple(self.metrics)

    @property
    def published(self) -> Mapping[str, float]:
        """Weights of the published objective, over metrics and schemes by name."""
        return {}

    def foresee(
        self, observations: Observations, actions: Actions, params: ParamsT
    ) -> ComponentsT | None:
        """The expected components of a step, as far as what the agents see tells them.

        Args:
            observations: what each agent sees before the step.
            actions: one per agent, inside their spaces.
            params: as `default_params`.

        Returns:
            Components of which those that cannot be foreseen are 0; None where nothing can be.
        """
        return None

    def parts_of(self, kind: str) -> tuple[str, ...]:
        """Names of the parts of a kind that parameters may differ over, one number each.

        Args:
            kind: a word of `axes`, such as "group".

        Raises:
            FairgymError: there is no such kind.
        """
        if kind not in self.axes:
            raise FairgymError(f"{self.name} has no parts of the kind {kind!r}")
        return self.axes[kind]

    # ------------------------------------------------------------------ what everybody calls

    @property
    def unwrapped(self) -> "Environment":
        """The environment itself; that inside all of them for a wrapper."""
        return self

    def reset(self, key: PRNGKeyArray, params: ParamsT) -> tuple[Observations, StateT]:
        """Start an episode.

        Args:
            key: a JAX key.
            params: as `default_params`.

        Returns:
            `(obs, state)`: the observation of each agent, and the state.

        Raises:
            FairgymError: a parameter that may differ over parts has not one number for each.
        """
        check_parts(self, params)
        state = self.initial_state(key, params)
        return self.observe(state, params), state

    def advance(
        self, key: PRNGKeyArray, state: StateT, actions: Actions, params: ParamsT
    ) -> tuple[StateT, ComponentsT, Bool[Array, ""]]:
        """`step` without observations: clip the actions, sample the noise, make the transition.

        Raises:
            FairgymError: an agent's action is missing, or there is an unknown agent.
        """
        require_agents(self, actions, "action")
        clipped = {agent: self.action_space(agent).clip(actions[agent]) for agent in self.agents}
        return self.transition(self.noise(key, params), state, clipped, params)

    def step(
        self, key: PRNGKeyArray, state: StateT, actions: Actions, params: ParamsT
    ) -> tuple[Observations, StateT, ComponentsT, Bool[Array, ""], Bool[Array, ""], dict[str, Any]]:
        """Make one step. Out-of-range actions are clipped, shares renormalised.

        Args:
            key: a fresh JAX key.
            state: as returned by `reset` or `step`.
            actions: one array per agent, shaped as its action space.
            params: as `default_params`.

        Returns:
            `(obs, state, components, terminated, truncated, info)`. There is no automatic reset,
            and what falls due is kept up to the horizon only: do not step beyond it.

        Raises:
            FairgymError: an agent's action is missing, unknown or of the wrong shape.
        """
        check_actions(self, actions)
        state, components, terminated = self.advance(key, state, actions, params)
        truncated = time_of(state) >= self.horizon
        return self.observe(state, params), state, components, terminated, truncated, {}

    @property
    def component_info(self) -> dict[str, ComponentInfo]:
        """For each component its description, unit, symbol and the agents that it concerns."""
        return self.components.info()


def time_of(state: Any) -> Int[Array, ""]:
    """Number of steps made, which every state has (`State.time`)."""
    return state.time


def check_parts(env: Environment, params: Params) -> None:
    """Raise a FairgymError unless parameters with several numbers have one for each part."""
    for name, info in params.info().items():
        shape = jnp.shape(getattr(params, name))
        if info.per and shape and shape != (len(env.parts_of(info.per)),):
            raise FairgymError(
                f"{name} has the shape {shape}; it takes one number, or one per {info.per}:"
                f" {', '.join(env.parts_of(info.per))}"
            )


def require_agents(env: Environment, given: Any, what: str) -> None:
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
