"""The numbers of bank loans."""

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Float

from fairgym.core import FairgymError, Params, param
from fairgym.environments.bank_loans.dynamics import SCORES

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

    start_advantaged: Number = param(
        1 / SCORES,
        "share of each score in the advantaged group at the start",
        low=0.0,
        high=1.0,
        per="score",
    )
    start_disadvantaged: Number = param(
        1 / SCORES,
        "share of each score in the disadvantaged group at the start",
        low=0.0,
        high=1.0,
        per="score",
    )
    repayment: Number = param(
        0.5, "chance that an applicant would repay a loan", low=0.0, high=1.0, per="score"
    )
    advantaged: float = param(
        0.5, "chance that an applicant is of the advantaged group", low=0.0, high=1.0
    )
    loan: float = param(1.0, "amount of a loan", unit="dollars", low=0.01, high=1e6)
    interest: float = param(
        1.0, "interest on a loan that is repaid, as a share of it", low=0.0, high=10.0
    )
    cash: float = param(
        10_000.0, "cash of the bank at the start", unit="dollars", low=0.0, high=1e9
    )
    shift: float = param(
        0.01,
        "mass of a group's distribution that a loan moves to the next score",
        low=0.0,
        high=1.0,
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

    prior_repayment: float = param(
        0.6, "estimated chance to repay of a score without any loan so far", low=0.0, high=1.0
    )
    prior_weight: float = param(
        10.0, "number of loans that this estimate counts as", unit="loans", low=0.01, high=1e6
    )
