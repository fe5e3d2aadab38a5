"""An environment as others play it: agents with rewards, the rest of them fixed.

Pure functions of pytrees, which all adapters share.
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
    """An episode that is being played.

    Attributes:
        state: state of the environment.
        step: number of steps made.
        scheme_states: per playing agent, memories of the schemes that are rewarded.
        hidden: hidden states of the fixed agents that have one, by name.
        totals: sums of the components so far in a row, with `lost` exact to float32 rounding: two
            arrays in place of dozens, which Python would hand over in every step.
        lost: rounding errors of the sums.
        policy_key: key of the fixed agents' choices.
        noise_key: key of the environment's randomness.
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
    """An environment with objectives; hashable, but for the fixed policies that functions take.

    Attributes:
        env: the environment.
        objectives: pairs (playing agent, objective), in acting order.
        failure_penalty: loss of reward of every agent in a step with which an episode fails.
        vector_rewards: True if a reward has one number per term.
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
        """An objective for each number of a vector reward."""
        return tuple(Objective.weighted(self.env, {name: 1.0}) for name in self.reward_names)

    @property
    def _rewarded(self) -> tuple[Objective, ...]:
        """Objectives whose memories an episode carries."""
        if self.vector_rewards:
            return self._alone
        return tuple(objective for _, objective in self.objectives)

    # ---------------------------------------------------------------- pure functions

    def start(self, params: Params, policies: Mapping[str, AnyPolicy], key: PRNGKeyArray) -> Play:
        """An episode at its start; the keys are those of `fairgym.rollout`."""
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
        """One step: the episode after it, a reward per playing agent, and whether it failed.

        Args:
            params: parameters of the environment.
            policies: the fixed agents' policies.
            play: the episode.
            actions: the playing agents' actions, inside their spaces or not.
        """
        env = self.env
        seen = env.observe(play.state, params) if policies else {}
        key = jax.random.fold_in(play.policy_key, play.step)
        fixed, hidden = fixed_actions(env, policies, seen, key, play)
        taken = {**actions, **fixed}
        noise = jax.random.fold_in(play.noise_key, play.step)
        state, components, failed = env.advance(noise, play.state, taken, params)
        steps = [
            objective.step(judged, components, env.horizon)
            for objective, judged in zip(self._rewarded, play.scheme_states, strict=True)
        ]
        rewards = tuple(reward for _, reward in steps)
        if self.vector_rewards:
            rewards = (jnp.stack(rewards),) * len(self.objectives)
        if self.failure_penalty:
            rewards = tuple(reward - self.failure_penalty * failed for reward in rewards)
        totals, lost = add_compensated(play.totals, play.lost, ravel_pytree(components)[0])
        play = play.replace(
            state=state,
            step=play.step + 1,
            scheme_states=tuple(after for after, _ in steps),
            hidden=hidden,
            totals=totals,
            lost=lost,
        )
        return play, rewards, failed

    def show(self, params: Params, play: Play) -> dict[str, dict[str, Array]]:
        """Observation of each playing agent: its parts that are not empty, by name."""
        seen = self.env.observe(play.state, params)
        return {agent: _parts(seen[agent]) for agent in self.agents}

    def measured(self, params: Params, play: Play) -> dict[str, tuple[Array, Array]]:
        """Every metric of the episode so far, with whether it is defined."""
        _, in_fields = ravel_pytree(no_components(self.env, params))
        totals = in_fields(play.totals + play.lost)
        return {
            name: (metric.value(totals), metric.defined(totals))
            for name, metric in self.env.metrics.items()
        }


PARTS = ("features", "present", "context")  # in the order of a vector


def _parts(seen: Entities) -> dict[str, Array]:
    """The numbers of an observation by name, without empty arrays."""
    parts = (seen.features, seen.mask.astype(jnp.float32), seen.context)
    return {name: part for name, part in zip(PARTS, parts, strict=True) if part.size}
