"""What fixed policies reach, and the ends of the bank."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym

# --------------------------------------------------------------------------- fixed policies


@pytest.fixture(scope="session")
def episodes(env, params):
    """`episodes(threshold, relief)`: five seeds of a fixed policy, random order, with traces."""

    def run(threshold, relief, key):
        policies = {
            "admissions": lambda seen, key: threshold,
            "disbursement": lambda seen, key: jax.random.uniform(key, (env.applicants,)),
            "debt_management": lambda seen, key: relief,
        }
        episode = fairgym.rollout(env, params, policies, key, trace=True)
        return episode, jnp.mean(env.people(episode.final_state)["qualification_score"])

    compiled = jax.jit(jax.vmap(run, (None, None, 0)))
    keys = jax.random.split(jax.random.key(0), 5)

    def start(threshold, relief):
        pair = (jnp.broadcast_to(jnp.float32(x), (2,)) for x in (threshold, relief))
        return compiled(*pair, keys)

    return start


def test_a_score_equal_to_the_threshold_is_enough(env, params, start, transition):
    """A score of exactly 1 (reached by no real person) at the threshold 1."""
    state = start(jax.random.key(0), params)
    best = state.replace(interest_rate=jnp.full_like(state.interest_rate, -10.0))
    assert (np.asarray(env.people(best)["qualification_score"]) == 1.0).all()
    ones = {agent: jnp.ones(env.action_space(agent).shape) for agent in env.agents}
    noise = env.noise(jax.random.key(0), params)
    for people, approved in ((best, env.applicants), (state, 0)):
        assert transition(noise, people, ones, params)[1].approved.sum() == approved


def test_relief_raises_repayments_and_scores(episodes):
    """The same people and noise: fewer defaults and better records, on five of five seeds."""
    shares, ends = [], []
    for relief in (0.0, 0.05, 0.15):
        episode, score = episodes(0.0, relief)
        totals = jax.tree.map(np.asarray, episode.totals)
        shares.append(totals.defaulted.sum(axis=1) / totals.ended.sum(axis=1))
        ends.append(np.asarray(score))
    assert (np.diff(shares, axis=0) < 0).all(), shares
    assert (np.diff(ends, axis=0) > 0).all(), ends


def test_open_admission_with_moderate_relief_earns_most(episodes):
    """Against less and more relief and higher thresholds, on five of five seeds."""
    best = np.asarray(episodes(0.0, 0.15)[0].totals.profit)
    for threshold, relief in ((0.0, 0.0), (0.0, 0.03), (0.0, 0.4), (0.7, 0.15), (0.85, 0.15)):
        assert (best > np.asarray(episodes(threshold, relief)[0].totals.profit)).all()


def test_too_much_relief_ends_the_bank_and_no_loans_do_not(env, episodes):
    episode = episodes(0.0, 1.0)[0]
    assert np.asarray(episode.terminated).all()
    assert (np.asarray(episode.length) == 1).all()
    assert (np.asarray(episode.totals.profit) < 0).all()
    episode = episodes(1.0, 1.0)[0]
    assert not np.asarray(episode.terminated).any()
    assert (np.asarray(episode.length) == env.horizon).all()
    assert not np.asarray(episode.totals.profit).any()
