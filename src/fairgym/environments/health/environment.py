"""An insurer, a hospital in each of four regions, and a planner.

One step is one month, in the order of MAFE, appendix G: offers and the planner's money (every k
months), premiums, illness, beds, end of illness, replacement of the dead, public health, building,
profit. The formulas are in `dynamics.py`.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fairgym.core import (
    ActionSpace,
    Components,
    Construction,
    Entities,
    EntitySpace,
    Feature,
    by_group,
    check_shape,
    divided_by_weight,
    fill_places,
    improve_or_deteriorate,
    improvement_probability,
    moved,
    register_environment,
)
from fairgym.data.sampling import (
    amplified_weights,
    columns_of,
    group_shares,
    resample_people,
    resample_rows,
    whole_groups,
)
from fairgym.environments._sampled import SampledEnvironment
from fairgym.environments.health import dynamics
from fairgym.environments.health.metrics import baseline_policies, profit_scale, published_metrics
from fairgym.environments.health.params import HealthParams
from fairgym.environments.health.spaces import (
    FEATURES,
    FIXED_COLUMNS,
    REGIONS,
    action_spaces,
    observation_spaces,
)
from fairgym.environments.health.types import HealthComponents, HealthNoise, HealthState
from fairgym.fairness import Metric

HEALTHY, WAITING, IN_HOSPITAL = 0, 1, 2
COLUMNS = (*FIXED_COLUMNS, *dynamics.MOVABLE)
OF_CYCLE = (
    "premium",
    "subsidy",
    "insured",
    "building",
    "public_health",
    "subsidies_held",
    "rollover",
)  # what a new cycle changes
CANDIDATES = 4096  # to replace the dead of a region from, drawn anew in every episode


@register_environment("health")
@dataclasses.dataclass(frozen=True)
class Health(SampledEnvironment):
    """The MAFE-Health environment; see the card (`README.md` in this folder).

    Args:
        population: number of people N, up to 1,000,000.
        horizon: T, months after which an episode is truncated (100 in the paper).
        decision_period: k, months between actions of the insurer and of the planner.
        population_source: "built-in", or the name of imported data.

    Raises:
        FairgymError: an argument out of range.
    """

    name: ClassVar[str] = "health"
    dataset: ClassVar[str] = "health"
    agents: ClassVar[tuple[str, ...]] = ("insurer", "hospital", "planner")
    stages: ClassVar[tuple[str, ...]] = ("healthy", "waiting", "in hospital")
    groups: ClassVar[tuple[str, ...]] = REGIONS
    core_attribute: ClassVar[str] = "health_risk"
    components: ClassVar[type[Components]] = HealthComponents
    features: ClassVar[Mapping[str, Sequence[Feature]]] = FEATURES

    population: int = 10_000
    horizon: int = 100
    decision_period: int = 6
    population_source: str = "built-in"

    def __post_init__(self) -> None:
        """Check the shapes."""
        check_shape("population", self.population, 2, 1_000_000)
        check_shape("horizon", self.horizon, 1, 100_000)
        check_shape("decision_period", self.decision_period, 1, 100_000)
        self._data  # noqa: B018  (a missing or damaged data file is told here, not inside jit)

    # ---------------------------------------------------------------- declarations

    @property
    def default_params(self) -> HealthParams:
        """Table 8 scaled to the population; bias strength as fitted on the population's data."""
        return HealthParams(bias_strength=self._data.bias_strength).at_population(self.population)

    @property
    def periods(self) -> Mapping[str, int]:
        """The insurer and the planner act every k months, the hospital every month (table 8)."""
        return {"insurer": self.decision_period, "planner": self.decision_period}

    @property
    def _profit_scale(self) -> float:
        return profit_scale(self.population, self.horizon)

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Rewards and disparities of MAFE, appendix G, with the normalisers of table 8."""
        return published_metrics(self._profit_scale)

    @property
    def baselines(self) -> Mapping[str, Mapping[str, Any]]:
        """Simple fixed premiums with and without a planner who spends evenly."""
        return baseline_policies()

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
        """Draw the people from the data, region by region, all of them healthy and uninsured."""
        people_key, candidate_key, illness_key = jax.random.split(key, 3)
        people, regions = self.population, len(REGIONS)
        group = whole_groups(jnp.array(group_shares(self._data)), people)
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
            data=resample_people(people_key, self._data, COLUMNS, group, params.bias_strength),
            insured=jnp.zeros((people,), bool),
            premium=nothing,
            subsidy=nothing,
            illness_draw=jax.random.uniform(illness_key, (people,)),
            ill_since=never,
            bed_since=never,
            candidates=candidates.reshape(regions, CANDIDATES),
            beds=jnp.full((regions,), jnp.floor(params.beds_at_start)),
            building=Construction.at_start(regions, self.horizon),
            public_health=none,
            premiums_paid=none,
            rollover=zero,
            subsidies_held=zero,
            total_profit=zero,
        )

    # ---------------------------------------------------------------- looking

    def _risk(self, data: Mapping[str, Float[Array, " people"]]) -> Float[Array, " people"]:
        """HEALTH: the fitted linear regression, clipped to [1, 5]."""
        return self._data.scores["health_risk"].predict(data)

    def people(self, state: HealthState) -> dict[str, Float[Array, " population"]]:
        """Every feature of every person by name, the fitted health risk included."""
        waiting, in_hospital = state.stage == WAITING, state.stage == IN_HOSPITAL
        until = jnp.where(in_hospital, state.bed_since, state.time)
        ill = waiting | in_hospital
        return {
            **{region: jnp.float32(1) * (state.group == g) for g, region in enumerate(REGIONS)},
            "group": state.group.astype(jnp.float32),
            **state.data,
            "health_risk": self._risk(state.data),
            "insured": state.insured.astype(jnp.float32),
            "premium": state.premium,
            "needs_bed": waiting.astype(jnp.float32),
            "in_hospital": in_hospital.astype(jnp.float32),
            "time_ill": jnp.where(ill, state.time - state.ill_since, 0).astype(jnp.float32),
            "time_waited": jnp.where(ill, until - state.ill_since, 0).astype(jnp.float32),
        }

    def observe(self, state: HealthState, params: HealthParams) -> dict[str, Entities]:
        """Everybody; for the hospital those who wait, and those who fall ill in this month.

        Illness strikes before the hospital acts, but in a month of offers it depends on what
        people accept in the same month: then the hospital ranks all whom it may strike.
        """
        people = self.people(state)
        for region in REGIONS:
            people[region] = people[region] * params.observe_group
        occupied = by_group(people["in_hospital"], state.group, len(REGIONS))
        beds = state.beds + state.building.opened(state.time)
        context = [
            state.time.astype(jnp.float32),
            state.total_profit,
            params.planner_budget + state.rollover,
            jnp.asarray(params.hospital_cost, jnp.float32),
            *beds,
            *(beds - occupied),
            *state.premiums_paid,
        ]
        covered = state.insured & (state.time % self.decision_period != 0)
        strikes = state.illness_draw < dynamics.falls_ill(covered, people["health_risk"], params)
        needs_bed = (state.stage == WAITING) | (state.stage == HEALTHY) & strikes
        everybody = jnp.ones((self.population,), bool)
        view = functools.partial(self._view, people, context)
        return {
            "insurer": view("insurer", everybody),
            "hospital": view("hospital", needs_bed),
            "planner": view("planner", everybody),
        }

    # ---------------------------------------------------------------- one month

    def noise(self, key: PRNGKeyArray, params: HealthParams) -> HealthNoise:
        """Six uniform numbers for every person."""
        return HealthNoise.sample(key, self.population)

    def _new_cycle(
        self,
        noise: HealthNoise,
        state: HealthState,
        actions: Mapping[str, Any],
        params: HealthParams,
    ) -> dict[str, Any]:
        """Step 1: the planner divides its budget, the insurer makes offers, people decide.

        Returns:
            The new values of the state's fields `OF_CYCLE`.
        """
        budget = params.planner_budget + state.rollover
        space: Any = self.action_space("planner")
        shares, infrastructure, public_health, subsidies = space.split(actions["planner"])

        income, size = state.data["family_income"], state.data["family_size"]
        offered = divided_by_weight(
            budget * shares[2] * subsidies / self.decision_period,
            dynamics.subsidy_weight(income, size),
            state.group,
        )
        price = params.max_premium * actions["insurer"]
        premium = jnp.maximum(price - offered, 0.0)
        accepted = noise.coverage < dynamics.accepts(income, size, premium, params)
        building = state.building.invest(
            budget * shares[0] * infrastructure,
            state.time,
            base_cost=params.bed_base_cost,
            unit_cost=params.bed_cost,
            base_time=params.build_base_time,
            unit_time=params.build_bed_time,
        )
        return {
            "premium": premium,
            "subsidy": price - premium,
            "insured": accepted,
            "building": building,
            "public_health": budget * shares[1] * public_health,
            "subsidies_held": budget * shares[2],
            "rollover": budget * shares[3],
        }

    def transition(
        self,
        noise: HealthNoise,
        state: HealthState,
        actions: Mapping[str, Any],
        params: HealthParams,
    ) -> tuple[HealthState, HealthComponents, Bool[Array, ""]]:
        """Make one month's step; see the numbered comments."""
        now = state.time
        beds = state.beds + state.building.opened(now)

        # 1. every k months: budget, offers, coverage. 8. building begins with the money
        old = {name: getattr(state, name) for name in OF_CYCLE}
        cycle = lax.cond(
            now % self.decision_period == 0,
            lambda: self._new_cycle(noise, state, actions, params),
            lambda: old,
        )
        state = state.replace(**cycle)
        group, insured = state.group, state.insured

        def count(who: Array) -> Array:
            return by_group(who.astype(jnp.float32), group, len(REGIONS))

        # 2. premiums, the subsidy included
        by_people = jnp.where(insured, state.premium, 0.0)
        by_planner = jnp.where(insured, state.subsidy, 0.0)

        # 3. illness
        risk = self._risk(state.data)
        healthy = state.stage == HEALTHY
        fell_ill = healthy & (state.illness_draw < dynamics.falls_ill(insured, risk, params))
        ill_since = jnp.where(fell_ill, now, state.ill_since)

        # 4. beds for the highest scores of each region; stays are paid for the insured
        in_hospital = state.stage == IN_HOSPITAL
        waiting = fell_ill | (state.stage == WAITING)
        admitted = fill_places(
            actions["hospital"], waiting, group, beds - count(in_hospital), noise.priority
        )
        in_hospital, waiting = in_hospital | admitted, waiting & ~admitted
        bed_since = jnp.where(admitted, now, state.bed_since)
        cost = params.hospital_cost * jnp.sum(in_hospital & insured, dtype=jnp.float32)

        # 5. end of illness, in cure or death
        until = jnp.where(waiting, now + 1, bed_since)
        time_ill = (now + 1 - ill_since).astype(jnp.float32)
        time_waited = (until - ill_since).astype(jnp.float32)
        ill = in_hospital | waiting
        end = dynamics.illness_ends(time_ill, params)
        ended = ill & (noise.illness_ends < end)
        # of the numbers below P(end) a share P(death) lies below P(end) P(death)
        died = ended & (
            noise.illness_ends < end * dynamics.dies(time_ill, time_waited, risk, params)
        )
        stage = jnp.where(in_hospital, IN_HOSPITAL, jnp.where(waiting, WAITING, HEALTHY))

        # 6. the dead are replaced from the data of their region
        place = (noise.newcomer * CANDIDATES).astype(jnp.int32)
        row = state.candidates.at[group, place].get(mode="promise_in_bounds")
        newcomer = columns_of(self._data, COLUMNS, row)
        data = {n: jnp.where(died, newcomer[n], column) for n, column in state.data.items()}

        # 7. public health
        improve = improvement_probability(
            state.public_health,
            base=params.improve_base,
            gain=params.improve_gain,
            slope=params.improve_slope * len(REGIONS) / params.planner_budget,
            shift=params.improve_shift,
        )
        direction = improve_or_deteriorate(noise.move, improve[group], params.stay)
        for name, (_, low, high) in dynamics.MOVABLE.items():
            change = dynamics.change_of(name, params)
            data[name] = moved(data[name], direction, change, low, high)

        # 9. profit
        premiums = by_group(by_people + by_planner, group, len(REGIONS))
        profit = jnp.sum(premiums) - cost
        total_profit = state.total_profit + profit
        components = HealthComponents(
            profit=profit,
            people=count(jnp.ones_like(insured)),
            insured=count(insured),
            healthy=count(healthy),
            fell_ill=count(fell_ill),
            illnesses_ended=count(ended),
            died=count(died),
        )
        state = state.replace(
            time=now + 1,
            stage=jnp.where(ended, HEALTHY, stage),
            data=data,
            insured=insured & ~died,
            illness_draw=noise.illness,
            ill_since=ill_since,
            bed_since=bed_since,
            beds=beds,
            premiums_paid=premiums,
            subsidies_held=jnp.maximum(state.subsidies_held - jnp.sum(by_planner), 0.0),
            total_profit=total_profit,
        )
        nobody_left = jnp.all(died)
        return state, components, dynamics.is_bankrupt(total_profit) | nobody_left
