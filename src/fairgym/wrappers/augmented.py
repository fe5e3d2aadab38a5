"""Memory-augmented environments: the state holds a memory of the episode, which agents observe."""

import dataclasses
from functools import cached_property
from typing import Any, Protocol, cast, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from fairgym.core.components import Components, EnvironmentSpec, Memory
from fairgym.core.environment import (
    Actions,
    Environment,
    Observations,
    in_groups,
    no_components,
    require_agent,
)
from fairgym.core.errors import FairgymError
from fairgym.core.observed import Entities, EntitySpace, Feature
from fairgym.core.params import Params
from fairgym.core.struct import Struct
from fairgym.wrappers.wrappers import Wrapper

PERSON = "person"


@runtime_checkable
class ShownMemory(Memory, Protocol):
    """A memory that agents can observe."""

    def features(self, env: Environment) -> tuple[str, tuple[Feature, ...]]:
        """Declare the features that agents observe.

        Returns:
            `("person", features)` for columns of observations whose row i is person i, or
            `("", features)` for numbers of the context.
        """
        ...

    def shown(self, memory: PyTree) -> dict[str, Array]:
        """Return the observed numbers: arrays by name, in the order of the declared features.

        Each array is a column with one number per person, or one or several numbers of the context.
        """
        ...


class AugmentedState(Struct):
    """State (s, m) of a memory-augmented environment.

    Attributes of the environment's state are available here, and `replace` forwards their names.

    Attributes:
        env_state: State of the inner environment.
        memory: Memory of the steps so far.
    """

    env_state: PyTree
    memory: PyTree

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the environment's state, such as its time, groups or stages."""
        if name.startswith("__") or name in ("env_state", "memory"):
            raise AttributeError(f"AugmentedState has no {name!r}")
        return getattr(self.env_state, name)

    def replace(self, **changes: PyTree) -> "AugmentedState":
        """Return a copy with changed fields of this struct or of the environment's state."""
        inside = {n: x for n, x in changes.items() if n not in ("env_state", "memory")}
        env_state = changes.get("env_state", self.env_state)
        return AugmentedState(
            env_state=env_state.replace(**inside) if inside else env_state,
            memory=changes.get("memory", self.memory),
        )


