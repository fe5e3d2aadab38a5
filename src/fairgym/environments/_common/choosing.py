"""Base of the rules for agents that choose one of the people present."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from fairgym.core import Entities, Environment, FairgymError, OneEntity, Params


class Chooser(eqx.Module):
    """A rule for an agent that chooses one row of its observation.

    Attributes:
        rows: Number of rows.
        nobody: Choice if nobody is present: nobody if that is allowed, else the first row.
        column: Column that says who is present; None if nobody is ever absent.
    """

    rows: int = eqx.field(static=True)
    nobody: int = eqx.field(static=True)
    column: int | None = eqx.field(static=True)

    def __init__(self, env: Environment, agent: str, params: Params | None = None) -> None:
        """Find the column.

        Args:
            env: The environment.
            agent: The agent that chooses.
            params: Unused.

        Raises:
            FairgymError: If the agent does not choose one row.
        """
        space = env.action_space(agent)
        if not isinstance(space, OneEntity):
            raise FairgymError(
                f"the rule {type(self).__name__} is for an agent that chooses one row of its"
                f" observation; {agent!r} takes {space.takes}"
            )
        self.rows, self.nobody = space.capacity, space.capacity if space.none else 0
        self.column = column_of(env, agent, space.present) if space.present else None

    def present(self, observation: Entities) -> Bool[Array, " rows"]:
        """Return which rows hold a person who is present."""
        if self.column is None:
            return observation.mask
        return observation.mask & (observation.features[:, self.column] > 0.5)

    def highest(self, merit: Float[Array, " rows"], among: Bool[Array, " rows"]) -> Int[Array, ""]:
        """Return the row with the highest number (the first of ties), or `nobody` without any."""
        row = jnp.argmax(jnp.where(among, merit, -jnp.inf))
        return jnp.where(jnp.any(among), row, self.nobody).astype(jnp.int32)


def column_of(env: Environment, agent: str, feature: str) -> int:
    """Return the index of a feature in an agent's rows.

    Raises:
        FairgymError: If the agent does not observe it.
    """
    names = [f.name for f in env.observation_space(agent).features]
    if feature not in names:
        raise FairgymError(
            f"the rule needs the feature {feature!r}; {agent!r} observes: {', '.join(names)}"
        )
    return names.index(feature)
