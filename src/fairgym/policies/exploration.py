"""Exploration of actions that are numbers: Gaussian noise on a network's outputs.

The noise is added to the logits, before the action space makes an action of them
(`ActionSpace.from_logits`), so that whatever is explored lies inside the space. There is one
standard deviation for each element of the action, learned as its logarithm. A per-entity action
has a single element: its log-probability and entropy are means over the people present, so that a
step with 3 people and one with 3,000 weigh alike.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fairgym.core import ActionSpace

HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)


def init_log_std(space: ActionSpace, std: float) -> Float[Array, " elements"]:
    """Log standard deviations of the exploration, all of the same size."""
    return jnp.full(len(space.elements), jnp.float32(math.log(std)))


def explore(
    logits: Float[Array, " action"], log_std: Float[Array, " elements"], key: PRNGKeyArray
) -> Float[Array, " action"]:
    """Sample logits around those of the network."""
    return logits + jnp.exp(log_std) * jax.random.normal(key, logits.shape)


def log_probability(
    space: ActionSpace,
    logits: Float[Array, " action"],
    log_std: Float[Array, " elements"],
    explored: Float[Array, " action"],
    mask: Bool[Array, " people"],
) -> Float[Array, ""]:
    """Log-density of explored logits: the sum over elements, or the mean over people present.

    Args:
        space: the agent's action space.
        logits: outputs of the network.
        log_std: log standard deviation of each element.
        explored: the logits that were sampled.
        mask: True for the rows of the observation that hold a person.
    """
    z = (explored - logits) * jnp.exp(-log_std)
    return space.sum_over_elements(-0.5 * z**2 - log_std - HALF_LOG_2_PI, mask)


def entropy(log_std: Float[Array, " elements"]) -> Float[Array, ""]:
    """Differential entropy of the exploration, summed over elements."""
    return jnp.sum(log_std + 0.5 + HALF_LOG_2_PI)
