"""Parameters, state, components and noise of bank loans."""

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from fairgym.core import (
    Components,
    FairgymError,
    Params,
    State,
    Struct,
    component,
    fraction,
    group_count,
    param,
)
from fairgym.environments.bank_loans.dynamics import SCORES


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
    approved: Float[Array, " groups"] = group_count("applicants who got a loan")
    would_repay: Float[Array, " groups"] = group_count(
        "applicants who would repay a loan, whether they got one or not", "will_repay"
    )
    successful: Float[Array, " groups"] = group_count(
        "applicants who got a loan and repaid it", "successful_loan"
    )
    defaulted: Float[Array, " groups"] = group_count("applicants who got a loan and defaulted")
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

    estimated_would_repay: Float[Array, " groups"] = group_count(
        "applicants who repaid a loan, and of those without one the estimated share who would"
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


Number = float | Float[jax.Array, "..."]  # one number, or one per score

# What is seven times as much as one number for all scores, or the sum of one for each.
NEAR_ONE = 1e-4


class BankLoansParams(Params):
    """Parameters of bank loans; every field may be vmapped over.

    Those that differ over scores are here one number for all of them;
    `BankLoans.default_params` has the published ones.

    Raises:
        FairgymError: a number out of its range, or a start distribution whose sum is not 1.
    """

    start_advantaged: Number = fraction(
        1 / SCORES, "share of each score in the advantaged group at the start", per="score"
    )
    start_disadvantaged: Number = fraction(
        1 / SCORES, "share of each score in the disadvantaged group at the start", per="score"
    )
    repayment: Number = fraction(0.5, "chance that an applicant would repay a loan", per="score")
    advantaged: float = fraction(0.5, "chance that an applicant is of the advantaged group")
    loan: float = param(1.0, "amount of a loan", unit="dollars", low=0.01, high=1e6)
    interest: float = param(
        1.0, "interest on a loan that is repaid, as a share of it", low=0.0, high=10.0
    )
    cash: float = param(
        10_000.0, "cash of the bank at the start", unit="dollars", low=0.0, high=1e9
    )
    shift: float = fraction(
        0.01, "mass of a group's distribution that a loan moves to the next score"
    )

    def __check_init__(self) -> None:
        """Raise a FairgymError for a distribution at the start whose sum is not 1."""
        for name in ("start_advantaged", "start_disadvantaged"):
            value = getattr(self, name)
            if isinstance(value, Tracer):
                continue
            shares = np.asarray(value)
            each = shares.ndim > 0 and shares.shape[-1] == SCORES
            sums = shares.sum(axis=-1) if each else shares * SCORES
            wrong = np.atleast_1d(sums)[np.atleast_1d(abs(sums - 1.0) > NEAR_ONE)]
            if wrong.size:
                raise FairgymError(
                    f"{type(self).__name__}.{name} has the sum {wrong[0]:g} over {SCORES} scores;"
                    " it takes shares whose sum is 1"
                )


class SelectiveParams(BankLoansParams):
    """Parameters of bank loans with selective labels: what the bank believes before any loan."""

    prior_repayment: float = fraction(
        0.6, "estimated chance to repay of a score without any loan so far"
    )
    prior_weight: float = param(
        10.0, "number of loans that this estimate counts as", unit="loans", low=0.01, high=1e6
    )
