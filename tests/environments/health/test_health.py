"""The contract, who acts when, what each agent observes, and how an episode ends."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import fairgym
from fairgym import FairgymError
from fairgym.data import load_population
from fairgym.environments.health import Health
from fairgym.testing import check_environment

HEALTHY, WAITING, IN_HOSPITAL = range(3)
EVEN = [0.25] * 4


def same(a, b):
    leaves = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(np.array_equal(np.asarray(x), np.asarray(y)) for x, y in leaves)


def act(env, premium=0.5, scores=0.5, planner=EVEN * 4):
    return {
        "insurer": jnp.full((env.population,), premium),
        "hospital": jnp.full((env.population,), scores),
        "planner": jnp.array(planner),
    }


# --------------------------------------------------------------------------- the contract


@pytest.mark.full
def test_it_keeps_the_contract(env, params, start, step):
    """From the start, two cycles: people renumbered, observations padded, wild actions and more.

    And from the middle of a cycle, with queues, deaths and beds under construction.
    """
    later, builds = start(jax.random.key(2), params), [0.7, 0.1, 0.1, 0.1, *EVEN * 3]
    for month in range(15):
        _, later, *_ = step(jax.random.key(month), later, act(env, planner=builds), params)
    assert set(later.stage.tolist()) == {HEALTHY, WAITING, IN_HOSPITAL}
    assert np.asarray(later.building.openings.amounts)[:, 16:].sum() > 0
    check_environment(env, params=params, steps=7, later=later)


@pytest.fixture(scope="module")
def dozen():
    """Twelve people with offers every month: the environment, a first state, and a step."""
    env = fairgym.make("health", population=12, horizon=4, decision_period=1)
    state = jax.jit(env.initial_state)(jax.random.key(0), env.default_params)
    return env, state, jax.jit(env.step)


def test_twelve_people(dozen):
    """The shapes that follow from 12 people: some regions are of one or two."""
    env, state, step = dozen
    rng = np.random.default_rng(0)
    for month in range(env.horizon):
        actions = act(env) | {
            agent: jnp.asarray(rng.random(12), jnp.float32) for agent in ("insurer", "hospital")
        }
        seen, state, components, _, truncated, _ = step(
            jax.random.key(month), state, actions, env.default_params
        )
        assert components.people.sum() == 12
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((seen, components)))
        assert bool(truncated) == (month == env.horizon - 1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("population", 1),
        ("population", 1_000_001),
        ("horizon", 0),
        ("horizon", True),
        ("decision_period", 0),
        ("decision_period", 100_001),
    ],
)
def test_a_bad_argument_is_named(field, value):
    with pytest.raises(FairgymError, match=rf"{field} must be a whole number from.*got {value!r}"):
        Health(**{field: value})


def test_an_unknown_source_is_named():
    with pytest.raises(FairgymError, match="unknown source 'nowhere'"):
        Health(population_source="nowhere")


@pytest.mark.parametrize(
    ("field", "value"), [("planner_budget", 0.0), ("illness_risk", 1.5), ("bed_cost", float("nan"))]
)
def test_a_bad_parameter_is_named(env, field, value):
    with pytest.raises(
        FairgymError, match=rf"HealthParams.{field} must be a number from .*, got {value}"
    ):
        env.default_params.replace(**{field: value})


def test_it_says_what_it_is(env):
    assert fairgym.make("health").population == 10_000
    assert fairgym.make("health").horizon == 100
    assert dict(fairgym.make("health").spec.periods) == {"insurer": 6, "planner": 6}
    assert env.spec.groups == ("Northeast", "Midwest", "South", "West")
    assert env.action_space("planner").shape == (3 * 4 + 4,)
    assert env.spec.data_checksum == load_population("health").checksum
    assert set(env.metrics) == {
        "profit",
        "insured_rate",
        "incidence_rate",
        "mortality_rate",
        "insured_disparity",
        "incidence_disparity",
        "mortality_disparity",
    }


def test_measures_by_hand(env):
    """Rates are ratios of sums; disparities are standard deviations; bad outcomes are negative."""
    totals = env.spec.components(
        profit=jnp.float32(7.2e8 * 240 / 10_000 * 30 / 100 / 2),
        people=jnp.array([100.0, 100.0, 200.0, 100.0]),
        insured=jnp.array([50.0, 70.0, 120.0, 60.0]),
        healthy=jnp.array([80.0, 80.0, 100.0, 80.0]),
        fell_ill=jnp.array([20.0, 16.0, 50.0, 20.0]),
        illnesses_ended=jnp.array([10.0, 10.0, 20.0, 10.0]),
        died=jnp.array([1.0, 2.0, 8.0, 1.0]),
    )
    found = {name: float(metric.normalised(totals)) for name, metric in env.metrics.items()}
    assert found == pytest.approx(
        {
            "profit": 0.5,
            "insured_rate": 300 / 500,
            "incidence_rate": -106 / 340,
            "mortality_rate": -12 / 50,
            "insured_disparity": -np.std([0.5, 0.7, 0.6, 0.6]),
            "incidence_disparity": -np.std([0.25, 0.2, 0.5, 0.25]),
            "mortality_disparity": -np.std([0.1, 0.2, 0.4, 0.1]),
        },
        abs=1e-5,
    )


# --------------------------------------------------------------------------- the start


def test_everybody_starts_healthy_uninsured_and_in_the_shares_of_the_data(env, params, start):
    state = start(jax.random.key(0), params)
    assert not state.stage.any() and not state.insured.any()
    assert float(state.rollover) == float(state.subsidies_held) == float(state.total_profit) == 0.0
    region = np.asarray(load_population("health").columns["group"])
    shares = np.bincount(region, minlength=4) / len(region)
    np.testing.assert_array_equal(state.beds, np.floor(params.beds_at_start * 4 * shares))
    counts = np.bincount(state.group, minlength=4)
    assert np.abs(counts - shares * env.population).max() <= 1.0


def test_beds_and_people_of_the_regions_can_be_others(env, params, start):
    """Twice as many people in a region, and beds that follow people by half."""
    data = np.bincount(np.asarray(load_population("health").columns["group"]), minlength=4)
    sizes = data * np.array([2.0, 1.0, 1.0, 0.0001])
    shares = sizes / sizes.sum()
    other = params.replace(
        region_size=jnp.array([2.0, 1.0, 1.0, 0.0001]),
        beds_at_start=jnp.array([40.0, 40.0, 80.0, 40.0]),
        beds_by_people=0.5,
    )
    state = start(jax.random.key(0), other)
    counts = np.bincount(state.group, minlength=4)
    assert np.abs(counts - shares * env.population).max() <= 1.0
    beds = np.array([40, 40, 80, 40]) * (0.5 + 0.5 * 4 * shares)
    np.testing.assert_array_equal(state.beds, np.floor(beds))
    even = start(jax.random.key(0), params.replace(beds_by_people=0.0))
    np.testing.assert_array_equal(even.beds, np.floor(params.beds_at_start))


def test_bias_strength_draws_the_regions_apart(env, params, start):
    """The region of direction 1 gets healthier people, that of direction -1 less healthy ones."""
    directions = np.array(load_population("health").directions)
    best, worst = directions.argmax(), directions.argmin()

    def gap(strength):
        found = []
        for seed in range(5):
            state = start(jax.random.key(seed), params.replace(bias_strength=strength))
            risk, group = np.asarray(env.people(state)["health_risk"]), np.asarray(state.group)
            found.append(risk[group == worst].mean() - risk[group == best].mean())
        return np.mean(found)

    assert gap(0.0) + 0.3 < gap(1.0)


def test_who_comes_for_the_dead_is_drawn_from_their_region(start, params):
    """Means of the candidates equal the data's to five errors; seeds for which one did not."""
    data = load_population("health").columns
    region, params = np.asarray(data["group"]), params.replace(bias_strength=0.0)
    for seed in (5, 33, 52):
        candidates = np.asarray(start(jax.random.key(seed), params).candidates)
        np.testing.assert_array_equal(region[candidates], np.arange(4)[:, None] + 0 * candidates)
    for name in ("age", "female", "family_size", "education_years", "race_black"):
        column = np.asarray(data[name], np.float64)
        for g, rows in enumerate(candidates):
            here = column[region == g]
            apart = abs(column[rows].mean() - here.mean())
            assert apart < 5.0 * here.std() / np.sqrt(len(rows)), (g, name)


