"""Parameters per region, as lists, mappings, flags and relative changes."""

import functools
import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.config import RunConfig
from fairgym.config.parameters import Parameter, params_settings, with_params
from fairgym.core import FairgymError
from fairgym.environments.health.steps import strikes
from fairgym.policies import fixed_policies

HEALTH = fairgym.make("health", population=1_000, horizon=4)  # 30 beds a region
EDUCATION = fairgym.make("education", population=200, horizon=3)
SETTINGS = {setting.name: setting for setting in params_settings(HEALTH)}
BEDS, COST = SETTINGS["beds_at_start"], SETTINGS["max_premium"]


def beds(*changes):
    changed = with_params(HEALTH, HEALTH.default_params, changes).beds_at_start
    return np.asarray(changed).tolist()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([("beds_at_start", 40)], 40.0),  # as it is, whatever the population
        ([("beds_at_start", "40")], 40.0),
        ([("beds-at-start", "+30%")], 39.0),  # of the default of this population
        ([("beds_at_start.South", "39")], [30, 30, 39, 30]),
        ([("beds_at_start.south", "+30%")], [30, 30, 39, 30]),
        ([("beds_at_start", {"South": 39, "west": "-10%"})], [30, 30, 39, 27]),
        ([("beds_at_start", "South=39,West=-10%")], [30, 30, 39, 27]),
        ([("beds_at_start", [1, 2, 3, 4])], [1, 2, 3, 4]),
        ([("beds_at_start", "1,2,3,4")], [1, 2, 3, 4]),
        ([("beds_at_start", 20), ("beds_at_start.South", "+50%")], [20, 20, 30, 20]),
        ([("beds_at_start.South", 60), ("beds_at_start", "-50%")], [15, 15, 30, 15]),
    ],
)
def test_ways_to_say_it(changes, expected):
    assert beds(*changes) == pytest.approx(expected)


def test_one_number_stays_one_number():
    params = with_params(HEALTH, HEALTH.default_params, [("max_premium", "+10%")])
    assert type(params.max_premium) is float and params.max_premium == pytest.approx(1_100.0)
    assert params.hospital_cost is HEALTH.default_params.hospital_cost


def test_parts_of_a_partition():
    params = with_params(EDUCATION, EDUCATION.default_params, [("improve_gain.pacific", 0.8)])
    names = EDUCATION.spec.partitions["region"]
    expected = [0.8 if name.lower() == "pacific" else 0.4 for name in names]
    np.testing.assert_allclose(params.improve_gain, expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("beds", 1), "unknown parameter 'beds'; did you mean 'beds_at_start' or 'beds_by_people'"),
        (
            ("beds_at_start.Suoth", 1),
            "unknown region 'Suoth' of beds_at_start; did you mean 'South'",
        ),
        (
            ("beds_at_start", {"Here": 1}),
            "unknown region 'Here' of beds_at_start; there are: Northeast",
        ),
        (
            ("beds_at_start", [1, 2]),
            "beds_at_start must be one number, or one per .*, got 2 numbers",
        ),
        (
            ("beds_at_start", "1,2"),
            "beds_at_start must be one number, or one per .*, got 2 numbers",
        ),
        (("beds_at_start", "South=many"), "beds_at_start.South must be a number.*got 'many'"),
        (("beds_at_start", "many"), "beds_at_start must be one number, or one per.*got 'many'"),
        (("beds_at_start", None), "beds_at_start must be one number, or one per region.*got None"),
        (("beds_at_start", {"South": True}), "beds_at_start.South must be a number.*got True"),
        (
            ("beds_at_start.South", -1),
            "beds_at_start must be a number from 0 to .*, got the entry -1",
        ),
        (
            ("beds_at_start.South", float("inf")),
            "beds_at_start must be a number .*, got the entry inf",
        ),
        (
            ("beds_at_start", "South=3,south=4"),
            "beds_at_start must name each region once, got south twice",
        ),
        (
            ("beds_at_start", {"South": 3, "SOUTH": 4}),
            "must name each region once, got SOUTH twice",
        ),
        (("illness_risk", "+900%"), "illness_risk must be a number from 0 to 1.*got 4.0"),
        (("max_premium", [1, 2, 3, 4]), r"max_premium must be a number.*got \[1, 2, 3, 4\]"),
        (("max_premium", "South=3"), "max_premium must be a number.*got 'South=3'"),
        (
            ("max_premium.South", 3),
            "max_premium.South is not a parameter: max_premium is one number",
        ),
    ],
)
def test_what_does_not_fit(change, message):
    with pytest.raises(FairgymError, match=message):
        with_params(HEALTH, HEALTH.default_params, [change])


def test_configurations_hold_what_was_used():
    given = {"environment": "health", "population": 1_000, "beds_at_start": {"south": "+30%"}}
    config = RunConfig.from_mapping(given)
    job: Any = config.build()
    assert job.config.params["beds_at_start"] == [30.0, 30.0, 39.0, 30.0]
    tenths = RunConfig("health", params={"stay": [0.1, 0.2, 0.3, 0.4]}).build()
    assert tenths.config.params["stay"] == [0.1, 0.2, 0.3, 0.4]
    assert job.config.params["bed_cost"] == 1e6  # plain numbers stay plain
    again: Any = RunConfig(**json.loads(json.dumps(job.config.as_json()))).build()
    assert again.config == job.config
    np.testing.assert_array_equal(
        np.asarray(again.params.beds_at_start), np.asarray(job.params.beds_at_start)
    )


