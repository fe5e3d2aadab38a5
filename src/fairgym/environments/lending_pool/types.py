"""State, components and noise of the lending pool."""

from jaxtyping import Array, Float

from fairgym.core import Components, PopulationState, Struct, component

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

    applied: Float[Array, " groups"] = component(
        "people who applied for a loan", unit="people", per="group"
    )
    loans: Float[Array, " groups"] = component(
        "loans granted", unit="people", symbol="u_A, u_B", per="group"
    )
    loans_to: Float[Array, " persons"] = component(
        "loans granted to each person", unit="loans", symbol="u_i", per="person"
    )
    repaid: Float[Array, " groups"] = component("loans repaid", unit="people", per="group")
    defaulted: Float[Array, " groups"] = component("loans defaulted", unit="people", per="group")
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
