"""One bank with an admissions, a disbursement and a debt management agent.

One step is one month, in the order of MAFE, appendix F: apply, admit, disburse, relieve, pay,
default or repay, update features, book the profit. The formulas are in `dynamics.py`.
"""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import (
    ActionSpace,
    Components,
    Entities,
    EntitySpace,
    Environment,
    Feature,
    PerEntity,
    Struct,
    Unit,
    by_group,
    check_shape,
    component,
    draw,
    highest,
    person_index,
    register_environment,
)
from fairgym.data import Population, load_population, resampling_weights
from fairgym.environments.loan import dynamics
from fairgym.environments.loan.params import LoanParams
from fairgym.fairness import Direct, Disparity, Metric, Rate

IDLE, WAITING, REPAYING = 0, 1, 2

DATA_COLUMNS = (
    "interest_rate",
    "term",
    "principal",
    "annual_income",
    "debt_to_income",
    "fico_low",
    "fico_high",
    "months_since_delinquency",
)


class LoanState(Struct):
    """The bank and its people. Per-person arrays have length `population`; times are steps."""

    time: Int[Array, ""]
    group: Int[Array, " people"]
    stage: Int[Array, " people"]
    interest_rate: Float[Array, " people"]
    term: Float[Array, " people"]
    principal: Float[Array, " people"]
    annual_income: Float[Array, " people"]
    debt_to_income: Float[Array, " people"]
    fico_low: Float[Array, " people"]
    fico_high: Float[Array, " people"]
    months_since_delinquency: Float[Array, " people"]
    waiting_since: Int[Array, " people"]
    matures_at: Int[Array, " people"]
    balance: Float[Array, " people"]
    installment: Float[Array, " people"]
    total_requested: Float[Array, " people"]
    total_received: Float[Array, " people"]
    warning: Bool[Array, " people"]
    applying: Bool[Array, " applicants"]
    deposit_schedule: Float[Array, " months"]
    total_profit: Float[Array, ""]
    total_losses: Float[Array, ""]
    total_payments: Float[Array, ""]
    applicants: Int[Array, " applicants"] = person_index()


class LoanComponents(Components):
    """What the bank reports each month (MAFE, table 3)."""

    profit: Float[Array, ""] = component(
        "payments received less payments to depositors",
        unit="thousand dollars",
        symbol="P_t",
        nonnegative=False,
    )
    applied: Float[Array, " groups"] = component(
        "people who applied for a loan",
        unit="people",
        symbol="N_L",
        per="group",
        used_by=("admissions",),
    )
    approved: Float[Array, " groups"] = component(
        "people approved for a loan",
        unit="people",
        symbol="N_A",
        per="group",
        used_by=("admissions",),
    )
    disbursed: Float[Array, " groups"] = component(
        "people whose loan was paid out",
        unit="people",
        symbol="N_D",
        per="group",
        used_by=("disbursement",),
    )
    waited: Float[Array, " groups"] = component(
        "steps that those paid out had waited, summed",
        unit="people x months",
        symbol="N_T",
        per="group",
        used_by=("disbursement",),
    )
    ended: Float[Array, " groups"] = component(
        "loans ended, repaid or defaulted",
        unit="loans",
        symbol="N_R",
        per="group",
        used_by=("debt_management",),
    )
    defaulted: Float[Array, " groups"] = component(
        "loans ended by default",
        unit="loans",
        symbol="N_F",
        per="group",
        used_by=("debt_management",),
    )


class LoanNoise(Struct):
    """The randomness of one step.

    `priority` draws the next applicants among the idle and breaks ties among the waiting: no
    person is both, so that one number each is enough.
    """

    payment: Float[Array, " people"]
    priority: Float[Array, " people"]


_GROUP = Feature("group", 0, 1, "", "RACE: 0 advantaged, 1 disadvantaged; 0 if not observed")
_PERSON = (
    _GROUP,
    Feature("interest_rate", 0.05, 0.31, "per year", "INTRATE"),
    Feature("term", 36, 60, "months", "TERM"),
    Feature("principal", 1_000, 40_000, "dollars", "PRINCIPAL"),
    Feature("annual_income", 0, 300_000, "dollars per year", "ANNUALINC"),
    Feature("debt_to_income", 0, 100, "percent", "DTI, current installment included"),
    Feature("fico_low", 300, 850, "points", "FICO_RANGE_LOW"),
    Feature("fico_high", 300, 850, "points", "FICO_RANGE_HIGH"),
    Feature("months_since_delinquency", 0, 150, "months", "MTHS_SINCE_LAST_DELINQ"),
    Feature("qualification_score", 0, 1, "", "QUALSCORE"),
)
_LOAN = (
    Feature("balance", 0, 40_000, "dollars", "BALANCE"),
    Feature("time_to_maturity", 0, 60, "months", "TIMETOMATURITY"),
    Feature("warning", 0, 1, "", "WARNING"),
    Feature("total_requested", 0, 60_000, "dollars", "TOTREQUEST"),
    Feature("total_received", 0, 60_000, "dollars", "TOTRECEIVE"),
    Feature("installment", 0, 1_500, "dollars", "CURRINSTALL"),
)
_FEATURES = {
    "admissions": _PERSON,
    "disbursement": (*_PERSON, Feature("time_waited", 0, 100, "months")),
    "debt_management": (*_PERSON, *_LOAN),
}


