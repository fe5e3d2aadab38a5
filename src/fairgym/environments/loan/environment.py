"""A bank with admissions, disbursement and debt management agents, or two such banks.

One step is one month, in the order of MAFE, appendix F (`steps.py`, formulas in `dynamics.py`).
Parts can be exchanged: the market with one bank (`market.py`) or two (`pool.py`), what a bank
learns from its loans (`selective.py`), and the groups (`groups.py`).
"""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fairgym.core import (
    ActionSpace,
    Entities,
    EntitySpace,
    EnvironmentSpec,
    FairgymError,
    check_shape,
    param,
    sample_rows,
)
from fairgym.data import Population, load_population
from fairgym.data.populations.loan import by_race
from fairgym.environments._common.base import PublishedProfit
from fairgym.environments._common.sampled import (
    SampledEnvironment,
    filled,
    number_of_people,
    number_of_steps,
    people_per_step,
)
from fairgym.environments._common.schedule import Schedule
from fairgym.environments.loan import dynamics, pool, steps
from fairgym.environments.loan.declarations import (
    DECISIONS,
    PROFIT,
    ROLES,
    action_spaces,
    baseline_policies,
    observation_spaces,
    published_metrics,
    queue_metrics,
)
from fairgym.environments.loan.groups import GROUPINGS, Grouping
from fairgym.environments.loan.market import Market, features, observations
from fairgym.environments.loan.month import IDLE, Month
from fairgym.environments.loan.params import LoanParams
from fairgym.environments.loan.selective import AllLabels, SelectiveLabels
from fairgym.environments.loan.types import DATA_COLUMNS, LoanNoise, LoanState, QueueComponents
from fairgym.fairness import Metric
from fairgym.utils import register_environment


