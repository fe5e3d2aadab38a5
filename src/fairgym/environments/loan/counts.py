"""The components of a month: counts of what its steps came to, bank by bank."""

import jax.numpy as jnp
from jaxtyping import Array

from fairgym.core import Struct, count_people
from fairgym.environments.loan import pool
from fairgym.environments.loan.steps import WAITING, Admission, Books, Ending, Loans, Payout
from fairgym.environments.loan.types import LoanState, QueueComponents


class Month(Struct):
    """Results of a month's steps, as far as they are counted; a payout for every bank."""

    admission: Admission
    payouts: tuple[Payout, ...]
    ending: Ending
    loans: Loans
    books: Books


def components(month: Month, state: LoanState, groups: int) -> QueueComponents:
    """Components of the month: of a single bank, or of the pool and each of its banks.

    Args:
        month: results of its steps.
        state: the state before them.
        groups: number of groups.
    """
    banks = [of_bank(bank, month, state, groups) for bank in range(len(month.payouts))]
    return banks[0] if len(banks) == 1 else pool.together(banks)


def of_bank(bank: int, month: Month, state: LoanState, groups: int) -> QueueComponents:
    """Components of one bank.

    Args:
        bank: number of the bank, from 0.
        month: as in `components`.
        state: likewise.
        groups: likewise.
    """

    def count(who: Array, rows: Array | None = None) -> Array:
        return count_people(state.of_bank(bank, who, rows), state, groups, rows)

    payout, approved = month.payouts[bank], month.admission.approved
    # whoever is approved stays in the queue until the payout
    first_approved = approved & ~state.served[state.applicants]
    first_paid_out = payout.paid_out & ~state.served[payout.rows]
    left_waiting = (state.stage == WAITING) & (month.loans.stage == WAITING)
    return QueueComponents(
        profit=pool.entry(month.books.profit, bank),
        applied=count(state.applying, state.applicants),
        approved=count(approved, state.applicants),
        disbursed=count(payout.paid_out, payout.rows),
        waited=count(jnp.where(payout.paid_out, payout.waited, 0.0), payout.rows),
        ended=count(month.ending.ended),
        defaulted=count(month.ending.defaulted),
        waiting=count(left_waiting),
        never_paid_out=count(~month.loans.served),
        first_approved=count(first_approved, state.applicants),
        first_disbursed=count(first_paid_out, payout.rows),
        people=count(jnp.ones(state.group.shape, bool)),
    )