def test_the_kinds_of_noise_are_independent(env, params, start):
    """Uniform in [0, 1), uncorrelated among themselves and from month to month."""
    draw = jax.jit(jax.vmap(lambda key: env.noise(key, params)))
    noise = [draw(jax.random.split(jax.random.key(seed), 400)) for seed in (0, 1)]
    columns = np.stack([np.asarray(x).ravel() for one in noise for x in jax.tree.leaves(one)])
    assert columns.shape == (12, 400 * env.population)
    assert columns.min() >= 0.0 and columns.max() < 1.0
    assert np.abs(np.corrcoef(columns) - np.eye(12)).max() < 5.0 / np.sqrt(columns.shape[1])
    first = np.asarray(start(jax.random.key(0), params).illness_uniform)
    for column in (*columns, first):
        assert stats.kstest(column, "uniform").pvalue > 1e-4


# --------------------------------------------------------------------------- who acts when


def test_a_period_of_one_is_every_month(dozen):
    always, state, step = dozen
    saving, params = [0.0, 0.0, 0.0, 1.0, *EVEN * 3], always.default_params
    for month in range(3):
        one, other = (
            step(jax.random.key(month), state, act(always, premium, 0.5, saving), params)
            for premium in (0.2, 0.7)
        )
        assert float(one[1].premium.sum()) < float(other[1].premium.sum())
        state = one[1]


