"""A bank with an admissions, a disbursement and a debt management agent; or two in one pool.

One step is one month, in the order of MAFE, appendix F: apply, admit, disburse, relieve, pay,
default or repay, update features, book the profit. The steps are in `steps.py`, their formulas in
`dynamics.py`, what is counted of them in `counts.py`; two banks are in `pool.py`, selective labels
in `selective.py`.
"""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fairgym.core import (
    ActionSpace,
    Components,
    Entities,
    EntitySpace,
    FairgymError,
    check_flag,
    check_shape,
)
from fairgym.data import Population, load_population
from fairgym.data.populations.loan import by_race
from fairgym.environments._common.sampled import PublishedProfit, SampledEnvironment, filled
from fairgym.environments.loan import counts, dynamics, pool, selective, steps
from fairgym.environments.loan.declarations import (
    DATA_COLUMNS,
    PROFIT,
    ROLES,
    action_spaces,
    baseline_policies,
    for_each_group,
    observation_spaces,
    published_metrics,
    published_of_banks,
    queue_metrics,
)
from fairgym.environments.loan.groups import GROUPINGS, Grouping
from fairgym.environments.loan.observations import features, observations
from fairgym.environments.loan.params import LoanParams
from fairgym.environments.loan.types import LoanNoise, LoanState, QueueComponents
from fairgym.fairness import Metric
from fairgym.utils import register_environment

_SpaceT = TypeVar("_SpaceT")


