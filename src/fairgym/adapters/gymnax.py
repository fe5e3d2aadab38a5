"""Gymnax interface: one agent learns in a compiled program, the others have fixed policies.

The interface is that of `gymnax.environments.environment.Environment`. The package is not needed;
where it can be imported, spaces are gymnax's.
"""

import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, PyTree

from fairgym.adapters._game import Play
from fairgym.adapters._pure import Box, Discrete, Pure, installed, typed
from fairgym.adapters._setting import environment_of, one_agent, set_up
from fairgym.core import Environment, FairgymError, Params, Struct

_spaces = installed("gymnax.environments.spaces")
_BOX: type[Any] = getattr(_spaces, "Box", Box)
_DISCRETE: type[Any] = getattr(_spaces, "Discrete", Discrete)


class GymnaxParams(Struct):
    """Parameters of an episode; every field may be vmapped over.

    Attributes:
        environment: Parameters of the fairgym environment.
        max_steps_in_episode: Number of steps after which an episode is truncated; the horizon if
            that is less.
    """

    environment: Any
    max_steps_in_episode: int | Int[Array, ""]


class GymnaxEnv:
    """One agent of an environment with gymnax's interface.

    Observations, actions and rewards are those of `fairgym.adapters.gymnasium.GymnasiumEnv`.
    Actions outside their space are clipped; those of a wrong shape are refused.

    Args:
        env: Environment, or the name of one.
        agent: As for `GymnasiumEnv`.
        fixed: As for `GymnasiumEnv`.
        objective: As for `GymnasiumEnv`.
        params: As for `GymnasiumEnv`.
        failure_penalty: As for `GymnasiumEnv`.
        scaled: As for `GymnasiumEnv`.
        step_values: Number of values that `step` returns. 5: observation, state, reward, done,
            info, as in gymnax before 1.0, rejax and PureJaxRL. 6: terminated and truncated instead
            of done, as in gymnax since 1.0.

    Raises:
        FairgymError: If an argument is unknown or out of its range.

    Examples:
        >>> import fairgym, jax
        >>> from fairgym.adapters.gymnax import GymnaxEnv
        >>> env = GymnaxEnv(fairgym.make("bank_loans", horizon=10))
        >>> params = env.default_params
        >>> observation, state = env.reset(jax.random.key(0), params)
        >>> action = env.action_space(params).sample(jax.random.key(1))
        >>> observation, state, reward, done, info = env.step(
        ...     jax.random.key(2), state, action, params
        ... )
        >>> int(state.step), bool(done), params.max_steps_in_episode
        (1, False, 10)
    """

    def __init__(
        self,
        env: Environment | str,
        *,
        agent: str | None = None,
        fixed: Mapping[str, object] | None = None,
        objective: Any = None,
        params: Mapping[str, Any] | Params | None = None,
        failure_penalty: float = 0.0,
        scaled: bool = False,
        step_values: int = 5,
    ) -> None:
        if step_values not in (5, 6):
            raise FairgymError(f"step_values must be 5 or 6, got {step_values!r}")
        env = environment_of(env)
        self.agent, others = one_agent(env, agent, fixed)
        self.step_values = step_values
        self._pure = Pure(
            set_up(
                env,
                params=params,
                objective=objective,
                fixed=others,
                failure_penalty=failure_penalty,
                scaled=scaled,
            )
        )
        space = self.environment.observation_space(self.agent)
        self.feature_names = tuple(feature.name for feature in space.features)
        self.context_names = tuple(feature.name for feature in space.context)
        self._observed = self._pure.observation_space(self.agent, _BOX)
        self._acted = self._pure.action_space(self.agent, _BOX, _DISCRETE)

    @property
    def name(self) -> str:
        """Name of the environment."""
        return self.environment.name

    @property
    def environment(self) -> Environment:
        """The fairgym environment."""
        return self._pure.setting.game.env

    @property
    def default_params(self) -> GymnaxParams:
        """Parameters of the constructor, and the horizon."""
        return GymnaxParams(self._pure.setting.params, self.environment.horizon)

    @property
    def num_actions(self) -> int:
        """Number of options, or of numbers of an action."""
        return self._acted.shape[0] if self._acted.shape else self._acted.n

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Names of the numbers of an observation."""
        return self._pure.observation_names[self.agent]

    def observation_space(self, params: GymnaxParams | None = None) -> Box:
        """Return the space of observations, which is the same for all parameters."""
        return self._observed

    def action_space(self, params: GymnaxParams | None = None) -> Box | Discrete:
        """Return the space of actions, which is the same for all parameters."""
        return self._acted

    @functools.partial(jax.jit, static_argnums=0)
    def reset(self, key: PRNGKeyArray, params: Struct | None = None) -> tuple[Array, Play]:
        """Begin an episode; return `(observation, state)`.

        Args:
            key: A JAX key.
            params: `default_params` with changes; itself if None.
        """
        params = self._known(params)
        play = self._pure.start(params.environment, typed(key))
        return self._seen(params, play), play

    @functools.partial(jax.jit, static_argnums=0)
    def step(
        self,
        key: PRNGKeyArray,
        state: Play,
        action: Array,
        params: Struct | None = None,
    ) -> tuple[PyTree, ...]:
        """Make one step, and begin a new episode if one ends.

        Args:
            key: A JAX key.
            state: As returned by `reset` or this function.
            action: An array of the action's shape. One number is taken in any shape.
            params: As for `reset`.

        Returns:
            `(observation, state, reward, done, info)`, or with `step_values=6`
            `(observation, state, reward, terminated, truncated, info)`. When an episode ends, the
            observation and the state are the first of the next one. `info` has "terminated",
            "truncated" and "metrics": every metric of the episode up to the step (0 if undefined).
            With six values it also has "final_observation", the one after the step.

        Raises:
            FairgymError: If the action has the wrong shape.
        """
        params = self._known(params)
        step_key, reset_key = jax.random.split(typed(key))
        play, rewards, terminated = self._pure.go_on(
            step_key, params.environment, state, {self.agent: action}
        )
        limit = jnp.minimum(params.max_steps_in_episode, self.environment.horizon)
        truncated = play.step >= limit
        done = terminated | truncated
        info = {
            "terminated": terminated,
            "truncated": truncated,
            "metrics": self._pure.metrics(params.environment, play),
        }
        first = self._pure.start(params.environment, reset_key)
        kept = jax.tree.map(lambda x, y: jnp.where(done, x, y), first, play)
        values = self._seen(params, kept), kept, rewards[self.agent]
        if self.step_values == 5:
            return *values, done, info
        return (
            *values,
            terminated,
            truncated,
            info | {"final_observation": self._seen(params, play)},
        )

    def _seen(self, params: GymnaxParams, play: Play) -> Array:
        """Return the agent's observation."""
        return self._pure.observations(params.environment, play)[self.agent]

    def _known(self, params: Struct | None) -> GymnaxParams:
        """Return parameters, or the default ones, after checking their type."""
        if params is None:
            return self.default_params
        if not isinstance(params, GymnaxParams):
            raise FairgymError(
                f"params must be GymnaxParams, such as default_params, got {type(params).__name__}"
            )
        return params
