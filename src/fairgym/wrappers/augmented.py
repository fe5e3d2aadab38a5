"""Memory-augmented environments: the state holds a memory of the episode, and agents see it."""

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
    """A memory that agents can see."""

    def features(self, env: Environment) -> tuple[str, tuple[Feature, ...]]:
        """Declaration of what agents see of it.

        Returns:
            `("person", features)` for columns of the rows of observations, row i of which is
            person i; `("", features)` for numbers of the context.
        """
        ...

    def shown(self, memory: PyTree) -> dict[str, Array]:
        """Numbers that agents see: arrays by name, which together follow the declared features.

        Each is a column with one number per person, or one or several numbers of the context.
        """
        ...


class AugmentedState(Struct):
    """State (s, m) of a memory-augmented environment.

    It shows what every state has, and `replace` passes other names on to that of the environment.

    Attributes:
        env_state: State of the environment inside.
        memory: The memory of the steps so far.
    """

    env_state: PyTree
    memory: PyTree

    def __getattr__(self, name: str) -> Any:
        """What the environment's state has: its time, groups, stages, ..."""
        if name.startswith("__") or name in ("env_state", "memory"):
            raise AttributeError(f"AugmentedState has no {name!r}")
        return getattr(self.env_state, name)

    def replace(self, **changes: PyTree) -> "AugmentedState":
        """A copy with some fields changed, of this struct or of the environment's state."""
        inside = {n: x for n, x in changes.items() if n not in ("env_state", "memory")}
        env_state = changes.get("env_state", self.env_state)
        return AugmentedState(
            env_state=env_state.replace(**inside) if inside else env_state,
            memory=changes.get("memory", self.memory),
        )


