"""Bases of the state structs."""

from typing import Any

import equinox as eqx
from jaxtyping import Array, Int

from fairgym.core.struct import Struct


class State(Struct):
    """State of an environment; subclasses add their own fields.

    Attributes:
        time: number of steps made.
    """

    time: Int[Array, ""]


class PopulationState(State):
    """State of an environment of people. Per-person fields have the axis name "people".

    Attributes:
        group: place of each person's group in `env.groups`.
        stage: place of each person's stage in `env.stages`.
        by_person: True to count components with a number per group person by person instead
            (`PopulationEnvironment.counting_people`); what happens does not depend on it.
    """

    group: Int[Array, " people"]
    stage: Int[Array, " people"]
    by_person: Any = eqx.field(static=True, default=False, kw_only=True)
