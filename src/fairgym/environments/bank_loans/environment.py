"""A bank that approves or denies loans (Hu, Lear and Zhang 2023, section VI-A)."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fairgym.core import (
    Discrete,
    Entities,
    EntitySpace,
    Environment,
    EnvironmentSpec,
    param,
    uniform,
)
from fairgym.environments._common.base import SpacesByAgent
from fairgym.environments.bank_loans import dynamics
from fairgym.environments.bank_loans.declarations import (
    GROUPS,
    OPTIONS,
    REPAYMENT,
    SCORE_NAMES,
    START_ADVANTAGED,
    START_DISADVANTAGED,
    baseline_policies,
    decisions,
    measures_of,
    memories_of,
    metrics_of,
    observation_space,
)
from fairgym.environments.bank_loans.dynamics import SCORES
from fairgym.environments.bank_loans.types import (
    BankLoansComponents,
    BankLoansNoise,
    BankLoansParams,
    BankLoansState,
    RecordingState,
    SelectiveComponents,
    SelectiveParams,
)
from fairgym.utils import register_environment


@register_environment("bank_loans")
@dataclasses.dataclass(frozen=True)
class BankLoans(SpacesByAgent, Environment[BankLoansState, BankLoansParams, BankLoansComponents]):
    """Environment of a bank that approves or denies a loan to one applicant in each step.

    A repaid loan raises the applicant's score and a default lowers it, so decisions change the
    score distributions of the two groups. The published reward is profit.

    Raises:
        FairgymError: If an argument is out of range.
    """

    name: ClassVar[str] = "bank_loans"

    horizon: int = param(
        2_000,
        "Number of steps of an episode; the source trains with 2,000 and evaluates with 10,000.",
        low=1,
        high=1_000_000,
    )
    shows_cash: bool = param(True, "Whether the bank observes its cash.")
    informed: bool = param(
        False,
        "Whether the bank observes the groups' score distributions; the rule equal-opportunity"
        " needs them.",
    )
    selective_labels: bool = param(
        False,
        "Whether to reveal repayment outcomes only for granted loans; the bank then observes"
        " repayment rates estimated from those, and the measures given to learners use them.",
    )

    # ---------------------------------------------------------------- declarations

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """Declaration of the environment."""
        metrics = metrics_of(self.horizon, self.selective_labels)
        measures = measures_of(metrics, self.selective_labels)
        return EnvironmentSpec(
            agents=("bank",),
            groups=GROUPS,
            # With selective labels the components hold an estimate beside the truth.
            components=SelectiveComponents if self.selective_labels else BankLoansComponents,
            metrics=metrics,
            failure="the bank goes bankrupt",
            size_text=f"{len(GROUPS)} groups, {SCORES} scores",
            parts={"score": SCORE_NAMES},
            measures=measures,
            memories=memories_of(measures),
            # Profit alone (section VI-A).
            published={"profit": 1.0},
            default_objective="published",
            # a loan is what people apply for
            benefit="approved",
            baselines=baseline_policies(self.informed, self.selective_labels),
            expected_components=self._expected_components,
            decisions=decisions(self.selective_labels),
        )

    @property
    def default_params(self) -> BankLoansParams:
        """Published values."""
        params = SelectiveParams if self.selective_labels else BankLoansParams
        return params(
            start_advantaged=jnp.array(START_ADVANTAGED),
            start_disadvantaged=jnp.array(START_DISADVANTAGED),
            repayment=jnp.array(REPAYMENT),
        )

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        """Space of the applicant, with the cash and what the bank knows as context."""
        space = observation_space(self.shows_cash, self.informed, self.selective_labels)
        return {"bank": space}

    @cached_property
    def _action_spaces(self) -> dict[str, Discrete]:
        """Action space: deny or approve."""
        return {"bank": Discrete(OPTIONS)}

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: BankLoansParams) -> BankLoansState:
        """Return the groups' initial distributions and the first applicant."""
        shares = jnp.stack(
            [
                jnp.broadcast_to(jnp.asarray(start, jnp.float32), (SCORES,))
                for start in (params.start_advantaged, params.start_disadvantaged)
            ]
        )
        numbers = jax.random.uniform(key, (2,))
        group = dynamics.drawn_group(numbers[0], params.advantaged)
        state = BankLoansState(
            time=jnp.int32(0),
            group=group,
            score=dynamics.drawn_score(numbers[1], shares, group),
            shares=shares,
            cash=jnp.asarray(params.cash, jnp.float32),
        )
        if not self.selective_labels:
            return state
        return RecordingState(**vars(state), loans=jnp.zeros(SCORES), repayments=jnp.zeros(SCORES))

    # ---------------------------------------------------------------- observations

    def observe(self, state: BankLoansState, params: BankLoansParams) -> dict[str, Entities]:
        """Return the applicant's score and group, and what the bank knows."""
        applicant = {
            "score": (state.score + 1.0)[None],
            "group": state.group.astype(jnp.float32)[None],
        }
        known = [state.cash] if self.shows_cash else []
        if self.informed:
            known += list(state.shares.reshape(-1))
        if isinstance(state, RecordingState):
            known += list(self._estimates(state, params))
        space = self._observation_spaces["bank"]
        context = dict(zip((feature.name for feature in space.context), known, strict=True))
        return {"bank": space.view(applicant, jnp.ones(1, bool), context)}

    def _estimates(self, state: RecordingState, params: BankLoansParams) -> Float[Array, " scores"]:
        """Return each score's probability to repay, estimated from the bank's own loans."""
        assert isinstance(params, SelectiveParams)
        return dynamics.estimated_repayment(
            state.loans, state.repayments, params.prior_repayment, params.prior_weight
        )

    # ---------------------------------------------------------------- one step

    def noise(self, key: PRNGKeyArray, params: BankLoansParams) -> BankLoansNoise:
        """Sample uniform numbers for the applicant's repayment and for the next applicant."""
        numbers = uniform(key, (3,))
        return BankLoansNoise(repayment=numbers[0], group=numbers[1], score=numbers[2])

    def transition(
        self,
        noise: BankLoansNoise,
        state: BankLoansState,
        actions: Mapping[str, Array],
        params: BankLoansParams,
    ) -> tuple[BankLoansState, BankLoansComponents, Bool[Array, ""]]:
        """Simulate one step: the numbered steps of the card."""
        # 1. the decision
        approved = actions["bank"] == 1
        # 2. the outcome of the loan, or the outcome it would have had
        repays = noise.repayment < dynamics.chance_of(params.repayment, state.score)
        # 3. the bank's cash
        earned = dynamics.profit_of(repays, params.loan, params.interest)
        profit = jnp.where(approved, earned, 0.0)
        cash = state.cash + profit
        # 4. the scores of the applicant's group
        shares = dynamics.moved_shares(
            state.shares, state.group, state.score, approved, repays, params.shift
        )
        # 5. the next applicant
        group = dynamics.drawn_group(noise.group, params.advantaged)
        score = dynamics.drawn_score(noise.score, shares, group)

        components = self._components(state.group, state.score, approved, repays, profit)
        components = components.replace(score_shares=shares, cash=cash)
        if isinstance(state, RecordingState):
            # 6. the bank learns outcomes of its own loans, and nothing about people it denied
            here = jax.nn.one_hot(state.score, SCORES)
            chance = jnp.sum(self._estimates(state, params) * here)
            components = self._with_estimate(components, state.group, approved, chance)
            state = state.replace(
                loans=state.loans + here * approved,
                repayments=state.repayments + here * (approved & repays),
            )
        state = state.replace(
            time=state.time + 1, group=group, score=score, shares=shares, cash=cash
        )
        return state, components, cash < params.loan

    def _expected_components(
        self,
        observations: Mapping[str, Entities],
        actions: Mapping[str, Array],
        params: BankLoansParams,
    ) -> BankLoansComponents:
        """Return the expected components of a step; the bank knows how often a score repays.

        With selective labels it uses its estimates. The score distributions and the cash after the
        step have no expected value.
        """
        applicant = observations["bank"].features[0]
        score, group = jnp.round(applicant[0]).astype(jnp.int32) - 1, jnp.round(applicant[1])
        if self.selective_labels:
            chance = dynamics.chance_of(observations["bank"].context[-SCORES:], score)
        else:
            chance = dynamics.chance_of(params.repayment, score)
        approved = actions["bank"] == 1
        earned = dynamics.expected_profit(chance, params.loan, params.interest)
        profit = jnp.where(approved, earned, 0.0)
        place = group.astype(jnp.int32)
        components = self._components(place, score, approved, chance, profit)
        if self.selective_labels:
            components = self._with_estimate(components, place, approved, chance)
        return components

    def _with_estimate(
        self, components: BankLoansComponents, group: Array, approved: Array, chance: Array
    ) -> SelectiveComponents:
        """Add the bank's view: the outcome of a loan, and an estimate if there is none."""
        refused = jax.nn.one_hot(group, len(self.spec.groups)) * ~approved
        estimate = components.successful + refused * chance
        return SelectiveComponents(**vars(components), estimated_would_repay=estimate)

    def _components(
        self, group: Array, score: Array, approved: Array, repays: Array, profit: Array
    ) -> BankLoansComponents:
        """Return the components of a decision, given the applicant's probability to repay."""
        applicant = jax.nn.one_hot(group, len(self.spec.groups))
        chance = jnp.asarray(repays, jnp.float32)
        loan = applicant * approved
        return BankLoansComponents(
            profit=profit,
            applicants=applicant[:, None] * jax.nn.one_hot(score, SCORES),
            approved=loan,
            would_repay=applicant * chance,
            successful=loan * chance,
            defaulted=loan * (1.0 - chance),
            score_shares=jnp.zeros((len(self.spec.groups), SCORES)),
            cash=jnp.float32(0.0),
        )