@dataclasses.dataclass(frozen=True)
class Augmented(Wrapper):
    """A memory-augmented environment (Alamdari et al. 2024, definition 5.2).

    Its state is (s, m), an `AugmentedState`. Every agent observes the memory in addition to its
    usual observation. Create it with `augmented`.

    Attributes:
        memory: The memory.
    """

    memory: ShownMemory

    def __post_init__(self) -> None:
        """Check that agents can observe the memory.

        Raises:
            FairgymError: It is not a memory that agents can observe, an agent does not observe all
                people, or an agent already has a feature with the same name.
        """
        super().__post_init__()
        if isinstance(self.memory, type) or not isinstance(self.memory, ShownMemory):
            raise FairgymError(
                "memory must be a memory that can be shown to agents, with the methods initial,"
                f" update, shown and features, got {self.memory!r}"
            )
        for agent in self.env.agents:
            self.observation_space(agent)

    # ------------------------------------------------------------------ observations

    @cached_property
    def _features(self) -> tuple[str, tuple[Feature, ...]]:
        """Declared axis and features of the memory."""
        axis, features = self.memory.features(self.env)
        if axis not in ("", PERSON):
            raise FairgymError(
                f"the axis of the memory must be {PERSON!r} for a column of the rows, or '' for"
                f" the context, got {axis!r}"
            )
        return axis, features

    @cached_property
    def _spaces(self) -> dict[str, EntitySpace]:
        return {agent: self._space(agent) for agent in self.env.agents}

    def _space(self, agent: str) -> EntitySpace:
        """Return the agent's inner space extended by the features of the memory."""
        axis, features = self._features
        space = self.env.observation_space(agent)
        there = {feature.name for feature in (*space.features, *space.context)}
        for feature in features:
            if feature.name in there:
                raise FairgymError(
                    f"agent {agent!r} already observes a feature {feature.name!r}; choose"
                    " another name for the memory"
                )
        if axis != PERSON:
            return dataclasses.replace(space, context=(*space.context, *features))
        people = len(self.env.spec.axes.get(PERSON, ()))
        if space.capacity != people:
            raise FairgymError(
                f"agent {agent!r} must observe all {people} people in order, since the memory has"
                f" one number for each, got {space.capacity} rows"
            )
        return dataclasses.replace(space, features=(*space.features, *features))

    def observation_space(self, agent: str) -> EntitySpace:
        """Return the space of an agent's observations, including the memory."""
        require_agent(self, agent)
        return self._spaces[agent]

    def show(self, env_state: PyTree, memory: PyTree, params: Params) -> Observations:
        """Return the observation of each agent in a state with any memory.

        Args:
            env_state: State of the inner environment.
            memory: A memory, true or counterfactual.
            params: Parameters, such as `default_params`.
        """
        axis, features = self._features
        numbers = [jnp.asarray(x, jnp.float32) for x in self.memory.shown(memory).values()]
        if axis == PERSON:
            columns = jnp.stack(numbers, axis=1)
        else:
            columns = jnp.concatenate([jnp.reshape(x, (-1,)) for x in numbers])
        if columns.shape[-1] != len(features):
            raise FairgymError(
                f"the memory must show one number for each of its {len(features)} features, got"
                f" {columns.shape[-1]}"
            )
        observed = self.env.observe(env_state, params)
        return {agent: _extended(observed[agent], columns, axis) for agent in self.env.agents}

    def observe(self, state: AugmentedState, params: Params) -> Observations:
        """Return the observation of each agent, including the memory."""
        return self.show(state.env_state, state.memory, params)

    def without_memory(self, observation: Entities) -> Entities:
        """Remove the memory from an observation."""
        axis, features = self._features
        kind = "features" if axis == PERSON else "context"
        numbers = getattr(observation, kind)
        return observation.replace(**{kind: numbers[..., : numbers.shape[-1] - len(features)]})

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """Declaration of the inner environment; its expected components do not need the memory."""
        inside = self.env.spec
        if inside.expected_components is None:
            return inside
        return dataclasses.replace(inside, expected_components=self._expected_components)

    def _expected_components(
        self, observations: Observations, actions: Actions, params: Params
    ) -> PyTree:
        """Return the expected components of a step from the inner environment."""
        assert self.env.spec.expected_components is not None
        inside = {agent: self.without_memory(own) for agent, own in observations.items()}
        return self.env.spec.expected_components(inside, actions, params)

    # ------------------------------------------------------------------ dynamics

    def initial_state(self, key: PRNGKeyArray, params: Params) -> AugmentedState:
        """Return the state at the start of an episode, with the initial memory."""
        return AugmentedState(
            env_state=self.env.initial_state(key, params),
            memory=self.memory.initial(no_components(self.env, params)),
        )

    def transition(
        self, noise: PyTree, state: AugmentedState, actions: Actions, params: Params
    ) -> tuple[AugmentedState, Components, Bool[Array, ""]]:
        """Make one step of the inner environment, and update the memory."""
        env_state, components, terminated = self.env.transition(
            noise, state.env_state, actions, params
        )
        counts = components
        if getattr(state.env_state, "by_person", False):
            counts = in_groups(self.env, components, state.group)
        memory = self.memory.update(state.memory, counts)
        return AugmentedState(env_state=env_state, memory=memory), components, terminated

    # ------------------------------------------------------------------ populations

    @property
    def _population(self) -> Any:
        """Inner environment, assumed to be a `PopulationEnvironment`; others lack the members."""
        return self.env

    def people(self, state: AugmentedState) -> dict[str, Float[Array, " population"]]:
        """Return every feature of every person by name."""
        return self._population.people(state.env_state)

    def counting_people(self, state: AugmentedState) -> AugmentedState:
        """Return the initial state of an episode whose components are counted per person."""
        return state.replace(env_state=self._population.counting_people(state.env_state))

    def census(self, state: AugmentedState) -> dict[str, Int[Array, " groups"]]:
        """Return the number of people per stage (key) and group (entry)."""
        return self._population.census(state.env_state)


def augmented(env: Environment, memory: ShownMemory | str) -> Augmented:
    """Add a memory of the episode to an environment's state, observed by every agent.

    Algorithms, rollouts, evaluations and reports work as for any other environment, and policies
    that use the memory need no hidden state.

    Args:
        env: The environment.
        memory: A memory, or a name in `env.spec.memories`.

    Raises:
        FairgymError: Unknown name, or a memory that not all agents can observe.

    Examples:
        >>> import fairgym
        >>> from fairgym.wrappers import augmented
        >>> from fairgym.fairness import Full
        >>> env = augmented(fairgym.make("doughnut", population=3), Full("handed_out"))
        >>> [feature.name for feature in env.observation_space("server").features]
        ['present', 'remembered_handed_out']
    """
    if not isinstance(memory, str):
        return Augmented(env, memory)
    there = env.spec.memories
    if memory not in there:
        if not there:
            raise FairgymError(f"memory is {memory!r}, but {env.name} has no memories")
        raise FairgymError(f"memory must be one of {', '.join(there)}, got {memory!r}")
    return Augmented(env, cast(ShownMemory, there[memory]))  # checked by Augmented


def _extended(observation: Entities, columns: Array, axis: str) -> Entities:
    """Return an observation with additional columns, or additional numbers of the context."""
    if axis != PERSON:
        return observation.replace(context=jnp.concatenate([observation.context, columns]))
    columns = jnp.where(observation.mask[:, None], columns, 0.0)
    return observation.replace(features=jnp.concatenate([observation.features, columns], axis=1))
