"""Market with a single bank, and what its agents observe.

The market with two banks is in `pool.py`.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar, Generic, TypeVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fairgym.core import Entities, EntitySpace, Feature, count_people, gather
from fairgym.data import Score
from fairgym.environments.loan import dynamics
from fairgym.environments.loan.groups import Grouping
from fairgym.environments.loan.month import REPAYING, WAITING, Month
from fairgym.environments.loan.params import LoanParams
from fairgym.environments.loan.types import LoanNoise, LoanState, QueueComponents

StateT = TypeVar("StateT", bound=LoanState)


@dataclasses.dataclass(frozen=True)
class Market(Generic[StateT]):
    """Market with a single bank, to which everybody applies.

    Attributes:
        groups: Names of the groups.
    """

    prefixes: ClassVar[tuple[str, ...]] = ("",)  # of each bank's agents and metrics
    failure: ClassVar[str] = "the bank goes bankrupt"
    params: ClassVar[type[LoanParams]] = LoanParams
    components: ClassVar[type[QueueComponents]] = QueueComponents
    noise: ClassVar[type[LoanNoise]] = LoanNoise
    places: ClassVar[tuple[int, ...]] = ()  # shape of the numbers in the books

    groups: tuple[str, ...]

    @property
    def context(self) -> tuple[Feature, ...]:
        """Further context that every agent observes."""
        return ()

    def at_start(self, state: LoanState, key: PRNGKeyArray) -> LoanState:
        """Return the state before the first month, given the state of a single bank."""
        return state

    def features(self, state: StateT) -> dict[str, Float[Array, " people"]]:
        """Return further features of the people by name."""
        return {}

    def context_values(self, state: StateT, bank: int) -> dict[str, Array]:
        """Return the values of a bank's further context by name."""
        return {}

    def by_bank(self, values: Sequence[Array]) -> Array:
        """Return one array with the values of every bank."""
        return values[0]

    def entry(self, values: Float[Array, "*banks"], bank: int) -> Float[Array, ""]:
        """Return one bank's number in the books."""
        return values

    def counted(self, month: Month, state: StateT) -> QueueComponents:
        """Return the components of the month.

        Args:
            month: Results of the month's steps.
            state: State before them.
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
        """Return the state after the month, given the state after all its steps.

        Args:
            noise: Randomness of the month.
            state: State with the applicants of the next month.
            threshold: Thresholds of the month by bank and group.
            relief: Relief shares of the month by bank and group.
            score: Fitted qualification score.
            params: Parameters.
        """
        return state

    def of_bank(self, bank: int, month: Month, state: StateT) -> QueueComponents:
        """Return the components of one bank.

        Args:
            bank: Number of the bank, from 0.
            month: Results of the month's steps.
            state: State before them.
        """

        def count(who: Array, rows: Array | None = None) -> Array:
            theirs = state.of_bank(bank, who, rows)
            return count_people(theirs, state, len(self.groups), rows)

        payout, approved = month.payouts[bank], month.admission.approved
        # approved people stay in the queue until they are paid out
        first_approved = approved & ~gather(state.served, state.applicants)
        first_paid_out = payout.paid_out & ~gather(state.served, payout.rows)
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


def features(
    state: LoanState, market: Market, grouping: Grouping, scores: Mapping[str, Score]
) -> dict[str, Float[Array, " people"]]:
    """Return every feature of every person by name, including the fitted scores.

    Args:
        state: Current state.
        market: Market in which people borrow.
        grouping: Groups of the people.
        scores: Fitted scores of the data, by name.
    """
    record = dynamics.current_record(state.record, state.installment)
    waiting, repaying = state.stage == WAITING, state.stage == REPAYING
    return {
        **market.features(state),
        **grouping.columns(state.group),
        **record,
        "qualification_score": dynamics.qualification_score(scores["qualification"], record),
        "propensity": dynamics.payment_propensity(scores["propensity"], record),
        "balance": state.balance,
        "time_to_maturity": jnp.where(
            repaying, (state.matures_at - state.time).astype(jnp.float32), 0.0
        ),
        "warning": state.warning.astype(jnp.float32),
        "total_requested": state.total_requested,
        "total_received": state.total_received,
        "installment": state.installment,
        "time_waited": jnp.where(
            waiting, (state.time - state.waiting_since).astype(jnp.float32), 0.0
        ),
    }


def observations(
    state: LoanState,
    people: Mapping[str, Float[Array, " people"]],
    spaces: Mapping[str, EntitySpace],
    market: Market,
    estimates: Mapping[str, Array],
) -> dict[str, Entities]:
    """Return each bank's observations: this month's applicants, the queue and the borrowers.

    Args:
        state: Current state.
        people: Features of the people, as agents may observe them.
        spaces: Observation spaces by agent.
        market: Market in which people borrow.
        estimates: What the bank has estimated from its loans, for the admissions agent.
    """
    observed: dict[str, Entities] = {}
    for bank, prefix in enumerate(market.prefixes):
        context = {"time": state.time, "total_profit": market.entry(state.total_profit, bank)}
        context |= market.context_values(state, bank)
        applying = state.of_bank(bank, state.applying, state.applicants)
        waiting = state.of_bank(bank, state.stage == WAITING)
        repaying = state.of_bank(bank, state.stage == REPAYING)
        observed |= {
            f"{prefix}{role}": spaces[f"{prefix}{role}"].view(people, who, values, rows)
            for role, who, values, rows in (
                ("admissions", applying, {**context, **estimates}, state.applicants),
                ("disbursement", waiting, context, None),
                ("debt_management", repaying, context, None),
            )
        }
    return observed
