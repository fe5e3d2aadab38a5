"""Who the people are at the start, what the agents see of them, and that runs can be repeated."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import fairgym
from fairgym.data import load_population, standardised_mean_difference
from fairgym.environments._common.schedule import Schedule

IDLE, WAITING, REPAYING = range(3)
FEATURES = (
    "interest_rate",
    "term",
    "principal",
    "annual_income",
    "debt_to_income",
    "fico_low",
    "fico_high",
    "months_since_delinquency",
)


@pytest.fixture(scope="module")
def data():
    return load_population("loan")


@pytest.fixture(scope="module")
def mixed(env, record, params):
    """A state in the middle of a run, with people in every stage; and the run."""
    run = record(params)
    month = 40
    _, state = env.reset(jax.random.key(0), params)
    then = {name: jnp.array(v[month]) for name, v in run.states.items()}
    state = state.replace(**then | {"deposits": Schedule(then["deposits"])})
    assert (np.bincount(np.asarray(state.stage)) > 3).all()
    return state


# ------------------------------------------------------------------------------ the start


@pytest.mark.parametrize("share", [0.0, 0.11, 0.5, 1.0])
def test_group_shares_are_kept(env, params, start, share):
    state = start(jax.random.key(0), params.replace(disadvantaged_share=share))
    assert int(state.group.sum()) == round(share * env.population)


def test_the_default_share_is_that_of_the_data(env, data):
    assert env.default_params.disadvantaged_share == pytest.approx(data.columns["group"].mean())


@pytest.fixture(scope="module")
def crowd():
    """10,000 people under four bias strengths."""
    env = fairgym.make("loan", population=10_000)
    params = env.default_params.replace(disadvantaged_share=0.5)
    start = jax.jit(lambda key, params: env.people(env.initial_state(key, params)))
    return {
        s: start(jax.random.key(1), params.replace(bias_strength=s)) for s in (0.0, 0.2, 0.5, 1.0)
    }


def test_without_bias_people_are_as_in_the_data(crowd, data):
    """Mean and distribution of every feature, within each group."""
    people = crowd[0.0]
    for g in (0, 1):
        mine, theirs = np.asarray(people["group"]) == g, data.columns["group"] == g
        assert mine.sum() == 5_000
        for name in FEATURES:
            drawn, source = np.asarray(people[name])[mine], data.columns[name][theirs]
            error = source.std() / np.sqrt(mine.sum())
            assert abs(drawn.mean() - source.mean()) < 4 * error, name
            assert np.isin(drawn, source).all()
    # rows are drawn whole: features keep belonging together
    rows = {tuple(row) for row in np.stack([data.columns[n] for n in FEATURES], 1).tolist()}
    drawn = np.stack([np.asarray(people[n]) for n in FEATURES], 1).tolist()
    assert all(tuple(row) in rows for row in drawn[:200] + drawn[-200:])


def test_bias_moves_the_groups_apart(crowd):
    apart = [
        float(standardised_mean_difference(people["qualification_score"], people["group"]))
        for people in crowd.values()
    ]
    assert all(b > a + 0.1 for a, b in itertools.pairwise(apart)), apart


def test_everybody_is_idle_at_the_start(env, params, start):
    state = start(jax.random.key(0), params)
    assert not np.asarray(state.stage).any()
    assert not np.asarray(state.balance).any()
    assert int(state.applying.sum()) == env.applicants
    assert len(set(np.asarray(state.applicants).tolist())) == env.applicants


def test_the_noise_is_normal_and_the_priorities_are_uniform(env, params):
    noise = jax.jit(jax.vmap(lambda key: env.noise(key, params)))(
        jax.random.split(jax.random.key(0), 50)
    )
    payment, priority = (np.asarray(x).ravel() for x in (noise.payment, noise.priority))
    assert stats.kstest(payment / 0.025, "norm").pvalue > 0.01
    assert stats.kstest(priority, "uniform").pvalue > 0.01
    assert priority.min() >= 0.0
    assert abs(np.corrcoef(payment, priority)[0, 1]) < 4 / np.sqrt(payment.size)


# --------------------------------------------------------------------------- what is seen


def by_name(env, agent, observation):
    names = [feature.name for feature in env.observation_space(agent).features]
    return dict(zip(names, np.asarray(observation.features).T, strict=True))


def test_each_agent_sees_its_own_people(env, params, mixed):
    seen = env.observe(mixed, params)
    np.testing.assert_array_equal(seen["admissions"].mask, mixed.applying)
    np.testing.assert_array_equal(seen["disbursement"].mask, mixed.stage == WAITING)
    np.testing.assert_array_equal(seen["debt_management"].mask, mixed.stage == REPAYING)
    people = {name: np.asarray(column) for name, column in env.people(mixed).items()}
    rows = np.asarray(mixed.applicants)
    for agent, observation in seen.items():
        mask = np.asarray(observation.mask)
        for name, column in by_name(env, agent, observation).items():
            expected = people[name][rows] if agent == "admissions" else people[name]
            np.testing.assert_allclose(column[mask], expected[mask], rtol=1e-6, err_msg=name)
            assert not column[~mask].any()
        assert float(observation.context[0]) == 40.0
        assert float(observation.context[1]) == pytest.approx(float(mixed.total_profit))


def test_a_hidden_group_is_hidden_in_all_observations(env, params, mixed):
    """And nothing else changes, the environment's own decisions included."""
    open_eyes = env.observe(mixed, params)
    blind = dataclasses.replace(env, observe_group=False).observe(mixed, params)
    for agent in env.agents:
        before, after = (by_name(env, agent, seen[agent]) for seen in (open_eyes, blind))
        assert before["group"].any()
        assert not after["group"].any()
        for name in before:
            if name != "group":
                np.testing.assert_array_equal(before[name], after[name])


def test_debt_to_income_carries_the_installment(env, params, mixed):
    seen = by_name(env, "debt_management", env.observe(mixed, params)["debt_management"])
    on = np.asarray(mixed.stage) == REPAYING
    installment = np.asarray(mixed.installment, np.float64)[on]
    assert (installment > 0).sum() > 10
    expected = mixed.debt_to_income[on] + 1_200 * installment / np.asarray(mixed.annual_income)[on]
    np.testing.assert_allclose(seen["debt_to_income"][on], expected, rtol=1e-5)
    waiting = np.asarray(mixed.stage) != REPAYING
    np.testing.assert_array_equal(
        np.asarray(env.people(mixed)["debt_to_income"])[waiting],
        np.asarray(mixed.debt_to_income)[waiting],
    )


def test_scores_are_the_fitted_regressions_of_the_features_as_they_are_now(env, mixed, data):
    """Recomputed in NumPy from the stored coefficients, after features have moved."""
    people = {n: np.asarray(v, np.float64) for n, v in env.people(mixed).items()}
    moved = ~np.isin(np.asarray(mixed.fico_low), data.columns["fico_low"])
    assert moved.any()
    line = {}
    for name, score in data.scores.items():
        assert score.coefficients["fico_low"] > 0
        line[name] = score.intercept + sum(w * people[c] for c, w in score.coefficients.items())
    np.testing.assert_allclose(
        people["qualification_score"], 1 / (1 + np.exp(-line["qualification"])), atol=1e-5
    )
    np.testing.assert_allclose(people["propensity"], np.clip(line["propensity"], 0, 1), atol=1e-5)
