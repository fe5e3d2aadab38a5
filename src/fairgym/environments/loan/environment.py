"""One bank with an admissions, a disbursement and a debt management agent.

One step is one month, in the order of MAFE, appendix F: apply, admit, disburse, relieve, pay,
default or repay, update features, book the profit. The formulas are in `dynamics.py`.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fairgym.core import (
    ActionSpace,
    Components,
    Entities,
    EntitySpace,
    Feature,
    by_group,
    check_shape,
    highest,
    moved,
    register_environment,
    sample_rows,
)
from fairgym.data.sampling import resample_people, whole_groups
from fairgym.environments._sampled import SampledEnvironment
from fairgym.environments.loan import dynamics
from fairgym.environments.loan.metrics import baseline_policies, profit_scale, published_metrics
from fairgym.environments.loan.params import LoanParams
from fairgym.environments.loan.spaces import (
    DATA_COLUMNS,
    FEATURES,
    action_spaces,
    observation_spaces,
)
from fairgym.environments.loan.types import LoanComponents, LoanNoise, LoanState
from fairgym.fairness import Metric

IDLE, WAITING, REPAYING = 0, 1, 2


@register_environment("loan")
@dataclasses.dataclass(frozen=True)
class Loan(SampledEnvironment):
    """The MAFE-Loan environment; see the card (`README.md` in this folder).

    Args:
        population: number of people N, up to 1,000,000.
        horizon: T, months after which an episode is truncated (400 in the paper).
        applicants: people drawn from the idle each month, N_1; by default 2% of the population.
        disbursement_cap: loans paid out each month at most; by default 1% of the population.
        action_groups: g, 1 for one threshold and one relief share, 2 for one per group.
        population_source: "built-in", or the name of imported data.

    Raises:
        FairgymError: an argument out of range (applicants and cap lie between 1 and N).
    """

    name: ClassVar[str] = "loan"
    dataset: ClassVar[str] = "loan"
    agents: ClassVar[tuple[str, ...]] = ("admissions", "disbursement", "debt_management")
    stages: ClassVar[tuple[str, ...]] = ("idle", "waiting", "repaying")
    groups: ClassVar[tuple[str, ...]] = ("advantaged", "disadvantaged")
    core_attribute: ClassVar[str] = "qualification_score"
    components: ClassVar[type[Components]] = LoanComponents
    features: ClassVar[Mapping[str, Sequence[Feature]]] = FEATURES

    population: int = 10_000
    horizon: int = 400
    applicants: int | None = None
    disbursement_cap: int | None = None
    action_groups: int = 2
    population_source: str = "built-in"

    def __post_init__(self) -> None:
        """Check the shapes and fill in those that follow the population."""
        people = check_shape("population", self.population, 2, 1_000_000)
        check_shape("horizon", self.horizon, 1, 100_000)
        check_shape("action_groups", self.action_groups, 1, 2)
        for field, share in (("applicants", 0.02), ("disbursement_cap", 0.01)):
            if getattr(self, field) is None:
                object.__setattr__(self, field, max(1, round(share * people)))
            check_shape(field, getattr(self, field), 1, people)
        self._data  # noqa: B018  (a missing or damaged data file is told here, not inside jit)

    # ---------------------------------------------------------------- declarations

    @property
    def default_params(self) -> LoanParams:
        """Table 8; bias strength and group share as fitted on the population's data."""
        return LoanParams(
            bias_strength=self._data.bias_strength,
            disadvantaged_share=float(np.mean(self._data.columns["group"])),
        )

    @property
    def _profit_scale(self) -> float:
        return profit_scale(self.population, self.horizon)

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Rewards and disparities of MAFE, appendix F, with the normalisers of table 8."""
        return published_metrics(self._profit_scale)

    @property
    def baselines(self) -> Mapping[str, Mapping[str, Any]]:
        """Two simple rules, and the paper's grid-searched fixed policy (appendix D.3)."""
        return baseline_policies(self.action_groups)

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        return observation_spaces(
            self.population, self._applicants, self.horizon, self._profit_scale
        )

    @cached_property
    def _action_spaces(self) -> dict[str, ActionSpace]:
        return action_spaces(self.population, self.groups if self.action_groups == 2 else ())

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: LoanParams) -> LoanState:
        """Draw the people from the data, group by group, all of them idle."""
        people_key, draw_key = jax.random.split(key)
        people = self.population
        share = params.disadvantaged_share
        group = whole_groups(jnp.stack([1.0 - share, share]), people)
        drawn = resample_people(people_key, self._data, DATA_COLUMNS, group, params.bias_strength)
        first, applying = sample_rows(
            jax.random.uniform(draw_key, (people,)), jnp.ones((people,), bool), self._applicants
        )
        last_due = self.horizon + self._longest_term
        return LoanState.at_start(group, drawn, first, applying, last_due)

    @property
    def _applicants(self) -> int:
        assert self.applicants is not None
        return self.applicants

    @cached_property
    def _longest_term(self) -> int:
        return int(np.max(self._data.columns["term"]))

    # ---------------------------------------------------------------- looking

    def _columns(self, state: LoanState) -> dict[str, Float[Array, " people"]]:
        """The columns of the data as they are now, the current installment in DTI included."""
        columns = {name: getattr(state, name) for name in DATA_COLUMNS}
        columns["debt_to_income"] = dynamics.debt_to_income_with(
            state.debt_to_income, state.installment, state.annual_income
        )
        return columns

    def people(self, state: LoanState) -> dict[str, Float[Array, " population"]]:
        """Every feature of every person by name, the fitted scores included."""
        columns = self._columns(state)
        waiting, repaying = state.stage == WAITING, state.stage == REPAYING
        return {
            "group": state.group.astype(jnp.float32),
            **columns,
            "qualification_score": dynamics.qualification_score(
                self._data.scores["qualification"], columns
            ),
            "propensity": dynamics.payment_propensity(self._data.scores["propensity"], columns),
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
        """Applicants drawn for this month, the queue, the borrowers."""
        people = self.people(state)
        people["group"] = people["group"] * params.observe_group
        context = [state.time.astype(jnp.float32), state.total_profit]
        view = functools.partial(self._view, people, context)
        return {
            "admissions": view("admissions", state.applying, state.applicants),
            "disbursement": view("disbursement", state.stage == WAITING),
            "debt_management": view("debt_management", state.stage == REPAYING),
        }

    # ---------------------------------------------------------------- one month

    def noise(self, key: PRNGKeyArray, params: LoanParams) -> LoanNoise:
        """Payment noise N ~ Normal(0, sigma^2) and a uniform priority, for every person."""
        return LoanNoise.sample(key, self.population, params.payment_noise)

    def transition(
        self, noise: LoanNoise, state: LoanState, actions: Mapping[str, Any], params: LoanParams
    ) -> tuple[LoanState, LoanComponents, Bool[Array, ""]]:
        """Make one month's step; see the numbered comments."""
        now = state.time
        threshold, relief = (
            jnp.broadcast_to(actions[agent], (2,)) for agent in ("admissions", "debt_management")
        )
        waiting, repaying = state.stage == WAITING, state.stage == REPAYING
        borrower = self._columns(state)

        # 1. apply: drawn at the end of the last step, so that the agent could see them
        rows, applying = state.applicants, state.applying
        group = state.group[rows]

        # 2. admit by threshold; the approved wait from the next step on
        qualification = dynamics.qualification_score(
            self._data.scores["qualification"], {k: v[rows] for k, v in borrower.items()}
        )
        approved = applying & (qualification >= threshold[group])
        stage = state.stage.at[rows].set(
            jnp.where(approved, WAITING, state.stage[rows]), unique_indices=True
        )
        waiting_since = state.waiting_since.at[rows].set(
            jnp.where(approved, now + 1, state.waiting_since[rows]), unique_indices=True
        )

        # 3. pay out the highest scores of the queue
        assert self.disbursement_cap is not None
        served, paid_out = highest(
            actions["disbursement"], waiting, self.disbursement_cap, noise.priority
        )
        served_group = state.group[served]
        waited = (now - state.waiting_since[served]).astype(jnp.float32)

        def start(column: Array, value: Array | float) -> Array:
            return column.at[served].set(
                jnp.where(paid_out, value, column[served]), unique_indices=True
            )

        principal, term = state.principal[served], state.term[served]
        due_later = dynamics.deposits_due(
            principal, term, paid_out, params.deposit_rate, self._longest_term
        )

        # 4. relief, 5. payment
        rate = dynamics.monthly_rate(state.interest_rate)
        remaining = (state.matures_at - now).astype(jnp.float32)
        scheduled = dynamics.scheduled_installment(state.balance, rate, remaining)
        requested = dynamics.requested_installment(scheduled, relief[state.group])
        propensity = dynamics.payment_propensity(
            self._data.scores["propensity"],
            borrower
            | {
                "debt_to_income": dynamics.debt_to_income_with(
                    state.debt_to_income, requested, state.annual_income
                )
            },
        )
        paid = dynamics.payment(propensity, noise.payment, scheduled, requested)
        requested = jnp.where(repaying, requested, 0.0)
        paid = jnp.where(repaying, paid, 0.0)
        balance = dynamics.next_balance(state.balance, jnp.where(repaying, rate, 0.0), paid)
        total_requested = state.total_requested + requested
        total_received = state.total_received + paid

        # 6. default or repaid
        behind_twice, behind = dynamics.default_flags(
            total_requested, total_received, state.warning, params.default_ratio
        )
        defaulted = repaying & behind_twice
        cleared = (now + 1 >= state.matures_at) | (balance < 0.005)
        repaid = repaying & ~defaulted & cleared
        ended = defaulted | repaid

        # 7. features move when a loan ends; the person is idle again
        better = repaid.astype(jnp.float32) - defaulted.astype(jnp.float32)
        fico_low = moved(state.fico_low, better, params.fico_change, *dynamics.FICO_RANGE)
        fico_high = moved(
            state.fico_high, better, params.fico_change, fico_low, dynamics.FICO_RANGE[1]
        )

        def closed(value: Array) -> Array:
            return jnp.where(ended, 0.0, value)

        stage = jnp.where(ended, IDLE, stage)

        # 8. profit, in thousands
        payments = jnp.sum(paid) / 1000.0
        profit = payments - state.deposits.due(now) / 1000.0
        total_losses = state.total_losses + jnp.maximum(-profit, 0.0)
        total_payments = state.total_payments + payments

        # 1. of the next month: who applies
        stage = start(stage, REPAYING)
        applicants, applying_next = sample_rows(noise.priority, stage == IDLE, self._applicants)

        def count(who: Array, group: Array) -> Array:
            return by_group(who.astype(jnp.float32), group, len(self.groups))

        components = LoanComponents(
            profit=profit,
            applied=count(applying, group),
            approved=count(approved, group),
            disbursed=count(paid_out, served_group),
            waited=count(jnp.where(paid_out, waited, 0.0), served_group),
            ended=count(ended, state.group),
            defaulted=count(defaulted, state.group),
        )
        state = state.replace(
            time=now + 1,
            stage=stage,
            annual_income=moved(state.annual_income, better, params.income_change, 0.0, jnp.inf),
            debt_to_income=moved(
                state.debt_to_income, better, -params.debt_to_income_change, 0.0, jnp.inf
            ),
            fico_low=fico_low,
            fico_high=fico_high,
            months_since_delinquency=moved(
                state.months_since_delinquency, better, params.delinquency_change, 0.0, jnp.inf
            ),
            waiting_since=waiting_since,
            matures_at=start(state.matures_at, now + 1 + term.astype(jnp.int32)),
            balance=start(closed(balance), principal),
            installment=closed(requested),
            total_requested=closed(total_requested),
            total_received=closed(total_received),
            warning=behind & repaying & ~ended,
            applicants=applicants,
            applying=applying_next,
            deposits=state.deposits.add_from(now + 1, due_later),
            total_profit=state.total_profit + profit,
            total_losses=total_losses,
            total_payments=total_payments,
        )
        return state, components, dynamics.is_bankrupt(total_losses, total_payments)