@register_environment("loan")
@dataclasses.dataclass(frozen=True)
class Loan(Environment):
    """The MAFE-Loan environment; see the card (`README.md` in this folder).

    Args:
        population: number of people N, up to 1,000,000.
        horizon: T, months after which an episode is truncated (400 in the paper).
        applicants: people drawn from the idle each month, N_1; None: 2% of the population.
        disbursement_cap: loans paid out each month at most; None: 1% of the population.
        action_groups: g, 1 for one threshold and one relief share, 2 for one per group.
        population_source: "built-in", or the name of imported data.

    Raises:
        FairgymError: an argument out of range (applicants and cap lie between 1 and N).
    """

    name: ClassVar[str] = "loan"
    agents: ClassVar[tuple[str, ...]] = ("admissions", "disbursement", "debt_management")
    stages: ClassVar[tuple[str, ...]] = ("idle", "waiting", "repaying")
    groups: ClassVar[tuple[str, ...]] = ("advantaged", "disadvantaged")
    core_attribute: ClassVar[str] = "qualification_score"
    components: ClassVar[type[Components]] = LoanComponents

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

    @cached_property
    def _data(self) -> Population:
        return load_population("loan", self.population_source)

    @property
    def default_params(self) -> LoanParams:
        """Table 8; bias strength and group share as fitted on the population's data."""
        return LoanParams(
            bias_strength=self._data.bias_strength,
            disadvantaged_share=float(np.mean(self._data.columns["group"])),
        )

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Rewards and disparities of MAFE, appendix F, with the normalisers of table 8.

        The published profit normaliser, 8.9e4 thousand dollars, belongs to 10,000 people and 400
        months; it is scaled with both.
        """
        scale = 8.9e4 * (self.population / 10_000) * (self.horizon / 400)
        admission = Rate("approved", "applied")
        wait = Rate("waited", "disbursed")
        default = Rate("defaulted", "ended", sign=-1)
        return {
            "profit": Direct("profit", normaliser=scale),
            "admission_rate": admission,
            "default_rate": default,
            "admission_disparity": Disparity(admission),
            "wait_disparity": Disparity(wait, normalise_by_sum=True),
            "default_disparity": Disparity(default),
        }

    @property
    def baselines(self) -> Mapping[str, Mapping[str, Any]]:
        """Two simple rules, and the paper's grid-searched fixed policy (appendix D.3)."""

        def fixed(threshold: Any, relief: Any) -> dict[str, Any]:
            values = {"admissions": threshold, "debt_management": relief}
            if self.action_groups == 1:
                values = {agent: float(np.mean(value)) for agent, value in values.items()}
            return values | {"disbursement": "random"}

        return {
            "admit all, no relief": fixed(0.0, 0.0),
            "thresholds 0.5, no relief": fixed(0.5, 0.0),
            "published fixed policy": fixed((0.0, 0.0), (0.12, 0.18)),
        }

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        profit = 8.9e4 * self.population / 10_000
        context = (
            Feature("time", 0, self.horizon, "months"),
            Feature("total_profit", 0, profit, "thousand dollars", "TOTBANKPROF"),
        )
        assert self.applicants is not None
        rows = {"admissions": self.applicants}
        return {
            agent: EntitySpace(rows.get(agent, self.population), _FEATURES[agent], context)
            for agent in self.agents
        }

    @cached_property
    def _action_spaces(self) -> dict[str, ActionSpace]:
        def names(what: str) -> tuple[str, ...]:
            if self.action_groups == 1:
                return (what,)
            return tuple(f"{what}, {group}" for group in self.groups)

        return {
            "admissions": Unit(names("threshold")),
            "disbursement": PerEntity(self.population, "priority"),
            "debt_management": Unit(names("relief")),
        }

    def observation_space(self, agent: str) -> EntitySpace:
        """Applicants, waiting people or borrowers; time and bank profit as context."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> ActionSpace:
        """Thresholds, queue scores, relief shares."""
        return self._action_spaces[agent]

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: LoanParams) -> LoanState:
        """Draw the people from the data, group by group, all of them idle."""
        row_key, draw_key = jax.random.split(key)
        people = self.population
        data = {name: jnp.asarray(self._data.columns[name]) for name in DATA_COLUMNS}
        data_group = jnp.asarray(self._data.columns["group"])
        score = dynamics.qualification_score(self._data.scores["qualification"], data)
        weights = resampling_weights(score, data_group, params.bias_strength)

        disadvantaged = jnp.round(params.disadvantaged_share * people)
        group = (jnp.arange(people) >= people - disadvantaged).astype(jnp.int32)
        position = jax.random.uniform(row_key, (people,))
        rows = jnp.zeros((people,), jnp.int32)
        for g in range(len(self.groups)):
            # inverse of the weighted distribution over the rows of this group
            cumulative = jnp.cumsum(jnp.where(data_group == g, weights, 0.0))
            found = jnp.searchsorted(cumulative, position * cumulative[-1], side="right")
            rows = jnp.where(group == g, jnp.minimum(found, len(data_group) - 1), rows)

        drawn = {name: column[rows] for name, column in data.items()}
        first, applying = draw(
            jax.random.uniform(draw_key, (people,)), jnp.ones((people,), bool), self._applicants
        )
        nothing = jnp.zeros((people,), jnp.float32)
        never = jnp.zeros((people,), jnp.int32)
        zero = jnp.float32(0.0)
        return LoanState(
            time=jnp.int32(0),
            group=group,
            stage=never,
            **drawn,
            waiting_since=never,
            matures_at=never,
            balance=nothing,
            installment=nothing,
            total_requested=nothing,
            total_received=nothing,
            warning=jnp.zeros((people,), bool),
            applicants=first,
            applying=applying,
            deposit_schedule=jnp.zeros((self._longest_term,), jnp.float32),
            total_profit=zero,
            total_losses=zero,
            total_payments=zero,
        )

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

        def view(agent: str, mask: Array, rows: Array | None = None) -> Entities:
            columns = [people[feature.name] for feature in _FEATURES[agent]]
            if rows is not None:
                columns = [column[rows] for column in columns]
            return Entities.from_columns(columns, mask, context)

        return {
            "admissions": view("admissions", state.applying, state.applicants),
            "disbursement": view("disbursement", state.stage == WAITING),
            "debt_management": view("debt_management", state.stage == REPAYING),
        }

    # ---------------------------------------------------------------- one month

    def noise(self, key: PRNGKeyArray, params: LoanParams) -> LoanNoise:
        """Payment noise N ~ Normal(0, sigma^2) and a uniform priority, for every person."""
        # One array for both; a standard normal is sqrt(2) erfinv(u), u uniform in (-1, 1).
        low = np.nextafter(np.float32(-1.0), np.float32(0.0))
        draws = jax.random.uniform(key, (2, self.population), minval=low, maxval=1.0)
        return LoanNoise(
            payment=params.payment_noise * np.float32(np.sqrt(2.0)) * lax.erf_inv(draws[0]),
            priority=0.5 * (draws[1] + 1.0),
        )

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
        def moved(value: Array, change: Any, low: Any, high: Any) -> Array:
            return dynamics.termination_update(value, repaid, defaulted, change, low, high)

        fico_low = moved(state.fico_low, params.fico_change, *dynamics.FICO_RANGE)
        fico_high = moved(state.fico_high, params.fico_change, fico_low, dynamics.FICO_RANGE[1])
        after = {
            "balance": jnp.where(ended, 0.0, balance),
            "installment": jnp.where(ended, 0.0, requested),
            "total_requested": jnp.where(ended, 0.0, total_requested),
            "total_received": jnp.where(ended, 0.0, total_received),
        }
        stage = jnp.where(ended, IDLE, stage)

        # 8. profit, in thousands
        payments = jnp.sum(paid) / 1000.0
        profit = payments - state.deposit_schedule[0] / 1000.0
        schedule = jnp.append(state.deposit_schedule[1:], 0.0) + due_later
        total_losses = state.total_losses + jnp.maximum(-profit, 0.0)
        total_payments = state.total_payments + payments

        # 1. of the next month: who applies
        stage = start(stage, REPAYING)
        applicants, applying_next = draw(noise.priority, stage == IDLE, self._applicants)

        ones = jnp.ones_like(qualification)
        groups = len(self.groups)
        components = LoanComponents(
            profit=profit,
            applied=by_group(jnp.where(applying, ones, 0.0), group, groups),
            approved=by_group(jnp.where(approved, ones, 0.0), group, groups),
            disbursed=by_group(paid_out.astype(jnp.float32), served_group, groups),
            waited=by_group(jnp.where(paid_out, waited, 0.0), served_group, groups),
            ended=by_group(ended.astype(jnp.float32), state.group, groups),
            defaulted=by_group(defaulted.astype(jnp.float32), state.group, groups),
        )
        state = LoanState(
            time=now + 1,
            group=state.group,
            stage=stage,
            interest_rate=state.interest_rate,
            term=state.term,
            principal=state.principal,
            annual_income=moved(state.annual_income, params.income_change, 0.0, jnp.inf),
            debt_to_income=moved(state.debt_to_income, -params.debt_to_income_change, 0.0, jnp.inf),
            fico_low=fico_low,
            fico_high=fico_high,
            months_since_delinquency=moved(
                state.months_since_delinquency, params.delinquency_change, 0.0, jnp.inf
            ),
            waiting_since=waiting_since,
            matures_at=start(state.matures_at, now + 1 + term.astype(jnp.int32)),
            balance=start(after["balance"], principal),
            installment=after["installment"],
            total_requested=after["total_requested"],
            total_received=after["total_received"],
            warning=behind & repaying & ~ended,
            applicants=applicants,
            applying=applying_next,
            deposit_schedule=schedule,
            total_profit=state.total_profit + profit,
            total_losses=total_losses,
            total_payments=total_payments,
        )
        return state, components, dynamics.is_bankrupt(total_losses, total_payments)
