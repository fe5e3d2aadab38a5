"""Selective labels: a bank that learns what becomes of the loans it makes, and of no others.

Applicants are told apart by the decile of their qualification score among the people of the data.
"""

import dataclasses
from functools import cached_property
from typing import ClassVar, Generic

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from fairgym.core import Feature, by_group, count_people, fraction, group_count, param
from fairgym.data import Population
from fairgym.environments.loan import dynamics
from fairgym.environments.loan.market import StateT
from fairgym.environments.loan.month import Month
from fairgym.environments.loan.params import LoanParams
from fairgym.environments.loan.types import LoanState, QueueComponents
from fairgym.fairness import Disparity, Metric, Rate

DECILES = 10
ESTIMATES = tuple(
    Feature(f"estimated_decile_{number}", 0, 1, source="estimated chance to repay")
    for number in range(1, DECILES + 1)
)


class SelectiveParams(LoanParams):
    """Parameters of the loan environment with selective labels: beliefs before any loan."""

    prior_repayment: float = fraction(
        0.8, "estimated chance to repay of a decile without any ended loan so far"
    )
    prior_weight: float = param(
        10.0, "number of loans that this estimate counts as", unit="loans", low=0.01, high=1e6
    )


class RecordingState(LoanState):
    """The same with what the bank has recorded of its own loans.

    Attributes:
        decile: decile of the qualification score at the last approval, from 0.
        ended: loans that have ended, by the decile at their approval.
        kept: those of them that did not default.
    """

    decile: Int[Array, " people"] = eqx.field(kw_only=True)
    ended: Float[Array, " deciles"] = eqx.field(kw_only=True)
    kept: Float[Array, " deciles"] = eqx.field(kw_only=True)


class SelectiveComponents(QueueComponents):
    """Those of a bank that does not know what would become of whom it refuses.

    The first two are the truth, which it never learns; the others what its own loans tell of the
    same people.
    """

    would_repay: Float[Array, " groups"] = group_count(
        "applicants who would keep up payments at this month's relief", "", "admissions"
    )
    approved_would_repay: Float[Array, " groups"] = group_count(
        "those of them who were approved", "", "admissions"
    )
    estimated_would_repay: Float[Array, " groups"] = group_count(
        "applicants, each counted by the estimated chance to repay", "", "admissions"
    )
    estimated_approved_would_repay: Float[Array, " groups"] = group_count(
        "those of them who were approved", "", "admissions"
    )


def estimates(state: RecordingState, params: LoanParams) -> Float[Array, " deciles"]:
    """Chance to repay of each decile: the mean of a Beta distribution after the ended loans."""
    assert isinstance(params, SelectiveParams)
    weight = params.prior_weight
    return (state.kept + params.prior_repayment * weight) / (state.ended + weight)


class AllLabels(Generic[StateT]):
    """A bank that does not learn from its loans."""

    context: ClassVar[tuple[Feature, ...]] = ()  # what the admissions agent observes of it

    def params(self, of_market: type[LoanParams]) -> type[LoanParams]:
        """Struct of the parameters, from that of the market."""
        return of_market

    def components(self, of_market: type[QueueComponents]) -> type[QueueComponents]:
        """Struct of the components, from that of the market."""
        return of_market

    def metrics(self) -> dict[str, Metric]:
        """Further metrics."""
        return {}

    def at_start(self, state: LoanState) -> LoanState:
        """State before the first month, from that of the market."""
        return state

    def shown(self, state: StateT, params: LoanParams) -> dict[str, Array]:
        """Numbers of the context by name."""
        return {}

    def learned(
        self,
        state: StateT,
        month: Month,
        components: QueueComponents,
        relief: Float[Array, " groups"],
        params: LoanParams,
    ) -> tuple[StateT, QueueComponents]:
        """State and components with what the bank learns in a month.

        Args:
            state: The state before the month's steps.
            month: Results of these.
            components: The components of the market.
            relief: Relief share of each group.
            params: The parameters.
        """
        return state, components


