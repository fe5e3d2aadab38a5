"""Rules of agents that divide units over places."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from fairgym.core import Allocation, Entities, Environment, FairgymError, Params, apportion
from fairgym.utils.registry import rules


class Divider(eqx.Module):
    """A rule of an agent that divides whole units over places.

    Attributes:
        units: number of units.
        places: number of places.
    """

    units: int = eqx.field(static=True)
    places: int = eqx.field(static=True)

    def __init__(self, env: Environment, agent: str, params: Params | None = None) -> None:
        """Take the numbers of the space.

        Args:
            env: the environment.
            agent: the agent that divides.
            params: not used.

        Raises:
            FairgymError: the agent does not divide units.
        """
        space = env.action_space(agent)
        if not isinstance(space, Allocation):
            raise FairgymError(
                f"the rule {type(self).__name__} takes an agent that divides units over places;"
                f" {agent!r} takes {space.takes}"
            )
        self.units, self.places = space.units, len(space.elements)


@rules.register("cover-sites")
class CoverSites(Divider):
    """Units dealt out in turns, each step from where the last one stopped.

    With as many units as places or more, every place has one in every step, and the rest rotates;
    in the long run all places have equally many. The rule counts by itself.
    """

    def initial(self) -> Int[Array, ""]:
        """The place whose turn it is: the first."""
        return jnp.int32(0)

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: Int[Array, ""]
    ) -> tuple[Int[Array, " places"], Int[Array, ""]]:
        """The units of each place, and the place whose turn is next."""
        each, rest = divmod(self.units, self.places)
        turn = (jnp.arange(self.places, dtype=jnp.int32) - hidden) % self.places
        return each + (turn < rest).astype(jnp.int32), (hidden + rest) % self.places


@rules.register("proportional")
class Proportional(Divider):
    """Units in proportion to the incidents seen at each place; evenly as long as there are none.

    Attributes:
        columns: columns of the incidents, one for each step seen.
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

        `feature` is the name of what is seen of each of the last steps, before the number of the
        step: "occurred" for `occurred_1`, `occurred_2`, ...

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
