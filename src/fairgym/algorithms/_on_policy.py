"""State and batches of on-policy learners, advantages and likelihoods."""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PyTree

from fairgym.algorithms._gradient import GradientState
from fairgym.algorithms._rollouts import Step
from fairgym.core import Entities, Struct
from fairgym.policies.exploration import entropy, gaussian_entropy, log_probability

VALUE_DECAY = 0.99  # decay per round of the running moments of returns


class Batch(Struct):
    """Steps of a rollout or minibatch, with their learning targets.

    Attributes:
        steps: The steps.
        advantage: Generalised advantage estimates.
        returns: Targets of the critic, normalised.
        before: Per agent, log-probabilities of the explored actions at collection time.
    """

    steps: Step
    advantage: Float[Array, "envs steps agents"]
    returns: Float[Array, "envs steps values"]
    before: dict[str, Float[Array, "envs steps"]]


class Moments(Struct):
    """Running moments of returns; the critic learns returns normalised by them.

    Attributes:
        mean: Running mean of each value's returns, times the weight.
        square: Running mean of their squares, likewise.
        weight: Sum of the weights of the updates so far.
    """

    mean: Float[Array, " values"]
    square: Float[Array, " values"]
    weight: Float[Array, ""]

    @property
    def scale(self) -> tuple[Float[Array, " values"], Float[Array, " values"]]:
        """Mean and standard deviation of returns; 0 and 1 before the first update."""
        known = self.weight > 0.0
        weight = jnp.where(known, self.weight, 1.0)
        mean = self.mean / weight
        spread = jnp.sqrt(jnp.maximum(self.square / weight - mean**2, 1e-6))
        return jnp.where(known, mean, 0.0), jnp.where(known, spread, 1.0)

    def after(self, returns: Float[Array, "envs steps values"]) -> "Moments":
        """Return the moments updated with the returns of a round."""
        keep, axes = VALUE_DECAY, (0, 1)
        return Moments(
            keep * self.mean + (1.0 - keep) * jnp.mean(returns, axes),
            keep * self.square + (1.0 - keep) * jnp.mean(returns**2, axes),
            keep * self.weight + (1.0 - keep),
        )


class PpoState(GradientState):
    """The training state of PPO.

    Attributes:
        log_std: Per trained agent, log standard deviation of its exploration: one number per
            element of the action, a single one for per-person actions, none for discrete ones.
        optimiser: State of Adam over `trainable` and `log_std`.
        moments: Running moments of the returns of each value.
        carried: Numbers that the terms keep between rounds, by name.
    """

    log_std: dict[str, Float[Array, " elements"]]
    optimiser: PyTree
    moments: Moments
    carried: dict[str, Array]


def standardised(
    values: Float[Array, "envs steps"],
    weight: Float[Array, "envs steps"],
    total: Float[Array, ""],
) -> Float[Array, "envs steps"]:
    """Return values standardised with their weighted mean and standard deviation.

    Args:
        values: The values.
        weight: Weights of the steps.
        total: Sum of the weights.
    """
    centre = jnp.sum(weight * values) / total
    scale = jnp.sqrt(jnp.sum(weight * (values - centre) ** 2) / total)
    return (values - centre) / (scale + 1e-8)


def generalised_advantages(
    rewards: Float[Array, "steps agents"],
    values: Float[Array, "steps agents"],
    next_values: Float[Array, "steps agents"],
    last: Float[Array, " steps"],
    done: Float[Array, " steps"],
    gamma: float | Float[Array, ""] | Float[Array, " agents"],
    gae_lambda: float | Float[Array, ""],
) -> Float[Array, "steps agents"]:
    """Return generalised advantage estimates (Schulman et al. 2016, equation 16).

    https://arxiv.org/abs/1506.02438: delta_t = r_t + gamma (1 - last_t) V'_t - V_t,
    A_t = delta_t + gamma lambda (1 - done_t) A_{t+1}.

    Args:
        rewards: Rewards r of each step and agent.
        values: Values V of the observations before each step.
        next_values: Values V' of the observations after each step, before a reset.
        last: 1 where the value after the step is 0.
        done: 1 where the next row belongs to another episode.
        gamma: Discount factor, or one for each column.
        gae_lambda: GAE parameter lambda.
    """

    def back(later: Array, now: tuple[Array, ...]) -> tuple[Array, Array]:
        reward, value, next_value, last, done = now
        delta = reward + gamma * (1.0 - last) * next_value - value
        advantage = delta + gamma * gae_lambda * (1.0 - done) * later
        return advantage, advantage

    rows = (rewards, values, next_values, last, done)
    return lax.scan(back, jnp.zeros_like(rewards[0]), rows, reverse=True)[1]


def explored_log_probability(
    actor: PyTree, log_std: Array, steps: Step, agent: str
) -> Float[Array, "envs steps"]:
    """Return the log-probability of one agent's explored actions, per env and step."""

    def one(observation: Entities, explored: Array) -> Array:
        return log_probability(
            actor.space, actor.logits(observation), log_std, explored, observation.mask
        )

    return jax.vmap(jax.vmap(one))(steps.observations[agent], steps.actions[agent])


def mean_entropy(
    actor: PyTree, log_std: Array, steps: Step, agent: str, weight: Float[Array, "envs steps"]
) -> Float[Array, ""]:
    """Return the entropy of one agent's exploration, averaged over steps for discrete actions."""
    if not actor.space.discrete:
        return gaussian_entropy(log_std)

    def one(observation: Entities) -> Array:
        return entropy(actor.space, actor.logits(observation), log_std, observation.mask)

    return jnp.sum(weight * jax.vmap(jax.vmap(one))(steps.observations[agent]))
