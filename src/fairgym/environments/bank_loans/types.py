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


class RecordingState(BankLoansState):
    """The same with what the bank has recorded of its own loans.

    Attributes:
        loans: loans that it has made, by score.
        repayments: those of them that were repaid.
    """

    loans: Float[Array, " scores"]
    repayments: Float[Array, " scores"]


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


class SelectiveComponents(BankLoansComponents):
    """Those of a bank that never learns whether who is denied would have repaid.

    It knows the outcome of each of its loans, and for whom it denies it has an estimate:
    `would_repay` and `successful` are the truth, which it does not know.
    """

    estimated_would_repay: Float[Array, " groups"] = component(
        "applicants who repaid a loan, and of those without one the estimated share who would",
        unit="people",
        per="group",
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
