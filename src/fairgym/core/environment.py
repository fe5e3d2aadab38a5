"""The base class of all environments.

A subclass writes four pure functions (`initial_state`, `observe`, `noise`, `transition`) and
declares its agents, spaces and components; the rest, `reset` and `step` with it, is here.
"""

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core.components import ComponentInfo, Components
from fairgym.core.entities import Entities
from fairgym.core.errors import FairgymError
from fairgym.core.params import Params
from fairgym.core.spaces import ActionSpace, EntitySpace, check_action

Observations = dict[str, Entities]
Actions = Mapping[str, Array]


class Environment(abc.ABC):
    """A society of people in which several agents act.

    Subclasses are frozen dataclasses whose fields are shapes (population, horizon, ...): two
    environments with equal fields are equal and share compiled programs.

    Class attributes:
        name: the name it is registered under.
        agents: names of the agents, in acting order.
        stages: names of the stages that a person can be in, by stage code.
        groups: names of the groups that components have entries for.
        core_attribute: the key of `people` whose distribution shows the groups' starting points.
        components: the struct that `step` emits.

    Attributes:
        population: number of people.
        horizon: number of steps after which an episode is truncated.
    """

    name: ClassVar[str]
    agents: ClassVar[tuple[str, ...]]
    stages: ClassVar[tuple[str, ...]]
    groups: ClassVar[tuple[str, ...]]
    core_attribute: ClassVar[str]
    components: ClassVar[type[Components]]

    population: int
    horizon: int

    # ------------------------------------------------------------------ what a subclass writes

    @property
    @abc.abstractmethod
    def default_params(self) -> Params:
        """The published numbers."""

    @property
    @abc.abstractmethod
    def metrics(self) -> Mapping[str, Any]:
        """The published measures by name: functions of summed components (`fairgym.fairness`)."""

    @abc.abstractmethod
    def observation_space(self, agent: str) -> EntitySpace:
        """What this agent sees; the same object at every call."""

    @abc.abstractmethod
    def action_space(self, agent: str) -> ActionSpace:
        """What this agent does; the same object at every call."""

    @abc.abstractmethod
    def initial_state(self, key: PRNGKeyArray, params: Any) -> Any:
        """Draw the people and put them at the start; the state has `time`, `stage`, `group`."""

    @abc.abstractmethod
    def observe(self, state: Any, params: Any) -> Observations:
        """What each agent sees in this state."""

    @abc.abstractmethod
    def noise(self, key: PRNGKeyArray, params: Any) -> Any:
        """All the randomness of one step: a pytree, per-person arrays first axis `population`."""

    @abc.abstractmethod
    def transition(
        self, noise: Any, state: Any, actions: Actions, params: Any
    ) -> tuple[Any, Components, Bool[Array, ""]]:
        """One step in the order of the source: `(state, components, terminated)`.

        Actions are inside their spaces already. Advances `state.time` by one.
        """

    @abc.abstractmethod
    def people(self, state: Any) -> dict[str, Float[Array, " population"]]:
        """Every feature of every person by name, for reports, tests and plots."""

    @property
    def data_checksum(self) -> str:
        """sha256 of the data that the people are drawn from; "" for made-up people."""
        return ""

    @property
    def baselines(self) -> Mapping[str, Mapping[str, Any]]:
        """Fixed joint policies to compare with: name -> agent -> specification.

        A specification is "random", "first-come", one number, or one number per element of the
        action (`fairgym.policies.fixed_policies` builds them).
        """
        return {"random": dict.fromkeys(self.agents, "random")}

    @property
    def periods(self) -> Mapping[str, int]:
        """How many steps lie between an agent's actions; agents not named act at every step.

        Such an agent acts in steps 0, k, 2k, ...; what is given for it in between is ignored.
        """
        return {}

    @property
    def partitions(self) -> Mapping[str, tuple[str, ...]]:
        """Further partitions of the people, besides the groups, that reports have a table for.

        The name of a feature in `people` -> the names of its codes 0, 1, 2, ...
        """
        return {}

    # ------------------------------------------------------------------ what everybody calls

    def reset(self, key: PRNGKeyArray, params: Any) -> tuple[Observations, Any]:
        """Start an episode.

        Args:
            key: a JAX key.
            params: as `default_params`.

        Returns:
            `(obs, state)`: the observation of each agent, and the state.
        """
        state = self.initial_state(key, params)
        return self.observe(state, params), state

    def advance(
        self, key: PRNGKeyArray, state: Any, actions: Actions, params: Any
    ) -> tuple[Any, Components, Bool[Array, ""]]:
        """`step` without the observation: clip the actions, draw the noise, make the transition."""
        clipped = {agent: self.action_space(agent).clip(actions[agent]) for agent in self.agents}
        return self.transition(self.noise(key, params), state, clipped, params)

    def step(
        self, key: PRNGKeyArray, state: Any, actions: Actions, params: Any
    ) -> tuple[Observations, Any, Components, Bool[Array, ""], Bool[Array, ""], dict[str, Array]]:
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
        require_agents(self, actions, "action")
        for agent in self.agents:
            check_action(self.action_space(agent), agent, actions[agent])
        state, components, terminated = self.advance(key, state, actions, params)
        truncated = state.time >= self.horizon
        return self.observe(state, params), state, components, terminated, truncated, {}

    @property
    def component_info(self) -> dict[str, ComponentInfo]:
        """For each component its description, unit, symbol and the agents that it concerns."""
        return self.components.info()

    def census(self, state: Any) -> dict[str, Int[Array, " groups"]]:
        """People per stage (key) and group (entry)."""
        group = jnp.arange(len(self.groups))[:, None] == state.group[None, :]
        return {
            stage: jnp.sum(group & (state.stage == code)[None, :], axis=1, dtype=jnp.int32)
            for code, stage in enumerate(self.stages)
        }


def require_agents(env: Environment, given: Mapping[str, Any], what: str) -> None:
    """Raise a FairgymError unless `given` has exactly one entry for each agent."""
    missing = [agent for agent in env.agents if agent not in given]
    unknown = [agent for agent in given if agent not in env.agents]
    if missing or unknown:
        problem = f"no {what} for {missing[0]!r}" if missing else f"unknown agent {unknown[0]!r}"
        raise FairgymError(f"{problem}; {env.name} has the agents: {', '.join(env.agents)}")


def check_shape(name: str, value: Any, low: int, high: int) -> int:
    """Return a constructor argument as an int, or raise a FairgymError that names it."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise FairgymError(f"{name} is {value!r}; it takes a whole number from {low} to {high}")
    return value


def by_group(
    values: Float[Array, " n"], group: Int[Array, " n"], groups: int
) -> Float[Array, " groups"]:
    """Sum of `values` within each group."""
    member = (jnp.arange(groups)[:, None] == group).astype(jnp.float32)
    return jnp.dot(member, values, precision="highest")


__all__ = [
    "Actions",
    "Environment",
    "Observations",
    "by_group",
    "check_shape",
    "require_agents",
]
