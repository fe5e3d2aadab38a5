"""Who the people are at the start, and the noise."""

import itertools

import jax
import numpy as np
import pytest
from scipy import stats

import fairgym
from fairgym.data import load_population, standardised_mean_difference

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