@register_environment("loan")
@dataclasses.dataclass(frozen=True)
class Loan(SampledEnvironment[LoanState, LoanParams, QueueComponents]):
    """MAFE-Loan environment; see its card (`README.md` in this folder).

    Raises:
        FairgymError: If an argument is out of range (applicants and cap lie between 1 and N), or
            if two banks are combined with selective labels.
    """

    name: ClassVar[str] = "loan"
    dataset: ClassVar[str] = "loan"
    published_profit: ClassVar[PublishedProfit] = PROFIT

    population: int = number_of_people(10_000)
    horizon: int = number_of_steps(
        400, "Time limit T in months, after which an episode is truncated (400 in the paper)."
    )
    applicants: int | None = people_per_step(
        "Idle people sampled as applicants each month, N_1; by default 2% of the population."
    )
    disbursement_cap: int | None = people_per_step(
        "Maximum number of loans paid out each month; by default 1% of the population."
    )
    action_groups: int | None = param(
        None,
        "Number g of thresholds and of relief shares: 1, or one per group (the default).",
        low=1,
        high=4,
    )
    population_source: str = param(
        "built-in", 'Source of the people: "built-in", or the name of imported data.'
    )
    observe_group: bool = param(True, "Whether agents observe each person's group.")
    selective_labels: bool = param(
        False,
        "Whether to reveal repayment outcomes only for granted loans; the admissions agent then"
        " observes repayment rates estimated from those.",
    )
    banks: int = param(
        1,
        "Number of banks. Two banks share the people and the cap; each has its own agents, money"
        " and metrics, such as `bank_1_admissions` and `bank_1_profit`.",
        low=1,
        high=pool.BANKS,
    )
    group_by: str = param(
        "advantage",
        'Groups of people: "advantage" for two (advantaged, disadvantaged), "race" for the four'
        " races that these consist of.",
        choices=tuple(GROUPINGS),
    )

    def __post_init__(self) -> None:
        """Check the sizes, and fill in those that depend on the population."""
        super().__post_init__()
        groups = len(self._grouping.groups)
        if self.action_groups is None:
            object.__setattr__(self, "action_groups", groups)
        if check_shape("action_groups", self.action_groups, 1, groups) not in (1, groups):
            raise FairgymError(
                f"action_groups must be 1 (for all) or {groups} (one per {self._grouping.word}),"
                f" got {self.action_groups}"
            )
        self._fill_in("applicants", 0.02 * self.population)
        if self.banks > 1 and self.selective_labels:
            raise FairgymError(
                "selective_labels needs a single bank, whose records it keeps, got"
                " selective_labels=True with banks=2"
            )
        self._fill_in("disbursement_cap", max(0.01 * self.population, self.banks))
        check_shape("disbursement_cap", self.disbursement_cap, self.banks, self.population)

    # ---------------------------------------------------------------- declarations

    @property
    def _grouping(self) -> Grouping:
        """Groups of the people, as chosen by `group_by`."""
        return GROUPINGS[self.group_by]

    @cached_property
    def _data(self) -> Population:
        """Population of the source, in these groups."""
        data = load_population(self.dataset, self.population_source)
        return by_race(data) if self.group_by == "race" else data

    @cached_property
    def _market(self) -> Market:
        """Banks that people borrow from."""
        kind = pool.Pool if self.banks > 1 else Market
        return kind(self._grouping.groups)

    @cached_property
    def _labelling(self) -> AllLabels:
        """What the bank learns from its loans."""
        if not self.selective_labels:
            return AllLabels()
        return SelectiveLabels(self._data, DATA_COLUMNS, len(self._grouping.groups))

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """Declaration of the environment."""
        banks, grouping = self._market.prefixes, self._grouping
        return EnvironmentSpec(
            version=2,
            agents=tuple(f"{bank}{role}" for bank in banks for role in ROLES),
            groups=grouping.groups,
            components=self._labelling.components(self._market.components),
            metrics=self._metrics,
            group_word=grouping.word,
            time_unit="months",
            failure=self._market.failure,
            # Rewards and disparities of MAFE, table 1, of each bank.
            terms=tuple(self._published_of_banks),
            benefit="disbursed",  # loans paid out: people come to the bank for a loan
            # Two simple rules, and the paper's grid-searched fixed policy (appendix D.3).
            baselines=baseline_policies(filled(self.action_groups), banks, grouping.disadvantaged),
            stages=("idle", "waiting", "repaying"),
            core_attribute="qualification_score",
            counts_people=True,
            data_checksum=self._data.checksum,
            size_text=f"{self.population:,} people",
            waits={"waiting": "time_waited"},
            # the wait leaves out people who are never served
            finished_only={f"{bank}wait_disparity": "served_disparity" for bank in banks},
            decisions=DECISIONS,
        )

    @property
    def default_params(self) -> LoanParams:
        """Values of table 8; bias strength and group share as fitted to the population's data."""
        params = self._labelling.params(self._market.params)
        return params(
            bias_strength=self._data.bias_strength,
            disadvantaged_share=self._grouping.disadvantaged_share(self._data),
        )

    @property
    def _metrics(self) -> Mapping[str, Metric]:
        """Metrics of MAFE, appendix F, normalised as in table 8, and the metrics of the queue.

        With selective labels, metrics of the labels are added, both true and estimated. With two
        banks these are metrics of the pool, and each bank has the published ones.
        """
        everywhere = {**published_metrics(self._profit_scale), **queue_metrics()}
        return {**everywhere, **self._labelling.metrics(), **self._published_of_banks}

    @property
    def _published_of_banks(self) -> dict[str, Metric]:
        """Published metrics of each bank; profit is normalised by the bank's share of loans."""
        scale, banks = self._profit_scale / self.banks, self._market.prefixes
        return {n: m for bank in banks for n, m in published_metrics(scale, bank).items()}

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        more = dict.fromkeys(ROLES, self._market.context)
        more["admissions"] += self._labelling.context
        return observation_spaces(
            self.population,
            filled(self.applicants),
            self.horizon,
            self._profit_scale / self.banks,
            self._grouping.features,
            more,
            self._market.prefixes,
        )

    @cached_property
    def _action_spaces(self) -> dict[str, ActionSpace]:
        groups = self._grouping.groups if filled(self.action_groups) > 1 else ()
        return action_spaces(self.population, groups, self._market.prefixes)

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: LoanParams) -> LoanState:
        """Sample the people from the data, group by group, all of them idle."""
        people_key, applicants_key = jax.random.split(key)
        shares = self._grouping.shares(self._data, params.disadvantaged_share, params.group_size)
        columns = (*DATA_COLUMNS, "months_to_default")
        group, record = self._sample_people(people_key, columns, shares, params)
        paid_share = record.pop("months_to_default") / record["term"]
        fitted = dynamics.payment_propensity(self._data.scores["propensity"], record)
        priority = jax.random.uniform(applicants_key, group.shape)
        everybody = jnp.ones(group.shape, bool)
        applicants, applying = sample_rows(priority, everybody, filled(self.applicants))
        residual = params.residual_share * (paid_share - fitted)
        nothing, never = jnp.zeros(group.shape, jnp.float32), jnp.zeros(group.shape, jnp.int32)
        zero = jnp.zeros(self._market.places, jnp.float32)
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
            residual=residual,
            applicants=applicants,
            applying=applying,
            deposits=Schedule.empty(self.horizon + self._longest_term, self._market.places),
            total_profit=zero,
            total_losses=zero,
            total_payments=zero,
        )
        return self._labelling.at_start(self._market.at_start(state, applicants_key))

    @cached_property
    def _longest_term(self) -> int:
        return int(np.max(self._data.columns["term"]))

    # ---------------------------------------------------------------- observations

    def people(self, state: LoanState) -> dict[str, Float[Array, " population"]]:
        """Return every feature of every person by name, including the fitted scores."""
        return features(state, self._market, self._grouping, self._data.scores)

    def observe(self, state: LoanState, params: LoanParams) -> dict[str, Entities]:
        """Return each bank's observations: this month's applicants, the queue, the borrowers."""
        spaces, people = self._observation_spaces, self._seen(state)
        estimates = self._labelling.context_values(state, params)
        return observations(state, people, spaces, self._market, estimates)

    # ---------------------------------------------------------------- one month

    def noise(self, key: PRNGKeyArray, params: LoanParams) -> LoanNoise:
        """Sample payment noise N ~ Normal(0, sigma^2) and uniform numbers for every person."""
        return self._market.noise.sample(key, self.population, params.payment_noise)

    def transition(
        self, noise: LoanNoise, state: LoanState, actions: Mapping[str, Array], params: LoanParams
    ) -> tuple[LoanState, QueueComponents, Bool[Array, ""]]:
        """Simulate one month: the numbered steps of the card, in `steps.py`."""
        threshold = self._offered(actions, "admissions")
        relief = self._offered(actions, "debt_management")
        market, scores = self._market, self._data.scores
        record = dynamics.current_record(state.record, state.installment)

        # 1. apply (sampled at the end of the last step, so that agents observe it), 2. admit
        admission = steps.admit(state, record, scores["qualification"], threshold)
        # 3. pay out
        payouts = steps.pay_out(
            noise,
            state,
            [actions[f"{prefix}disbursement"] for prefix in market.prefixes],
            filled(self.disbursement_cap),
            params.deposit_rate,
            self._longest_term,
        )
        # 4. relief, 5. payment
        collection = steps.collect(
            noise, state, record, scores["propensity"], relief, params.relief_forgiven
        )
        # 6. default or repaid, 7. features change
        ending = steps.end_loans(state, collection, params.default_ratio)
        next_record = steps.move_records(state, ending, params)
        # 8. profit
        received = [jnp.sum(state.of_bank(bank, collection.paid)) for bank in range(self.banks)]
        books = steps.book(state, market.by_bank(received), state.deposits.due(state.time))
        # the loans after steps 2 to 6; step 1 of the next month
        loans = steps.move_loans(state, admission, payouts, collection, ending)
        idle = loans.stage == IDLE
        applicants, applying = sample_rows(noise.priority, idle, filled(self.applicants))

        month = Month(admission, payouts, ending, loans, books)
        components = market.counted(month, state)
        state, components = self._labelling.update(state, month, components, relief, params)
        month_after, due_later = state.time + 1, [payout.due_later for payout in payouts]
        state = state.replace(
            time=month_after,
            **next_record,
            **vars(loans),
            applicants=applicants,
            applying=applying,
            deposits=state.deposits.add_from(month_after, market.by_bank(due_later)),
            **books.totals,
        )
        score = scores["qualification"]
        state = market.closed(noise, state, threshold, relief, score, params)
        bankrupt = dynamics.is_bankrupt(books.total_losses, books.total_payments)
        return state, components, jnp.any(bankrupt)

    def _offered(self, actions: Mapping[str, Array], role: str) -> Float[Array, " offers"]:
        """Return the terms by bank and group, in the order of `LoanState.offer`."""
        terms = (actions[f"{prefix}{role}"] for prefix in self._market.prefixes)
        shape = (len(self.spec.groups),)  # one number per group, even if one holds for all
        return jnp.concatenate([jnp.broadcast_to(term, shape) for term in terms])