# --------------------------------------------------------------------------- what agents see


def test_beds_that_open_after_the_end_are_not_shown(env, params, start, step):
    state = start(jax.random.key(9), params).replace(time=jnp.int32(env.horizon - 6))
    slow = params.replace(build_bed_time=20.0, bed_base_cost=0.0)
    observations = {}
    for month in range(6):
        observations, state, *_ = step(jax.random.key(month), state, act(env), slow)
    assert int(state.time) == env.horizon
    assert state.building.openings.amounts[:, -1].sum() > 0
    np.testing.assert_array_equal(
        observations["planner"].context[4:8], start(jax.random.key(9), params).beds
    )


# --------------------------------------------------------------------------- the end


def test_the_insurer_fails_when_its_profits_sum_to_less_than_nothing(env, params, start, step):
    """A loss in one month is survived: earlier profits cover it."""
    state = start(jax.random.key(6), params)
    free = act(env, premium=0.0, planner=[0.0, 0.0, 0.0, 1.0, *EVEN * 3])
    _, after, components, terminated, truncated, _ = step(jax.random.key(0), state, free, params)
    assert float(components.profit) < 0.0 and bool(terminated) and not bool(truncated)
    assert float(after.total_profit) == float(components.profit)
    rich = state.replace(total_profit=-components.profit + 1.0)
    assert not bool(step(jax.random.key(0), rich, free, params)[3])
    poor = state.replace(total_profit=-components.profit - 1.0)
    assert bool(step(jax.random.key(0), poor, free, params)[3])
    # nothing earned and nothing lost is no failure
    assert not bool(step(jax.random.key(0), state, free, params.replace(hospital_cost=0.0))[3])


def test_a_country_without_people_fails(env, params, start, step):
    """The episode ends if all die in one month; one survivor is enough to continue."""
    state = start(jax.random.key(7), params)
    doomed = state.replace(
        stage=jnp.full_like(state.stage, WAITING),
        ill_since=jnp.full_like(state.ill_since, -50),
        time=jnp.int32(1),
    )
    certain = params.replace(end_illness_time=0.0, hospital_cost=0.0)
    _, after, components, terminated, _, _ = step(jax.random.key(0), doomed, act(env), certain)
    assert int(components.died.sum()) == env.population and bool(terminated)
    assert float(after.total_profit) >= 0.0
    spared = doomed.replace(
        stage=doomed.stage.at[0].set(HEALTHY), illness_uniform=jnp.ones_like(doomed.illness_uniform)
    )
    _, _, components, terminated, _, _ = step(jax.random.key(0), spared, act(env), certain)
    assert int(components.died.sum()) == env.population - 1 and not bool(terminated)


def test_the_horizon_truncates(env, params, start, step):
    state = start(jax.random.key(8), params)
    for month, expected in ((env.horizon - 2, False), (env.horizon - 1, True)):
        late = state.replace(time=jnp.int32(month))
        assert bool(step(jax.random.key(0), late, act(env), params)[4]) == expected
