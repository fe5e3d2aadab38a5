"""Exploration of actions: Gaussian noise on numbers, random draws of choices; sampled policies.

What is explored is `raw`: the logits of a network with noise added, before the action space makes
an action of them (`ActionSpace.from_logits`), so that whatever is explored lies inside the space;
or, for an agent that chooses among options, the option itself.

Of numbers there is one standard deviation for each element of the action, learned as its
logarithm. A per-entity action has a single element: its log-probability and entropy are means over
the people present, so that a step with 3 people and one with 3,000 weigh alike. A choice has the
probabilities of a softmax, and no standard deviations.
"""

import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fairgym.core import ActionSpace, AnyPolicy, Entities, Environment, FairgymError, option_logits
from fairgym.core.environment import require_agents
from fairgym.core.policy import RecurrentPolicy

HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)


def init_log_std(space: ActionSpace, std: float) -> Float[Array, " elements"]:
    """Log standard deviations of the exploration, all of the same size; none for a choice."""
    elements = 0 if space.discrete else len(space.elements)
    return jnp.full(elements, jnp.float32(math.log(std)))


def explore(
    space: ActionSpace,
    logits: Float[Array, "..."],
    log_std: Float[Array, " elements"],
    mask: Bool[Array, " people"],
    key: PRNGKeyArray,
) -> Array:
    """Sample around the logits of the network, or one of the options.

    Args:
        space: The agent's action space.
        logits: Outputs of the network.
        log_std: Log standard deviation of each element.
        mask: True for the rows of the observation that hold a person.
        key: A JAX key.

    Returns:
        What `act` makes an action of, and `log_probability` takes.
    """
    if space.discrete:
        return jax.random.categorical(key, option_logits(space, logits, mask)).astype(space.dtype)
    return logits + jnp.exp(log_std) * jax.random.normal(key, logits.shape)


def act(space: ActionSpace, raw: Array, mask: Bool[Array, " people"]) -> Array:
    """The action that was explored."""
    return raw if space.discrete else space.from_logits(raw, mask)


def log_probability(
    space: ActionSpace,
    logits: Float[Array, "..."],
    log_std: Float[Array, " elements"],
    raw: Array,
    mask: Bool[Array, " people"],
) -> Float[Array, ""]:
    """Log-density of explored logits (sum over elements, or mean over people), or of the option.

    Args:
        space: The agent's action space.
        logits: Outputs of the network.
        log_std: Log standard deviation of each element.
        raw: What was sampled.
        mask: True for the rows of the observation that hold a person.
    """
    if space.discrete:
        return jax.nn.log_softmax(option_logits(space, logits, mask))[raw]
    z = (raw - logits) * jnp.exp(-log_std)
    return space.sum_over_elements(-0.5 * z**2 - log_std - HALF_LOG_2_PI, mask)


def entropy(
    space: ActionSpace,
    logits: Float[Array, "..."],
    log_std: Float[Array, " elements"],
    mask: Bool[Array, " people"],
) -> Float[Array, ""]:
    """Entropy of the exploration: of the options, or differential and summed over elements."""
    if space.discrete:
        log = jax.nn.log_softmax(option_logits(space, logits, mask))
        return -jnp.sum(jnp.exp(log) * log)
    return gaussian_entropy(log_std)


def gaussian_entropy(log_std: Float[Array, " elements"]) -> Float[Array, ""]:
    """Differential entropy of Gaussian noise, whatever it is added to, summed over elements."""
    return jnp.sum(log_std + 0.5 + HALF_LOG_2_PI)


class Sampled(eqx.Module):
    """A policy that chooses each option with its probability; `sampled` makes it.

    Attributes:
        policy: The policy, a network with logits.
        space: Its action space; static.
    """

    policy: Any
    space: ActionSpace = eqx.field(static=True)

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Array:
        """One of the options, drawn with `key`."""
        nothing = jnp.zeros((0,))  # a choice has no standard deviations
        return explore(self.space, self.logits(observation), nothing, observation.mask, key)

    def logits(self, observation: Entities) -> Float[Array, " options"]:
        """Outputs of the network."""
        return self.policy.logits(observation)


def sampled(env: Environment, policies: Mapping[str, AnyPolicy]) -> dict[str, AnyPolicy]:
    """The policies, of which those that choose draw each option with its probability.

    What PPO and its relatives learn for an agent that chooses is a distribution over its options,
    and it is this that keeps to a bound, or is fair; without more, a learned policy takes the most
    probable option. Numbers stay the mean of what is explored, and rules stay as they are.

    Args:
        env: The environment.
        policies: Agent -> policy.

    Raises:
        FairgymError: No learned policy of an agent that chooses.

    Examples:
        >>> import fairgym, jax
        >>> from fairgym.policies import equivariant, sampled
        >>> env = fairgym.make("bank_loans", horizon=50)
        >>> policies = sampled(env, equivariant(env, jax.random.key(0)))
        >>> evaluation = fairgym.evaluate(env, env.default_params, policies, jax.random.key(1))
        >>> evaluation.episodes
        32
    """
    require_agents(env, policies, "policy")
    choosing = [
        agent
        for agent in env.agents
        if has_logits(policies[agent]) and env.action_space(agent).discrete
    ]
    if not choosing:
        raise FairgymError(
            f"policies has none of {env.name} that chooses among options with probabilities;"
            " sampling takes a learned policy of one agent at least that does"
        )
    return {
        agent: Sampled(policy, env.action_space(agent)) if agent in choosing else policy
        for agent, policy in policies.items()
    }


def has_logits(policy: Any) -> bool:
    """True for a policy with probabilities and without a hidden state."""
    return hasattr(policy, "logits") and not isinstance(policy, RecurrentPolicy)
