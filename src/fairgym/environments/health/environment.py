"""An insurer, a hospital in each of four regions, and a planner.

One step is one month. It follows MAFE, appendix G: offers and the planner's money (every k
months), premiums, illness, beds, end of illness, replacement of the dead, public health, building,
profit. The steps are in `steps.py`, their formulas in `dynamics.py`.
"""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fairgym.core import (
    ActionSpace,
    Entities,
    EntitySpace,
    EnvironmentSpec,
    by_group,
    param,
    uniform,
)
from fairgym.data.sampling import amplified_weights, group_shares, resample_rows
from fairgym.environments._common.base import PublishedProfit
from fairgym.environments._common.sampled import (
    RACE_AND_SEX,
    SampledEnvironment,
    number_of_people,
    number_of_steps,
    race_and_sex,
)
from fairgym.environments._common.schedule import Construction
from fairgym.environments.health import dynamics, steps
from fairgym.environments.health.declarations import (
    FIXED_COLUMNS,
    PROFIT,
    REGIONS,
    action_spaces,
    baseline_policies,
    by_region,
    decisions,
    observation_spaces,
    published_metrics,
)
from fairgym.environments.health.params import HealthParams
from fairgym.environments.health.steps import HEALTHY, IN_HOSPITAL, WAITING
from fairgym.environments.health.types import HealthComponents, HealthNoise, HealthState
from fairgym.utils import register_environment

COLUMNS = (*FIXED_COLUMNS, *dynamics.MOVES)
CANDIDATES = 4096  # people per region who can replace the dead; sampled anew in every episode


