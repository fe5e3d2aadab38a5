"""A bank that grants one loan per step (Alamdari et al. 2024, sections 6.2 and A.3)."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import (
    Decision,
    Entities,
    EntitySpace,
    EnvironmentSpec,
    FairgymError,
    Feature,
    Moment,
    OneEntity,
    PopulationEnvironment,
    param,
    uniform,
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
# Table 2 and section A.4.2. The target network is updated every 100 steps in the authors' code.
# FairQCM's counterfactual memories have one group 1 to 5 loans further ahead, or less so.
_DEEP = {"hidden": (32, 8), "buffer_size": 1_000, "target_network_frequency": 100}
HYPERPARAMETERS = {
    "dqn": _DEEP,
    "fair-qcm": {
        **_DEEP,
        "offsets": (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5),
        "counterfactuals": 10,
        "buffer_size": 8_000,
        "batch_size": 512,
    },
    "drqn": {"learning_rate": 5e-3, "buffer_size": 2_000, "batch_size": 512},
}


def _applications(step: Moment) -> dict[str, Array]:
    return {
        "asked": step.components.applied,
        "granted": step.components.loans,
        "settled": step.components.loans,
        "repaid": step.components.repaid,
        "credit": step.people["credit"],
    }


LOANS = Decision(
    about="A row is a person who applies for a loan in a step, of whom one at most gets it.",
    left_out="Offers to people who did not apply are not logged: they get no loan.",
    decision="granted",
    rows=_applications,
    outcome="repaid",
    score="credit",
)


@register_environment("lending_pool")
@dataclasses.dataclass(frozen=True)
class LendingPool(
    SpacesByAgent, PopulationEnvironment[LendingPoolState, LendingPoolParams, LendingPoolComponents]
):
    """Environment of a bank that offers one loan per step to one of a few people in two groups.

    The published reward has three parts: relaxed demographic parity of all loans so far, in each
    step with a loan; a penalty for each offer to a person who did not apply; and a penalty for an
    episode that misses its profit target. Runs of FairQCM, DQN and DRQN in it have the
    hyperparameters of table 2.

    Raises:
        FairgymError: If an argument is out of range, or the number of people is odd.
    """

    name: ClassVar[str] = "lending_pool"

    population: int = param(4, "Number of people, half of them in each group.", low=2, high=1_000)
    horizon: int = param(40, "Number of steps of an episode.", low=1, high=100_000)
    credit: str = param(
        "discrete",
        'Change of credit: "discrete" moves it by a tenth (A.4.2), "gaussian" by a normally'
        " distributed number (A.3).",
        choices=CREDIT,
    )
    shows_time: bool = param(False, "Whether the bank observes the time.")

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        if self.population % 2:
            raise FairgymError(
                f"population must be even (half in each group), got {self.population}"
            )

    # ---------------------------------------------------------------- declarations

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """Declaration of the environment."""
        return EnvironmentSpec(
            agents=("bank",),
            groups=GROUPS,
            components=LendingPoolComponents,
            metrics=self._metrics,
            # One part per person.
            parts={"person": self._action_spaces["bank"].names},
            schemes=self._schemes,
            # Memories of section 6.2, of the loans that each group received.
            memories={"full": Full("loans"), "min": Min("loans")},
            # Parity, minus T for each refused offer and 10 T for a missed margin (A.4.2).
            published={
                "parity": 1.0,
                "refused": float(self.horizon),
                "margin_missed": 10.0 * self.horizon,
            },
            hyperparameters=HYPERPARAMETERS,
            default_objective="published",
            # a loan is what people apply for
            benefit="loans",
            # Loans to the groups in turn, to a random applicant, and to a random person.
            baselines={
                "alternate_groups": {"bank": "alternate-groups"},
                "random_present": {"bank": "random-present"},
                "random": {"bank": "random"},
            },
            stages=("idle", "applying"),
            core_attribute="credit",
            size_text=f"{self.population:,} people",
            counts_people=True,
            decisions={"loan": LOANS},
        )

    @property
    def default_params(self) -> LendingPoolParams:
        """Values of A.4.2, or of A.3 if credit is Gaussian."""
        if self.credit == "gaussian":
            return LendingPoolParams(credit_change=0.05, credit_spread=0.1)
        return LendingPoolParams()

    @property
    def _metrics(self) -> Mapping[str, Metric]:
        """Profit, the two penalised quantities, and rates of loans and defaults by group."""
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
        """Fairness between the groups in the loans granted so far.

        The published scheme is "parity": relaxed demographic parity in every step in which a loan
        is granted (A.4.2).
        """
        granted = Full("loans")
        return {
            "parity": Scheme.bounded(granted, RelaxedParity(), When("loans")),
            "long_term": Scheme.long_term(granted, RelaxedParity()),
        }

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        """Space of everybody, applying or not, with the profit so far as context."""
        steps, levels = self.horizon, CREDIT_LEVELS if self.credit == "discrete" else 0
        features = (
            Feature("applies", 0, 1, source="whether the person applies", levels=2),
            Feature("credit", 0.2, 0.9, "", "C, the probability to repay", levels=levels),
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
        """Action space: the person to whom a loan is offered."""
        return {"bank": OneEntity(self.population, present="applies")}

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: LendingPoolParams) -> LendingPoolState:
        """Return the initial credit of each group, and the first applicants."""
        group = (2 * jnp.arange(self.population) >= self.population).astype(jnp.int32)
        application = jax.random.uniform(key, (self.population,))
        return LendingPoolState(
            time=jnp.int32(0),
            group=group,
            stage=_stage(application, params),
            credit=jnp.where(group == 0, params.start_a, params.start_b).astype(jnp.float32),
            profit=jnp.float32(0.0),
        )

    # ---------------------------------------------------------------- observations

    def people(self, state: LendingPoolState) -> dict[str, Float[Array, " population"]]:
        """Return group and credit of each person, and whether they apply."""
        return {
            "group": state.group.astype(jnp.float32),
            "applies": (state.stage == APPLYING).astype(jnp.float32),
            "credit": state.credit,
        }

    def observe(self, state: LendingPoolState, params: LendingPoolParams) -> dict[str, Entities]:
        """Return everybody and the profit so far, and the time if `shows_time`."""
        everybody = jnp.ones((self.population,), bool)
        context = {"profit": state.profit}
        if self.shows_time:
            context["time"] = state.time
        return {
            "bank": self._observation_spaces["bank"].view(self.people(state), everybody, context)
        }

    # ---------------------------------------------------------------- one step

    def noise(self, key: PRNGKeyArray, params: LendingPoolParams) -> LendingPoolNoise:
        """Sample uniform numbers for the outcome and each person, and a normal one for credit."""
        uniform_key, normal_key = jax.random.split(key)
        numbers = uniform(uniform_key, (self.population + 1,))
        gaussian = self.credit == "gaussian"
        shift = jax.random.normal(normal_key) if gaussian else jnp.float32(0.0)
        return LendingPoolNoise(outcome=numbers[0], shift=shift, application=numbers[1:])

    def transition(
        self,
        noise: LendingPoolNoise,
        state: LendingPoolState,
        actions: Mapping[str, Array],
        params: LendingPoolParams,
    ) -> tuple[LendingPoolState, LendingPoolComponents, Bool[Array, ""]]:
        """Simulate one step: the numbered steps of the card."""
        # 1. the loan, if the person applies
        applies = (state.stage == APPLYING).astype(jnp.float32)
        loan = jax.nn.one_hot(actions["bank"], self.population) * applies
        granted = jnp.sum(loan)
        # 2. the outcome; the borrower's credit is its probability
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
    """Return each person's stage: applying with probability p_i."""
    return (application < params.application).astype(jnp.int32)


Number = float | Float[Array, ""]


def credit_change(
    repaid: Bool[Array, ""], size: Number, spread: Number, shift: Float[Array, ""]
) -> Float[Array, ""]:
    """Return the change of a borrower's credit: +- c (A.4.2), or Normal(+- mu, sigma) (A.3).

    Args:
        repaid: Whether the loan was repaid.
        size: Mean change, upwards on repayment and downwards on default.
        spread: Standard deviation of the change.
        shift: Standard normal number.
    """
    return jnp.where(repaid, size, -size) + spread * shift


def margin_missed(profit: Float[Array, ""], margin: Number, steps: int) -> Bool[Array, ""]:
    """Return whether the profit of an episode is below the target margin per step (A.4.2).

    Args:
        profit: Loans repaid minus loans defaulted, over the episode.
        margin: Target profit per step.
        steps: Number of steps of the episode.
    """
    return profit < margin * steps - 1e-3  # profits are whole; the target may be rounded up
