"""An environment as a game: agents with rewards, and fixed agents.

The functions are pure functions of pytrees, shared by all adapters.
"""

import dataclasses
import functools
from collections.abc import Mapping

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from fairgym.algorithms import fixed_actions
from fairgym.core import (
    AnyPolicy,
    Entities,
    Environment,
    Params,
    Struct,
    first_hidden,
    no_components,
)
from fairgym.core.components import add_compensated
from fairgym.core.rollout import episode_keys
from fairgym.fairness import Objective


class Play(Struct):
    """State of an episode.

    Attributes:
        state: State of the environment.
        step: Number of steps made.
        scheme_states: States of the rewarded schemes, per playing agent.
        hidden: Hidden states of the fixed agents that have one, by name.
        totals: Sums of the components so far, as one flat array; with `lost` they are exact to
            float32 rounding. Flat, because Python passes the state in every step.
        lost: Rounding errors of the sums.
        policy_key: Key of the fixed agents' policies.
        noise_key: Key of the environment's noise.
    """

    state: PyTree
    step: Int[Array, ""]
    scheme_states: tuple[dict[str, PyTree], ...]
    hidden: dict[str, PyTree]
    totals: Float[Array, " numbers"]
    lost: Float[Array, " numbers"]
    policy_key: PRNGKeyArray
    noise_key: PRNGKeyArray


@dataclasses.dataclass(frozen=True)
class Game:
    """An environment with objectives. It is hashable; fixed policies are passed to its functions.

    Attributes:
        env: The environment.
        objectives: Pairs (playing agent, objective), in acting order.
        failure_penalty: Subtracted from every agent's reward in a step in which the episode
            terminates.
        vector_rewards: Whether a reward has one number per term.
    """

    env: Environment
    objectives: tuple[tuple[str, Objective], ...]
    failure_penalty: float = 0.0
    vector_rewards: bool = False

    @property
    def agents(self) -> tuple[str, ...]:
        """The playing agents, in acting order."""
        return tuple(agent for agent, _ in self.objectives)

    @property
    def reward_names(self) -> tuple[str, ...]:
        """Names of the numbers of a vector reward: the terms, then the schemes."""
        return (*self.env.spec.terms, *self.env.spec.schemes)

    @functools.cached_property
    def _alone(self) -> tuple[Objective, ...]:
        """One objective for each number of a vector reward."""
        return tuple(Objective.weighted(self.env, {name: 1.0}) for name in self.reward_names)

    @property
    def _rewarded(self) -> tuple[Objective, ...]:
        """Objectives whose scheme states an episode holds."""
        if self.vector_rewards:
            return self._alone
        return tuple(objective for _, objective in self.objectives)

    # ---------------------------------------------------------------- pure functions

    def start(self, params: Params, policies: Mapping[str, AnyPolicy], key: PRNGKeyArray) -> Play:
        """Start an episode, with the keys of `fairgym.rollout`."""
        reset_key, policy_key, noise_key = episode_keys(key)
        nothing = no_components(self.env, params)
        return Play(
            state=self.env.initial_state(reset_key, params),
            step=jnp.int32(0),
            scheme_states=tuple(objective.initial(nothing) for objective in self._rewarded),
            hidden=first_hidden(policies),
            totals=ravel_pytree(nothing)[0],
            lost=ravel_pytree(nothing)[0],
            policy_key=policy_key,
            noise_key=noise_key,
        )

    def go_on(
        self,
        params: Params,
        policies: Mapping[str, AnyPolicy],
        play: Play,
        actions: Mapping[str, Array],
    ) -> tuple[Play, tuple[Array, ...], Bool[Array, ""]]:
        """Make one step.

        Args:
            params: Parameters of the environment.
            policies: The fixed agents' policies.
            play: The episode.
            actions: The playing agents' actions; those outside their spaces are clipped.

        Returns:
            `(play, rewards, terminated)`: the episode after the step, one reward per playing agent,
            and whether the episode terminated.
        """
        env = self.env
        observations = env.observe(play.state, params) if policies else {}
        key = jax.random.fold_in(play.policy_key, play.step)
        fixed, hidden = fixed_actions(env, policies, observations, key, play)
        taken = {**actions, **fixed}
        noise = jax.random.fold_in(play.noise_key, play.step)
        state, components, terminated = env.advance(noise, play.state, taken, params)
        steps = [
            objective.step(before, components, env.horizon)
            for objective, before in zip(self._rewarded, play.scheme_states, strict=True)
        ]
        rewards = tuple(reward for _, reward in steps)
        if self.vector_rewards:
            rewards = (jnp.stack(rewards),) * len(self.objectives)
        if self.failure_penalty:
            rewards = tuple(reward - self.failure_penalty * terminated for reward in rewards)
        totals, lost = add_compensated(play.totals, play.lost, ravel_pytree(components)[0])
        play = play.replace(
            state=state,
            step=play.step + 1,
            scheme_states=tuple(after for after, _ in steps),
            hidden=hidden,
            totals=totals,
            lost=lost,
        )
        return play, rewards, terminated

    def show(self, params: Params, play: Play) -> dict[str, dict[str, Array]]:
        """Return each playing agent's observation: its non-empty parts by name."""
        observations = self.env.observe(play.state, params)
        return {agent: _parts(observations[agent]) for agent in self.agents}

    def measured(self, params: Params, play: Play) -> dict[str, tuple[Array, Array]]:
        """Return every metric of the episode so far, and whether it is defined."""
        _, in_fields = ravel_pytree(no_components(self.env, params))
        totals = in_fields(play.totals + play.lost)
        return {
            name: (metric.value(totals), metric.defined(totals))
            for name, metric in self.env.metrics.items()
        }


PARTS = ("features", "present", "context")  # in the order of the flat vector


def _parts(observation: Entities) -> dict[str, Array]:
    """Return the arrays of an observation by name, without empty ones."""
    parts = (observation.features, observation.mask.astype(jnp.float32), observation.context)
    return {name: part for name, part in zip(PARTS, parts, strict=True) if part.size}
