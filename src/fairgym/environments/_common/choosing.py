"""Common part of rules of agents that choose one of the people who are there."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from fairgym.core import Entities, Environment, FairgymError, OneEntity, Params


class Chooser(eqx.Module):
    """A rule of an agent that chooses one row of what it sees.

    Attributes:
        rows: number of rows.
        nobody: what is chosen if nobody is there: nobody if the agent may, else the first row.
        column: column that tells who is there; None if nobody is ever absent.
    """

    rows: int = eqx.field(static=True)
    nobody: int = eqx.field(static=True)
    column: int | None = eqx.field(static=True)

    def __init__(self, env: Environment, agent: str, params: Params | None = None) -> None:
        """Find the column.

        Args:
            env: the environment.
            agent: the agent that chooses.
            params: not used.

        Raises:
            FairgymError: the agent does not choose one row.
        """
        space = env.action_space(agent)
        if not isinstance(space, OneEntity):
            raise FairgymError(
                f"the rule {type(self).__name__} takes an agent that chooses one of those whom it"
                f" sees; {agent!r} takes {space.takes}"
            )
        self.rows, self.nobody = space.capacity, space.capacity if space.none else 0
        self.column = column_of(env, agent, space.present) if space.present else None

    def present(self, observation: Entities) -> Bool[Array, " rows"]:
        """True for who is there."""
        if self.column is None:
            return observation.mask
        return observation.mask & (observation.features[:, self.column] > 0.5)

    def highest(self, merit: Float[Array, " rows"], among: Bool[Array, " rows"]) -> Int[Array, ""]:
        """The row with the highest number, the first of several; `nobody` if there are none."""
        row = jnp.argmax(jnp.where(among, merit, -jnp.inf))
        return jnp.where(jnp.any(among), row, self.nobody).astype(jnp.int32)


def column_of(env: Environment, agent: str, feature: str) -> int:
    """Place of a feature among those of an agent's rows.

    Raises:
        FairgymError: the agent does not see it.
    """
    names = [f.name for f in env.observation_space(agent).features]
    if feature not in names:
        raise FairgymError(
            f"the rule needs the feature {feature!r}; {agent!r} sees: {', '.join(names)}"
        )
    return names.index(feature)
