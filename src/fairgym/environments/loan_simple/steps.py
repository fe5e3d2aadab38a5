"""The steps of the simplified loan environment, in the order of MAFE, appendix D.6.

Each function is a numbered step of the card, and returns what later steps need.
`LoanSimple.transition` calls them; the formulas are in `dynamics.py`, the books in `loan`'s steps.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from fairgym.core import Struct
from fairgym.data import Score
from fairgym.environments.loan import dynamics as loan
from fairgym.environments.loan_simple import dynamics
from fairgym.environments.loan_simple.params import LoanSimpleParams
from fairgym.environments.loan_simple.types import LoanSimpleNoise, LoanSimpleState


class Applicants(Struct):
    """Step 1: the people who apply, one entry each, with their records."""

    rows: Int[Array, " applicants"]
    group: Int[Array, " applicants"]
    record: dict[str, Float[Array, " applicants"]]


def applicants_of(state: LoanSimpleState) -> Applicants:
    """Step 1: those sampled at the end of the last step, so that the agents could see them."""
    rows = state.applicants
    record = {name: column[rows] for name, column in state.record.items()}
    return Applicants(rows, state.group[rows], record)


class Settlement(Struct):
    """Step 4: relief of each applicant's loan, and how it ends."""

    relief: Float[Array, " applicants"]
    repaid: Bool[Array, " applicants"]
    defaulted: Bool[Array, " applicants"]


def settle(
    noise: LoanSimpleNoise,
    applicants: Applicants,
    approved: Bool[Array, " applicants"],
    score: Score,
    relief: Float[Array, " groups"],
    relief_effect: float | Float[Array, ""],
) -> Settlement:
    """Step 4: relief, and the outcome of each loan."""
    share = relief[applicants.group]
    chance = dynamics.repayment_probability(
        score.predictor(applicants.record), share, relief_effect
    )
    repays = noise.outcome[applicants.rows] < chance
    return Settlement(share, approved & repays, approved & ~repays)


def cash_flows(
    applicants: Applicants,
    approved: Bool[Array, " applicants"],
    settlement: Settlement,
    params: LoanSimpleParams,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Step 5: dollars received of borrowers and due to depositors over the loans' whole lives."""
    record = applicants.record
    principal, term = record["principal"], record["term"]
    rate = loan.monthly_rate(record["interest_rate"])
    scheduled = loan.scheduled_installment(principal, rate, term)
    paid = dynamics.loan_payments(
        scheduled, term, settlement.relief, settlement.repaid, params.share_paid_before_default
    )
    due = dynamics.deposits_due(principal, term, params.deposit_rate)
    return jnp.sum(jnp.where(approved, paid, 0.0)), jnp.sum(jnp.where(approved, due, 0.0))


def move_records(
    state: LoanSimpleState,
    applicants: Applicants,
    settlement: Settlement,
    params: LoanSimpleParams,
) -> dict[str, Float[Array, " people"]]:
    """Step 6: credit records of those whose loan has ended move."""
    better = settlement.repaid.astype(jnp.float32) - settlement.defaulted.astype(jnp.float32)
    record = loan.next_record(
        applicants.record, better, params.fico_change, params.delinquency_change
    )
    return {
        name: getattr(state, name).at[applicants.rows].set(column, unique_indices=True)
        for name, column in record.items()
    }
