"""The contract, who acts when, what each agent sees, and how an episode ends."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

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


def test_it_keeps_the_contract(env, params, episode):
    """From the start, two cycles: people renumbered, observations padded, wild actions and more.

    And from the middle of a cycle, with queues, deaths and beds under construction.
    """
    later = episode.state_before(15)
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
    with pytest.raises(FairgymError, match=rf"{field} is {value!r}; it takes a whole number from"):
        Health(**{field: value})


def test_an_unknown_source_is_named():
    with pytest.raises(FairgymError, match="unknown source 'nowhere'"):
        Health(population_source="nowhere")


@pytest.mark.parametrize(
    ("field", "value"), [("planner_budget", 0.0), ("illness_risk", 1.5), ("bed_cost", float("nan"))]
)
def test_a_bad_parameter_is_named(env, field, value):
    with pytest.raises(FairgymError, match=rf"HealthParams.{field} is"):
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
    """Rates of sums over regions; disparities are standard deviations; bad things count minus."""
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


def test_the_risk_is_the_fitted_regression(env, params, start):
    state = start(jax.random.key(1), params)
    score = load_population("health").scores["health_risk"]
    data = {name: np.asarray(column, np.float64) for name, column in state.data.items()}
    line = score.intercept + sum(w * data[name] for name, w in score.coefficients.items())
    found = np.asarray(env.people(state)["health_risk"])
    np.testing.assert_allclose(found, np.clip(line, 1.0, 5.0), rtol=1e-5)
    assert 2.5 < np.median(found) < 3.1


def test_bias_strength_draws_the_regions_apart(env, params, start):
    """The region of direction 1 gets healthier people, the region of direction -1 others."""
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


def test_candidates_are_of_their_region(env, start):
    """Who replaces the dead; seeds with which one of 16,384 was not."""
    region = np.asarray(load_population("health").columns["group"])
    for seed in (5, 33, 52):
        candidates = np.asarray(start(jax.random.key(seed), env.default_params).candidates)
        np.testing.assert_array_equal(region[candidates], np.arange(4)[:, None] + 0 * candidates)


# --------------------------------------------------------------------------- who acts when


def test_actions_between_offers_change_nothing(env, params, start, step):
    """The insurer's and the planner's count in months 0, 6, 12, ... only; the hospital's always."""
    state, other = (
        start(jax.random.key(2), params),
        act(env, 0.9, 0.5, [0.0, 0.0, 1.0, 0.0, *EVEN * 3]),
    )
    rng = np.random.default_rng(0)
    counted = {agent: [] for agent in env.agents}
    for month in range(13):
        key = jax.random.key(month)
        actions = act(env) | {"hospital": jnp.asarray(rng.random(env.population), jnp.float32)}
        result = step(key, state, actions, params)
        for agent in env.agents:
            changed = {**actions, agent: 1.0 - actions["hospital"]}
            if agent != "hospital":
                changed[agent] = other[agent]
            if not same(result, step(key, state, changed, params)):
                counted[agent].append(month)
        state = result[1]
    assert counted["insurer"] == counted["planner"] == [0, 6, 12]
    assert len(counted["hospital"]) > 8


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


def test_coverage_lasts_for_a_cycle(episode, books):
    """Nobody joins or leaves between offers, but by death."""
    between = ~books.offers
    assert between.sum() == 25
    np.testing.assert_array_equal(books.insured[between], books.before["insured"][between] > 0)
    assert (books.insured[books.offers] != (books.before["insured"][books.offers] > 0)).any()


# --------------------------------------------------------------------------- what agents see


def test_the_hospital_sees_who_will_need_a_bed(episode, books):
    """Exactly them; in months of offers, when nobody knows who will be insured, some more."""
    np.testing.assert_array_equal(episode.mask[~books.offers], books.queue[~books.offers])
    on_offer = episode.mask[books.offers]
    assert not (books.queue[books.offers] & ~on_offer).any()
    assert on_offer.sum() > books.queue[books.offers].sum()
    # and no more than could fall ill, were they not insured
    chance = 0.4 + 0.08 * books.risk
    could = books.healthy & (books.before["illness_uniform"] < chance)
    waiting = books.before["stage"] == WAITING
    np.testing.assert_array_equal(on_offer, (could | waiting)[books.offers])


