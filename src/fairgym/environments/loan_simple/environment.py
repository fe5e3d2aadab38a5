"""A bank that settles every loan application in a single step.

This is MAFE-Loan-S of MAFE, appendix D.6. It has the agents, actions, components and metrics of
`loan`, with a much shorter process. The steps and their formulas are in `steps.py`.
"""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import (
    ActionSpace,
    Entities,
    EntitySpace,
    EnvironmentSpec,
    Feature,
    param,
    sample_rows,
    uniform,
)
from fairgym.data.populations.loan import GROUPS
from fairgym.environments._common.sampled import (
    SampledEnvironment,
    filled,
    number_of_people,
    number_of_steps,
    people_per_step,
)
from fairgym.environments.loan import dynamics as loan
from fairgym.environments.loan.declarations import (
    APPLICATIONS,
    PROFIT,
    action_spaces,
    baseline_policies,
    published_metrics,
)
from fairgym.environments.loan.steps import book
from fairgym.environments.loan.types import DATA_COLUMNS, LoanComponents
from fairgym.environments.loan_simple import steps
from fairgym.environments.loan_simple.steps import (
    LoanSimpleNoise,
    LoanSimpleParams,
    LoanSimpleState,
)
from fairgym.utils import register_environment

# Loans that `loan` can pay out at the size assumed for the published normaliser, with its default
# cap of 1% of the people a month. Neither the number of people nor the cap is published.
INFERRED_LOANS = PROFIT.population // 100 * PROFIT.horizon
PROFIT_PER_LOAN = PROFIT.amount / INFERRED_LOANS


FEATURES = (
    Feature("group", 0, 1, "", "RACE: 0 advantaged, 1 disadvantaged", tells_group=True),
    Feature("qualification_score", 0, 1, "", "QUALSCORE"),
    Feature("interest_rate", 0.05, 0.31, "per year", "INTRATE"),
    Feature("principal", 1_000, 40_000, "dollars", "PRINCIPAL"),
    Feature("fico", 300, 850, "points", "mean of FICO_RANGE_LOW and FICO_RANGE_HIGH"),
)


AGENTS = ("admissions", "disbursement", "debt_management")
APPLYING = 1


