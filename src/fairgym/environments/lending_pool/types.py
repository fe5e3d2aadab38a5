"""Parameters, state, components and noise of the lending pool."""

import jax
from jaxtyping import Array, Float

from fairgym.core import (
    Components,
    Params,
    PopulationState,
    Struct,
    component,
    fraction,
    group_count,
    param,
)

IDLE, APPLYING = range(2)


class LendingPoolState(PopulationState):
    """The bank and its people; the stage says who applies in this step.

    Attributes:
        credit: chance that each person repays a loan.
        profit: loans repaid less loans defaulted so far.
    """

    credit: Float[Array, " people"]
    profit: Float[Array, ""]


class LendingPoolComponents(Components):
    """Components of one step."""

    applied: Float[Array, " groups"] = group_count("people who applied for a loan")
    loans: Float[Array, " groups"] = group_count("loans granted", "u_A, u_B")
    loans_to: Float[Array, " persons"] = component(
        "loans granted to each person", unit="loans", symbol="u_i", per="person"
    )
    repaid: Float[Array, " groups"] = group_count("loans repaid")
    defaulted: Float[Array, " groups"] = group_count("loans defaulted")
    profit: Float[Array, ""] = component(
        "loans repaid less loans defaulted", unit="loans", nonnegative=False
    )
    refused: Float[Array, ""] = component(
        "loans offered to somebody who had not applied", unit="loans"
    )
    margin_missed: Float[Array, ""] = component(
        "last steps of episodes whose profit is below the margin aimed at", unit="episodes"
    )
    credit: Float[Array, " persons"] = component(
        "credit of each person after the step, a chance to repay", unit="", per="person", level=True
    )


class LendingPoolNoise(Struct):
    """The randomness of one step.

    Attributes:
        outcome: uniform in [0, 1); decides whether the loan is repaid.
        shift: standard normal number by which the change of credit differs from its mean; 0 if
            credit is discrete.
        application: uniform in [0, 1) for each person; decides who applies in the next step.
    """

    outcome: Float[Array, ""]
    shift: Float[Array, ""]
    application: Float[Array, " people"]


Number = float | Float[jax.Array, "..."]  # one number, or one per person


class LendingPoolParams(Params):
    """Parameters of the lending pool; every field may be vmapped over.

    Defaults are those of A.4.2, with discrete credit; `LendingPool.default_params` has those of
    Gaussian credit.
    """

    application: Number = fraction(0.9, "p_i: chance that a person applies in a step", per="person")
    start_a: float = fraction(
        0.5, "credit of group A at the start (the authors' code begins at 0.6)"
    )
    start_b: float = fraction(0.9, "credit of group B at the start")
    credit_change: float = fraction(
        0.1, "c: mean gain of credit when a loan is repaid, and loss on default"
    )
    credit_spread: float = fraction(
        0.0, "standard deviation of changes of credit, if Gaussian (A.3: 0.1)"
    )
    lowest_credit: float = fraction(0.2, "lowest credit")
    highest_credit: float = fraction(0.9, "highest credit")
    margin: float = param(
        0.1, "profit per step that the bank aims at over the episode", low=-1.0, high=1.0
    )
