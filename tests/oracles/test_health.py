"""The NumPy rewrite and the JAX environment are the same country, month by month.

With drawn parameters, drawn actions, and the environment's noise told to the rewrite.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import numpy_health
import pytest
import stepwise

import fairgym
from fairgym.data import load_population

PEOPLE, MONTHS, PERIOD, REGIONS = 400, 36, 6, 4
RANGES = {
    "planner_budget": (4e6, 4e7),
    "bias_strength": (0.0, 0.8),
    "hospital_cost": (200.0, 3_000.0),
    "region_size": [1.0],
    "beds_at_start": (3.0, 12.0),
    "beds_by_people": (0.0, 1.0),
    "bed_base_cost": (2e5, 2e6),
    "bed_cost": (3e5, 1.5e6),
    "improve_base": (0.1, 0.4),
    "public_health_months": (1.0, 6.0),
    "end_base": (1.02, 1.05),
    "survival_ceiling": (1.85, 2.0),
    "survival_base": (1.01, 1.03),
    "survival_offset": (-15.0, 5.0),
    # what float32 and float64 add and round up alike
    "income_change": [0.0, 500.0, 4_000.0, 20_000.0],
    "poverty_change": [2.0, 16.0, 90.0],
    "distress_change": [0.25, 0.5, 1.5],
    "build_base_time": [0.0, 0.5, 1.0, 2.0],
    "build_bed_time": [0.25, 0.5, 1.0],
}
EXTREMES = {
    "beds to build": {},
    "no beds": {"beds_at_start": 0.0, "bed_base_cost": 1e12},
    "beds for all": {"beds_at_start": 1e4, "hospital_cost": 0.0},
    "free building": {"bed_base_cost": 0.0, "bed_cost": 1e5, "build_base_time": 0.0},
    "no money to speak of": {"planner_budget": 1.0},
    "much misery": {"income_change": 2e4, "distress_change": 1.5, "poverty_change": 90.0},
    "deadly": {"survival_offset": 100.0, "illness_risk": 1.0, "end_illness_time": -1.0},
}

CHEAP = ("no beds", "free building", "deadly")


class Told(numpy_health.NumpyHealth):
    """The rewrite in double precision, which reads its luck from `luck_of`."""

    luck_of: dict[str, np.ndarray]
    candidates: np.ndarray

    def chance(self, kind, rows):
        return self.luck_of[kind][rows]

    def shuffled(self, rows):
        return rows[np.argsort(-self.luck_of["priority"][rows], kind="stable")]

    def newcomers(self, rows):
        place = np.floor(self.luck_of["newcomer"][rows] * self.candidates.shape[1]).astype(int)
        return self.candidates[self.region[rows], place]


@pytest.fixture(scope="module")
def env():
    return fairgym.make("health", population=PEOPLE, horizon=MONTHS, decision_period=PERIOD)


@pytest.fixture(scope="module")
def compiled(env):
    blind = jax.jit(dataclasses.replace(env, observe_group=False).observe)
    return *stepwise.programs(env), blind


def told(env, params, state):
    """The rewrite with the people of `state`."""
    country = Told(env, params, np.float64)
    country.candidates = np.asarray(state.candidates)
    region = np.asarray(load_population("health").columns["group"])
    assert (region[country.candidates] == np.arange(REGIONS)[:, None]).all()
    country.luck_of = {"illness": np.asarray(state.illness_uniform)}
    data = {name: np.asarray(column) for name, column in state.data.items()}
    country.start(data, np.asarray(state.group))
    return country


def random_actions(space, rng):
    """Some scores are tied, some premiums are 0; at times all money goes to one use or region."""
    blocks = [
        np.eye(size)[rng.integers(size)] if rng.random() < 0.15 else middle * rng.uniform(0.2, 1.0)
        for size, middle in (
            (4, np.array([0.5, 0.2, 0.2, 0.1])),
            *[(REGIONS, np.ones(REGIONS))] * 3,
        )
    ]
    return {
        "insurer": jnp.asarray(np.round(rng.random(PEOPLE, np.float32), 1)),
        "hospital": jnp.asarray(np.round(rng.random(PEOPLE, np.float32), 1)),
        "planner": space.clip(jnp.asarray(np.concatenate(blocks), jnp.float32)),
    }


def require_same_state(people, state, country):
    """Every field of the state, by what it means."""
    for found, expected in (
        (state.stage, country.stage),
        (state.group, country.region),
        (state.insured, country.insured),
        (state.illness_uniform, country.luck),
        (state.time, country.time),
        (people["time_ill"], country.ill),
        (people["time_waited"], country.waited),
    ):
        np.testing.assert_array_equal(found, expected)
    stepwise.require_close(state.data, country.people, rtol=1e-5, atol=1e-5)
    prices = {"premium": country.premium, "subsidy": country.subsidy}
    stepwise.require_close(state, prices)
    stepwise.require_close(people, {"health_risk": country.risk(country.people)}, rtol=1e-5)
    money = {
        "public_health": country.public_health,
        "premiums_paid": country.paid,
        "rollover": country.rollover,
        "subsidies_held": country.held,
        "total_profit": country.profit,
    }
    stepwise.require_close(state, money, atol=0.1)
    stepwise.require_close(state.building, {"fund": country.fund}, atol=0.1)
    # beds: those that opened, and month by month those that will
    openings = np.asarray(state.building.openings.amounts)
    opened = np.asarray(state.beds) + openings[:, country.time]
    np.testing.assert_array_equal(opened, country.beds)
    ahead = np.zeros_like(openings)
    for region, beds, months in country.projects:
        ahead[region, min(country.time + months, MONTHS)] += beds
    np.testing.assert_array_equal(openings[:, country.time + 1 :], ahead[:, country.time + 1 :])


def follow(env, compiled, params, seed):
    """Require the same months of both; returns sums of components and waits, and beds built."""
    start, transition, observe, noise_of, look, blind = compiled
    rng, key = np.random.default_rng([seed, 1]), jax.random.key(seed)
    state = start(key, params)
    country = told(env, params, state)
    country.observe_group = seed % 2 == 0
    total, waited = dict.fromkeys(env.spec.component_info, np.zeros(())), 0
    beds_at_start = country.beds.sum()
    for month in range(MONTHS - 1):
        seen = (observe if country.observe_group else blind)(state, params)
        stepwise.require_same_views(env, seen, country)
        noise = noise_of(jax.random.fold_in(key, month), params)
        country.luck_of = stepwise.arrays(noise)
        actions = random_actions(env.action_space("planner"), rng)
        state, ours, failed = transition(noise, state, actions, params)
        theirs, also_failed = country.step(actions)
        stepwise.require_same_components(env, ours, theirs)
        assert bool(failed) == also_failed
        require_same_state(look(state), state, country)
        total = {name: value + theirs[name] for name, value in total.items()}
        waited += (country.stage == numpy_health.WAITING).sum()
    return total, waited, country.beds.sum() - beds_at_start


@pytest.mark.parametrize(
    "draw", [*range(3), *(pytest.param(draw, marks=pytest.mark.full) for draw in range(3, 8))]
)
def test_the_same_luck_gives_the_same_months(env, compiled, draw):
    """Components, state and what all agents see: beds built, people lost."""
    rng = np.random.default_rng(draw)
    params = stepwise.drawn(env.default_params, rng, RANGES)
    total, waited, built = follow(env, compiled, params, draw)
    # it was about something
    assert waited > 50 and built > 5
    assert total["died"].min() > 5
    assert 0.2 < total["insured"].sum() / total["people"].sum() < 0.99


@pytest.mark.parametrize(
    "case",
    [case if case in CHEAP else pytest.param(case, marks=pytest.mark.full) for case in EXTREMES],
)
def test_extreme_countries(env, compiled, case):
    params = stepwise.drawn(env.default_params, np.random.default_rng(0), RANGES)
    follow(env, compiled, params.replace(**EXTREMES[case]), 20)
