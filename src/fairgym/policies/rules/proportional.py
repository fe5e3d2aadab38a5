"""Units in proportion to what was seen at each place."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from fairgym.core import Entities, Environment, FairgymError, apportion
from fairgym.policies.rules import rules
from fairgym.policies.rules._divider import Divider


@rules.register("proportional")
class Proportional(Divider):
    """Units in proportion to the incidents seen at each place; evenly as long as there are none.

    Attributes:
        columns: columns of the incidents, one for each step seen.
    """

    columns: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self, env: Environment, agent: str, params: Any = None, *, feature: str = "occurred"
    ) -> None:
        """Find the columns.

        Args:
            env: the environment.
            agent: the agent that divides.
            params: not used.
            feature: name of what is seen of each of the last steps, before the number of the step:
                "occurred" for `occurred_1`, `occurred_2`, ...

        Raises:
            FairgymError: the agent does not divide units, or does not see the feature.
        """
        super().__init__(env, agent, params)
        space = env.observation_space(agent)
        names = [seen.name for seen in space.features]
        self.columns = tuple(
            place for place, name in enumerate(names) if name.rpartition("_")[0] == feature
        )
        if not self.columns or space.capacity != self.places:
            raise FairgymError(
                f"the rule needs the feature '{feature}_1' of each place; {agent!r} sees:"
                f" {', '.join(names)}"
            )

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Int[Array, " places"]:
        """The units of each place."""
        seen = jnp.sum(observation.features[:, jnp.array(self.columns)], axis=1)
        total = jnp.sum(seen)
        shares = jnp.where(total > 0.0, seen / jnp.maximum(total, 1.0), 1.0 / self.places)
        return apportion(shares, self.units)