@dataclasses.dataclass(frozen=True, eq=False)
class SelectiveLabels(AllLabels[RecordingState]):
    """A bank that learns outcomes of its own loans, and nothing of whom it refused.

    Attributes:
        data: The population that scores are fitted to.
        columns: Those that the qualification score is fitted to.
        groups: Number of groups.
    """

    context: ClassVar[tuple[Feature, ...]] = ESTIMATES

    data: Population
    columns: tuple[str, ...]
    groups: int

    @cached_property
    def _edges(self) -> np.ndarray:
        """The qualification scores between the deciles of the data's people."""
        with jax.ensure_compile_time_eval():  # also where a program is being compiled
            record = {name: jnp.asarray(self.data.columns[name]) for name in self.columns}
            score = dynamics.qualification_score(self.data.scores["qualification"], record)
            return np.quantile(np.asarray(score), np.arange(1, DECILES) / DECILES)

    def params(self, of_market: type[LoanParams]) -> type[LoanParams]:
        """Those of the loan environment with beliefs."""
        return SelectiveParams

    def components(self, of_market: type[QueueComponents]) -> type[QueueComponents]:
        """Those of the queue with labels and estimates."""
        return SelectiveComponents

    def metrics(self) -> dict[str, Metric]:
        """True positive rates of admission by the truth and by the estimates, and their gaps."""
        truth = Rate("approved_would_repay", "would_repay", title="True positive rate")
        estimated = Rate(
            "estimated_approved_would_repay",
            "estimated_would_repay",
            title="Estimated true positive rate",
        )
        gap, estimated_gap = "Gap of true positive rates", "Gap of estimated true positive rates"
        return {
            "tpr": truth,
            "tpr_disparity": Disparity(truth, title=gap),
            "estimated_tpr": estimated,
            "estimated_tpr_disparity": Disparity(estimated, title=estimated_gap),
        }

    def at_start(self, state: LoanState) -> RecordingState:
        """State of a bank that has recorded nothing yet."""
        none, decile = jnp.zeros(DECILES), jnp.zeros_like(state.stage)
        return RecordingState(**vars(state), decile=decile, ended=none, kept=none)

    def shown(self, state: RecordingState, params: LoanParams) -> dict[str, Array]:
        """Estimates by the names of `ESTIMATES`."""
        names = [feature.name for feature in ESTIMATES]
        return dict(zip(names, estimates(state, params), strict=True))

    def learned(
        self,
        state: RecordingState,
        month: Month,
        components: QueueComponents,
        relief: Float[Array, " groups"],
        params: LoanParams,
    ) -> tuple[RecordingState, SelectiveComponents]:
        """Outcomes of its own loans are recorded; applicants are counted by label and estimate."""
        rows, approved, ending = state.applicants, month.admission.approved, month.ending
        # the truth: what would become of each applicant at this month's relief
        given = relief[state.group[rows]]
        rate = dynamics.monthly_rate(state.interest_rate[rows])
        scheduled = dynamics.scheduled_installment(state.principal[rows], rate, state.term[rows])
        burdened = dynamics.debt_to_income_with(
            state.debt_to_income[rows],
            dynamics.requested_installment(scheduled, given),
            state.annual_income[rows],
        )
        record = {name: column[rows] for name, column in state.record.items()}
        fitted = dynamics.payment_propensity(
            self.data.scores["propensity"], {**record, "debt_to_income": burdened}
        )
        paying = jnp.clip(fitted + state.residual[rows], 0.0, 1.0)
        # what the bank believes of the applicant's decile
        edges = jnp.asarray(self._edges, jnp.float32)
        places = jnp.searchsorted(edges, month.admission.qualification, side="right")
        decile = places.astype(jnp.int32)
        truth = dynamics.keeps_up(paying, given, params.default_ratio).astype(jnp.float32)
        belief = estimates(state, params)[decile]

        def count(numbers: Float[Array, " applicants"], who: Bool[Array, " applicants"]) -> Array:
            return count_people(numbers * who, state, self.groups, rows)

        def ended(who: Bool[Array, " people"]) -> Float[Array, " deciles"]:
            return by_group(who.astype(jnp.float32), state.decile, DECILES)

        counted = SelectiveComponents(
            **vars(components),
            would_repay=count(truth, state.applying),
            approved_would_repay=count(truth, approved),
            estimated_would_repay=count(belief, state.applying),
            estimated_approved_would_repay=count(belief, approved),
        )
        decile = jnp.where(approved, decile, state.decile[rows])
        state = state.replace(
            decile=state.decile.at[rows].set(decile, unique_indices=True),
            ended=state.ended + ended(ending.ended),
            kept=state.kept + ended(ending.repaid),
        )
        return state, counted
