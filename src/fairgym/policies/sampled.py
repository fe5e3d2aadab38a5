"""Learned policies that draw among their options, instead of the most probable one."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fairgym.core import AnyPolicy, Entities, Environment, FairgymError
from fairgym.core.environment import require_agents
from fairgym.core.policy import RecurrentPolicy
from fairgym.policies.exploration import explore


class Sampled(eqx.Module):
    """A policy that chooses each option with its probability; `sampled` makes it.

    Attributes:
        policy: the policy, a network with logits.
        space: its action space; static.
    """

    policy: Any
    space: Any = eqx.field(static=True)

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
        env: the environment.
        policies: agent -> policy.

    Raises:
        FairgymError: no learned policy of an agent that chooses.

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


def has_logits(policy: AnyPolicy) -> bool:
    """True for a policy with probabilities and without a hidden state."""
    return hasattr(policy, "logits") and not isinstance(policy, RecurrentPolicy)
