"""JaxMARL interface: pure functions of a state that can be jitted, vmapped and scanned.

The interface is that of `jaxmarl.environments.MultiAgentEnv`; the package is not needed.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree

from fairgym.adapters._game import Play
from fairgym.adapters._setting import set_up
from fairgym.core import Environment, Params, Struct


@dataclasses.dataclass(frozen=True)
class Box:
    """Space of numbers between two bounds.

    Attributes:
        low: Lower bound.
        high: Upper bound.
        shape: Shape of an array.
        dtype: Type of its numbers.
    """

    low: float
    high: float
    shape: tuple[int, ...]
    dtype: Any = jnp.float32

    def sample(self, rng: PRNGKeyArray) -> Array:
        """Sample uniformly; missing bounds are replaced by -1 and 1."""
        low = self.low if math.isfinite(self.low) else -1.0
        high = self.high if math.isfinite(self.high) else 1.0
        return jax.random.uniform(rng, self.shape, self.dtype, low, high)

    def contains(self, x: Array) -> Bool[Array, ""]:
        """Return whether all numbers are within the bounds."""
        return jnp.all((x >= self.low) & (x <= self.high))


@dataclasses.dataclass(frozen=True)
class Discrete:
    """Space of the number of an option.

    Attributes:
        n: Number of options.
    """

    n: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one action: `()`."""
        return ()

    @property
    def dtype(self) -> PyTree:
        """Type of an action."""
        return jnp.int32

    def sample(self, rng: PRNGKeyArray) -> Int[Array, ""]:
        """Sample uniformly."""
        return jax.random.randint(rng, (), 0, self.n)

    def contains(self, x: Array) -> Bool[Array, ""]:
        """Return whether there is such an option."""
        return (x >= 0) & (x < self.n)


class JaxMarlState(Struct):
    """State of an episode.

    Attributes:
        play: The episode.
        params: Parameters of the environment; every field may be vmapped over.
        done: Whether the episode is over.
        step: Number of steps made.
    """

    play: Play
    params: Any
    done: Bool[Array, ""]

    @property
    def step(self) -> Int[Array, ""]:
        """Number of steps made."""
        return self.play.step


