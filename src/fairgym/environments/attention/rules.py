"""Rules for agents that divide units over places."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from fairgym.core import Allocation, Entities, Environment, FairgymError, Params, apportion
from fairgym.utils.registry import rules


class Divider(eqx.Module):
    """A rule for an agent that divides whole units over places.

    Attributes:
        units: Number of units.
        places: Number of places.
    """

    units: int = eqx.field(static=True)
    places: int = eqx.field(static=True)

    def __init__(self, env: Environment, agent: str, params: Params | None = None) -> None:
        """Read the numbers from the action space.

        Args:
            env: The environment.
            agent: The agent that divides.
            params: Unused.

        Raises:
            FairgymError: If the agent does not divide units.
        """
        space = env.action_space(agent)
        if not isinstance(space, Allocation):
            raise FairgymError(
                f"the rule {type(self).__name__} is for an agent that divides units over places;"
                f" {agent!r} takes {space.takes}"
            )
        self.units, self.places = space.units, len(space.elements)


@rules.register("cover-sites")
class CoverSites(Divider):
    """A rule that sends units to the places in turn and continues where the last step stopped.

    With at least as many units as places, every place has one in every step, and the rest rotates.
    In the long run all places receive the same number. The rule keeps count in its hidden state.
    """

    def initial(self) -> Int[Array, ""]:
        """Return the place whose turn it is first."""
        return jnp.int32(0)

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: Int[Array, ""]
    ) -> tuple[Int[Array, " places"], Int[Array, ""]]:
        """Return the units of each place, and the place whose turn is next."""
        each, rest = divmod(self.units, self.places)
        turn = (jnp.arange(self.places, dtype=jnp.int32) - hidden) % self.places
        return each + (turn < rest).astype(jnp.int32), (hidden + rest) % self.places


@rules.register("proportional")
class Proportional(Divider):
    """A rule that sends units in proportion to observed incidents, evenly if there are none.

    Attributes:
        columns: Columns of the incidents, one for each observed step.
    """

    columns: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self,
        env: Environment,
        agent: str,
        params: Params | None = None,
        *,
        feature: str = "occurred",
    ) -> None:
        """Find the columns.

        Args:
            env: The environment.
            agent: The agent that divides.
            params: Unused.
            feature: Name of the feature without the number of the step: "occurred" for
                `occurred_1`, `occurred_2`, ...

        Raises:
            FairgymError: If the agent does not divide units, or does not observe the feature.
        """
        super().__init__(env, agent, params)
        space = env.observation_space(agent)
        names = [column.name for column in space.features]
        self.columns = tuple(
            place for place, name in enumerate(names) if name.rpartition("_")[0] == feature
        )
        if not self.columns or space.capacity != self.places:
            raise FairgymError(
                f"the rule needs the feature '{feature}_1' of each place; {agent!r}"
                f" observes: {', '.join(names)}"
            )

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Int[Array, " places"]:
        """Return the units of each place."""
        incidents = jnp.sum(observation.features[:, jnp.array(self.columns)], axis=1)
        total = jnp.sum(incidents)
        shares = jnp.where(total > 0.0, incidents / jnp.maximum(total, 1.0), 1.0 / self.places)
        return apportion(shares, self.units)
