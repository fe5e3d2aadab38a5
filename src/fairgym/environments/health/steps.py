"""The steps of one month of the health environment, in the order of MAFE, appendix G.

Each function is a numbered step of the card and returns what later steps need.
`Health.transition` calls them; the formulas are in `dynamics.py`.
"""

from collections.abc import Mapping

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PyTree

from fairgym.core import Struct, by_group, fill_places
from fairgym.core.params import Number
from fairgym.data import Population
from fairgym.data.sampling import columns_of
from fairgym.environments._common.moves import divided_by_weight
from fairgym.environments._common.regions import move_features, of_people
from fairgym.environments.health import dynamics
from fairgym.environments.health.declarations import PLANNER
from fairgym.environments.health.params import HealthParams
from fairgym.environments.health.types import HealthNoise, HealthState

HEALTHY, WAITING, IN_HOSPITAL = 0, 1, 2
OF_CYCLE = (
    "premium",
    "subsidy",
    "insured",
    "building",
    "public_health",
    "subsidies_held",
    "rollover",
)  # state fields that change with a new cycle


def open_cycle(
    noise: HealthNoise,
    state: HealthState,
    actions: Mapping[str, Array],
    params: HealthParams,
    period: int,
) -> HealthState:
    """Step 1, every `period` months: budget, offers and coverage; and step 8: begin building."""
    changed = lax.cond(
        state.time % period == 0,
        lambda: _new_cycle(noise, state, actions, params, period),
        lambda: {name: getattr(state, name) for name in OF_CYCLE},
    )
    return state.replace(**changed)


def _new_cycle(
    noise: HealthNoise,
    state: HealthState,
    actions: Mapping[str, Array],
    params: HealthParams,
    period: int,
) -> dict[str, PyTree]:
    """Divide the planner's budget, make the insurer's offers, let people decide.

    Returns:
        The new values of the state fields `OF_CYCLE`.
    """
    budget = params.planner_budget + state.rollover
    share, split = PLANNER.by_name(actions["planner"]), PLANNER.splits(actions["planner"])

    income, size = state.data["family_income"], state.data["family_size"]
    offered = divided_by_weight(
        budget * share["insurance_subsidies"] * split["insurance_subsidies"] / period,
        dynamics.subsidy_weight(income, size),
        state.group,
    )
    price = params.max_premium * actions["insurer"]
    premium = jnp.maximum(price - offered, 0.0)
    acceptance = dynamics.accepts(income, size, premium, params.months_of_premium_per_income)
    building = state.building.invest(
        budget * share["hospital_infrastructure"] * split["hospital_infrastructure"],
        state.time,
        base_cost=params.bed_base_cost,
        unit_cost=params.bed_cost,
        base_time=params.build_base_time,
        unit_time=params.build_bed_time,
    )
    return {
        "premium": premium,
        "subsidy": price - premium,
        "insured": noise.coverage < acceptance,
        "building": building,
        "public_health": budget * share["public_health"] * split["public_health"],
        "subsidies_held": budget * share["insurance_subsidies"],
        "rollover": budget * share["rollover"],
    }


class Premiums(Struct):
    """Step 2: dollars paid by each person, and by the planner for them."""

    by_people: Float[Array, " people"]
    by_planner: Float[Array, " people"]


def pay_premiums(state: HealthState) -> Premiums:
    """Step 2: collect the premiums of the insured, including the subsidy."""
    return Premiums(
        by_people=jnp.where(state.insured, state.premium, 0.0),
        by_planner=jnp.where(state.insured, state.subsidy, 0.0),
    )


class Illness(Struct):
    """Step 3: who was healthy, who of them fell ill, and the step in which illnesses began."""

    healthy: Bool[Array, " people"]
    fell_ill: Bool[Array, " people"]
    ill_since: Int[Array, " people"]


def strikes(
    state: HealthState,
    insured: Bool[Array, " people"],
    risk: Float[Array, " people"],
    params: HealthParams,
) -> Bool[Array, " people"]:
    """Return where a healthy person would fall ill this month."""
    chance = dynamics.falls_ill(
        insured,
        risk,
        of_people(params.illness_uninsured, state.group),
        of_people(params.illness_risk, state.group),
    )
    return state.illness_uniform < chance