class JaxMarlEnv:
    """An environment with JaxMARL's interface.

    Observations, actions and rewards are those of `fairgym.adapters.gymnasium.GymnasiumEnv`, for
    each agent. Actions outside their spaces are clipped.

    Args:
        env: Environment, or the name of one.
        fixed: Policies of agents that do not play, as for `GymnasiumEnv`; none by default.
        objective: As for `GymnasiumEnv`; "own" gives every agent the terms that concern it.
        objectives: Objectives of single agents: agent -> objective.
        params: As for `GymnasiumEnv`.
        failure_penalty: As for `GymnasiumEnv`.
        vector_rewards: Whether rewards have one number per term (`reward_names`).

    Raises:
        FairgymError: If an argument is unknown or out of its range.

    Examples:
        >>> import fairgym, jax
        >>> from fairgym.adapters.jaxmarl import JaxMarlEnv
        >>> env = JaxMarlEnv(fairgym.make("loan_simple", population=100, horizon=10))
        >>> observations, state = env.reset(jax.random.key(0))
        >>> keys = jax.random.split(jax.random.key(1), env.num_agents)
        >>> actions = {a: env.action_space(a).sample(k) for a, k in zip(env.agents, keys)}
        >>> observations, state, rewards, dones, infos = env.step(
        ...     jax.random.key(2), state, actions
        ... )
        >>> int(state.step), bool(dones["__all__"])
        (1, False)
    """

    def __init__(
        self,
        env: Environment | str,
        *,
        fixed: Mapping[str, object] | None = None,
        objective: Any = None,
        objectives: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | Params | None = None,
        failure_penalty: float = 0.0,
        vector_rewards: bool = False,
    ) -> None:
        self._setting = set_up(
            env,
            params=params,
            objective=objective,
            objectives=objectives,
            fixed=fixed,
            failure_penalty=failure_penalty,
            vector_rewards=vector_rewards,
        )
        self._game = game = self._setting.game
        self.agents = list(game.agents)
        self.num_agents = len(self.agents)
        self.reward_names = game.reward_names
        self.observation_spaces: dict[str, Box] = {}
        self.action_spaces: dict[str, Box | Discrete] = {}
        self.feature_names: dict[str, tuple[str, ...]] = {}
        self.context_names: dict[str, tuple[str, ...]] = {}
        for agent in self.agents:
            observed, space = game.env.observation_space(agent), game.env.action_space(agent)
            size = observed.capacity * (len(observed.features) + 1) + len(observed.context)
            self.observation_spaces[agent] = Box(-jnp.inf, jnp.inf, (size,))
            choice = Discrete(len(space.elements)) if space.discrete else None
            self.action_spaces[agent] = choice or Box(0.0, 1.0, space.shape)
            self.feature_names[agent] = tuple(feature.name for feature in observed.features)
            self.context_names[agent] = tuple(feature.name for feature in observed.context)

    @property
    def name(self) -> str:
        """Name of the environment."""
        return self._game.env.name

    @property
    def environment(self) -> Environment:
        """The fairgym environment."""
        return self._game.env

    @property
    def agent_classes(self) -> dict[str, list[str]]:
        """Classes of agents: every agent is its own class."""
        return {agent: [agent] for agent in self.agents}

    def observation_space(self, agent: str) -> Box:
        """Return the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Box | Discrete:
        """Return the space of an agent's actions."""
        return self.action_spaces[agent]

    @functools.partial(jax.jit, static_argnums=0)
    def reset(
        self, key: PRNGKeyArray, params: Params | None = None
    ) -> tuple[dict[str, PyTree], JaxMarlState]:
        """Begin an episode; return `(observations, state)`.

        Args:
            key: A JAX key.
            params: Parameters of the environment (`environment.default_params`), stored in the
                state; those of the constructor if None.
        """
        params = self._setting.params if params is None else params
        play = self._game.start(params, self._setting.policies, _typed(key))
        state = JaxMarlState(play=play, params=params, done=jnp.array(False))
        return self.get_obs(state), state

    @functools.partial(jax.jit, static_argnums=0)
    def step(
        self,
        key: PRNGKeyArray,
        state: JaxMarlState,
        actions: Mapping[str, Array],
        reset_state: JaxMarlState | None = None,
    ) -> tuple[
        dict[str, PyTree], JaxMarlState, dict[str, PyTree], dict[str, PyTree], dict[str, PyTree]
    ]:
        """Make one step, and begin a new episode if one ends.

        Args:
            key: A JAX key.
            state: As returned by `reset` or this function.
            actions: One array per agent.
            reset_state: First state of a new episode; a reset with the same parameters if None.

        Returns:
            `(observations, state, rewards, dones, infos)`; `dones["__all__"]` is True if the
            episode has ended. In `infos`, "terminated" is False for a truncated episode, and
            "metrics" has every metric of the episode up to the step (0 if undefined).
        """
        step_key, reset_key = jax.random.split(_typed(key))
        _, after, rewards, dones, infos = self.step_env(step_key, state, actions)
        first = self.reset(reset_key, state.params)[1] if reset_state is None else reset_state
        kept = jax.tree.map(lambda x, y: jnp.where(dones["__all__"], x, y), first, after)
        return self.get_obs(kept), kept, rewards, dones, infos

    def step_env(
        self, key: PRNGKeyArray, state: JaxMarlState, actions: Mapping[str, Array]
    ) -> tuple[
        dict[str, PyTree], JaxMarlState, dict[str, PyTree], dict[str, PyTree], dict[str, PyTree]
    ]:
        """Make one step as `step` does, without beginning a new episode."""
        policy_key, noise_key = jax.random.split(_typed(key))
        play = state.play.replace(policy_key=policy_key, noise_key=noise_key)
        policies = self._setting.policies
        play, rewards, terminated = self._game.go_on(state.params, policies, play, actions)
        done = terminated | (play.step >= self._game.env.horizon)
        after = state.replace(play=play, done=done)
        infos = {
            "terminated": terminated,
            "metrics": {
                name: jnp.where(defined, value, 0.0)
                for name, (value, defined) in self._game.measured(state.params, play).items()
            },
        }
        return (
            self.get_obs(after),
            after,
            dict(zip(self.agents, rewards, strict=True)),
            dict.fromkeys((*self.agents, "__all__"), done),
            infos,
        )

    def get_obs(self, state: JaxMarlState) -> dict[str, Array]:
        """Return each agent's observation of a state."""
        shown = self._game.show(state.params, state.play)
        return {
            agent: jnp.concatenate([part.reshape(-1) for part in parts.values()])
            for agent, parts in shown.items()
        }

    def get_avail_actions(self, state: JaxMarlState) -> dict[str, Array]:
        """Return which options are available: all of them, for agents that choose an option."""
        return {
            agent: jnp.ones(space.n, bool)
            for agent, space in self.action_spaces.items()
            if isinstance(space, Discrete)
        }


def _typed(key: PRNGKeyArray) -> PRNGKeyArray:
    """Return a new-style key from a key of either style."""
    return key if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else jax.random.wrap_key_data(key)
