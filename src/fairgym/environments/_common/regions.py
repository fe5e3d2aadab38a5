"""Public money of a region that moves the features of its people (MAFE, equations 16 and 24)."""

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
    """Parameters of the environments in which a planner gives money to regions."""

    improve_gain: Number = fraction(
        0.4, "R: what money adds at most to the chance to improve (table 8)", per="region"
    )
    improve_slope: Number = param(
        16.0,
        "V times B-hat / N_g: how fast money works (table 8)",
        low=0.0,
        high=1000.0,
        per="region",
    )
    improve_shift: Number = param(
        -4.0,
        "W (printed as +4, with which money changes nothing)",
        low=-100.0,
        high=100.0,
        per="region",
    )
    stay: Number = fraction(0.2, "U: chance that features stay (table 8)", per="region")


class Move(NamedTuple):
    """Movement of a person's feature.

    Attributes:
        change: name of the parameter that says how far, in the feature's unit.
        better: +1 if a higher value is an improvement, -1 if a lower one is.
        low: lowest value.
        high: highest value.
    """

    change: str
    better: float
    low: float
    high: float


def of_people(value: Number, region: Int[Array, " people"]) -> Number:
    """A parameter as people meet it: one number for all, or that of each person's region."""
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
        data: the columns of the people.
        moves: the columns that move.
        uniform: independent uniform numbers in [0, 1).
        region: region of each person.
        money: dollars of each region.
        params: R, V, W, U and the changes that `moves` name.
        base: Q.
        budget: the planner's B-hat.

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
