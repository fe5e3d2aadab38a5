"""Exploration: Gaussian noise for continuous actions, sampling for discrete ones; sampled policies.

The explored quantity is `raw`. For continuous actions it is the logits plus noise, before
`ActionSpace.from_logits` maps them to an action, so the action always lies inside the space. For
discrete actions it is the option.

Continuous actions have one standard deviation per element, learned as its logarithm. A per-entity
action has a single element. Its log-probability and entropy are means over the people present, so
steps with 3 and with 3,000 people weigh the same. Discrete actions have softmax probabilities and
no standard deviations. A learned policy of an allocation keeps its standard deviations
(`GaussianPolicy`).
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
    """Return equal log standard deviations for all elements; none for discrete actions."""
    elements = 0 if space.discrete else len(space.elements)
    return jnp.full(elements, jnp.float32(math.log(std)))


def explore(
    space: ActionSpace,
    logits: Float[Array, "..."],
    log_std: Float[Array, " elements"],
    mask: Bool[Array, " people"],
    key: PRNGKeyArray,
) -> Array:
    """Sample logits around those of the network, or one of the options.

    Args:
        space: The agent's action space.
        logits: Outputs of the network.
        log_std: Log standard deviation of each element.
        mask: True for the rows of the observation that hold a person.
        key: A JAX key.

    Returns:
        The explored logits or option, for `act` and `log_probability`.
    """
    if space.discrete:
        return jax.random.categorical(key, option_logits(space, logits, mask)).astype(space.dtype)
    return logits + jnp.exp(log_std) * jax.random.normal(key, logits.shape)


def act(space: ActionSpace, raw: Array, mask: Bool[Array, " people"]) -> Array:
    """Return the action for explored logits or an explored option."""
    return raw if space.discrete else space.from_logits(raw, mask)


def log_probability(
    space: ActionSpace,
    logits: Float[Array, "..."],
    log_std: Float[Array, " elements"],
    raw: Array,
    mask: Bool[Array, " people"],
) -> Float[Array, ""]:
    """Return the log-probability of an option, or the log-density of explored logits.

    The log-density is a sum over elements, or a mean over people.

    Args:
        space: The agent's action space.
        logits: Outputs of the network.
        log_std: Log standard deviation of each element.
        raw: Explored logits or option.
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
    """Return the entropy of options, or the differential entropy summed over elements."""
    if space.discrete:
        log = jax.nn.log_softmax(option_logits(space, logits, mask))
        return -jnp.sum(jnp.exp(log) * log)
    return gaussian_entropy(log_std)


def gaussian_entropy(log_std: Float[Array, " elements"]) -> Float[Array, ""]:
    """Return the differential entropy of Gaussian noise, summed over elements."""
    return jnp.sum(log_std + 0.5 + HALF_LOG_2_PI)


class GaussianPolicy(eqx.Module):
    """A learned policy with the standard deviations of its logits.

    PPO and related algorithms return it for agents that divide units. It takes the action of the
    mean logits; `sampled` draws from the distribution.

    Attributes:
        policy: The policy, a network with logits.
        log_std: Log standard deviation of each logit.
    """

    policy: Any
    log_std: Float[Array, " elements"]

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Array:
        """Return the action of the mean logits."""
        return self.policy(observation, key)

    def logits(self, observation: Entities) -> Float[Array, " elements"]:
        """Return the outputs of the network, the mean logits."""
        return self.policy.logits(observation)


class Sampled(eqx.Module):
    """A policy that samples its actions as in training; created by `sampled`.

    Attributes:
        policy: The policy, a network with logits.
        space: Its action space; static.
    """

    policy: Any
    space: ActionSpace = eqx.field(static=True)

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Array:
        """Sample an action with `key`."""
        return act(self.space, self.explored(observation, key), observation.mask)

    def explored(self, observation: Entities, key: PRNGKeyArray) -> Array:
        """Sample an option, or the logits of an allocation."""
        logits, log_std = self.logits(observation), self.log_std
        return explore(self.space, logits, log_std, observation.mask, key)

    def logits(self, observation: Entities) -> Float[Array, " outputs"]:
        """Return the outputs of the network."""
        return self.policy.logits(observation)

    @property
    def log_std(self) -> Float[Array, " elements"]:
        """Log standard deviation of each logit; none for discrete actions."""
        return getattr(self.policy, "log_std", jnp.zeros((0,)))


def sampled(env: Environment, policies: Mapping[str, AnyPolicy]) -> dict[str, AnyPolicy]:
    """Make learned policies sample their options or allocations, as in training.

    For an agent that chooses an option or divides units, PPO and related algorithms learn an action
    distribution. It is this distribution that satisfies a bound or is fair. By default a learned
    policy takes its mode. Other actions stay the mean of the exploration, and rules do not change.

    Args:
        env: The environment.
        policies: Agent -> policy.

    Raises:
        FairgymError: There is no learned policy with discrete actions or a distribution of
            allocations.

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
        if has_logits(policies[agent])
        and (env.action_space(agent).discrete or hasattr(policies[agent], "log_std"))
    ]
    if not choosing:
        raise FairgymError(
            "policies must have at least one learned policy with discrete actions, or of PPO for"
            f" units to divide, for {env.name}"
        )
    return {
        agent: Sampled(policy, env.action_space(agent)) if agent in choosing else policy
        for agent, policy in policies.items()
    }


def has_logits(policy: Any) -> bool:
    """Return True for a policy with logits and without a hidden state."""
    return hasattr(policy, "logits") and not isinstance(policy, RecurrentPolicy)
