"""Selective labels: a bank that learns outcomes only of the loans it grants.

Applicants are grouped by the decile of their qualification score among the people of the data.
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
    Feature(f"estimated_decile_{number}", 0, 1, source="estimated probability to repay")
    for number in range(1, DECILES + 1)
)


class SelectiveParams(LoanParams):
    """Parameters of the loan environment with selective labels: the bank's prior."""

    prior_repayment: float = fraction(
        0.8, "Prior estimate of a decile's probability to repay, before any loan has ended."
    )
    prior_weight: float = param(
        10.0, "Number of loans that the prior counts as.", unit="loans", low=0.01, high=1e6
    )


class RecordingState(LoanState):
    """State with the bank's records of its own loans.

    Attributes:
        decile: Decile of the qualification score at the last approval, from 0.
        ended: Number of ended loans, by the decile at their approval.
        kept: Number of those that did not default.
    """

    decile: Int[Array, " people"] = eqx.field(kw_only=True)
    ended: Float[Array, " deciles"] = eqx.field(kw_only=True)
    kept: Float[Array, " deciles"] = eqx.field(kw_only=True)


class SelectiveComponents(QueueComponents):
    """Components of a bank that does not learn the outcomes of people it refuses.

    The first two are the truth, which the bank never learns. The others are estimates for the same
    people from the bank's own loans.
    """

    would_repay: Float[Array, " groups"] = group_count(
        "applicants who would keep up payments at this month's relief", "", "admissions"
    )
    approved_would_repay: Float[Array, " groups"] = group_count(
        "approved applicants who would keep up payments at this month's relief", "", "admissions"
    )
    estimated_would_repay: Float[Array, " groups"] = group_count(
        "applicants, each counted by the estimated probability to repay", "", "admissions"
    )
    estimated_approved_would_repay: Float[Array, " groups"] = group_count(
        "approved applicants, each counted by the estimated probability to repay", "", "admissions"
    )


def estimates(state: RecordingState, params: LoanParams) -> Float[Array, " deciles"]:
    """Return each decile's probability to repay: the posterior mean of a Beta distribution."""
    assert isinstance(params, SelectiveParams)
    weight = params.prior_weight
    return (state.kept + params.prior_repayment * weight) / (state.ended + weight)


class AllLabels(Generic[StateT]):
    """Labelling without records: the bank does not learn from its loans."""

    context: ClassVar[tuple[Feature, ...]] = ()  # further context of the admissions agent

    def params(self, of_market: type[LoanParams]) -> type[LoanParams]:
        """Return the struct of the parameters, given that of the market."""
        return of_market

    def components(self, of_market: type[QueueComponents]) -> type[QueueComponents]:
        """Return the struct of the components, given that of the market."""
        return of_market

    def metrics(self) -> dict[str, Metric]:
        """Return further metrics."""
        return {}

    def at_start(self, state: LoanState) -> LoanState:
        """Return the state before the first month, given that of the market."""
        return state

    def context_values(self, state: StateT, params: LoanParams) -> dict[str, Array]:
        """Return the values of the further context by name."""
        return {}

    def update(
        self,
        state: StateT,
        month: Month,
        components: QueueComponents,
        relief: Float[Array, " groups"],
        params: LoanParams,
    ) -> tuple[StateT, QueueComponents]:
        """Return state and components with what the bank learns in a month.

        Args:
            state: State before the month's steps.
            month: Results of these steps.
            components: Components of the market.
            relief: Relief share of each group.
            params: Parameters.
        """
        return state, components


@dataclasses.dataclass(frozen=True, eq=False)
class SelectiveLabels(AllLabels[RecordingState]):
    """Labelling by the bank's own loans, with no outcomes of refused people.

    Attributes:
        data: Population that the scores are fitted to.
        columns: Columns that the qualification score is fitted to.
        groups: Number of groups.
    """

    context: ClassVar[tuple[Feature, ...]] = ESTIMATES

    data: Population
    columns: tuple[str, ...]
    groups: int

    @cached_property
    def _edges(self) -> np.ndarray:
        """Qualification scores that separate the deciles of the data's people."""
        with jax.ensure_compile_time_eval():  # NumPy needs concrete values, also inside jit
            record = {name: jnp.asarray(self.data.columns[name]) for name in self.columns}
            score = dynamics.qualification_score(self.data.scores["qualification"], record)
            return np.quantile(np.asarray(score), np.arange(1, DECILES) / DECILES)

    def params(self, of_market: type[LoanParams]) -> type[LoanParams]:
        """Return the loan environment's parameters with the prior."""
        return SelectiveParams

    def components(self, of_market: type[QueueComponents]) -> type[QueueComponents]:
        """Return the components of the queue with labels and estimates."""
        return SelectiveComponents

    def metrics(self) -> dict[str, Metric]:
        """Return true positive rates of admission, true and estimated, and their gaps."""
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
        """Return the state of a bank without any records."""
        none, decile = jnp.zeros(DECILES), jnp.zeros_like(state.stage)
        return RecordingState(**vars(state), decile=decile, ended=none, kept=none)

    def context_values(self, state: RecordingState, params: LoanParams) -> dict[str, Array]:
        """Return the estimates by the names of `ESTIMATES`."""
        names = [feature.name for feature in ESTIMATES]
        return dict(zip(names, estimates(state, params), strict=True))

    def update(
        self,
        state: RecordingState,
        month: Month,
        components: QueueComponents,
        relief: Float[Array, " groups"],
        params: LoanParams,
    ) -> tuple[RecordingState, SelectiveComponents]:
        """Record outcomes of the bank's own loans; count applicants by label and estimate."""
        rows, approved, ending = state.applicants, month.admission.approved, month.ending
        # the truth: whether each applicant would repay at this month's relief
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
        # the bank's estimate for the applicant's decile
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
