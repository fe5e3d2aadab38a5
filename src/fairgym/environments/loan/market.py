"""The market in which people borrow, with a single bank; that of two banks is in `pool.py`."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fairgym.core import Feature, Struct, count_people
from fairgym.data import Score
from fairgym.environments.loan.params import LoanParams
from fairgym.environments.loan.steps import WAITING, Admission, Books, Ending, Loans, Payout
from fairgym.environments.loan.types import LoanNoise, LoanState, QueueComponents

StateT = TypeVar("StateT", bound=LoanState)


class Month(Struct):
    """Results of a month's steps, as far as they are counted; a payout for every bank."""

    admission: Admission
    payouts: tuple[Payout, ...]
    ending: Ending
    loans: Loans
    books: Books


@dataclasses.dataclass(frozen=True)
class Market(Generic[StateT]):
    """A single bank, to which everybody applies.

    Attributes:
        groups: Names of the groups.
    """

    prefixes: ClassVar[tuple[str, ...]] = ("",)  # of the names of each bank's agents and metrics
    failure: ClassVar[str] = "the bank fails"
    params: ClassVar[type[LoanParams]] = LoanParams
    components: ClassVar[type[QueueComponents]] = QueueComponents
    noise: ClassVar[type[LoanNoise]] = LoanNoise
    places: ClassVar[tuple[int, ...]] = ()  # shape of a number of the books

    groups: tuple[str, ...]

    @property
    def context(self) -> tuple[Feature, ...]:
        """Further context that every agent observes."""
        return ()

    def at_start(self, state: LoanState, key: PRNGKeyArray) -> LoanState:
        """State before the first month, from that of a single bank."""
        return state

    def features(self, state: StateT) -> dict[str, Float[Array, " people"]]:
        """Further features of the people by name."""
        return {}

    def shown(self, state: StateT, bank: int) -> dict[str, Array]:
        """Numbers of the further context of a bank's agents, by name."""
        return {}

    def by_bank(self, values: Sequence[Array]) -> Array:
        """One array of the values of every bank."""
        return values[0]

    def entry(self, values: Float[Array, "*banks"], bank: int) -> Float[Array, ""]:
        """The number of one bank in the books."""
        return values

    def counted(self, month: Month, state: StateT) -> QueueComponents:
        """Components of the month.

        Args:
            month: Results of its steps.
            state: The state before them.
        """
        return self.of_bank(0, month, state)

    def closed(
        self,
        noise: LoanNoise,
        state: StateT,
        threshold: Float[Array, " offers"],
        relief: Float[Array, " offers"],
        score: Score,
        params: LoanParams,
    ) -> StateT:
        """State after the month, from the one in which all its steps are made.

        Args:
            noise: The month's randomness.
            state: The state with the applicants of the month to come.
            threshold: Terms of the month by bank and group.
            relief: Likewise.
            score: The fitted qualification score.
            params: The parameters.
        """
        return state

    def of_bank(self, bank: int, month: Month, state: StateT) -> QueueComponents:
        """Components of one bank.

        Args:
            bank: Number of the bank, from 0.
            month: As in `counted`.
            state: Likewise.
        """

        def count(who: Array, rows: Array | None = None) -> Array:
            theirs = state.of_bank(bank, who, rows)
            return count_people(theirs, state, len(self.groups), rows)

        payout, approved = month.payouts[bank], month.admission.approved
        # whoever is approved stays in the queue until the payout
        first_approved = approved & ~state.served[state.applicants]
        first_paid_out = payout.paid_out & ~state.served[payout.rows]
        left_waiting = (state.stage == WAITING) & (month.loans.stage == WAITING)
        return QueueComponents(
            profit=self.entry(month.books.profit, bank),
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