def test_the_scores_of_those_unseen_do_not_matter(env, params, start, step):
    """In months of offers and between them."""
    state = start(jax.random.key(3), params)
    for month in range(8):
        seen = env.observe(state, params)["hospital"].mask
        scores = jax.random.uniform(jax.random.key(100 + month), (env.population,))
        one, two = (
            step(
                jax.random.key(month),
                state,
                act(env) | {"hospital": jnp.where(seen, scores, unseen)},
                params,
            )
            for unseen in (0.0, 1.0)
        )
        assert same(one, two)
        state = one[1]


def test_features_are_the_people_and_context_the_country(env, params, start, step):
    state = start(jax.random.key(4), params)
    for month in range(9):
        _, state, *_ = step(jax.random.key(month), state, act(env), params)
    seen, people = env.observe(state, params), env.people(state)
    assert set(state.stage.tolist()) == {HEALTHY, WAITING, IN_HOSPITAL}
    for agent in env.agents:
        space, mask = env.observation_space(agent), np.asarray(seen[agent].mask)
        assert mask.all() == (agent != "hospital")
        for place, feature in enumerate(space.features):
            column = np.where(mask, people[feature.name], 0.0)
            np.testing.assert_array_equal(seen[agent].features[:, place], column, feature.name)
    context = {
        feature.name: float(value)
        for feature, value in zip(
            env.observation_space("planner").context, seen["planner"].context, strict=True
        )
    }
    assert context["time"] == 9.0
    assert context["hospital_cost"] == params.hospital_cost
    assert context["total_profit"] == float(state.total_profit)
    budget = params.planner_budget + float(state.rollover)
    assert context["planner_budget"] == pytest.approx(budget)
    for g, region in enumerate(env.spec.groups):
        occupied = int(((state.stage == IN_HOSPITAL) & (state.group == g)).sum())
        beds = float(state.beds[g] + state.building.opened(state.time)[g])
        place = region.lower()
        assert context[f"beds_{place}"] == beds
        assert context[f"free_beds_{place}"] == beds - occupied
        assert context[f"premiums_paid_{place}"] == float(state.premiums_paid[g])


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


def test_the_region_can_be_hidden(env, params, start):
    state = start(jax.random.key(5), params)
    hidden = dataclasses.replace(env, observe_group=False).observe(state, params)
    for agent, seen in env.observe(state, params).items():
        names = [feature.name for feature in env.observation_space(agent).features]
        assert tuple(names[:4]) == env.spec.groups
        assert not hidden[agent].features[:, :4].any()
        assert seen.features[:, :4].sum() == seen.mask.sum()
        np.testing.assert_array_equal(hidden[agent].features[:, 4:], seen.features[:, 4:])


# --------------------------------------------------------------------------- the end


def test_the_insurer_fails_when_its_profits_sum_to_less_than_nothing(env, params, start, step):
    """Not when it loses in a month: it has what it earned."""
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
    """All of them dead in one month; one survivor is enough to go on."""
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
    lucky = doomed.replace(
        stage=doomed.stage.at[0].set(HEALTHY), illness_uniform=jnp.ones_like(doomed.illness_uniform)
    )
    _, _, components, terminated, _, _ = step(jax.random.key(0), lucky, act(env), certain)
    assert int(components.died.sum()) == env.population - 1 and not bool(terminated)


def test_the_horizon_truncates(env, params, start, step):
    state = start(jax.random.key(8), params)
    for month, expected in ((env.horizon - 2, False), (env.horizon - 1, True)):
        late = state.replace(time=jnp.int32(month))
        assert bool(step(jax.random.key(0), late, act(env), params)[4]) == expected


def test_same_key_same_bits(record, params, random_actions):
    runs = [record(params, random_actions(0), seed) for seed in (3, 3, 4)]
    for field in ("states", "people", "components"):
        first, again, other = (getattr(run, field) for run in runs)
        assert same(first, again)
        assert not same(first, other)