@register_environment("loan_simple")
@dataclasses.dataclass(frozen=True)
class LoanSimple(SampledEnvironment[LoanSimpleState, LoanSimpleParams, LoanComponents]):
    """MAFE-Loan-S environment; see its card (`README.md` in this folder).

    Raises:
        FairgymError: If an argument is out of range (applicants and cap lie between 1 and N).
    """

    name: ClassVar[str] = "loan_simple"
    dataset: ClassVar[str] = "loan"

    population: int = number_of_people(500)
    horizon: int = number_of_steps(50, "Time limit T in steps, after which episodes are truncated.")
    applicants: int | None = people_per_step(
        "People sampled as applicants in each step, N_1; by default 10% of the population."
    )
    disbursement_cap: int | None = people_per_step(
        "Number of loans paid out per month; by default half of the applicants. With a cap as"
        " large as the number of applicants nobody waits."
    )
    action_groups: int = param(
        2,
        "Number g of thresholds and of relief shares: 1, or 2 for one per group.",
        low=1,
        high=2,
    )
    population_source: str = param(
        "built-in", 'Source of the people: "built-in", or the name of imported data.'
    )
    observe_group: bool = param(True, "Whether agents observe each person's group.")

    def __post_init__(self) -> None:
        """Check the sizes, and fill in those that depend on others."""
        super().__post_init__()
        self._fill_in("applicants", 0.1 * self.population)
        self._fill_in("disbursement_cap", 0.5 * filled(self.applicants))

    # ---------------------------------------------------------------- declarations

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """Declaration of the environment."""
        return EnvironmentSpec(
            version=2,
            agents=AGENTS,
            groups=GROUPS,
            components=LoanComponents,
            # Rewards and disparities of `loan`, with another profit normaliser.
            metrics=published_metrics(self._profit_scale),
            failure="the bank goes bankrupt",
            # loans paid out: people come to the bank for a loan
            benefit="disbursed",
            # Baselines of `loan`, and random actions.
            baselines={
                **baseline_policies(self.action_groups),
                "random": dict.fromkeys(AGENTS, "random"),
            },
            stages=("idle", "applying"),
            core_attribute="qualification_score",
            counts_people=True,
            # those of `loan`; everybody who is approved is paid out at once
            decisions={"admission": APPLICATIONS},
            data_checksum=self._data.checksum,
            size_text=f"{self.population:,} people",
        )

    @property
    def default_params(self) -> LoanSimpleParams:
        """Values of table 8, and shares of groups and paid terms in the population's data."""
        columns = self._data.columns
        paid_share = columns["months_to_default"] / columns["term"]
        return LoanSimpleParams(
            share_paid_before_default=float(np.mean(paid_share[columns["defaulted"].astype(bool)])),
            bias_strength=self._data.bias_strength,
            disadvantaged_share=float(np.mean(columns["group"])),
        )

    @property
    def _profit_scale(self) -> float:
        """Profit per loan of table 8 for all loans of an episode, thousand dollars.

        Here a loan's whole profit is booked at once. In `loan` most loans are still running, or
        waiting, when the episode ends. A normaliser scaled with people and steps alone would
        therefore be ten times too small.
        """
        return PROFIT_PER_LOAN * filled(self.applicants) * self.horizon

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        """Space of this step's applicants, with time and the bank's profit as context."""
        context = (
            Feature("time", 0, self.horizon, "steps"),
            Feature("total_profit", 0, self._profit_scale, "thousand dollars", "TOTBANKPROF"),
        )
        return dict.fromkeys(AGENTS, EntitySpace(filled(self.applicants), FEATURES, context))

    @cached_property
    def _action_spaces(self) -> dict[str, ActionSpace]:
        return action_spaces(filled(self.applicants), GROUPS if self.action_groups == 2 else ())

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: LoanSimpleParams) -> LoanSimpleState:
        """Sample the people from the data, group by group, and the first applicants from them."""
        people_key, applicants_key = jax.random.split(key)
        share = params.disadvantaged_share
        shares = jnp.stack([1.0 - share, share])
        group, record = self._sample_people(people_key, DATA_COLUMNS, shares, params)
        applicants, stage = self._apply(jax.random.uniform(applicants_key, group.shape))
        zero = jnp.float32(0.0)
        return LoanSimpleState(
            time=jnp.int32(0),
            group=group,
            stage=stage,
            **record,
            total_profit=zero,
            total_losses=zero,
            total_payments=zero,
            applicants=applicants,
        )

    def _apply(
        self, lot: Float[Array, " people"]
    ) -> tuple[Int[Array, " applicants"], Int[Array, " people"]]:
        """Sample the applicants from everybody (step 1); return their rows and all stages."""
        rows, _ = sample_rows(lot, jnp.ones(lot.shape, bool), filled(self.applicants))
        stage = jnp.zeros(lot.shape, jnp.int32).at[rows].set(APPLYING, unique_indices=True)
        return rows, stage

    # ---------------------------------------------------------------- observations

    def people(self, state: LoanSimpleState) -> dict[str, Float[Array, " population"]]:
        """Return every feature of every person by name, including the fitted score."""
        return {
            "group": state.group.astype(jnp.float32),
            **state.record,
            "fico": 0.5 * (state.fico_low + state.fico_high),
            "qualification_score": loan.qualification_score(
                self._data.scores["qualification"], state.record
            ),
        }

    def observe(self, state: LoanSimpleState, params: LoanSimpleParams) -> dict[str, Entities]:
        """Return this step's applicants, the same for every agent."""
        people = self._seen(state)
        context = {"time": state.time, "total_profit": state.total_profit}
        everybody = jnp.ones(state.applicants.shape, bool)
        shared = self.observation_space(self.agents[0])
        return dict.fromkeys(self.agents, shared.view(people, everybody, context, state.applicants))

    # ---------------------------------------------------------------- one step

    def noise(self, key: PRNGKeyArray, params: LoanSimpleParams) -> LoanSimpleNoise:
        """Sample three uniform numbers for every person: outcome, tie and lot."""
        return LoanSimpleNoise(*uniform(key, (3, self.population)))

    def transition(
        self,
        noise: LoanSimpleNoise,
        state: LoanSimpleState,
        actions: Mapping[str, Array],
        params: LoanSimpleParams,
    ) -> tuple[LoanSimpleState, LoanComponents, Bool[Array, ""]]:
        """Simulate one step: the numbered steps of the card, in `steps.py`."""
        # one number per group, even if a single one holds for all
        threshold = jnp.broadcast_to(actions["admissions"], (len(GROUPS),))
        relief = jnp.broadcast_to(actions["debt_management"], (len(GROUPS),))
        score = self._data.scores["qualification"]

        # 1. apply
        applicants = steps.applicants_of(state)
        # 2. admit by threshold
        qualification = loan.qualification_score(score, applicants.record)
        approved = qualification >= threshold[applicants.group]
        # 3. pay out everybody who is approved, by priority
        waited = steps.months_waited(
            actions["disbursement"],
            approved,
            noise.tie[applicants.rows],
            filled(self.disbursement_cap),
        )
        # 4. relief and outcome
        settlement = steps.settle(noise, applicants, approved, score, relief, params.relief_effect)
        # 5. profit over the whole life of these loans
        received, due = steps.cash_flows(applicants, approved, settlement, params)
        books = book(state, received, due)
        # 6. credit records change
        next_record = steps.move_records(state, applicants, settlement, params)
        # step 1 of the next step
        next_applicants, stage = self._apply(noise.lot)

        rows = applicants.rows
        loans = self._count(approved, state, rows)
        components = LoanComponents(
            profit=books.profit,
            applied=self._count(jnp.ones_like(approved), state, rows),
            approved=loans,
            disbursed=loans,
            waited=self._count(waited, state, rows),
            ended=loans,
            defaulted=self._count(settlement.defaulted, state, rows),
        )
        state = state.replace(
            time=state.time + 1,
            stage=stage,
            **next_record,
            **books.totals,
            applicants=next_applicants,
        )
        bankrupt = loan.is_bankrupt(books.total_losses, books.total_payments)
        return state, components, bankrupt
