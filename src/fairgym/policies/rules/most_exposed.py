"""The susceptible person with most infected contacts."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.core import Entities, Environment
from fairgym.policies.rules import rules
from fairgym.policies.rules._chooser import column_of
from fairgym.policies.rules._network import Vaccinator


@rules.register("most-exposed")
class MostExposed(Vaccinator):
    """The susceptible person with most infected contacts.

    This is "Max" as the text of Hu, Lear and Zhang (2023, section VI-C) has it.

    Attributes:
        infected: column of who is infected.
    """

    infected: int = eqx.field(static=True)

    def __init__(
        self, env: Environment, agent: str, params: Any = None, *, goes_on: bool = False
    ) -> None:
        """Find the network and the column.

        Raises:
            FairgymError: as for `Vaccinator`, or the agent does not see who is infected.
        """
        super().__init__(env, agent, params, goes_on=goes_on)
        self.infected = column_of(env, agent, "infected")

    def merit(self, observation: Entities) -> Float[Array, " rows"]:
        """Number of infected contacts."""
        infected = observation.features[:, self.infected]
        return jnp.dot(self.contacts, infected, precision="highest")
