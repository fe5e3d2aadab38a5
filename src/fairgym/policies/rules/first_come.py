"""First come, first served."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fairgym.core import Entities, Environment, FairgymError
from fairgym.policies.rules import rules


@rules.register("first-come")
class FirstCome(eqx.Module):
    """First come, first served: the longest-waiting person has the highest score.

    Args:
        env: the environment.
        agent: the agent that orders a queue.
        params: not used.
        feature: name of the observed time.

    Raises:
        FairgymError: the agent does not score people, or does not see the feature.
    """

    column: int = eqx.field(static=True)

    def __init__(
        self, env: Environment, agent: str, params: Any = None, *, feature: str = "time_waited"
    ) -> None:
        """Find the column of the waiting time."""
        names = [f.name for f in env.observation_space(agent).features]
        if feature not in names or not env.action_space(agent).per_entity:
            raise FairgymError(
                f"first come, first served needs an agent that scores people and sees {feature!r};"
                f" {agent!r} sees: {', '.join(names)}"
            )
        self.column = names.index(feature)

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Float[Array, " capacity"]:
        """Waiting time over waiting time plus one: rises with the wait, stays below 1."""
        waited = jnp.maximum(observation.features[:, self.column], 0.0)
        return jnp.where(observation.mask, waited / (waited + 1.0), 0.0)
