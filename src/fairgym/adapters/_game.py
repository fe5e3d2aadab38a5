"""An environment as a game: agents with rewards, and fixed agents.

The functions are pure functions of pytrees, shared by all adapters.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Literal

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from fairgym.adapters._flat import parts_of, within_ends
from fairgym.algorithms import fixed_actions
from fairgym.core import (
    AnyPolicy,
    Environment,
    Params,
    Struct,
    first_hidden,
    no_components,
)
from fairgym.core.components import add_compensated
from fairgym.core.rollout import episode_keys
from fairgym.fairness import Objective, Windowed


class Play(Struct):
    """State of an episode.

    Attributes:
        state: State of the environment.
        step: Number of steps made.
        scheme_states: States of the rewarded schemes, per objective.
        paid: Sum of the rewards so far from rates and disparities, per objective.
        hidden: Hidden states of the fixed agents that have one, by name.
        totals: Sums of the components so far, as one flat array; with `lost` they are exact to
            float32 rounding. Flat, because Python passes the state in every step.
        lost: Rounding errors of the sums.
        policy_key: Key of the fixed agents' policies.
        noise_key: Key of the environment's noise.
        measure_state: State of the measure of the cost; empty without one.
        cost: Cost of the step; None without a measure.
    """

    state: PyTree
    step: Int[Array, ""]
    scheme_states: tuple[dict[str, PyTree], ...]
    paid: Float[Array, " objectives"]
    hidden: dict[str, PyTree]
    totals: Float[Array, " numbers"]
    lost: Float[Array, " numbers"]
    policy_key: PRNGKeyArray
    noise_key: PRNGKeyArray
    measure_state: PyTree = ()
    cost: Float[Array, ""] | None = None


@dataclasses.dataclass(frozen=True)
class Game:
    """An environment with objectives. It is hashable; fixed policies are passed to its functions.

    Attributes:
        env: The environment.
        objectives: Pairs (playing agent, objective), in acting order.
        failure_penalty: Subtracted from every agent's reward in a step in which the episode
            terminates.
        vector_rewards: Whether a reward has one number per term.
        observed: Numbers of observations: "raw" as the environment gives them, "bounded" to the
            declared ends, or "scaled" to [0, 1] by them.
        cost: Measure whose unfairness after a step is its cost; None for none.
    """

    env: Environment
    objectives: tuple[tuple[str, Objective], ...]
    failure_penalty: float = 0.0
    vector_rewards: bool = False
    observed: Literal["raw", "bounded", "scaled"] = "bounded"
    cost: Windowed | None = None

    @property
    def agents(self) -> tuple[str, ...]:
        """The playing agents, in acting order."""
        return tuple(agent for agent, _ in self.objectives)

    @property
    def reward_names(self) -> tuple[str, ...]:
        """Names of the numbers of a vector reward: the terms, then the schemes."""
        return (*self.env.spec.terms, *self.env.spec.schemes)

    @functools.cached_property
    def _rewarded(self) -> tuple[tuple[Objective, Objective], ...]:
        """Each rewarded objective in two: sums over the steps, and rates and disparities."""
        rewarded = (objective for _, objective in self.objectives)
        if self.vector_rewards:
            rewarded = (Objective.weighted(self.env, {name: 1.0}) for name in self.reward_names)
        return tuple(_in_two(objective) for objective in rewarded)

    # ---------------------------------------------------------------- pure functions

    def start(self, params: Params, policies: Mapping[str, AnyPolicy], key: PRNGKeyArray) -> Play:
        """Start an episode, with the keys of `fairgym.rollout`."""
        reset_key, policy_key, noise_key = episode_keys(key)
        nothing = no_components(self.env, params)
        return Play(
            state=self.env.initial_state(reset_key, params),
            step=jnp.int32(0),
            scheme_states=tuple(summed.initial(nothing) for summed, _ in self._rewarded),
            paid=jnp.zeros((len(self._rewarded),)),
            hidden=first_hidden(policies),
            totals=ravel_pytree(nothing)[0],
            lost=ravel_pytree(nothing)[0],
            policy_key=policy_key,
            noise_key=noise_key,
            measure_state=self.cost.initial(nothing) if self.cost else (),
            cost=jnp.float32(0.0) if self.cost else None,
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
            and whether the episode terminated. Rewards without penalties add up to the score of the
            steps so far (`Objective.score`): a rate or disparity pays by how much it changes.
        """
        env = self.env
        observations = env.observe(play.state, params) if policies else {}
        key = jax.random.fold_in(play.policy_key, play.step)
        fixed, hidden = fixed_actions(env, policies, observations, key, play)
        taken = {**actions, **fixed}
        noise = jax.random.fold_in(play.noise_key, play.step)
        state, components, terminated = env.advance(noise, play.state, taken, params)
        numbers, in_fields = ravel_pytree(components)
        totals, lost = add_compensated(play.totals, play.lost, numbers)
        so_far, scheme_states, gains, scores = in_fields(totals + lost), [], [], []
        for (summed, others), before in zip(self._rewarded, play.scheme_states, strict=True):
            after, gain = summed.step(before, components)
            scheme_states.append(after)
            gains.append(gain)
            scores.append(others.score(so_far))
        paid = jnp.stack(scores)
        rewards = jnp.stack(gains) + (paid - play.paid)
        by_agent = (rewards,) * len(self.objectives) if self.vector_rewards else tuple(rewards)
        if self.failure_penalty:
            by_agent = tuple(reward - self.failure_penalty * terminated for reward in by_agent)
        play = play.replace(
            state=state,
            step=play.step + 1,
            scheme_states=tuple(scheme_states),
            paid=paid,
            hidden=hidden,
            totals=totals,
            lost=lost,
        )
        if self.cost:
            after = self.cost.update(play.measure_state, components)
            play = play.replace(measure_state=after, cost=-self.cost.value(after))
        return play, by_agent, terminated

    def show(self, params: Params, play: Play) -> dict[str, dict[str, Array]]:
        """Return each playing agent's observation: its non-empty parts by name."""
        seen = self.env.observe(play.state, params)
        if self.observed == "raw":
            return {agent: parts_of(seen[agent]) for agent in self.agents}
        scaled = self.observed == "scaled"
        spaces = {agent: self.env.observation_space(agent) for agent in self.agents}
        return {a: parts_of(within_ends(seen[a], s, scaled=scaled)) for a, s in spaces.items()}

    def measured(self, params: Params, play: Play) -> dict[str, tuple[Array, Array]]:
        """Return every metric of the episode so far, and whether it is defined."""
        _, in_fields = ravel_pytree(no_components(self.env, params))
        totals = in_fields(play.totals + play.lost)
        return {
            name: (metric.value(totals), metric.defined(totals))
            for name, metric in self.env.metrics.items()
        }


def _in_two(objective: Objective) -> tuple[Objective, Objective]:
    """Return the part whose steps add up to its score, and the part with a score of sums.

    The first has the direct rewards and the schemes, the second the rates and the disparities.
    """

    def only(names: set[str]) -> Objective:
        weights = {name: weight for name, weight in objective.weights.items() if name in names}
        return dataclasses.replace(objective, weights=weights)

    ratios = {name for name, metric in objective.metrics.items() if metric.kind != "direct"}
    return only(set(objective.weights) - ratios), only(ratios)
