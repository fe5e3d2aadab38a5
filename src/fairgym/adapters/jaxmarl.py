"""JaxMARL interface: pure functions of a state that can be jitted, vmapped and scanned.

The interface is that of `jaxmarl.environments.MultiAgentEnv`. The package is not needed; where it
can be imported, `JaxMarlEnv` is a `MultiAgentEnv` and its spaces are JaxMARL's.
"""

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree

from fairgym.adapters._game import Play
from fairgym.adapters._padding import Padding
from fairgym.adapters._pure import Box, Discrete, Pure, installed, typed
from fairgym.adapters._setting import set_up
from fairgym.core import Environment, Params, Struct

if TYPE_CHECKING:
    _Base = object
else:
    _Base = getattr(installed("jaxmarl.environments.multi_agent_env"), "MultiAgentEnv", object)
_spaces = installed("jaxmarl.environments.spaces")
_BOX: type[Any] = getattr(_spaces, "Box", Box)
_DISCRETE: type[Any] = getattr(_spaces, "Discrete", Discrete)


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


class JaxMarlEnv(_Base):
    """An environment with JaxMARL's interface.

    Observations, actions and rewards are those of `fairgym.adapters.gymnasium.GymnasiumEnv`, for
    each agent. Actions outside their spaces are clipped; those of a wrong shape are refused.

    Args:
        env: Environment, or the name of one.
        fixed: Policies of agents that do not play, as for `GymnasiumEnv`; none by default.
        objective: As for `GymnasiumEnv`; "own" gives every agent the terms that concern it.
        objectives: Objectives of single agents: agent -> objective.
        params: As for `GymnasiumEnv`.
        failure_penalty: As for `GymnasiumEnv`.
        scaled: As for `GymnasiumEnv`.
        vector_rewards: Whether rewards have one number per term (`reward_names`).
        padded: Whether all agents have equal spaces, as for
            `fairgym.adapters.pettingzoo.PettingZooEnv`; JaxMARL's learners share one network.

    Raises:
        FairgymError: If an argument is unknown or out of its range, or `padded` agents have both
            options and numbers as actions.

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
        scaled: bool = False,
        vector_rewards: bool = False,
        padded: bool = False,
    ) -> None:
        setting = set_up(
            env,
            params=params,
            objective=objective,
            objectives=objectives,
            fixed=fixed,
            failure_penalty=failure_penalty,
            scaled=scaled,
            vector_rewards=vector_rewards,
        )
        game = setting.game
        self._pure = pure = Pure(setting, Padding.of(game.env, game.agents) if padded else None)
        self.agents = list(game.agents)
        self.num_agents = len(self.agents)
        self.reward_names = game.reward_names
        self.observation_spaces = {a: pure.observation_space(a, _BOX) for a in self.agents}
        self.action_spaces = {a: pure.action_space(a, _BOX, _DISCRETE) for a in self.agents}
        observed = {agent: game.env.observation_space(agent) for agent in self.agents}
        self.feature_names = {a: tuple(f.name for f in o.features) for a, o in observed.items()}
        self.context_names = {a: tuple(f.name for f in o.context) for a, o in observed.items()}

    @property
    def name(self) -> str:
        """Name of the environment."""
        return self.environment.name

    @property
    def environment(self) -> Environment:
        """The fairgym environment."""
        return self._pure.setting.game.env

    @property
    def observation_names(self) -> dict[str, tuple[str, ...]]:
        """Name of each number of each agent's observation, as of `PettingZooEnv`."""
        return self._pure.observation_names

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
        params = self._pure.setting.params if params is None else params
        play = self._pure.start(params, typed(key))
        state = JaxMarlState(play=play, params=params, done=jnp.array(False))
        return self.get_obs(state), state

    @functools.partial(jax.jit, static_argnums=0)
    def step(
        self,
        key: PRNGKeyArray,
        state: JaxMarlState,
        actions: PyTree,
        reset_state: JaxMarlState | None = None,
    ) -> tuple[
        dict[str, PyTree], JaxMarlState, dict[str, PyTree], dict[str, PyTree], dict[str, PyTree]
    ]:
        """Make one step, and begin a new episode if one ends.

        Args:
            key: A JAX key.
            state: As returned by `reset` or this function.
            actions: One array per agent. One number is taken in any shape.
            reset_state: First state of a new episode; a reset with the same parameters if None.

        Returns:
            `(observations, state, rewards, dones, infos)`; `dones["__all__"]` is True if the
            episode has ended. In `infos`, "terminated" is False for a truncated episode, and
            "metrics" has every metric of the episode up to the step (0 if undefined). Both are
            those of the whole episode, repeated for each agent: JaxMARL's learners expect arrays
            of shape `(num_agents,)`.

        Raises:
            FairgymError: If an action is missing or has the wrong shape, or an agent does not play.
        """
        step_key, reset_key = jax.random.split(typed(key))
        _, after, rewards, dones, infos = self.step_env(step_key, state, actions)
        first = self.reset(reset_key, state.params)[1] if reset_state is None else reset_state
        kept = jax.tree.map(lambda x, y: jnp.where(dones["__all__"], x, y), first, after)
        return self.get_obs(kept), kept, rewards, dones, infos

    def step_env(
        self, key: PRNGKeyArray, state: JaxMarlState, actions: PyTree
    ) -> tuple[
        dict[str, PyTree], JaxMarlState, dict[str, PyTree], dict[str, PyTree], dict[str, PyTree]
    ]:
        """Make one step as `step` does, without beginning a new episode."""
        play, rewards, terminated = self._pure.go_on(typed(key), state.params, state.play, actions)
        done = terminated | (play.step >= self.environment.horizon)
        after = state.replace(play=play, done=done)
        of_all = {"terminated": terminated, "metrics": self._pure.metrics(state.params, play)}
        infos = jax.tree.map(lambda x: jnp.broadcast_to(x, (self.num_agents,)), of_all)
        dones = dict.fromkeys((*self.agents, "__all__"), done)
        return self.get_obs(after), after, rewards, dones, infos

    def get_obs(self, state: JaxMarlState) -> dict[str, Array]:
        """Return each agent's observation of a state."""
        return self._pure.observations(state.params, state.play)

    def get_avail_actions(self, state: JaxMarlState) -> dict[str, Array]:
        """Return which options are available: all of an agent's own, for agents that choose one."""
        own = {agent: self.environment.action_space(agent) for agent in self.agents}
        return {
            agent: jnp.arange(self.action_spaces[agent].n) < len(space.elements)
            for agent, space in own.items()
            if space.discrete
        }
