"""Rules of agents that vaccinate people who meet one another."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fairgym.core import Entities, Environment, FairgymError, Params
from fairgym.environments._common.choosing import Chooser, column_of
from fairgym.utils.registry import rules


class Vaccinator(Chooser):
    """The person of highest merit among those present, the first of several.

    If nobody is present, that is susceptible, nobody is chosen.

    Attributes:
        contacts: 1 where two people meet, 0 elsewhere.
        goes_on: True to choose among everybody once nobody is present, as in the code of Hu, Lear
            and Zhang (2023): such vaccines are wasted.
        column_seen: column of the feature that the rule looks at.
    """

    sees: ClassVar[str] = ""  # feature that the rule looks at besides

    contacts: Float[Array, "rows rows"]
    goes_on: bool = eqx.field(static=True)
    column_seen: int = eqx.field(static=True)

    def __init__(
        self, env: Environment, agent: str, params: Params | None = None, *, goes_on: bool = False
    ) -> None:
        """Find the network.

        Args:
            env: the environment; a system of people who meet has a `contact_matrix`.
            agent: the agent that chooses.
            params: not used.
            goes_on: as the attribute.

        Raises:
            FairgymError: the agent does not choose one row, the environment has no network, or
                the agent does not see the feature.
        """
        super().__init__(env, agent, params)
        contacts = getattr(env.unwrapped, "contact_matrix", None)
        if contacts is None:
            raise FairgymError(
                f"the rule {type(self).__name__} takes an environment of people who meet, such as"
                f" epidemic; {env.name} has no contact_matrix"
            )
        self.contacts, self.goes_on = jnp.asarray(contacts), goes_on
        self.column_seen = column_of(env, agent, self.sees) if self.sees else -1

    def merit(self, observation: Entities) -> Float[Array, " rows"]:
        """Number by which people are preferred."""
        raise NotImplementedError

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Int[Array, ""]:
        """The person."""
        present = self.present(observation)
        if self.goes_on:
            present = present | ~jnp.any(present)
        return self.highest(self.merit(observation), present)


@rules.register("highest-degree")
class HighestDegree(Vaccinator):
    """The susceptible person with most contacts, infected or not.

    This is "Max" as the code of Hu, Lear and Zhang (2023) has it; their text counts infected
    contacts, as the rule "most-exposed" does.
    """

    def merit(self, observation: Entities) -> Float[Array, " rows"]:
        """Number of contacts."""
        return jnp.sum(self.contacts, axis=1)


@rules.register("most-exposed")
class MostExposed(Vaccinator):
    """The susceptible person with most infected contacts.

    This is "Max" as the text of Hu, Lear and Zhang (2023, section VI-C) has it.

    """

    sees: ClassVar[str] = "infected"

    def merit(self, observation: Entities) -> Float[Array, " rows"]:
        """Number of infected contacts."""
        infected = observation.features[:, self.column_seen]
        return jnp.dot(self.contacts, infected, precision="highest")