@register_environment("health")
@dataclasses.dataclass(frozen=True)
class Health(SampledEnvironment[HealthState, HealthParams, HealthComponents]):
    """The MAFE-Health environment; see the card (`README.md` in this folder).

    Raises:
        FairgymError: If an argument is out of range.
    """

    name: ClassVar[str] = "health"
    dataset: ClassVar[str] = "health"
    published_profit: ClassVar[PublishedProfit] = PROFIT

    population: int = number_of_people(10_000)
    horizon: int = number_of_steps(
        100, "Time limit T in months, after which an episode is truncated (100 in the paper)."
    )
    decision_period: int = number_of_steps(
        6, "Months k between two actions of the insurer and of the planner."
    )
    population_source: str = param(
        "built-in", 'Source of the people: "built-in", or the name of imported data.'
    )
    observe_group: bool = param(True, "Whether agents observe each person's region.")

    # ---------------------------------------------------------------- declarations

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """Declarations of the environment."""
        return EnvironmentSpec(
            version=2,
            agents=("insurer", "hospital", "planner"),
            groups=REGIONS,
            components=HealthComponents,
            # Rewards and disparities of MAFE, appendix G, with the normalisers of table 8.
            metrics=published_metrics(self._profit_scale),
            group_word="region",
            time_unit="months",
            failure="the insurer fails",
            # Insurer and planner act every k months, the hospital every month (table 8).
            periods={"insurer": self.decision_period, "planner": self.decision_period},
            # Subgroups of race and sex.
            partitions={"race_and_sex": RACE_AND_SEX},
            # months in health: insurance, hospitals and public money all aim at them
            benefit="healthy",
            # Fixed premiums, with and without a planner who spends evenly.
            baselines=baseline_policies(),
            stages=("healthy", "waiting", "in hospital"),
            core_attribute="health_risk",
            counts_people=True,
            data_checksum=self._data.checksum,
            size_text=f"{self.population:,} people",
            waits={"waiting": "time_waited"},
            decisions=decisions(self.decision_period),
        )

    @property
    def default_params(self) -> HealthParams:
        """Table 8 scaled to the population, with the bias strength fitted on its data."""
        return HealthParams(bias_strength=self._data.bias_strength).at_population(self.population)

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        params = self.default_params
        return observation_spaces(
            self.population,
            self.horizon,
            self._profit_scale,
            float(params.planner_budget),
            max(1.0, float(params.beds_at_start)),
        )

    @cached_property
    def _action_spaces(self) -> dict[str, ActionSpace]:
        return action_spaces(self.population)

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: HealthParams) -> HealthState:
        """Sample the people from the data, region by region. All are healthy and uninsured."""
        people_key, candidate_key, illness_key = jax.random.split(key, 3)
        people, regions = self.population, len(REGIONS)
        sizes = jnp.array(group_shares(self._data)) * params.region_size
        shares = sizes / jnp.sum(sizes)
        group, data = self._sample_people(people_key, COLUMNS, shares, params)
        candidates = resample_rows(
            candidate_key,
            amplified_weights(self._data, params.bias_strength),
            jnp.asarray(self._data.columns["group"]),
            jnp.repeat(jnp.arange(regions), CANDIDATES),
            regions,
        )
        nothing = jnp.zeros((people,), jnp.float32)
        never = jnp.zeros((people,), jnp.int32)
        none, zero = jnp.zeros((regions,), jnp.float32), jnp.float32(0.0)
        return HealthState(
            time=jnp.int32(0),
            group=group,
            stage=never,
            data=data,
            insured=jnp.zeros((people,), bool),
            premium=nothing,
            subsidy=nothing,
            illness_uniform=jax.random.uniform(illness_key, (people,)),
            ill_since=never,
            bed_since=never,
            candidates=candidates.reshape(regions, CANDIDATES),
            beds=dynamics.beds_at_start(params.beds_at_start, params.beds_by_people, shares),
            building=Construction.at_start(regions, self.horizon),
            public_health=none,
            premiums_paid=none,
            rollover=zero,
            subsidies_held=zero,
            total_profit=zero,
        )

    # ---------------------------------------------------------------- observation

    def _risk(self, data: Mapping[str, Float[Array, " people"]]) -> Float[Array, " people"]:
        """Return HEALTH: the fitted linear regression, clipped to [1, 5]."""
        return self._data.scores["health_risk"].predict(data)

    def people(self, state: HealthState) -> dict[str, Float[Array, " population"]]:
        """Return every feature of every person by name, including the fitted health risk."""
        waiting, in_hospital = state.stage == WAITING, state.stage == IN_HOSPITAL
        until = jnp.where(in_hospital, state.bed_since, state.time)
        ill = waiting | in_hospital
        return {
            **{region: jnp.float32(1) * (state.group == g) for g, region in enumerate(REGIONS)},
            "group": state.group.astype(jnp.float32),
            **state.data,
            "race_and_sex": race_and_sex(state.data),
            "health_risk": self._risk(state.data),
            "insured": state.insured.astype(jnp.float32),
            "premium": state.premium,
            "needs_bed": waiting.astype(jnp.float32),
            "in_hospital": in_hospital.astype(jnp.float32),
            "time_ill": jnp.where(ill, state.time - state.ill_since, 0).astype(jnp.float32),
            "time_waited": jnp.where(ill, until - state.ill_since, 0).astype(jnp.float32),
        }

    def observe(self, state: HealthState, params: HealthParams) -> dict[str, Entities]:
        """Return all people; for the hospital those who wait and those who fall ill this month.

        People fall ill before the hospital acts. In a month of offers illness depends on who
        accepts in the same month; the hospital then ranks all people who may fall ill.
        """
        people = self._seen(state)
        beds = state.beds + state.building.opened(state.time)
        occupied = by_group(people["in_hospital"], state.group, len(REGIONS))
        context = {
            "time": state.time,
            "total_profit": state.total_profit,
            "planner_budget": params.planner_budget + state.rollover,
            "hospital_cost": jnp.mean(jnp.asarray(params.hospital_cost)),
            **by_region("beds", beds),
            **by_region("free_beds", beds - occupied),
            **by_region("premiums_paid", state.premiums_paid),
        }
        covered = state.insured & (state.time % self.decision_period != 0)
        struck = steps.strikes(state, covered, people["health_risk"], params)
        needs_bed = (state.stage == WAITING) | (state.stage == HEALTHY) & struck
        everybody = jnp.ones((self.population,), bool)
        spaces = self._observation_spaces
        return {
            "insurer": spaces["insurer"].view(people, everybody, context),
            "hospital": spaces["hospital"].view(people, needs_bed, context),
            "planner": spaces["planner"].view(people, everybody, context),
        }

    # ---------------------------------------------------------------- one month

    def noise(self, key: PRNGKeyArray, params: HealthParams) -> HealthNoise:
        """Sample six uniform numbers for every person."""
        return HealthNoise(*uniform(key, (6, self.population)))

    def transition(
        self,
        noise: HealthNoise,
        state: HealthState,
        actions: Mapping[str, Array],
        params: HealthParams,
    ) -> tuple[HealthState, HealthComponents, Bool[Array, ""]]:
        """Simulate one month: the numbered steps of the card, in `steps.py`."""
        group = state.group
        beds = state.beds + state.building.opened(state.time)

        # 1. every k months: budget, offers, coverage. 8. building begins when money is paid in
        state = steps.open_cycle(noise, state, actions, params, self.decision_period)
        # 2. premiums
        premiums = steps.pay_premiums(state)
        # 3. illness
        risk = self._risk(state.data)
        illness = steps.fall_ill(state, risk, params)
        # 4. beds
        in_beds = (state.stage == IN_HOSPITAL).astype(jnp.float32)
        free_beds = beds - by_group(in_beds, group, len(REGIONS))
        care = steps.give_beds(
            noise, state, illness, actions["hospital"], free_beds, params.hospital_cost
        )
        # 5. end of illness
        ending = steps.end_illnesses(noise, state, illness, care, risk, params)
        # 6. replacement of the dead, 7. public health
        data = steps.replace_dead(noise, state, ending.died, self._data)
        data = steps.improve_health(noise, state, data, params)
        # 9. profit
        premiums_paid = by_group(premiums.by_people + premiums.by_planner, group, len(REGIONS))
        profit = jnp.sum(premiums_paid) - care.cost
        total_profit = state.total_profit + profit

        components = HealthComponents(
            profit=profit,
            people=self._count(jnp.ones_like(state.insured), state),
            insured=self._count(state.insured, state),
            healthy=self._count(illness.healthy, state),
            fell_ill=self._count(illness.fell_ill, state),
            illnesses_ended=self._count(ending.ended, state),
            died=self._count(ending.died, state),
        )
        subsidies_held = state.subsidies_held - jnp.sum(premiums.by_planner)
        state = state.replace(
            time=state.time + 1,
            stage=ending.stage.astype(jnp.int32),
            data=data,
            insured=state.insured & ~ending.died,
            illness_uniform=noise.illness,
            ill_since=illness.ill_since,
            bed_since=care.bed_since,
            beds=beds,
            premiums_paid=premiums_paid,
            subsidies_held=jnp.maximum(subsidies_held, 0.0),
            total_profit=total_profit,
        )
        nobody_left = jnp.all(ending.died)
        return state, components, dynamics.is_bankrupt(total_profit) | nobody_left