@pytest.mark.parametrize("value", [{"Suoth": 1}, [1, 2], "many", {"South": "many"}])
def test_files_are_checked_as_they_are_read(value):
    with pytest.raises(FairgymError, match=r"beds_at_start|region"):
        RunConfig.from_mapping({"environment": "health", "beds_at_start": value})


def test_help_says_what_a_region_is():
    assert BEDS.help.endswith("[beds, from 0 to 1,000,000]; one number, or one per region")
    assert "per region" not in COST.help


def test_python_users_are_told_of_a_wrong_length():
    params = HEALTH.default_params.replace(beds_at_start=jnp.ones(3))
    message = r"beds_at_start must be one number, or one per region \(North.*, got the shape \(3,\)"
    with pytest.raises(FairgymError, match=message):
        HEALTH.reset(jax.random.key(0), params)


BASELINES = {HEALTH: "premium_half_uniform_planner", EDUCATION: "plausible_fixed_policy"}


@functools.partial(jax.jit, static_argnums=0)
def episode(env, params):
    policies = fixed_policies(env, env.spec.baselines[BASELINES[env]])
    return fairgym.rollout(env, params, policies, jax.random.key(0))


def in_parts(env, **changes):
    """The default parameters with lists where allowed, so that all tests share one program."""
    lists = {
        setting.name: jnp.full(len(setting.parts), setting.default, jnp.float32)
        for setting in params_settings(env)
        if isinstance(setting, Parameter) and setting.parts
    }
    assert len(lists) >= 5
    return env.default_params.replace(**lists | changes)


@pytest.mark.full
@pytest.mark.parametrize("env", BASELINES, ids=lambda env: env.name)
def test_equal_numbers_for_all_regions_are_one_number(env):
    """Counts are equal; sums may differ, since another program rounds differently."""
    one, each = episode(env, env.default_params), episode(env, in_parts(env))
    for ours, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(each), strict=True):
        if jnp.issubdtype(ours.dtype, jnp.floating):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
        elif not jnp.issubdtype(ours.dtype, jax.dtypes.prng_key):
            np.testing.assert_array_equal(ours, theirs)


def test_a_list_of_equal_numbers_is_made_one_number():
    """Equal numbers are one number, which gives the same program and bits."""
    for given in ([30, 30, 30, 30], {"South": 30}, "South=30", "30,30,30,30"):
        params = with_params(HEALTH, HEALTH.default_params, [("beds_at_start", given)])
        assert type(params.beds_at_start) is float and params == HEALTH.default_params


@jax.jit
def beginning(params):
    return HEALTH.initial_state(jax.random.key(0), params)


@pytest.mark.full
def test_beds_of_one_region_are_beds_of_that_region():
    params = with_params(HEALTH, HEALTH.default_params, [("beds_at_start.South", "+30%")])
    usual, state = beginning(HEALTH.default_params), beginning(params)
    np.testing.assert_array_equal(
        state.beds[jnp.array([0, 1, 3])], usual.beds[jnp.array([0, 1, 3])]
    )
    assert 1.25 < state.beds[2] / usual.beds[2] < 1.35


@pytest.mark.parametrize("differs", ["illness_uninsured", "illness_risk"])
def test_illness_strikes_by_the_numbers_of_the_own_region(differs):
    """Equation (10) in NumPy, with a different number in each region."""
    state = beginning(HEALTH.default_params)
    people = state.group.size
    uniform, insured = np.linspace(0.0, 1.0, people), np.arange(people) % 2 == 0
    state = state.replace(illness_uniform=jnp.array(uniform, jnp.float32))
    given: dict[str, Any] = {"illness_uninsured": 0.2, "illness_risk": 0.3}
    given[differs] = [0.05, 0.5, 0.3, 0.4]
    lists = {name: jnp.array(x, jnp.float32) for name, x in given.items()}
    risk = jnp.full(people, 3.0, jnp.float32)
    ill = strikes(state, jnp.array(insured), risk, HEALTH.default_params.replace(**lists))
    uninsured, slope = (np.broadcast_to(x, 4)[state.group] for x in given.values())
    chance = np.where(insured, 0.0, uninsured) + slope * 3.0 / 5.0
    clear = np.abs(chance - uniform) > 1e-6
    np.testing.assert_array_equal(ill[clear], (chance > uniform)[clear])


def test_illness_of_one_region_is_illness_of_that_region():
    nobody = jnp.zeros(4)
    params = in_parts(HEALTH, illness_risk=nobody.at[3].set(1.0), illness_uninsured=nobody)
    fell_ill = episode(HEALTH, params).totals.fell_ill
    assert fell_ill[:3].tolist() == [0.0, 0.0, 0.0] and fell_ill[3] > 0


def test_hospital_cost_of_each_region_is_paid_for_its_own():
    """Profit falls by the months in hospital of the insured in this region only."""

    def paid(cost):
        params = in_parts(HEALTH, hospital_cost=jnp.array(cost, jnp.float32))
        return float(free - episode(HEALTH, params).totals.profit)

    free = episode(HEALTH, in_parts(HEALTH, hospital_cost=jnp.zeros(4))).totals.profit
    paid_in = [paid([1_000.0 * (place == region) for region in range(4)]) for place in range(4)]
    assert min(paid_in) > 0 and len(set(paid_in)) == 4
    assert sum(paid_in) == pytest.approx(paid([1_000.0] * 4), rel=1e-3)
