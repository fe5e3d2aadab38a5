"""What learners see of environments that run on: samples of the people, new episodes."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from learners import learner, run_one_world

from fairgym.algorithms import sample_people
from fairgym.core import EndsAfter, Entities
from fairgym.fairness import Objective
from fairgym.testing.toys import Toy


def crowd(mask):
    """One feature, which is the row's number."""
    mask = jnp.asarray(mask)
    rows = jnp.where(mask, jnp.arange(float(mask.size)), 0.0)
    return Entities(rows[:, None], mask, jnp.zeros(0))


def test_a_sample_is_everybody_if_they_are_few():
    few = crowd([False, True, False, True, True] + [False] * 15)
    for seed in range(5):
        sample, rows = sample_people(few, jax.random.key(seed), 8)
        assert sample.mask.tolist() == [True] * 3 + [False] * 5
        assert rows[:3].tolist() == sample.features[:3, 0].tolist() == [1, 3, 4]
        assert not sample.features[3:].any()
    nobody, _ = sample_people(crowd([False] * 20), jax.random.key(0), 8)
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


def test_the_world_after_an_end_is_a_new_one():
    env = Toy(population=8, horizon=5, places=3)
    state = learner("f-mappo", num_envs=3).init(jax.random.key(0), env, Objective.uniform(env))
    assert np.unique(np.asarray(state.worlds.state.skill)).size == 24, (
        "worlds differ from the start"
    )


def test_worlds_of_a_wrapped_environment_end_as_the_wrapper_says():
    env = EndsAfter(Toy(population=8, horizon=5, places=3), 2)
    ppo = learner("f-mappo")
    state = ppo.init(jax.random.key(0), env, Objective.uniform(env))
    assert run_one_world(ppo, state, jax.random.key(1)).done.tolist() == [False, True, False, True]
