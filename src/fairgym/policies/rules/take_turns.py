"""Turns among those who are there: the Oracle of "Remembering to Be Fair"."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fairgym.core import Entities
from fairgym.policies.rules import rules
from fairgym.policies.rules._chooser import Chooser


@rules.register("take-turns")
class TakeTurns(Chooser):
    """The person present who was chosen least often so far (Alamdari et al. 2024, A.2 and A.4).

    The rule counts by itself, and so needs no memory in the environment; of several persons it
    chooses the first. If nobody is there, nobody's turn has been.
    """

    def initial(self) -> Float[Array, " rows"]:
        """Turns that each person has had: none."""
        return jnp.zeros((self.rows,))

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: Float[Array, " rows"]
    ) -> tuple[Int[Array, ""], Float[Array, " rows"]]:
        """The person, and the turns that each has had by then."""
        present = self.present(observation)
        row = self.highest(-hidden, present)
        return row, hidden + jnp.where(present, jax.nn.one_hot(row, self.rows), 0.0)
