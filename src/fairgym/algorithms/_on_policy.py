"""Steps as learners on policy learn from them: advantages and likelihoods."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from fairgym.algorithms._worlds import Step
from fairgym.core import Entities, Struct
from fairgym.policies.exploration import entropy, gaussian_entropy, log_probability

VALUE_DECAY = 0.99  # of the running moments of returns, per round


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


class Moments(Struct):
    """Running moments of returns, which the critic learns less their mean, over their deviation.

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
        """Mean and standard deviation of returns; 0 and 1 before the first."""
        known = self.weight > 0.0
        weight = jnp.where(known, self.weight, 1.0)
        mean = self.mean / weight
        spread = jnp.sqrt(jnp.maximum(self.square / weight - mean**2, 1e-6))
        return jnp.where(known, mean, 0.0), jnp.where(known, spread, 1.0)

    def after(self, returns: Float[Array, "worlds steps values"]) -> "Moments":
        """The moments with the returns of a round."""
        keep, axes = VALUE_DECAY, (0, 1)
        return Moments(
            keep * self.mean + (1.0 - keep) * jnp.mean(returns, axes),
            keep * self.square + (1.0 - keep) * jnp.mean(returns**2, axes),
            keep * self.weight + (1.0 - keep),
        )


def estimated_values(
    critic: Callable[..., Float[Array, " values"]], steps: Step, end: PyTree, moments: Moments
) -> tuple[
    Float[Array, "worlds steps values"],
    Float[Array, "worlds steps values"],
    Float[Array, "worlds steps"],
]:
    """Values before each step and after it, and 1 where nothing comes after the step.

    Args:
        critic: what values observations, less the returns' mean and over their deviation.
        steps: the steps of a round.
        end: what was seen after the last of them.
        moments: the moments of the returns.
    """
    mean, spread = moments.scale
    seen = jax.tree.map(
        lambda x, end: jnp.concatenate([x, end[:, None]], axis=1),
        (steps.observations, steps.present),
        end,
    )
    value_of = jax.vmap(jax.vmap(critic))
    values = value_of(*seen) * spread + mean
    following, last = values[:, 1:], steps.done
    if steps.ahead is not None:
        *final, last = steps.ahead
        following = jnp.where(steps.done[..., None], value_of(*final) * spread + mean, following)
    return values[:, :-1], following, last.astype(jnp.float32)


def minibatches(key: PRNGKeyArray, steps: int, count: int, epochs: int) -> Int[Array, "parts size"]:
    """Numbers of the steps of each minibatch; every epoch takes the steps in a new order."""
    size = steps // count
    keys = jax.random.split(key, epochs)
    orders = jax.vmap(lambda k: jax.random.permutation(k, steps))(keys)
    return orders[:, : size * count].reshape(-1, size)


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


def standardised(
    advantage: Float[Array, "worlds steps"], acts: Float[Array, "worlds steps"]
) -> Float[Array, "worlds steps"]:
    """Advantages with mean 0 and deviation 1 over the steps in which the agent acts."""
    total = jnp.maximum(jnp.sum(acts), 1.0)
    centre = jnp.sum(acts * advantage) / total
    scale = jnp.sqrt(jnp.sum(acts * (advantage - centre) ** 2) / total)
    return (advantage - centre) / (scale + 1e-8)


def clipped_surrogate(
    log_ratio: Float[Array, "worlds steps"],
    advantage: Float[Array, "worlds steps"],
    acts: Float[Array, "worlds steps"],
    clip_eps: float,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Mean clipped surrogate (Schulman et al. 2017, equation 7), and share of clipped ratios.

    https://arxiv.org/abs/1707.06347. Means are over the steps in which the agent acts.
    """
    total = jnp.maximum(jnp.sum(acts), 1.0)
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1.0 - clip_eps, 1.0 + clip_eps)
    outside = (jnp.abs(ratio - 1.0) > clip_eps).astype(jnp.float32)
    gain = jnp.sum(acts * jnp.minimum(ratio * advantage, clipped * advantage)) / total
    return gain, jnp.sum(acts * outside) / total


def explored_log_probability(
    actor: PyTree, log_std: Array, steps: Step, agent: str
) -> Float[Array, "worlds steps"]:
    """Log-probability of one agent's explored actions, for each world and step."""

    def one(seen: Entities, explored: Array) -> Array:
        return log_probability(actor.space, actor.logits(seen), log_std, explored, seen.mask)

    return jax.vmap(jax.vmap(one))(steps.observations[agent], steps.actions[agent])


def mean_entropy(
    actor: PyTree, log_std: Array, steps: Step, agent: str, weight: Float[Array, "worlds steps"]
) -> Float[Array, ""]:
    """Entropy of one agent's exploration, in the mean over steps where they differ in it."""
    if not actor.space.discrete:
        return gaussian_entropy(log_std)

    def one(seen: Entities) -> Array:
        return entropy(actor.space, actor.logits(seen), log_std, seen.mask)

    return jnp.sum(weight * jax.vmap(jax.vmap(one))(steps.observations[agent]))
