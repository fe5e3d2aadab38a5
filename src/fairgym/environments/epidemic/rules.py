"""Rules for agents that vaccinate people in a contact network."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fairgym.core import Entities, Environment, FairgymError, Params
from fairgym.environments._common.choosing import Chooser, column_of
from fairgym.utils.registry import rules


class Vaccinator(Chooser):
    """Base of rules that choose the person of highest merit among those present.

    The first of ties is chosen. If nobody is present (susceptible), nobody is chosen.

    Attributes:
        contacts: 1 where two people meet, 0 elsewhere.
        goes_on: Whether to choose among everybody once nobody is present, as in the code of Hu,
            Lear and Zhang (2023). Such vaccines are wasted.
        feature_column: Column of the feature that the rule uses.
    """

    feature: ClassVar[str] = ""  # further feature that the rule uses

    contacts: Float[Array, "rows rows"]
    goes_on: bool = eqx.field(static=True)
    feature_column: int = eqx.field(static=True)

    def __init__(
        self, env: Environment, agent: str, params: Params | None = None, *, goes_on: bool = False
    ) -> None:
        """Find the network.

        Args:
            env: The environment; it must have a `contact_matrix`.
            agent: The agent that chooses.
            params: Unused.
            goes_on: See the attribute.

        Raises:
            FairgymError: If the agent does not choose one row, the environment has no network, or
                the agent does not observe the feature.
        """
        super().__init__(env, agent, params)
        contacts = getattr(env.unwrapped, "contact_matrix", None)
        if contacts is None:
            raise FairgymError(
                f"the rule {type(self).__name__} needs an environment with a contact network, such"
                f" as epidemic; {env.name} has no contact_matrix"
            )
        self.contacts, self.goes_on = jnp.asarray(contacts), goes_on
        self.feature_column = column_of(env, agent, self.feature) if self.feature else -1

    def merit(self, observation: Entities) -> Float[Array, " rows"]:
        """Return each row's merit; the highest is chosen."""
        raise NotImplementedError

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Int[Array, ""]:
        """Return the chosen row."""
        present = self.present(observation)
        if self.goes_on:
            present = present | ~jnp.any(present)
        return self.highest(self.merit(observation), present)


@rules.register("highest-degree")
class HighestDegree(Vaccinator):
    """A rule that vaccinates the susceptible person with most contacts, infected or not.

    This is "Max" in the code of Hu, Lear and Zhang (2023). Their text counts infected contacts, as
    the rule "most-exposed" does.
    """

    def merit(self, observation: Entities) -> Float[Array, " rows"]:
        """Return the number of contacts."""
        return jnp.sum(self.contacts, axis=1)


@rules.register("most-exposed")
class MostExposed(Vaccinator):
    """A rule that vaccinates the susceptible person with most infected contacts.

    This is "Max" in the text of Hu, Lear and Zhang (2023, section VI-C).
    """

    feature: ClassVar[str] = "infected"

    def merit(self, observation: Entities) -> Float[Array, " rows"]:
        """Return the number of infected contacts."""
        infected = observation.features[:, self.feature_column]
        return jnp.dot(self.contacts, infected, precision="highest")
