"""The susceptible person with most contacts."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.core import Entities
from fairgym.policies.rules import rules
from fairgym.policies.rules._network import Vaccinator


@rules.register("highest-degree")
class HighestDegree(Vaccinator):
    """The susceptible person with most contacts, infected or not.

    This is "Max" as the code of Hu, Lear and Zhang (2023) has it; their text counts infected
    contacts, as the rule "most-exposed" does.
    """

    def merit(self, observation: Entities) -> Float[Array, " rows"]:
        """Number of contacts."""
        return jnp.sum(self.contacts, axis=1)
