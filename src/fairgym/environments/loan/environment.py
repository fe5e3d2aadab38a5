"""One bank with an admissions, a disbursement and a debt management agent.

One step is one month, in the order of MAFE, appendix F: apply, admit, disburse, relieve, pay,
default or repay, update features, book the profit. The steps are in `steps.py`, their formulas in
`dynamics.py`.
"""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import (
    ActionSpace,
    Components,
    Entities,
    EntitySpace,
    Schedule,
    check_flag,
    check_shape,
    register_environment,
    sample_rows,
)
from fairgym.environments._sampled import PublishedProfit, SampledEnvironment, filled
from fairgym.environments.loan import dynamics, selective, steps
from fairgym.environments.loan.metrics import (
    PROFIT,
    baseline_policies,
    published_metrics,
    queue_metrics,
)
from fairgym.environments.loan.params import LoanParams
from fairgym.environments.loan.spaces import (
    DATA_COLUMNS,
    GROUPS,
    action_spaces,
    for_each_group,
    observation_spaces,
)
from fairgym.environments.loan.steps import IDLE, REPAYING, WAITING
from fairgym.environments.loan.types import LoanNoise, LoanState, QueueComponents
from fairgym.fairness import Metric


@register_environment("loan")
@dataclasses.dataclass(frozen=True)
class Loan(SampledEnvironment[LoanState, LoanParams, QueueComponents]):
    """The MAFE-Loan environment; see the card (`README.md` in this folder).

    Args:
        population: number of people N, up to 1,000,000.
        horizon: T, months after which an episode is truncated (400 in the paper).
        applicants: people sampled from the idle each month, N_1; by default 2% of the population.
        disbursement_cap: loans paid out each month at most; by default 1% of the population.
        action_groups: g, 1 for one threshold and one relief share, 2 for one per group.
        population_source: "built-in", or the name of imported data.
        observe_group: sight of what tells a person's group, for all agents.
        selective_labels: outcomes of its own loans alone for the bank, whose admissions agent is
            shown the repayment rates that it estimates from them.

    Raises:
        FairgymError: an argument out of range (applicants and cap lie between 1 and N).
    """

    name: ClassVar[str] = "loan"
    dataset: ClassVar[str] = "loan"
    agents: ClassVar[tuple[str, ...]] = ("admissions", "disbursement", "debt_management")
    stages: ClassVar[tuple[str, ...]] = ("idle", "waiting", "repaying")
    groups: ClassVar[tuple[str, ...]] = GROUPS
    time_unit: ClassVar[str] = "months"
    failure: ClassVar[str] = "the bank fails"
    core_attribute: ClassVar[str] = "qualification_score"
    # loans paid out: people come to the bank for a loan
    benefit: ClassVar[str] = "disbursed"
    published_profit: ClassVar[PublishedProfit] = PROFIT

    population: int = 10_000
    horizon: int = 400
    applicants: int | None = None
    disbursement_cap: int | None = None
    action_groups: int = 2
    population_source: str = "built-in"
    observe_group: bool = True
    selective_labels: bool = False

    def __post_init__(self) -> None:
        """Check the shapes and fill in those that follow the population."""
        super().__post_init__()
        check_flag("selective_labels", self.selective_labels)
        check_shape("action_groups", self.action_groups, 1, 2)
        self._fill_in("applicants", 0.02 * self.population)
        self._fill_in("disbursement_cap", 0.01 * self.population)

    # ---------------------------------------------------------------- declarations

    @property
    def components(self) -> type[Components]:  # type: ignore[override]
        """Those of a month; with labels and estimates where labels are selective."""
        return selective.SelectiveComponents if self.selective_labels else QueueComponents

    @property
    def default_params(self) -> LoanParams:
        """Table 8; bias strength and group share as fitted on the population's data."""
        params = selective.SelectiveParams if self.selective_labels else LoanParams
        return params(
            bias_strength=self._data.bias_strength,
            disadvantaged_share=float(np.mean(self._data.columns["group"])),
        )

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Those of MAFE, appendix F, normalised as in table 8; and three that see the queue.

        With selective labels those of labels too, by the truth and by the bank's estimates.
        """
        labels = selective.label_metrics() if self.selective_labels else {}
        return {**published_metrics(self._profit_scale), **queue_metrics(), **labels}

    @property
    def terms(self) -> tuple[str, ...]:
        """The rewards and disparities of MAFE, table 1."""
        return tuple(published_metrics(self._profit_scale))

    @property
    def baselines(self) -> Mapping[str, Mapping[str, Any]]:
        """Two simple rules, and the paper's grid-searched fixed policy (appendix D.3)."""
        return baseline_policies(self.action_groups)

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        estimates = selective.ESTIMATES if self.selective_labels else ()
        return observation_spaces(
            self.population, filled(self.applicants), self.horizon, self._profit_scale, estimates
        )

    @cached_property
    def _action_spaces(self) -> dict[str, ActionSpace]:
        return action_spaces(self.population, self.groups if self.action_groups == 2 else ())

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: LoanParams) -> LoanState:
        """Sample the people from the data, group by group, all of them idle."""
        people_key, applicants_key = jax.random.split(key)
        share = params.disadvantaged_share
        shares = jnp.stack([1.0 - share, share])
        columns = (*DATA_COLUMNS, "months_to_default")
        group, record = self._sample_people(people_key, columns, shares, params)
        paid_share = record.pop("months_to_default") / record["term"]
        fitted = dynamics.payment_propensity(self._data.scores["propensity"], record)
        priority = jax.random.uniform(applicants_key, group.shape)
        applicants, applying = self._apply(priority, jnp.ones(group.shape, bool))
        nothing = jnp.zeros(group.shape, jnp.float32)
        never = jnp.zeros(group.shape, jnp.int32)
        zero = jnp.float32(0.0)
        state = LoanState(
            time=jnp.int32(0),
            group=group,
            stage=never,
            **record,
            waiting_since=never,
            matures_at=never,
            balance=nothing,
            installment=nothing,
            total_requested=nothing,
            total_received=nothing,
            warning=jnp.zeros(group.shape, bool),
            served=jnp.zeros(group.shape, bool),
            residual=params.residual_share * (paid_share - fitted),
            applicants=applicants,
            applying=applying,
            deposits=Schedule.empty(self.horizon + self._longest_term),
            total_profit=zero,
            total_losses=zero,
            total_payments=zero,
        )
        if not self.selective_labels:
            return state
        none = jnp.zeros(selective.DECILES)
        return selective.RecordingState(**vars(state), decile=never, ended=none, kept=none)

    @cached_property
    def _deciles(self) -> np.ndarray:
        """The qualification scores between the deciles of the data's people."""
        with jax.ensure_compile_time_eval():  # also where a program is being compiled
            columns = {name: jnp.asarray(self._data.columns[name]) for name in DATA_COLUMNS}
            score = dynamics.qualification_score(self._data.scores["qualification"], columns)
            edges = np.arange(1, selective.DECILES) / selective.DECILES
            return np.quantile(np.asarray(score), edges)

    def _apply(
        self, priority: Float[Array, " people"], idle: Bool[Array, " people"]
    ) -> tuple[Int[Array, " applicants"], Bool[Array, " applicants"]]:
        """Step 1: sample who of the idle applies in the month to come."""
        return sample_rows(priority, idle, filled(self.applicants))

    @cached_property
    def _longest_term(self) -> int:
        return int(np.max(self._data.columns["term"]))

    # ---------------------------------------------------------------- looking

    def people(self, state: LoanState) -> dict[str, Float[Array, " population"]]:
        """Every feature of every person by name, the fitted scores included."""
        record = steps.current_record(state)
        waiting, repaying = state.stage == WAITING, state.stage == REPAYING
        return {
            "group": state.group.astype(jnp.float32),
            **record,
            "qualification_score": dynamics.qualification_score(
                self._data.scores["qualification"], record
            ),
            "propensity": dynamics.payment_propensity(self._data.scores["propensity"], record),
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

    def observe(self, state: LoanState, params: LoanParams) -> dict[str, Entities]:
        """Applicants of this month, the queue, the borrowers."""
        people = self._seen(state)
        context = {"time": state.time, "total_profit": state.total_profit}
        spaces, more = self._observation_spaces, {}
        if isinstance(state, selective.RecordingState):
            names = [feature.name for feature in selective.ESTIMATES]
            more = dict(zip(names, selective.estimates(state, params), strict=True))
        return {
            "admissions": spaces["admissions"].view(
                people, state.applying, context | more, state.applicants
            ),
            "disbursement": spaces["disbursement"].view(people, state.stage == WAITING, context),
            "debt_management": spaces["debt_management"].view(
                people, state.stage == REPAYING, context
            ),
        }

    # ---------------------------------------------------------------- one month

    def noise(self, key: PRNGKeyArray, params: LoanParams) -> LoanNoise:
        """Payment noise N ~ Normal(0, sigma^2) and a uniform priority, for every person."""
        return LoanNoise.sample(key, self.population, params.payment_noise)

    def transition(
        self, noise: LoanNoise, state: LoanState, actions: Mapping[str, Any], params: LoanParams
    ) -> tuple[LoanState, QueueComponents, Bool[Array, ""]]:
        """Make one month's step: the numbered steps of the card, in `steps.py`."""
        threshold = for_each_group(actions["admissions"])
        relief = for_each_group(actions["debt_management"])
        scores, record = self._data.scores, steps.current_record(state)

        # 1. apply (sampled at the end of the last step, so that agents could see it), 2. admit
        admission = steps.admit(state, record, scores["qualification"], threshold)
        # 3. pay out
        payout = steps.pay_out(
            noise,
            state,
            actions["disbursement"],
            filled(self.disbursement_cap),
            params.deposit_rate,
            self._longest_term,
        )
        # 4. relief, 5. payment
        collection = steps.collect(
            noise, state, record, scores["propensity"], relief, params.relief_forgiven
        )
        # 6. default or repaid, 7. features move
        ending = steps.end_loans(state, collection, params.default_ratio)
        next_record = steps.move_records(state, ending, params)
        # 8. profit
        books = steps.book(state, jnp.sum(collection.paid), state.deposits.due(state.time))
        # 1. of the next month; those whose loan has ended are idle again
        stage = payout.start(jnp.where(ending.ended, IDLE, admission.stage), REPAYING)
        served = payout.start(state.served, True)
        applicants, applying = self._apply(noise.priority, stage == IDLE)

        left_waiting = (state.stage == WAITING) & (stage == WAITING)
        components = QueueComponents(
            profit=books.profit,
            applied=self._count(state.applying, state, state.applicants),
            approved=self._count(admission.approved, state, state.applicants),
            disbursed=self._count(payout.paid_out, state, payout.rows),
            waited=self._count(jnp.where(payout.paid_out, payout.waited, 0.0), state, payout.rows),
            ended=self._count(ending.ended, state),
            defaulted=self._count(ending.defaulted, state),
            waiting=self._count(left_waiting, state),
            never_paid_out=self._count(~served, state),
        )
        if isinstance(state, selective.RecordingState):
            # what the bank learns: outcomes of its own loans, nothing of who was refused
            labels = selective.label(
                state,
                admission.qualification,
                jnp.asarray(self._deciles, jnp.float32),
                scores["propensity"],
                relief,
                params,
            )
            components = selective.counted(components, labels, admission, state)
            state = state.replace(**selective.recorded(state, labels, admission, ending))
        month_after = state.time + 1
        matures_at = month_after + payout.term.astype(jnp.int32)
        state = state.replace(
            time=month_after,
            stage=stage,
            **next_record,
            waiting_since=admission.waiting_since,
            matures_at=payout.start(state.matures_at, matures_at),
            balance=payout.start(ending.closed(collection.balance), payout.principal),
            installment=ending.closed(collection.requested),
            total_requested=ending.closed(collection.total_requested),
            total_received=ending.closed(collection.total_received),
            warning=ending.warning,
            served=served,
            applicants=applicants,
            applying=applying,
            deposits=state.deposits.add_from(month_after, payout.due_later),
            **books.totals,
        )
        bankrupt = dynamics.is_bankrupt(books.total_losses, books.total_payments)
        return state, components, bankrupt
