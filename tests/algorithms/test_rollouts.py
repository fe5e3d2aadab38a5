"""What learners see of running environments: samples of the people, new episodes."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from learners import ENV

from fairgym.algorithms import initial_rollout_states, sample_people
from fairgym.core import Entities


def crowd(mask):
    """One feature, which is the row's number."""
    mask = np.asarray(mask)
    rows = np.where(mask, np.arange(mask.size), 0).astype(np.float32)
    return Entities(jnp.asarray(rows[:, None]), jnp.asarray(mask), jnp.zeros(0))


sample = jax.jit(sample_people, static_argnums=2)


def test_a_sample_is_everybody_if_they_are_few():
    few = crowd([False, True, False, True, True] + [False] * 15)
    for seed in range(5):
        some, rows = sample(few, jax.random.key(seed), 8)
        assert some.mask.tolist() == [True] * 3 + [False] * 5
        assert rows.tolist()[:3] == np.asarray(some.features)[:3, 0].tolist() == [1, 3, 4]
        assert not np.asarray(some.features)[3:].any()
    nobody, _ = sample(crowd([False] * 20), jax.random.key(0), 8)
    assert not nobody.mask.any() and not nobody.features.any()
    same, rows = sample_people(few, jax.random.key(0), 0)
    assert same is few and rows.tolist() == list(range(20))


def test_a_sample_of_many_gives_everybody_the_same_chance():
    mask = np.arange(60) % 3 != 0  # forty people, of whom ten are drawn
    keys = jax.random.split(jax.random.key(0), 4_000)
    samples, rows = jax.jit(jax.vmap(lambda key: sample_people(crowd(mask), key, 10)))(keys)
    assert samples.mask.all() and mask[np.asarray(rows)].all()
    assert all(len(set(row)) == 10 for row in np.asarray(rows)[:50].tolist()), "nobody twice"
    chance = np.bincount(np.asarray(rows).reshape(-1), minlength=60) / 4_000
    np.testing.assert_allclose(chance[mask], 0.25, atol=4 * math.sqrt(0.25 * 0.75 / 4_000))


def test_environments_differ_from_the_start():
    rollouts = initial_rollout_states(
        ENV, ENV.default_params, (), {}, jax.random.split(jax.random.key(0), 3)
    )
    assert np.unique(rollouts.state.skill).size == 24
