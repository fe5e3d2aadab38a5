"""A jury admits strategic applicants by a threshold (D'Amour et al. 2020)."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import (
    Element,
    Entities,
    EntitySpace,
    EnvironmentSpec,
    Feature,
    PopulationEnvironment,
    Unit,
    param,
    uniform,
)
from fairgym.environments._common.base import SpacesByAgent
from fairgym.environments.college_admissions import dynamics
from fairgym.environments.college_admissions.declarations import (
    APPLICATIONS,
    GROUPS,
    STAGES,
    TERMS,
    baseline_policies,
    metrics,
)
from fairgym.environments.college_admissions.types import (
    CollegeAdmissionsComponents,
    CollegeAdmissionsNoise,
    CollegeAdmissionsParams,
    CollegeAdmissionsState,
)
from fairgym.utils import register_environment

COST = (5.0, 10.0)  # of a point, by group


@register_environment("college_admissions")
@dataclasses.dataclass(frozen=True)
class CollegeAdmissions(
    SpacesByAgent,
    PopulationEnvironment[
        CollegeAdmissionsState, CollegeAdmissionsParams, CollegeAdmissionsComponents
    ],
):
    """A jury that admits applicants by a threshold, which they know and respond to at a cost.

    The published reward is accuracy: the share of decisions that are right.

    Raises:
        FairgymError: If an argument is out of range.
    """

    name: ClassVar[str] = "college_admissions"

    population: int = param(20, "Number of applicants in each round.", low=2, high=1_000_000)
    horizon: int = param(750, "Number of rounds of an episode.", low=1, high=100_000)
    lottery: bool = param(
        False,
        "Whether the jury also sets a probability of admission whatever the score (epsilon).",
    )

    # ---------------------------------------------------------------- declarations

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """Declarations of the environment."""
        return EnvironmentSpec(
            agents=("jury",),
            groups=GROUPS,
            components=CollegeAdmissionsComponents,
            metrics=metrics(self.population * self.horizon),
            time_unit="rounds",
            size_text=f"{self.population:,} applicants",
            terms=TERMS,
            # Right decisions count 1 and wrong ones -1: accuracy but for scale. An episode always
            # has all its rounds.
            published={"right_decisions": 1.0},
            default_objective="published",
            # an admission is what people apply for
            benefit="admitted",
            baselines=baseline_policies(),
            stages=STAGES,
            core_attribute="score",
            counts_people=True,
            decisions={"admission": APPLICATIONS},
        )

    @property
    def default_params(self) -> CollegeAdmissionsParams:
        """Numbers of the published experiment."""
        return CollegeAdmissionsParams(cost=jnp.array(COST))

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        """The applicants of the last round, with the threshold as context."""
        features = (
            Feature("test_score", 0, 1, "points", "test_scores_y"),
            Feature("admitted", levels=2, source="selected_applicants"),
            Feature("qualified", levels=2, source="whether an admitted applicant is qualified"),
            Feature("group", levels=2, source="0 for advantaged, 1 for disadvantaged"),
        )
        threshold = Feature("threshold", 0, 1, "points", "threshold of the last round")
        return {"jury": EntitySpace(self.population, features, (threshold,))}

    @cached_property
    def _action_spaces(self) -> dict[str, Unit]:
        """The threshold, and the lottery if there is one."""
        threshold = Element("threshold", meaning="fewer applicants are admitted")
        lottery = Element("lottery", meaning="more are admitted whatever their score")
        return {"jury": Unit((threshold, lottery) if self.lottery else (threshold,))}

    # ---------------------------------------------------------------- start

    def initial_state(
        self, key: PRNGKeyArray, params: CollegeAdmissionsParams
    ) -> CollegeAdmissionsState:
        """Sample the first applicants; the jury has seen nobody yet."""
        place = (jnp.arange(self.population) + 0.5) / self.population
        group = (place >= params.advantaged).astype(jnp.int32)
        normal = jax.random.normal(key, (2, self.population))
        score, test_score, qualified = self._applicants(normal[0], normal[1], group, params)
        nobody = jnp.zeros((self.population,), bool)
        return CollegeAdmissionsState(
            time=jnp.int32(0),
            group=group,
            stage=qualified.astype(jnp.int32),
            score=score,
            test_score=test_score,
            seen_score=jnp.zeros((self.population,)),
            seen_admitted=nobody,
            seen_qualified=nobody,
            threshold=jnp.float32(0.0),
        )

    def _applicants(
        self,
        score_normal: Float[Array, " people"],
        test_normal: Float[Array, " people"],
        group: Int[Array, " people"],
        params: CollegeAdmissionsParams,
    ) -> tuple[Float[Array, " people"], Float[Array, " people"], Bool[Array, " people"]]:
        """Return the true scores, test scores and qualification of new applicants."""
        mean = self._of_group(params.mean_score, group)
        score = dynamics.true_score(score_normal, mean, self._of_group(params.score_spread, group))
        test_score = jnp.clip(score + self._error(test_normal, params.score_noise, params), 0, 1)
        return score, test_score, dynamics.is_qualified(score, mean, params.margin)

    def _error(
        self,
        normal: Float[Array, " people"],
        spread: dynamics.Number,
        params: CollegeAdmissionsParams,
    ) -> Float[Array, " people"]:
        return dynamics.error(
            normal, spread, params.noise_mean, params.noise_low, params.noise_high
        )

    def _of_group(
        self, number: dynamics.Number, group: Int[Array, " people"]
    ) -> Float[Array, " people"]:
        """Return the number of each applicant's group."""
        return jnp.broadcast_to(jnp.asarray(number, jnp.float32), (len(GROUPS),))[group]

    # ---------------------------------------------------------------- observations

    def people(self, state: CollegeAdmissionsState) -> dict[str, Float[Array, " population"]]:
        """Return group, scores and qualification of this round's applicants."""
        return {
            "group": state.group.astype(jnp.float32),
            "score": state.score,
            "test_score": state.test_score,
            "qualified": state.stage.astype(jnp.float32),
        }

    def observe(
        self, state: CollegeAdmissionsState, params: CollegeAdmissionsParams
    ) -> dict[str, Entities]:
        """Return the last round's applicants, nobody before the first round."""
        seen = {
            "test_score": state.seen_score,
            "admitted": state.seen_admitted.astype(jnp.float32),
            "qualified": state.seen_qualified.astype(jnp.float32),
            "group": state.group.astype(jnp.float32),
        }
        some = jnp.broadcast_to(state.time > 0, (self.population,))
        context = {"threshold": state.threshold}
        return {"jury": self._observation_spaces["jury"].view(seen, some, context)}

    # ---------------------------------------------------------------- one step

    def noise(self, key: PRNGKeyArray, params: CollegeAdmissionsParams) -> CollegeAdmissionsNoise:
        """Sample a uniform and three normal numbers for each applicant."""
        uniform_key, normal_key = jax.random.split(key)
        normal = jax.random.normal(normal_key, (3, self.population))
        return CollegeAdmissionsNoise(
            lottery=uniform(uniform_key, (self.population,)),
            target=normal[0],
            score=normal[1],
            test=normal[2],
        )

    def transition(
        self,
        noise: CollegeAdmissionsNoise,
        state: CollegeAdmissionsState,
        actions: Mapping[str, Array],
        params: CollegeAdmissionsParams,
    ) -> tuple[CollegeAdmissionsState, CollegeAdmissionsComponents, Bool[Array, ""]]:
        """Simulate one round: the numbered steps of the card."""
        # 1. the jury publishes its threshold
        threshold = actions["jury"][0]
        lottery = actions["jury"][1] if self.lottery else jnp.float32(0.0)
        # 2. applicants respond
        response = dynamics.respond(
            state.test_score,
            threshold,
            lottery,
            self._error(noise.target, params.threshold_noise, params),
            dynamics.costs_of(params.cost, params.subsidy, state.group, len(GROUPS)),
            params.most_change,
        )
        # 3. who reaches the threshold is admitted
        admitted = dynamics.is_admitted(response.test_score, threshold, lottery, noise.lottery)
        # 4. the jury learns who of them is qualified
        qualified = state.stage == 1
        components = CollegeAdmissionsComponents(
            applicants=self._count(jnp.ones((self.population,)), state),
            qualified=self._count(qualified, state),
            admitted=self._count(admitted, state),
            admitted_qualified=self._count(admitted & qualified, state),
            correct=self._count(admitted == qualified, state),
            gamed=self._count(response.gamed, state),
            paid=self._count(jnp.where(response.gamed, response.cost, 0.0), state),
            burden=self._count(jnp.where(qualified, response.cost, 0.0), state),
            threshold=threshold,
        )
        # 5. the applicants of the next round
        score, test_score, able = self._applicants(noise.score, noise.test, state.group, params)
        state = state.replace(
            time=state.time + 1,
            stage=able.astype(jnp.int32),
            score=score,
            test_score=test_score,
            seen_score=response.test_score,
            seen_admitted=admitted,
            seen_qualified=admitted & qualified,
            threshold=threshold,
        )
        return state, components, jnp.array(False)