@dataclasses.dataclass(frozen=True)
class Augmented(Wrapper):
    """The memory-augmented environment of another one (Alamdari et al. 2024, definition 5.2).

    Its state is (s, m), an `AugmentedState`; every agent sees the memory beside what it sees
    anyway. Made by `augmented`.

    Attributes:
        memory: What is remembered.
    """

    memory: ShownMemory

    def __post_init__(self) -> None:
        """Check that agents can see the memory.

        Raises:
            FairgymError: It is no memory, or one that is not shown; an agent does not see all
                people, or has a feature of that name already.
        """
        super().__post_init__()
        if isinstance(self.memory, type) or not isinstance(self.memory, ShownMemory):
            raise FairgymError(
                f"memory is {self.memory!r}; it takes a memory that can be shown to agents, with"
                " the methods initial, update, shown and features"
            )
        for agent in self.env.agents:
            self.observation_space(agent)

    # ------------------------------------------------------------------ what agents see

    @cached_property
    def _features(self) -> tuple[str, tuple[Feature, ...]]:
        """The declared axis and features of the memory."""
        axis, features = self.memory.features(self.env)
        if axis not in ("", PERSON):
            raise FairgymError(
                f"the memory has the axis {axis!r}; it takes {PERSON!r} for a column of the rows,"
                ' or "" for the context'
            )
        return axis, features

    @cached_property
    def _spaces(self) -> dict[str, EntitySpace]:
        return {agent: self._space(agent) for agent in self.env.agents}

    def _space(self, agent: str) -> EntitySpace:
        """The space of the agent inside, with what it sees of the memory."""
        axis, features = self._features
        space = self.env.observation_space(agent)
        there = {feature.name for feature in (*space.features, *space.context)}
        for feature in features:
            if feature.name in there:
                raise FairgymError(
                    f"agent {agent!r} sees a feature {feature.name!r} already; a memory takes"
                    " another name"
                )
        if axis != PERSON:
            return dataclasses.replace(space, context=(*space.context, *features))
        people = len(self.env.spec.axes.get(PERSON, ()))
        if space.capacity != people:
            raise FairgymError(
                f"agent {agent!r} has {space.capacity} rows and the memory one number for each of"
                f" {people} people; it takes an agent that sees all of them in their order"
            )
        return dataclasses.replace(space, features=(*space.features, *features))

    def observation_space(self, agent: str) -> EntitySpace:
        """Space of an agent's observations, the memory included."""
        require_agent(self, agent)
        return self._spaces[agent]

    def show(self, env_state: PyTree, memory: PyTree, params: Params) -> Observations:
        """Observation of each agent in a state, with this memory or any other.

        Args:
            env_state: State of the environment inside.
            memory: A memory, counterfactual or not.
            params: As `default_params`.
        """
        axis, features = self._features
        numbers = [jnp.asarray(x, jnp.float32) for x in self.memory.shown(memory).values()]
        if axis == PERSON:
            columns = jnp.stack(numbers, axis=1)
        else:
            columns = jnp.concatenate([jnp.reshape(x, (-1,)) for x in numbers])
        if columns.shape[-1] != len(features):
            raise FairgymError(
                f"the memory shows {columns.shape[-1]} numbers and declares {len(features)}"
                " features; it takes one of each"
            )
        seen = self.env.observe(env_state, params)
        return {agent: _beside(seen[agent], columns, axis) for agent in self.env.agents}

    def observe(self, state: AugmentedState, params: Params) -> Observations:
        """Observation of each agent, the memory included."""
        return self.show(state.env_state, state.memory, params)

    def without_memory(self, observation: Entities) -> Entities:
        """The observation of the environment inside, from one of this environment."""
        axis, features = self._features
        kind = "features" if axis == PERSON else "context"
        numbers = getattr(observation, kind)
        return observation.replace(**{kind: numbers[..., : numbers.shape[-1] - len(features)]})

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """What the environment inside declares; its expected components do not need the memory."""
        inside = self.env.spec
        if inside.expected_components is None:
            return inside
        return dataclasses.replace(inside, expected_components=self._expected_components)

    def _expected_components(
        self, observations: Observations, actions: Actions, params: Params
    ) -> PyTree:
        """The expected components of a step, by the environment inside."""
        assert self.env.spec.expected_components is not None
        inside = {agent: self.without_memory(seen) for agent, seen in observations.items()}
        return self.env.spec.expected_components(inside, actions, params)

    # ------------------------------------------------------------------ dynamics

    def initial_state(self, key: PRNGKeyArray, params: Params) -> AugmentedState:
        """State at the start of an episode, of which nothing is remembered yet."""
        return AugmentedState(
            env_state=self.env.initial_state(key, params),
            memory=self.memory.initial(no_components(self.env, params)),
        )

    def transition(
        self, noise: PyTree, state: AugmentedState, actions: Actions, params: Params
    ) -> tuple[AugmentedState, Components, Bool[Array, ""]]:
        """One step of the environment inside, and of the memory."""
        env_state, components, terminated = self.env.transition(
            noise, state.env_state, actions, params
        )
        counts = components
        if getattr(state.env_state, "by_person", False):
            counts = in_groups(self.env, components, state.group)
        memory = self.memory.update(state.memory, counts)
        return AugmentedState(env_state=env_state, memory=memory), components, terminated

    # ------------------------------------------------------------------ people, where there are any

    @property
    def _inside(self) -> Any:
        """The environment inside, taken to be one of people; another one lacks the members."""
        return self.env

    def people(self, state: AugmentedState) -> dict[str, Float[Array, " population"]]:
        """Every feature of every person by name."""
        return self._inside.people(state.env_state)

    def counting_people(self, state: AugmentedState) -> AugmentedState:
        """The state from which on components are counted person by person."""
        return state.replace(env_state=self._inside.counting_people(state.env_state))

    def census(self, state: AugmentedState) -> dict[str, Int[Array, " groups"]]:
        """Number of people per stage (key) and group (entry)."""
        return self._inside.census(state.env_state)


def augmented(env: Environment, memory: ShownMemory | str) -> Augmented:
    """The environment with a memory of the episode in its state, which every agent sees.

    Every algorithm, rollout, evaluation and report works on it as on any other environment, and
    policies that use the memory need no hidden state.

    Args:
        env: The environment.
        memory: A memory, or the name of one of `env.spec.memories`.

    Raises:
        FairgymError: An unknown name; a memory that cannot be shown to all agents.

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
        takes = f"it takes: {', '.join(there)}" if there else f"{env.name} declares none"
        raise FairgymError(f"memory is {memory!r}; {takes}")
    return Augmented(env, cast(ShownMemory, there[memory]))  # which it checks


def _beside(seen: Entities, columns: Array, axis: str) -> Entities:
    """An observation with further columns, or further numbers of the context."""
    if axis != PERSON:
        return seen.replace(context=jnp.concatenate([seen.context, columns]))
    columns = jnp.where(seen.mask[:, None], columns, 0.0)
    return seen.replace(features=jnp.concatenate([seen.features, columns], axis=1))