def fall_ill(state: HealthState, risk: Float[Array, " people"], params: HealthParams) -> Illness:
    """Step 3: let healthy people fall ill."""
    healthy = state.stage == HEALTHY
    fell_ill = healthy & strikes(state, state.insured, risk, params)
    return Illness(healthy, fell_ill, jnp.where(fell_ill, state.time, state.ill_since))


class Care(Struct):
    """Step 4: who has a bed and since when, who still waits, and the insurer's cost in dollars."""

    in_hospital: Bool[Array, " people"]
    waiting: Bool[Array, " people"]
    bed_since: Int[Array, " people"]
    cost: Float[Array, ""]


def give_beds(
    noise: HealthNoise,
    state: HealthState,
    illness: Illness,
    scores: Float[Array, " people"],
    free_beds: Float[Array, " regions"],
    hospital_cost: Number,
) -> Care:
    """Step 4: give beds to the highest scores of each region, and pay the stays of the insured."""
    in_hospital = state.stage == IN_HOSPITAL
    waiting = illness.fell_ill | (state.stage == WAITING)
    admitted = fill_places(scores, waiting, state.group, free_beds, noise.priority)
    in_hospital, waiting = in_hospital | admitted, waiting & ~admitted
    paid_for = in_hospital & state.insured
    if jnp.ndim(hospital_cost) == 0:
        cost = hospital_cost * jnp.sum(paid_for, dtype=jnp.float32)
    else:
        stays = by_group(paid_for.astype(jnp.float32), state.group, free_beds.shape[0])
        cost = jnp.sum(hospital_cost * stays)
    return Care(
        in_hospital=in_hospital,
        waiting=waiting,
        bed_since=jnp.where(admitted, state.time, state.bed_since),
        cost=cost,
    )


class Ending(Struct):
    """Step 5: whose illness ended, who of them died, and everybody's stage afterwards."""

    ended: Bool[Array, " people"]
    died: Bool[Array, " people"]
    stage: Int[Array, " people"]


def end_illnesses(
    noise: HealthNoise,
    state: HealthState,
    illness: Illness,
    care: Care,
    risk: Float[Array, " people"],
    params: HealthParams,
) -> Ending:
    """Step 5: end illnesses, in death or cure (equations 11 and 12)."""
    month_after = state.time + 1
    until = jnp.where(care.waiting, month_after, care.bed_since)
    time_ill = (month_after - illness.ill_since).astype(jnp.float32)
    time_waited = (until - illness.ill_since).astype(jnp.float32)
    end = dynamics.illness_ends(time_ill, params.end_base, params.end_illness_time)
    ended = (care.in_hospital | care.waiting) & (noise.illness_ends < end)
    death = dynamics.dies(
        time_ill,
        time_waited,
        risk,
        ceiling=params.survival_ceiling,
        base=params.survival_base,
        illness_time=params.survival_illness_time,
        wait=params.survival_wait,
        health_risk=params.survival_risk,
        offset=params.survival_offset,
    )
    # one uniform number decides both: given that it is below P(end), it is below P(end) P(death)
    # with probability P(death)
    died = ended & (noise.illness_ends < end * death)
    stage = jnp.where(care.in_hospital, IN_HOSPITAL, jnp.where(care.waiting, WAITING, HEALTHY))
    return Ending(ended, died, jnp.where(ended, HEALTHY, stage))


def replace_dead(
    noise: HealthNoise, state: HealthState, died: Bool[Array, " people"], population: Population
) -> dict[str, Float[Array, " people"]]:
    """Step 6: replace the dead by people from the data of their region."""

    def replaced() -> dict[str, Float[Array, " people"]]:
        place = (noise.newcomer * state.candidates.shape[1]).astype(jnp.int32)
        row = state.candidates.at[state.group, place].get(mode="promise_in_bounds")
        newcomer = columns_of(population, state.data, row)
        return {name: jnp.where(died, newcomer[name], old) for name, old in state.data.items()}

    # nearly always true, but a branch is compiled on its own: otherwise every later use of a
    # column looks the newcomers up again
    return lax.cond(jnp.any(died), replaced, lambda: state.data)


def improve_health(
    noise: HealthNoise,
    state: HealthState,
    data: Mapping[str, Float[Array, " people"]],
    params: HealthParams,
) -> dict[str, Float[Array, " people"]]:
    """Step 7: let public health money move everybody's features."""
    return move_features(
        data,
        dynamics.MOVES,
        noise.move,
        state.group,
        state.public_health / params.public_health_months,
        params,
        base=params.improve_base,
        budget=params.planner_budget,
    )
