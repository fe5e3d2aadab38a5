"""Likelihood of explored actions, and its entropy, over the steps of worlds."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.algorithms._worlds import Step
from fairgym.core import Entities
from fairgym.policies.exploration import entropy, gaussian_entropy, log_probability


def log_probabilities(
    actors: Mapping[str, Any], log_std: Mapping[str, Array], steps: Step
) -> dict[str, Float[Array, "worlds steps"]]:
    """Log-probability of each agent's explored actions, by name of agent."""
    return {
        agent: explored_log_probability(actor, log_std[agent], steps, agent)
        for agent, actor in actors.items()
    }


def explored_log_probability(
    actor: Any, log_std: Array, steps: Step, agent: str
) -> Float[Array, "worlds steps"]:
    """Log-probability of one agent's explored actions, for each world and step."""

    def one(seen: Entities, explored: Array) -> Array:
        return log_probability(actor.space, actor.logits(seen), log_std, explored, seen.mask)

    return jax.vmap(jax.vmap(one))(steps.observations[agent], steps.actions[agent])


def mean_entropy(
    actor: Any, log_std: Array, steps: Step, agent: str, weight: Float[Array, "worlds steps"]
) -> Float[Array, ""]:
    """Entropy of one agent's exploration, in the mean over steps where they differ in it."""
    if not actor.space.discrete:
        return gaussian_entropy(log_std)

    def one(seen: Entities) -> Array:
        return entropy(actor.space, actor.logits(seen), log_std, seen.mask)

    return jnp.sum(weight * jax.vmap(jax.vmap(one))(steps.observations[agent]))
