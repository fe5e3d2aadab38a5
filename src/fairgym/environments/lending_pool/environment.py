"""The lending pool: who gets the next loan (Alamdari et al. 2024, sections 6.2 and A.3)."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import (
    Entities,
    EntitySpace,
    EnvironmentSpec,
    FairgymError,
    Feature,
    OneEntity,
    PopulationEnvironment,
    param,
)
from fairgym.environments._common.base import SpacesByAgent
from fairgym.environments.lending_pool.types import (
    APPLYING,
    LendingPoolComponents,
    LendingPoolNoise,
    LendingPoolParams,
    LendingPoolState,
)
from fairgym.fairness import Direct, Disparity, Full, Metric, Min, Rate, RelaxedParity, Scheme, When
from fairgym.utils import register_environment

GROUPS = ("A", "B")
CREDIT = ("discrete", "gaussian")
CREDIT_LEVELS = 8  # 0.2, 0.3, ..., 0.9


@register_environment("lending_pool")
@dataclasses.dataclass(frozen=True)
class LendingPool(
    SpacesByAgent, PopulationEnvironment[LendingPoolState, LendingPoolParams, LendingPoolComponents]
):
    """A bank that grants one loan in each step to one of a few people, of two groups.

    The published reward is relaxed demographic parity of all loans so far, in each step with a
    loan, less penalties for an offer to somebody who did not apply and for an episode that misses
    the profit aimed at.

    Raises:
        FairgymError: an argument out of range, or an odd number of people.
    """

    name: ClassVar[str] = "lending_pool"

    population: int = param(4, "Number of people, half of them in each group.", low=2, high=1_000)
    horizon: int = param(40, "Number of steps.", low=1, high=100_000)
    credit: str = param(
        "discrete",
        '"discrete" moves credit by a tenth (A.4.2), "gaussian" by a normal number (A.3).',
        choices=CREDIT,
    )
    shows_time: bool = param(False, "Whether the bank observes the time.")

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        if self.population % 2:
            raise FairgymError(
                f"population is {self.population}; it takes an even number, half for each group"
            )

    # ---------------------------------------------------------------- declarations

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """What is declared."""
        return EnvironmentSpec(
            agents=("bank",),
            groups=GROUPS,
            components=LendingPoolComponents,
            metrics=self._metrics,
            # The people are told apart.
            parts={"person": self._action_spaces["bank"].names},
            schemes=self._schemes,
            # Those of section 6.2: of the loans that each group has got.
            memories={"full": Full("loans"), "min": Min("loans")},
            # Parity, less T for each offer that is refused and 10 T for a margin missed (A.4.2).
            published={
                "parity": 1.0,
                "refused": float(self.horizon),
                "margin_missed": 10.0 * self.horizon,
            },
            default_objective="published",
            # a loan is what people apply for
            benefit="loans",
            # Loans to the groups in turns, to an applicant at random, and to anybody at random.
            baselines={
                "alternate_groups": {"bank": "alternate-groups"},
                "random_present": {"bank": "random-present"},
                "random": {"bank": "random"},
            },
            stages=("idle", "applying"),
            core_attribute="credit",
            size_text=f"{self.population:,} people",
            counts_people=True,
        )

    @property
    def default_params(self) -> LendingPoolParams:
        """The numbers of A.4.2, or of A.3 if credit is Gaussian."""
        if self.credit == "gaussian":
            return LendingPoolParams(credit_change=0.05, credit_spread=0.1)
        return LendingPoolParams()

    @property
    def _metrics(self) -> Mapping[str, Metric]:
        """Profit, the two things that are penalised, and rates of loans and defaults by group."""
        granted = Rate("loans", "applied")
        default = Rate("defaulted", "loans", sign=-1)
        return {
            "profit": Direct("profit", normaliser=float(self.horizon)),
            "refused": Direct("refused", sign=-1),
            "margin_missed": Direct("margin_missed", sign=-1),
            "grant_rate": granted,
            "grant_disparity": Disparity(granted),
            "default_rate": default,
            "default_disparity": Disparity(default),
        }

    @property
    def _schemes(self) -> Mapping[str, Scheme]:
        """Fairness between the groups in the loans granted so far; "parity" is the published one.

        It is relaxed demographic parity in every step in which a loan is granted (A.4.2).
        """
        granted = Full("loans")
        return {
            "parity": Scheme.bounded(granted, RelaxedParity(), When("loans")),
            "long_term": Scheme.long_term(granted, RelaxedParity()),
        }

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        """Everybody, whether they apply or not, and the profit so far."""
        steps, levels = self.horizon, CREDIT_LEVELS if self.credit == "discrete" else 0
        features = (
            Feature("applies", 0, 1, source="whether the person applies", levels=2),
            Feature("credit", 0.2, 0.9, "", "C, the chance to repay", levels=levels),
            Feature("group", 0, 1, source="0 for A, 1 for B", levels=2, fixed=True),
        )
        margin = Feature(
            "profit", -steps, steps, "loans", "profit margin so far", levels=2 * steps + 1
        )
        time = Feature("time", 0, steps, "steps", levels=steps + 1)
        context = (margin, time) if self.shows_time else (margin,)
        return {"bank": EntitySpace(self.population, features, context)}

    @cached_property
    def _action_spaces(self) -> dict[str, OneEntity]:
        """The person whom a loan is offered."""
        return {"bank": OneEntity(self.population, present="applies")}

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: LendingPoolParams) -> LendingPoolState:
        """The credit of each group, and the first applicants."""
        group = (2 * jnp.arange(self.population) >= self.population).astype(jnp.int32)
        application = jax.random.uniform(key, (self.population,))
        return LendingPoolState(
            time=jnp.int32(0),
            group=group,
            stage=_stage(application, params),
            credit=jnp.where(group == 0, params.start_a, params.start_b).astype(jnp.float32),
            profit=jnp.float32(0.0),
        )

    # ---------------------------------------------------------------- looking

    def people(self, state: LendingPoolState) -> dict[str, Float[Array, " population"]]:
        """Group and credit of each person, and whether they apply."""
        return {
            "group": state.group.astype(jnp.float32),
            "applies": (state.stage == APPLYING).astype(jnp.float32),
            "credit": state.credit,
        }

    def observe(self, state: LendingPoolState, params: LendingPoolParams) -> dict[str, Entities]:
        """Everybody and the profit so far, and the time if it is shown."""
        everybody = jnp.ones((self.population,), bool)
        context = {"profit": state.profit}
        if self.shows_time:
            context["time"] = state.time
        return {
            "bank": self._observation_spaces["bank"].view(self.people(state), everybody, context)
        }

    # ---------------------------------------------------------------- one step

    def noise(self, key: PRNGKeyArray, params: LendingPoolParams) -> LendingPoolNoise:
        """Uniform numbers for the outcome and for everybody, and a normal one for the credit."""
        uniform_key, normal_key = jax.random.split(key)
        uniform = jax.random.uniform(uniform_key, (self.population + 1,))
        gaussian = self.credit == "gaussian"
        shift = jax.random.normal(normal_key) if gaussian else jnp.float32(0.0)
        return LendingPoolNoise(outcome=uniform[0], shift=shift, application=uniform[1:])

    def transition(
        self,
        noise: LendingPoolNoise,
        state: LendingPoolState,
        actions: Mapping[str, Array],
        params: LendingPoolParams,
    ) -> tuple[LendingPoolState, LendingPoolComponents, Bool[Array, ""]]:
        """Make one step: the numbered steps of the card."""
        # 1. the loan, if the person applies
        applies = (state.stage == APPLYING).astype(jnp.float32)
        loan = jax.nn.one_hot(actions["bank"], self.population) * applies
        granted = jnp.sum(loan)
        # 2. the outcome, with the borrower's credit as its chance
        repays = noise.outcome < state.credit[actions["bank"]]
        repaid, defaulted = jnp.where(repays, loan, 0.0), jnp.where(repays, 0.0, loan)
        profit = jnp.sum(repaid) - jnp.sum(defaulted)
        # 3. the borrower's credit
        change = credit_change(repays, params.credit_change, params.credit_spread, noise.shift)
        moved = jnp.clip(state.credit + change, params.lowest_credit, params.highest_credit)
        credit = jnp.where(loan > 0.0, moved, state.credit)
        # 4. at the end of the episode, the margin
        time, total = state.time + 1, state.profit + profit
        missed = margin_missed(total, params.margin, self.horizon)

        components = LendingPoolComponents(
            applied=self._count(applies, state),
            loans=self._count(loan, state),
            loans_to=loan,
            repaid=self._count(repaid, state),
            defaulted=self._count(defaulted, state),
            profit=profit,
            refused=1.0 - granted,
            margin_missed=((time == self.horizon) & missed).astype(jnp.float32),
            credit=credit,
        )
        # 5. the next applicants
        stage = _stage(noise.application, params)
        state = state.replace(time=time, stage=stage, credit=credit, profit=total)
        return state, components, jnp.array(False)


def _stage(
    application: Float[Array, " people"], params: LendingPoolParams
) -> Int[Array, " people"]:
    """Stage of each person: applying with their chance p_i."""
    return (application < params.application).astype(jnp.int32)


Number = float | Float[Array, ""]


def credit_change(
    repaid: Bool[Array, ""], size: Number, spread: Number, shift: Float[Array, ""]
) -> Float[Array, ""]:
    """Change of a borrower's credit: +- c (A.4.2), or Normal(+- mu, sigma) (A.3).

    Args:
        repaid: whether the loan was repaid.
        size: the mean change, upwards on repayment and downwards on default.
        spread: its standard deviation.
        shift: a standard normal number.
    """
    return jnp.where(repaid, size, -size) + spread * shift


def margin_missed(profit: Float[Array, ""], margin: Number, steps: int) -> Bool[Array, ""]:
    """True if the profit of an episode is below the margin per step (A.4.2).

    Args:
        profit: loans repaid less loans defaulted, over the episode.
        margin: profit per step that is aimed at.
        steps: number of steps of the episode.
    """
    return profit < margin * steps - 1e-3  # profits are whole: what is aimed at may be rounded up
