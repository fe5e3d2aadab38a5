"""Turns among groups, and in each the person of highest merit."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fairgym.core import Entities, Environment
from fairgym.policies.rules import rules
from fairgym.policies.rules._chooser import Chooser, column_of

DECIMALS = 4  # merits that differ by less are equal: sums of tenths are rounded differently


@rules.register("alternate-groups")
class AlternateGroups(Chooser):
    """The person of highest merit among those present of the group chosen least often so far.

    If nobody of that group is there, of the group chosen least often of those that are; of groups
    chosen equally often, the person of highest merit of them all, the first of several.

    Attributes:
        groups: number of groups.
        group: column of the group.
        merit: column of the merit.
    """

    groups: int = eqx.field(static=True)
    group: int = eqx.field(static=True)
    merit: int = eqx.field(static=True)

    def __init__(
        self, env: Environment, agent: str, params: Any = None, *, merit: str = "credit"
    ) -> None:
        """Find the columns.

        Args:
            env: the environment.
            agent: the agent that chooses.
            params: not used.
            merit: name of the feature that says whom to prefer.

        Raises:
            FairgymError: the agent does not choose one row, or does not see groups or merit.
        """
        super().__init__(env, agent, params)
        self.groups = len(env.spec.groups)
        self.group, self.merit = column_of(env, agent, "group"), column_of(env, agent, merit)

    def initial(self) -> Float[Array, " groups"]:
        """Turns that each group has had: none."""
        return jnp.zeros((self.groups,))

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: Float[Array, " groups"]
    ) -> tuple[Int[Array, ""], Float[Array, " groups"]]:
        """The person, and the turns that each group has had by then."""
        present = self.present(observation)
        group = jnp.round(observation.features[:, self.group]).astype(jnp.int32)
        turns = jnp.where(present, hidden[group], jnp.inf)
        merit = jnp.round(observation.features[:, self.merit], DECIMALS)
        row = self.highest(merit, present & (turns == jnp.min(turns)))
        chosen = present & (jnp.arange(self.rows) == row)
        return row, hidden.at[group].add(chosen.astype(jnp.float32))
