"""One bank whose applicants are admitted, ordered, relieved and settled in a single step.

MAFE-Loan-S of MAFE, appendix D.6: the agents, actions, components and metrics of `loan` over a
much shorter process. The formulas are in `dynamics.py`.
"""

import dataclasses
from collections.abc import Mapping, Sequence
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
    Feature,
    by_group,
    check_shape,
    register_environment,
    sample_rows,
)
from fairgym.data.sampling import resample_people, whole_groups
from fairgym.environments._sampled import SampledEnvironment
from fairgym.environments.loan import dynamics as loan
from fairgym.environments.loan.metrics import baseline_policies, published_metrics
from fairgym.environments.loan.spaces import DATA_COLUMNS, action_spaces
from fairgym.environments.loan.types import LoanComponents
from fairgym.environments.loan_simple import dynamics
from fairgym.environments.loan_simple.metrics import profit_scale
from fairgym.environments.loan_simple.params import LoanSimpleParams
from fairgym.environments.loan_simple.spaces import FEATURES, observation_space
from fairgym.environments.loan_simple.types import LoanSimpleNoise, LoanSimpleState
from fairgym.fairness import Metric

AGENTS = ("admissions", "disbursement", "debt_management")


@register_environment("loan_simple")
@dataclasses.dataclass(frozen=True)
class LoanSimple(SampledEnvironment):
    """The MAFE-Loan-S environment; see the card (`README.md` in this folder).

    Args:
        population: number of people N, up to 1,000,000.
        horizon: T, steps after which an episode is truncated.
        applicants: people drawn from everybody in each step, N_1; by default 10% of the
            population.
        disbursement_cap: loans paid out per month; by default half of the applicants. One as
            large as the applicants lets nobody wait.
        action_groups: g, 1 for one threshold and one relief share, 2 for one per group.
        population_source: "built-in", or the name of imported data.

    Raises:
        FairgymError: an argument out of range (applicants and cap lie between 1 and N).
    """

    name: ClassVar[str] = "loan_simple"
    dataset: ClassVar[str] = "loan"
    agents: ClassVar[tuple[str, ...]] = AGENTS
    stages: ClassVar[tuple[str, ...]] = ("idle", "applying")
    groups: ClassVar[tuple[str, ...]] = ("advantaged", "disadvantaged")
    core_attribute: ClassVar[str] = "qualification_score"
    components: ClassVar[type[Components]] = LoanComponents
    features: ClassVar[Mapping[str, Sequence[Feature]]] = dict.fromkeys(AGENTS, FEATURES)

    population: int = 500
    horizon: int = 50
    applicants: int | None = None
    disbursement_cap: int | None = None
    action_groups: int = 2
    population_source: str = "built-in"

    def __post_init__(self) -> None:
        """Check the shapes and fill in those that follow others."""
        people = check_shape("population", self.population, 2, 1_000_000)
        check_shape("horizon", self.horizon, 1, 100_000)
        check_shape("action_groups", self.action_groups, 1, 2)
        if self.applicants is None:
            object.__setattr__(self, "applicants", max(1, round(0.1 * people)))
        applicants = check_shape("applicants", self.applicants, 1, people)
        if self.disbursement_cap is None:
            object.__setattr__(self, "disbursement_cap", max(1, round(0.5 * applicants)))
        check_shape("disbursement_cap", self.disbursement_cap, 1, people)
        self._data  # noqa: B018  (a missing or damaged data file is told here, not inside jit)

    # ---------------------------------------------------------------- declarations

    @property
    def default_params(self) -> LoanSimpleParams:
        """Table 8's; what the population's data say about groups and defaults."""
        return LoanSimpleParams(
            share_paid_before_default=dynamics.mean_share_before_default(self._data.columns),
            bias_strength=self._data.bias_strength,
            disadvantaged_share=float(np.mean(self._data.columns["group"])),
        )

    @property
    def _profit_scale(self) -> float:
        return profit_scale(self._applicants, self.horizon)

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The rewards and disparities of `loan`, with a profit normaliser of its own."""
        return published_metrics(self._profit_scale)

    @property
    def baselines(self) -> Mapping[str, Mapping[str, Any]]:
        """Those of `loan`, and random actions."""
        return {**baseline_policies(self.action_groups), **super().baselines}

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        shared = observation_space(self._applicants, self.horizon, self._profit_scale)
        return dict.fromkeys(self.agents, shared)

    @cached_property
    def _action_spaces(self) -> dict[str, ActionSpace]:
        return action_spaces(self._applicants, self.groups if self.action_groups == 2 else ())

    # ---------------------------------------------------------------- start

    @property
    def _applicants(self) -> int:
        assert self.applicants is not None
        return self.applicants

    def _apply(
        self, lot: Float[Array, " people"]
    ) -> tuple[Int[Array, " applicants"], Int[Array, " people"]]:
        """Draw the applicants from everybody: their rows, and the stage of each person."""
        rows, _ = sample_rows(lot, jnp.ones(lot.shape, bool), self._applicants)
        stage = jnp.zeros(lot.shape, jnp.int32).at[rows].set(1, unique_indices=True)
        return rows, stage

    def initial_state(self, key: PRNGKeyArray, params: LoanSimpleParams) -> LoanSimpleState:
        """Draw the people from the data, group by group, and the first applicants from them."""
        people_key, draw_key = jax.random.split(key)
        people = self.population
        share = params.disadvantaged_share
        group = whole_groups(jnp.stack([1.0 - share, share]), people)
        drawn = resample_people(people_key, self._data, DATA_COLUMNS, group, params.bias_strength)
        applicants, stage = self._apply(jax.random.uniform(draw_key, (people,)))
        zero = jnp.float32(0.0)
        return LoanSimpleState(
            time=jnp.int32(0),
            group=group,
            stage=stage,
            **drawn,
            total_profit=zero,
            total_losses=zero,
            total_payments=zero,
            applicants=applicants,
        )

    # ---------------------------------------------------------------- looking

    def people(self, state: LoanSimpleState) -> dict[str, Float[Array, " population"]]:
        """Every feature of every person by name, the fitted score included."""
        columns = state.columns(DATA_COLUMNS)
        return {
            "group": state.group.astype(jnp.float32),
            **columns,
            "fico": 0.5 * (state.fico_low + state.fico_high),
            "qualification_score": loan.qualification_score(
                self._data.scores["qualification"], columns
            ),
        }

    def observe(self, state: LoanSimpleState, params: LoanSimpleParams) -> dict[str, Entities]:
        """This step's applicants, the same for every agent."""
        people = self.people(state)
        people["group"] = people["group"] * params.observe_group
        context = [state.time.astype(jnp.float32), state.total_profit]
        everybody = jnp.ones((self._applicants,), bool)
        seen = self._view(people, context, self.agents[0], everybody, state.applicants)
        return dict.fromkeys(self.agents, seen)

    # ---------------------------------------------------------------- one step

    def noise(self, key: PRNGKeyArray, params: LoanSimpleParams) -> LoanSimpleNoise:
        """Three uniform numbers for every person: outcome, tie and lot."""
        return LoanSimpleNoise.sample(key, self.population)

    def transition(
        self,
        noise: LoanSimpleNoise,
        state: LoanSimpleState,
        actions: Mapping[str, Any],
        params: LoanSimpleParams,
    ) -> tuple[LoanSimpleState, LoanComponents, Bool[Array, ""]]:
        """Admit, order, relieve and settle one step's applicants; see the numbered comments."""
        threshold, relief = (
            jnp.broadcast_to(actions[agent], (2,)) for agent in ("admissions", "debt_management")
        )

        # 1. apply: drawn at the end of the last step, so that the agents could see them
        rows = state.applicants
        group = state.group[rows]
        columns = {name: column[rows] for name, column in state.columns(DATA_COLUMNS).items()}
        principal, term = columns["principal"], columns["term"]

        # 2. admit by threshold
        score = self._data.scores["qualification"]
        approved = loan.qualification_score(score, columns) >= threshold[group]

        # 3. pay out all the approved, by priority
        assert self.disbursement_cap is not None
        waited = dynamics.months_waited(
            actions["disbursement"], approved, noise.tie[rows], self.disbursement_cap
        )

        # 4. relief, and one draw of the outcome
        forgiven = relief[group]
        chance = dynamics.repayment_probability(
            loan.linear_predictor(score, columns), forgiven, params.relief_effect
        )
        repays = noise.outcome[rows] < chance
        repaid, defaulted = approved & repays, approved & ~repays

        # 5. profit of the whole life of these loans, in thousands
        rate = loan.monthly_rate(columns["interest_rate"])
        scheduled = loan.scheduled_installment(principal, rate, term)
        paid = dynamics.loan_payments(
            scheduled, term, forgiven, repaid, params.share_paid_before_default
        )
        due = dynamics.deposits_due(principal, term, params.deposit_rate)
        payments = jnp.sum(jnp.where(approved, paid, 0.0)) / 1000.0
        profit = payments - jnp.sum(jnp.where(approved, due, 0.0)) / 1000.0
        total_losses = state.total_losses + jnp.maximum(-profit, 0.0)
        total_payments = state.total_payments + payments

        # 6. credit records move
        better = repaid.astype(jnp.float32) - defaulted.astype(jnp.float32)
        record = dynamics.next_record(
            columns, better, params.fico_change, params.delinquency_change
        )
        moved = {
            name: getattr(state, name).at[rows].set(column, unique_indices=True)
            for name, column in record.items()
        }

        # 1. of the next step: who applies
        applicants, stage = self._apply(noise.lot)

        def count(who: Array) -> Array:
            return by_group(who.astype(jnp.float32), group, len(self.groups))

        loans = count(approved)
        components = LoanComponents(
            profit=profit,
            applied=count(jnp.ones_like(approved)),
            approved=loans,
            disbursed=loans,
            waited=count(waited),
            ended=loans,
            defaulted=count(defaulted),
        )
        state = state.replace(
            time=state.time + 1,
            stage=stage,
            **moved,
            total_profit=state.total_profit + profit,
            total_losses=total_losses,
            total_payments=total_payments,
            applicants=applicants,
        )
        return state, components, loan.is_bankrupt(total_losses, total_payments)
