"""Environments around an environment: another start, another end, further metrics.

A wrapper is an environment itself and passes every member on to the one inside. It overrides what
a subclass of `Environment` writes (`initial_state`, `transition`, ...); `reset`, `advance` and
`step` follow from these, so that rollouts and learners need not know of wrappers.
"""

# Members that others declare as class variables are properties here.
# pyright: reportIncompatibleVariableOverride=false

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core.components import Components, Memory
from fairgym.core.environment import Actions, Environment, Observations
from fairgym.core.errors import FairgymError
from fairgym.core.observed import EntitySpace
from fairgym.core.params import Params
from fairgym.core.spaces import ActionSpace


@dataclasses.dataclass(frozen=True)
class Wrapper(Environment[Any, Any, Any]):
    """An environment that behaves as another one; subclasses change a part of it.

    It has the members of a `PopulationEnvironment` if the one inside is one, but is none itself:
    `isinstance(env.unwrapped, PopulationEnvironment)` tells, of wrappers and others alike.

    Wrappers of equal environments with equal fields are equal, and share compiled programs where
    all fields can be hashed (arrays cannot: make such a wrapper inside the compiled function).

    Attributes:
        env: the environment inside.
    """

    _outermost: ClassVar[bool] = False  # True for a wrapper that none may be put around

    env: Environment

    def __post_init__(self) -> None:
        """Refuse to hide a wrapper that is to be the outermost one.

        Raises:
            FairgymError: the environment inside is an `AutoReset`.
        """
        if isinstance(self.env, Wrapper) and self.env._outermost:
            inside = type(self.env).__name__
            raise FairgymError(
                f"{type(self).__name__} is put around {inside}; {inside} takes the outermost"
                " place, around all other wrappers"
            )

    @property
    def unwrapped(self) -> Environment:
        """The environment inside all wrappers."""
        return self.env.unwrapped

    @property
    def _people(self) -> Any:
        """The environment inside, taken to be one of people; another one lacks the members."""
        return self.env

    # ------------------------------------------------------------------ declarations

    @property
    def name(self) -> str:
        """Name of the environment inside."""
        return self.env.name

    @property
    def version(self) -> int:
        """Version of the environment inside."""
        return self.env.version

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of the agents."""
        return self.env.agents

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups."""
        return self.env.groups

    @property
    def group_word(self) -> str:
        """Kind of the groups, in a word."""
        return self.env.group_word

    @property
    def time_unit(self) -> str:
        """Length of a step, in the plural."""
        return self.env.time_unit

    @property
    def failure(self) -> str:
        """Meaning of an early end, in words."""
        return self.env.failure

    @property
    def components(self) -> type[Components]:
        """Struct of the components."""
        return self.env.components

    @property
    def horizon(self) -> int:
        """Number of steps after which an episode is truncated."""
        return self.env.horizon

    @property
    def default_params(self) -> Params:
        """Published numbers."""
        return self.env.default_params

    @property
    def metrics(self) -> Mapping[str, Any]:
        """Published metrics by name."""
        return self.env.metrics

    @property
    def data_checksum(self) -> str:
        """Checksum of the data behind the system."""
        return self.env.data_checksum

    @property
    def baselines(self) -> Mapping[str, Mapping[str, Any]]:
        """Fixed joint policies to compare with."""
        return self.env.baselines

    @property
    def periods(self) -> Mapping[str, int]:
        """Number of steps between an agent's actions."""
        return self.env.periods

    @property
    def size_text(self) -> str:
        """Size of the system in words."""
        return self.env.size_text

    @property
    def axes(self) -> Mapping[str, tuple[str, ...]]:
        """Kinds of parts, with their names."""
        return self.env.axes

    @property
    def schemes(self) -> Mapping[str, Any]:
        """Fairness schemes by name."""
        return self.env.schemes

    @property
    def measures(self) -> Mapping[str, Any]:
        """Measures of fairness in the course of an episode, by name."""
        return self.env.measures

    @property
    def memories(self) -> Mapping[str, Memory]:
        """Memories by name that a run may put into the state."""
        return self.env.memories

    def foresee(self, observations: Any, actions: Any, params: Any) -> Any:
        """The expected components of a step, as far as what the agents see tells them."""
        return self.env.foresee(observations, actions, params)

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the metrics that objectives by kind weigh."""
        return self.env.terms

    @property
    def published(self) -> Mapping[str, float]:
        """Weights of the published objective."""
        return self.env.published

    @property
    def default_objective(self) -> str:
        """Name of the objective of runs that do not name one."""
        return self.env.default_objective

    @property
    def benefit(self) -> str:
        """Component that tells what each stakeholder got."""
        return self.env.benefit

    def observation_space(self, agent: str) -> EntitySpace:
        """Space of an agent's observations."""
        return self.env.observation_space(agent)

    def action_space(self, agent: str) -> ActionSpace:
        """Space of an agent's actions."""
        return self.env.action_space(agent)

    # ------------------------------------------------------------------ dynamics

    def initial_state(self, key: PRNGKeyArray, params: Any) -> Any:
        """State at the start of an episode."""
        return self.env.initial_state(key, params)

    def observe(self, state: Any, params: Any) -> Observations:
        """Observation of each agent."""
        return self.env.observe(state, params)

    def noise(self, key: PRNGKeyArray, params: Any) -> Any:
        """All the randomness of one step."""
        return self.env.noise(key, params)

    def transition(
        self, noise: Any, state: Any, actions: Actions, params: Any
    ) -> tuple[Any, Components, Bool[Array, ""]]:
        """One step: `(state, components, terminated)`."""
        return self.env.transition(noise, state, actions, params)

    # ------------------------------------------------------------------ people, where there are any

    @property
    def population(self) -> int:
        """Number of people."""
        return self._people.population

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages."""
        return self._people.stages

    @property
    def core_attribute(self) -> str:
        """Key of the core attribute in `people`."""
        return self._people.core_attribute

    @property
    def waits(self) -> Mapping[str, str]:
        """Stages in which people wait, and the features that tell how long."""
        return self._people.waits

    @property
    def exchangeable(self) -> bool:
        """True if people may be numbered differently."""
        return self._people.exchangeable

    @property
    def partitions(self) -> Mapping[str, tuple[str, ...]]:
        """Further partitions of the people, besides the groups."""
        return self._people.partitions

    @property
    def counts_people(self) -> bool:
        """True if components can be counted person by person."""
        return self._people.counts_people

    def counting_people(self, state: Any) -> Any:
        """The state from which on components are counted person by person."""
        return self._people.counting_people(state)

    def people(self, state: Any) -> dict[str, Float[Array, " population"]]:
        """Every feature of every person by name."""
        return self._people.people(state)

    def census(self, state: Any) -> dict[str, Int[Array, " groups"]]:
        """Number of people per stage (key) and group (entry)."""
        return self._people.census(state)


@dataclasses.dataclass(frozen=True)
class StartsFrom(Wrapper):
    """The environment with a given state as the start of every episode.

    Attributes:
        state: a state of the environment inside; an episode starts at its `time`.
    """

    state: Any

    def initial_state(self, key: PRNGKeyArray, params: Any) -> Any:
        """The given state, whatever the key."""
        return self.state


@dataclasses.dataclass(frozen=True)
class EndsAfter(Wrapper):
    """The environment, terminating at a given time at the latest.

    Attributes:
        steps: `time` of the state with which the episode terminates; it may be traced.

    Examples:
        >>> import fairgym
        >>> from fairgym.wrappers import EndsAfter
        >>> env = EndsAfter(fairgym.make("loan_simple", population=100), 3)
        >>> env.name, env.population, env.steps
        ('loan_simple', 100, 3)
    """

    steps: Any

    def transition(
        self, noise: Any, state: Any, actions: Actions, params: Any
    ) -> tuple[Any, Components, Bool[Array, ""]]:
        """One step, the last one if it reaches the given time."""
        state, components, terminated = self.env.transition(noise, state, actions, params)
        return state, components, terminated | (state.time >= self.steps)


@dataclasses.dataclass(frozen=True)
class NeverEnds(Wrapper):
    """The environment without termination: an episode goes on past a failure, to its horizon."""

    def transition(
        self, noise: Any, state: Any, actions: Actions, params: Any
    ) -> tuple[Any, Components, Bool[Array, ""]]:
        """One step, never the last one."""
        state, components, terminated = self.env.transition(noise, state, actions, params)
        return state, components, jnp.zeros_like(terminated)


@dataclasses.dataclass(frozen=True)
class MoreMetrics(Wrapper):
    """The environment with further metrics and fairness schemes after its own.

    Attributes:
        more: name and metric of each; functions of the environment's components.
        more_schemes: name and scheme of each; folds over the environment's components.
    """

    more: tuple[tuple[str, Any], ...]
    more_schemes: tuple[tuple[str, Any], ...] = ()

    @property
    def metrics(self) -> Mapping[str, Any]:
        """The metrics of the environment inside, then the further ones."""
        return {**self.env.metrics, **dict(self.more)}

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms of the environment inside, then the further metrics."""
        return (*self.env.terms, *(name for name, _ in self.more))

    @property
    def schemes(self) -> Mapping[str, Any]:
        """The schemes of the environment inside, then the further ones."""
        return {**self.env.schemes, **dict(self.more_schemes)}


__all__ = [
    "EndsAfter",
    "MoreMetrics",
    "NeverEnds",
    "StartsFrom",
    "Wrapper",
]
