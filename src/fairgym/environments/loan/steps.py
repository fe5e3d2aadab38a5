"""Steps of one month of the loan environment, in the order of MAFE, appendix F.

Each function is a numbered step of the card and returns what later steps need. `Loan.transition`
calls them; the formulas are in `dynamics.py`.
"""

from collections.abc import Mapping, Sequence

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.core import computed_once, gather, highest, replace_rows
from fairgym.data import Score
from fairgym.environments._common.moves import moved
from fairgym.environments.loan import dynamics
from fairgym.environments.loan.month import (
    IDLE,
    REPAYING,
    WAITING,
    Admission,
    Books,
    Collection,
    Ending,
    Loans,
    Payout,
)
from fairgym.environments.loan.params import LoanParams
from fairgym.environments.loan.types import BankState, LoanNoise, LoanState

SMALLEST_DEBT = 0.005  # dollars; a balance below it is paid off


def admit(
    state: LoanState,
    record: Mapping[str, Float[Array, " people"]],
    score: Score,
    threshold: Float[Array, " offers"],
) -> Admission:
    """Approve applicants by threshold (steps 1 and 2); they wait from the next step on."""
    rows = state.applicants
    columns = {name: gather(column, rows) for name, column in record.items()}
    qualification = dynamics.qualification_score(score, columns)
    approved = state.applying & (qualification >= threshold[gather(state.offer, rows)])
    stage = replace_rows(state.stage, rows, approved, WAITING)
    waiting_since = replace_rows(state.waiting_since, rows, approved, state.time + 1)
    return Admission(qualification, approved, stage, waiting_since)


def pay_out(
    noise: LoanNoise,
    state: LoanState,
    scores: Sequence[Float[Array, " people"]],
    cap: int,
    deposit_rate: float | Float[Array, ""],
    longest_term: int,
) -> tuple[Payout, ...]:
    """Pay out the highest scores of each bank's queue (step 3).

    The banks share the cap. If it is odd, the first bank gets one more.
    """
    payouts, banks = [], len(scores)
    for bank in range(banks):
        queue = state.of_bank(bank, state.stage == WAITING)
        places = (cap + banks - 1 - bank) // banks
        rows, paid_out = highest(scores[bank], queue, places, noise.priority)
        principal, term = gather(state.principal, rows), gather(state.term, rows)
        waited = (state.time - gather(state.waiting_since, rows)).astype(jnp.float32)
        due = dynamics.deposits_due(principal, term, paid_out, deposit_rate, longest_term)
        payouts.append(Payout(rows, paid_out, waited, principal, term, due_later=due))
    return tuple(payouts)


def collect(
    noise: LoanNoise,
    state: LoanState,
    record: Mapping[str, Float[Array, " people"]],
    score: Score,
    relief: Float[Array, " offers"],
    relief_forgiven: float | Float[Array, ""],
) -> Collection:
    """Apply relief and collect the installments (steps 4 and 5)."""
    repaying = state.stage == REPAYING
    rate = dynamics.monthly_rate(state.interest_rate)
    remaining = (state.matures_at - state.time).astype(jnp.float32)
    scheduled = dynamics.scheduled_installment(state.balance, rate, remaining)
    requested = dynamics.requested_installment(scheduled, relief[state.offer])
    burdened = dynamics.debt_to_income_with(state.debt_to_income, requested, state.annual_income)
    fitted = dynamics.payment_propensity(score, {**record, "debt_to_income": burdened})
    propensity = jnp.clip(fitted + state.residual, 0.0, 1.0)
    paid = dynamics.payment(propensity, noise.payment, scheduled, requested)
    forgiven = jnp.where(repaying, relief_forgiven * (scheduled - requested), 0.0)
    requested = jnp.where(repaying, requested, 0.0)
    paid = jnp.where(repaying, paid, 0.0)
    return Collection(
        requested=requested,
        paid=paid,
        balance=dynamics.next_balance(
            state.balance, jnp.where(repaying, rate, 0.0), paid, forgiven
        ),
        total_requested=state.total_requested + requested,
        total_received=state.total_received + paid,
    )


@computed_once
def end_loans(
    state: LoanState, collection: Collection, default_ratio: float | Float[Array, ""]
) -> Ending:
    """End loans (step 6): default if behind twice in a row, repaid if nothing is owed."""
    repaying = state.stage == REPAYING
    behind_twice, behind = dynamics.default_flags(
        collection.total_requested, collection.total_received, state.warning, default_ratio
    )
    defaulted = repaying & behind_twice
    cleared = (state.time + 1 >= state.matures_at) | (collection.balance < SMALLEST_DEBT)
    repaid = repaying & ~defaulted & cleared
    ended = defaulted | repaid
    return Ending(defaulted, repaid, ended, behind & repaying & ~ended)


def move_records(
    state: LoanState, ending: Ending, params: LoanParams
) -> dict[str, Float[Array, " people"]]:
    """Update credit record, income and DTI of people whose loan ends (step 7)."""
    better = ending.repaid.astype(jnp.float32) - ending.defaulted.astype(jnp.float32)
    record = dynamics.next_record(
        state.record, better, params.fico_change, params.delinquency_change
    )
    income, debt = params.income_change, -params.debt_to_income_change
    return {
        **record,
        "annual_income": moved(state.annual_income, better, income, 0.0, jnp.inf),
        "debt_to_income": moved(state.debt_to_income, better, debt, 0.0, jnp.inf),
    }


def move_loans(
    state: LoanState,
    admission: Admission,
    payouts: Sequence[Payout],
    collection: Collection,
    ending: Ending,
) -> Loans:
    """Combine steps 2 to 6: start the loans paid out and clear those that have ended.

    Args:
        state: State at the beginning of the month.
        admission: Result of steps 1 and 2.
        payouts: Result of step 3, one per bank.
        collection: Result of steps 4 and 5.
        ending: Result of step 6.
    """
    # people whose loan has ended are idle again
    stage = jnp.where(ending.ended, IDLE, admission.stage)
    served, matures_at = state.served, state.matures_at
    balance, month_after = ending.closed(collection.balance), state.time + 1
    for payout in payouts:
        stage = payout.start(stage, REPAYING)
        served = payout.start(served, True)
        matures_at = payout.start(matures_at, month_after + payout.term.astype(jnp.int32))
        balance = payout.start(balance, payout.principal)
    return Loans(
        stage=stage,
        waiting_since=admission.waiting_since,
        matures_at=matures_at,
        balance=balance,
        installment=ending.closed(collection.requested),
        total_requested=ending.closed(collection.total_requested),
        total_received=ending.closed(collection.total_received),
        warning=ending.warning,
        served=served,
    )


def book(state: BankState, received: Float[Array, "*banks"], due: Float[Array, "*banks"]) -> Books:
    """Book the profit (step 8): dollars received from borrowers less those due to depositors."""
    payments = received / 1000.0
    profit = payments - due / 1000.0
    return Books(
        profit=profit,
        total_profit=state.total_profit + profit,
        total_losses=state.total_losses + jnp.maximum(-profit, 0.0),
        total_payments=state.total_payments + payments,
    )
