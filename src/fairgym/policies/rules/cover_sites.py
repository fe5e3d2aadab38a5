"""Units over all places in turns, so that none is left out for long."""

import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from fairgym.core import Entities
from fairgym.policies.rules import rules
from fairgym.policies.rules._divider import Divider


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
