"""Generalised advantage estimates, and steps as learners on policy learn from them."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from fairgym.algorithms._worlds import Step
from fairgym.core import Struct


class Batch(Struct):
    """Steps of a round, or of a minibatch of it, as they are learned from.

    Attributes:
        steps: the steps.
        advantage: generalised advantage estimates.
        returns: what the critic learns.
        before: per agent, log-probabilities of what was explored when it was.
    """

    steps: Step
    advantage: Float[Array, "worlds steps agents"]
    returns: Float[Array, "worlds steps values"]
    before: dict[str, Float[Array, "worlds steps"]]


def generalised_advantages(
    rewards: Float[Array, "steps agents"],
    values: Float[Array, "steps agents"],
    following: Float[Array, "steps agents"],
    last: Float[Array, " steps"],
    done: Float[Array, " steps"],
    gamma: float | Float[Array, " agents"],
    gae_lambda: float,
) -> Float[Array, "steps agents"]:
    """Generalised advantage estimates (Schulman et al. 2016, equation 16).

    https://arxiv.org/abs/1506.02438: delta_t = r_t + gamma (1 - last_t) V'_t - V_t,
    A_t = delta_t + gamma lambda (1 - done_t) A_{t+1}.

    Args:
        rewards: r, of each step and agent.
        values: V, of what was seen before each step.
        following: V', of what was seen after it, before a new episode.
        last: 1 where nothing comes after the step.
        done: 1 where the next row is of another episode.
        gamma: discount factor, or one for each column.
        gae_lambda: lambda.
    """

    def back(later: Array, now: tuple[Array, ...]) -> tuple[Array, Array]:
        reward, value, following, last, done = now
        delta = reward + gamma * (1.0 - last) * following - value
        advantage = delta + gamma * gae_lambda * (1.0 - done) * later
        return advantage, advantage

    rows = (rewards, values, following, last, done)
    return lax.scan(back, jnp.zeros_like(rewards[0]), rows, reverse=True)[1]
