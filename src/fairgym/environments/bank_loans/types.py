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
    """State of the bank, the groups, and the applicant of this step.

    Attributes:
        group: Index of the applicant's group.
        score: Index of the applicant's score, from 0.
        shares: Share of each score in each group.
        cash: Cash of the bank, dollars.
    """

    group: Int[Array, ""]
    score: Int[Array, ""]
    shares: Float[Array, "groups scores"]
    cash: Float[Array, ""]


class RecordingState(BankLoansState):
    """State with the bank's records of its own loans.

    Attributes:
        loans: Number of loans granted, by score.
        repayments: Number of those that were repaid.
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
    """Components of a bank that does not learn the outcomes of people it denies.

    The bank knows the outcome of each of its loans and has an estimate for people it denies.
    `would_repay` and `successful` are the truth, which it does not know.
    """

    estimated_would_repay: Float[Array, " groups"] = group_count(
        "applicants who repaid a loan, plus the estimated share of those denied who would repay"
    )


class BankLoansNoise(Struct):
    """Randomness of one step; each number is uniform in [0, 1).

    Attributes:
        repayment: Decides whether the applicant would repay.
        group: Decides the group of the next applicant.
        score: Decides the score of the next applicant.
    """

    repayment: Float[Array, ""]
    group: Float[Array, ""]
    score: Float[Array, ""]


Number = float | Float[jax.Array, "..."]  # one number, or one per score

# Tolerance of the sum of a start distribution.
NEAR_ONE = 1e-4


class BankLoansParams(Params):
    """Parameters of bank loans; every field can be vmapped.

    Parameters that differ by score default to one number for all scores here;
    `BankLoans.default_params` has the published ones.

    Raises:
        FairgymError: If a number is out of its range, or a start distribution does not sum to 1.
    """

    start_advantaged: Number = fraction(
        1 / SCORES, "Share of each score in the advantaged group at the start.", per="score"
    )
    start_disadvantaged: Number = fraction(
        1 / SCORES, "Share of each score in the disadvantaged group at the start.", per="score"
    )
    repayment: Number = fraction(0.5, "Probability that an applicant repays a loan.", per="score")
    advantaged: float = fraction(0.5, "Probability that an applicant is advantaged.")
    loan: float = param(1.0, "Amount of a loan.", unit="dollars", low=0.01, high=1e6)
    interest: float = param(
        1.0, "Interest on a repaid loan, as a share of its amount.", low=0.0, high=10.0
    )
    cash: float = param(
        10_000.0, "Cash of the bank at the start.", unit="dollars", low=0.0, high=1e9
    )
    shift: float = fraction(
        0.01, "Mass of a group's distribution that a loan moves to the next score."
    )

    def __check_init__(self) -> None:
        """Raise a FairgymError for a start distribution that does not sum to 1."""
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
                    f"{type(self).__name__}.{name} must sum to 1 over {SCORES} scores, got the sum"
                    f" {wrong[0]:g}"
                )


class SelectiveParams(BankLoansParams):
    """Parameters of bank loans with selective labels: the bank's prior."""

    prior_repayment: float = fraction(
        0.6, "Prior estimate of a score's probability to repay, before any loan."
    )
    prior_weight: float = param(
        10.0, "Number of loans that the prior counts as.", unit="loans", low=0.01, high=1e6
    )
