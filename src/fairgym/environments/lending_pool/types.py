"""Parameters, state, components and noise of the lending pool environment."""

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
    """State of the bank and its people; the stage says who applies in this step.

    Attributes:
        credit: Probability that each person repays a loan.
        profit: Loans repaid minus loans defaulted so far.
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
        "loans repaid minus loans defaulted", unit="loans", nonnegative=False
    )
    refused: Float[Array, ""] = component(
        "loans offered to people who had not applied", unit="loans"
    )
    margin_missed: Float[Array, ""] = component(
        "episodes that end with a profit below the target margin", unit="episodes"
    )
    credit: Float[Array, " persons"] = component(
        "credit of each person after the step, the probability to repay",
        unit="",
        per="person",
        level=True,
    )


class LendingPoolNoise(Struct):
    """Randomness of one step.

    Attributes:
        outcome: Uniform in [0, 1); decides whether the loan is repaid.
        shift: Standard normal number that varies the change of credit; 0 if credit is discrete.
        application: Uniform in [0, 1) for each person; decides who applies in the next step.
    """

    outcome: Float[Array, ""]
    shift: Float[Array, ""]
    application: Float[Array, " people"]


Number = float | Float[jax.Array, "..."]  # one number, or one per person


class LendingPoolParams(Params):
    """Parameters of the lending pool; every field can be vmapped.

    Defaults are those of A.4.2, with discrete credit. `LendingPool.default_params` has those of
    Gaussian credit.
    """

    application: Number = fraction(
        0.9, "Probability p_i that a person applies in a step.", per="person"
    )
    start_a: float = fraction(
        0.5, "Credit of group A at the start (the authors' code begins at 0.6)."
    )
    start_b: float = fraction(0.9, "Credit of group B at the start.")
    credit_change: float = fraction(
        0.1, "Mean gain of credit c when a loan is repaid, and loss when it defaults."
    )
    credit_spread: float = fraction(
        0.0, "Standard deviation of the change of credit, if Gaussian (A.3: 0.1)."
    )
    lowest_credit: float = fraction(0.2, "Lowest credit.")
    highest_credit: float = fraction(0.9, "Highest credit.")
    margin: float = param(0.1, "Target profit per step over the episode.", low=-1.0, high=1.0)
