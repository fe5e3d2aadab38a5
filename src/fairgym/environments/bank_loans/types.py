"""State, components and noise of bank loans."""

from jaxtyping import Array, Float, Int

from fairgym.core import Components, State, Struct, component


class BankLoansState(State):
    """The bank, the groups, and the applicant of this step.

    Attributes:
        group: place of the applicant's group.
        score: place of the applicant's score, from 0.
        shares: share of each score in each group.
        cash: the bank's, in dollars.
    """

    group: Int[Array, ""]
    score: Int[Array, ""]
    shares: Float[Array, "groups scores"]
    cash: Float[Array, ""]


class BankLoansComponents(Components):
    """Components of one step."""

    profit: Float[Array, ""] = component(
        "interest on loans repaid, less loans defaulted", unit="dollars", nonnegative=False
    )
    applicants: Float[Array, "groups scores"] = component(
        "people who applied for a loan", unit="people", per=("group", "score")
    )
    approved: Float[Array, " groups"] = component(
        "applicants who got a loan", unit="people", per="group"
    )
    would_repay: Float[Array, " groups"] = component(
        "applicants who would repay a loan, whether they got one or not",
        unit="people",
        symbol="will_repay",
        per="group",
    )
    successful: Float[Array, " groups"] = component(
        "applicants who got a loan and repaid it",
        unit="people",
        symbol="successful_loan",
        per="group",
    )
    defaulted: Float[Array, " groups"] = component(
        "applicants who got a loan and defaulted", unit="people", per="group"
    )
    score_shares: Float[Array, "groups scores"] = component(
        "share of each score in each group after the step",
        unit="",
        symbol="P_c(X)",
        per=("group", "score"),
        level=True,
    )
    cash: Float[Array, ""] = component(
        "cash of the bank after the step", unit="dollars", nonnegative=False, level=True
    )


class BankLoansNoise(Struct):
    """The randomness of one step; all uniform in [0, 1).

    Attributes:
        repayment: decides whether the applicant would repay.
        group: decides the group of the next applicant.
        score: decides the score of the next applicant.
    """

    repayment: Float[Array, ""]
    group: Float[Array, ""]
    score: Float[Array, ""]
