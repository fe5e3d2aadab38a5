"""Common part of rules of agents that divide units over places."""

from typing import Any

import equinox as eqx

from fairgym.core import Allocation, Environment, FairgymError


class Divider(eqx.Module):
    """A rule of an agent that divides whole units over places.

    Attributes:
        units: number of units.
        places: number of places.
    """

    units: int = eqx.field(static=True)
    places: int = eqx.field(static=True)

    def __init__(self, env: Environment, agent: str, params: Any = None) -> None:
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
