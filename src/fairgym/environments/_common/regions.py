"""Public money that moves the features of a region's people (MAFE, equations 16 and 24)."""

from collections.abc import Mapping
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fairgym.core import fraction, param
from fairgym.core.params import Number
from fairgym.environments._common.base import SampledParams
from fairgym.environments._common.moves import (
    improve_or_deteriorate,
    improvement_probability,
    moved,
)


class RegionParams(SampledParams):
    """Parameters of environments in which a planner gives money to regions."""

    improve_gain: Number = fraction(
        0.4,
        "Largest increase R of the probability of improving through money (table 8).",
        per="region",
    )
    improve_slope: Number = param(
        16.0,
        "Slope of the effect of money per person: V times B-hat / N_g (table 8).",
        low=0.0,
        high=1000.0,
        per="region",
    )
    improve_shift: Number = param(
        -4.0,
        "Shift W of the effect of money (table 8 prints +4, but then money has no effect).",
        low=-100.0,
        high=100.0,
        per="region",
    )
    stay: Number = fraction(0.2, "Probability U that features stay (table 8).", per="region")


class Move(NamedTuple):
    """How a feature of a person moves.

    Attributes:
        change: Name of the parameter that holds the step size, in the feature's unit.
        better: +1 if a higher value is an improvement, -1 if a lower one is.
        low: Lowest value.
        high: Highest value.
    """

    change: str
    better: float
    low: float
    high: float


def of_people(value: Number, region: Int[Array, " people"]) -> Number:
    """Return a parameter for each person: one number for all, or that of the person's region."""
    return value if jnp.ndim(value) == 0 else jnp.asarray(value, jnp.float32)[region]


def move_features(
    data: Mapping[str, Float[Array, " people"]],
    moves: Mapping[str, Move],
    uniform: Float[Array, " people"],
    region: Int[Array, " people"],
    money: Float[Array, " regions"],
    params: RegionParams,
    *,
    base: Number,
    budget: Number,
) -> dict[str, Float[Array, " people"]]:
    """Let every person's features improve, stay or deteriorate together.

    Args:
        data: Columns of the people.
        moves: The columns that move.
        uniform: Independent uniform numbers in [0, 1).
        region: Region of each person.
        money: Dollars of each region.
        params: R, V, W, U and the step sizes that `moves` names.
        base: Q.
        budget: The planner's B-hat.

    Returns:
        All columns of `data`.
    """
    improve = improvement_probability(
        money,
        base=base,
        gain=params.improve_gain,
        slope=params.improve_slope * money.shape[0] / budget,
        shift=params.improve_shift,
    )
    stay = of_people(params.stay, region)
    direction = improve_or_deteriorate(uniform, improve[region], stay)
    after = dict(data)
    for name, move in moves.items():
        change = move.better * getattr(params, move.change)
        after[name] = moved(data[name], direction, change, move.low, move.high)
    return after