@register_environment("loan")
@dataclasses.dataclass(frozen=True)
class Loan(SampledEnvironment[LoanState, LoanParams, QueueComponents]):
    """The MAFE-Loan environment; see the card (`README.md` in this folder).

    Args:
        population: number of people N, up to 1,000,000.
        horizon: T, months after which an episode is truncated (400 in the paper).
        applicants: people sampled from the idle each month, N_1; by default 2% of the population.
        disbursement_cap: loans paid out each month at most; by default 1% of the population.
        action_groups: g, 1 for one threshold and one relief share for all; by default one for each
            group.
        population_source: "built-in", or the name of imported data.
        observe_group: sight of what tells a person's group, for all agents.
        selective_labels: outcomes of its own loans alone for the bank, whose admissions agent is
            shown the repayment rates that it estimates from them.
        banks: number of banks, 1 or 2. Two share the people and the cap, and have agents, money
            and metrics of their own: `bank_1_admissions`, `bank_1_profit`.
        group_by: "advantage" for the two groups of the advantaged and the disadvantaged, "race" for
            four groups of the races that these are made of.

    Raises:
        FairgymError: an argument out of range (applicants and cap lie between 1 and N), or two
            banks with selective labels.
    """

    name: ClassVar[str] = "loan"
    version: ClassVar[int] = 2
    dataset: ClassVar[str] = "loan"
    stages: ClassVar[tuple[str, ...]] = ("idle", "waiting", "repaying")
    time_unit: ClassVar[str] = "months"
    core_attribute: ClassVar[str] = "qualification_score"
    waits: ClassVar[Mapping[str, str]] = {"waiting": "time_waited"}
    # loans paid out: people come to the bank for a loan
    benefit: ClassVar[str] = "disbursed"
    published_profit: ClassVar[PublishedProfit] = PROFIT

    population: int = 10_000
    horizon: int = 400
    applicants: int | None = None
    disbursement_cap: int | None = None
    action_groups: int | None = None
    population_source: str = "built-in"
    observe_group: bool = True
    selective_labels: bool = False
    banks: int = 1
    group_by: str = "advantage"

    def __post_init__(self) -> None:
        """Check the shapes and fill in those that follow the population."""
        if self.group_by not in tuple(GROUPINGS):
            raise FairgymError(f"group_by is {self.group_by!r}; it takes {' or '.join(GROUPINGS)}")
        super().__post_init__()
        check_flag("selective_labels", self.selective_labels)
        groups = len(self.groups)
        if self.action_groups is None:
            object.__setattr__(self, "action_groups", groups)
        if check_shape("action_groups", self.action_groups, 1, groups) not in (1, groups):
            raise FairgymError(
                f"action_groups is {self.action_groups}; it takes 1 for all, or {groups} for one"
                f" per {self.group_word}"
            )
        self._fill_in("applicants", 0.02 * self.population)
        check_shape("banks", self.banks, 1, pool.BANKS)
        if self.banks > 1 and self.selective_labels:
            raise FairgymError(
                "selective_labels is True, but banks is 2; it takes a single bank, whose records"
                " it keeps"
            )
        self._fill_in("disbursement_cap", max(0.01 * self.population, self.banks))
        check_shape("disbursement_cap", self.disbursement_cap, self.banks, self.population)

    # ---------------------------------------------------------------- declarations

    @property
    def _grouping(self) -> Grouping:
        """Partition of the people into the groups asked for."""
        return GROUPINGS[self.group_by]

    @property
    def groups(self) -> tuple[str, ...]:  # type: ignore[override]
        """Advantaged and disadvantaged; or the races."""
        return self._grouping.groups

    @property
    def group_word(self) -> str:  # type: ignore[override]
        """A group, or a race."""
        return self._grouping.word

    @cached_property
    def _data(self) -> Population:
        """The population of the source, in the groups asked for."""
        data = load_population(self.dataset, self.population_source)
        return by_race(data) if self.group_by == "race" else data

    @property
    def agents(self) -> tuple[str, ...]:  # type: ignore[override]
        """Admissions, disbursement and debt management of every bank."""
        return tuple(f"{bank}{role}" for bank in self._prefixes for role in ROLES)

    @property
    def failure(self) -> str:  # type: ignore[override]
        """The bank's, or that of either."""
        return "the bank fails" if self.banks == 1 else "a bank fails"

    @cached_property
    def _prefixes(self) -> tuple[str, ...]:
        """Beginnings of the names of each bank's agents and metrics; nothing for a single bank."""
        return ("",) if self.banks == 1 else tuple(pool.named(b, "") for b in range(self.banks))

    @property
    def components(self) -> type[Components]:  # type: ignore[override]
        """Those of a month; with labels and estimates where labels are selective; of each bank."""
        if self.banks > 1:
            return pool.PoolComponents
        return selective.SelectiveComponents if self.selective_labels else QueueComponents

    @property
    def default_params(self) -> LoanParams:
        """Table 8; bias strength and group share as fitted on the population's data."""
        params = selective.SelectiveParams if self.selective_labels else LoanParams
        if self.banks > 1:
            params = pool.PoolParams
        return params(
            bias_strength=self._data.bias_strength,
            disadvantaged_share=self._grouping.disadvantaged_share(self._data),
        )

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Those of MAFE, appendix F, normalised as in table 8; and those that see the queue.

        With selective labels those of labels too, by the truth and by the bank's estimates. With
        two banks those are the pool's, and each bank has the published ones.
        """
        labels = selective.label_metrics() if self.selective_labels else {}
        everywhere = {**published_metrics(self._profit_scale), **queue_metrics(), **labels}
        return {**everywhere, **self._published_of_banks}

    @property
    def terms(self) -> tuple[str, ...]:
        """The rewards and disparities of MAFE, table 1; of each bank."""
        return tuple(self._published_of_banks)

    @property
    def _published_of_banks(self) -> dict[str, Metric]:
        """The published metrics of each bank, whose profit is normalised by its share of loans."""
        return published_of_banks(self._profit_scale / self.banks, self._prefixes)

    @property
    def baselines(self) -> Mapping[str, Mapping[str, Any]]:
        """Two simple rules, and the paper's grid-searched fixed policy (appendix D.3)."""
        return baseline_policies(
            filled(self.action_groups), self._prefixes, self._grouping.disadvantaged
        )

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        more = {"admissions": selective.ESTIMATES} if self.selective_labels else {}
        if self.banks > 1:
            more = dict.fromkeys(ROLES, pool.other_terms(self.groups))
        scale = self._profit_scale / self.banks
        telling = self._grouping.features
        spaces = observation_spaces(
            self.population, filled(self.applicants), self.horizon, scale, telling, more
        )
        return self._for_every_bank(spaces)

    @cached_property
    def _action_spaces(self) -> dict[str, ActionSpace]:
        spaces = action_spaces(
            self.population, self.groups if filled(self.action_groups) > 1 else ()
        )
        return self._for_every_bank(spaces)

    def _for_every_bank(self, spaces: Mapping[str, _SpaceT]) -> dict[str, _SpaceT]:
        """Spaces by role as spaces by agent: those of all banks are the same."""
        return {f"{bank}{role}": space for bank in self._prefixes for role, space in spaces.items()}

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
        applicants, applying = steps.apply(priority, everybody, filled(self.applicants))
        state = LoanState.at_start(
            group,
            record,
            residual=params.residual_share * (paid_share - fitted),
            applicants=applicants,
            applying=applying,
            months=self.horizon + self._longest_term,
            places=(self.banks,) if self.banks > 1 else (),
        )
        if self.banks > 1:
            choice_key = jax.random.fold_in(applicants_key, 1)
            return pool.at_start(state, choice_key, self.banks, len(self.groups))
        return selective.at_start(state) if self.selective_labels else state

    @cached_property
    def _deciles(self) -> np.ndarray:
        """The qualification scores between the deciles of the data's people."""
        return selective.decile_edges(self._data, DATA_COLUMNS)

    @cached_property
    def _longest_term(self) -> int:
        return int(np.max(self._data.columns["term"]))

    # ---------------------------------------------------------------- looking

    def people(self, state: LoanState) -> dict[str, Float[Array, " population"]]:
        """Every feature of every person by name, the fitted scores included."""
        return features(state, self._grouping, self._data.scores)

    def observe(self, state: LoanState, params: LoanParams) -> dict[str, Entities]:
        """Applicants of this month, the queue, the borrowers: to each bank its own."""
        spaces = self._observation_spaces
        return observations(state, params, self._seen(state), spaces, self._prefixes, self.groups)

    # ---------------------------------------------------------------- one month

    def noise(self, key: PRNGKeyArray, params: LoanParams) -> LoanNoise:
        """Payment noise N ~ Normal(0, sigma^2) and a uniform priority, for every person.

        With two banks another uniform number, for the choice of a bank.
        """
        of_one = LoanNoise if self.banks == 1 else pool.PoolNoise
        return of_one.sample(key, self.population, params.payment_noise)

    def transition(
        self, noise: LoanNoise, state: LoanState, actions: Mapping[str, Any], params: LoanParams
    ) -> tuple[LoanState, QueueComponents, Bool[Array, ""]]:
        """Make one month's step: the numbered steps of the card, in `steps.py`."""
        threshold = self._offered(actions, "admissions")
        relief = self._offered(actions, "debt_management")
        scores, record = self._data.scores, steps.current_record(state)
        groups = len(self.groups)

        # 1. apply (sampled at the end of the last step, so that agents could see it), 2. admit
        admission = steps.admit(state, record, scores["qualification"], threshold)
        # 3. pay out
        payouts = steps.pay_out_all(
            noise,
            state,
            [actions[f"{prefix}disbursement"] for prefix in self._prefixes],
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
        received = [jnp.sum(state.of_bank(bank, collection.paid)) for bank in range(self.banks)]
        books = steps.book(state, pool.by_bank(received), state.deposits.due(state.time))
        # the loans after steps 2 to 6; 1. of the next month
        loans = steps.move_loans(state, admission, payouts, collection, ending)
        idle = loans.stage == steps.IDLE
        applicants, applying = steps.apply(noise.priority, idle, filled(self.applicants))

        month = counts.Month(admission, payouts, ending, loans, books)
        components = counts.components(month, state, groups)
        if isinstance(state, selective.RecordingState):
            # what the bank learns: outcomes of its own loans, nothing of who was refused
            labels = selective.label(
                state, admission.qualification, self._deciles, scores["propensity"], relief, params
            )
            components = selective.counted(components, labels, admission.approved, state, groups)
            state = state.replace(**selective.recorded(state, labels, admission, ending))
        month_after, due_later = state.time + 1, [payout.due_later for payout in payouts]
        state = state.replace(
            time=month_after,
            **next_record,
            **vars(loans),
            applicants=applicants,
            applying=applying,
            deposits=state.deposits.add_from(month_after, pool.by_bank(due_later)),
            **books.totals,
        )
        if isinstance(state, pool.PoolState):
            state = pool.post(state, threshold, relief)
            state = state.replace(bank=pool.choose(noise, state, scores["qualification"], params))
        bankrupt = dynamics.is_bankrupt(books.total_losses, books.total_payments)
        return state, components, jnp.any(bankrupt)

    def _offered(self, actions: Mapping[str, Any], role: str) -> Float[Array, " offers"]:
        """Terms by bank and group: the order of `LoanState.offer`."""
        return jnp.concatenate(
            [
                for_each_group(actions[f"{prefix}{role}"], len(self.groups))
                for prefix in self._prefixes
            ]
        )
