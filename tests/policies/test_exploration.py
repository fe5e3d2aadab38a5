"""Exploration: log-probabilities and entropies against NumPy, and samples against both."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fairgym.core import PerEntity, Shares, Unit
from fairgym.policies.exploration import entropy, explore, init_log_std, log_probability

LEVEL, SCORES = Unit(("low", "high")), PerEntity(3)
ALL = jnp.ones(3, bool)


def test_probabilities_of_a_group_level_action_are_normal_densities():
    logits, log_std, explored = jnp.array([0.4, -0.3]), jnp.array([-0.5, 0.3]), [0.2, -1.1]
    std = np.exp([-0.5, 0.3])
    z = (np.array(explored) - np.asarray(logits, float)) / std
    expected = np.sum(-0.5 * z**2 - np.log(std * np.sqrt(2 * np.pi)))
    for space in (LEVEL, Shares((("one", "two"),))):
        found = log_probability(space, logits, log_std, jnp.array(explored), ALL)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_probabilities_of_per_person_actions_are_means_over_those_present():
    """Three people weigh as much as the same three a hundred times over."""
    logits, explored = jnp.array([0.3, -1.0, 2.0]), jnp.array([0.5, 0.1, -0.7])
    log_std = jnp.array([-0.2])
    few = log_probability(SCORES, logits, log_std, explored, ALL)
    z = (np.asarray(explored) - np.asarray(logits)) / np.exp(-0.2)
    expected = np.mean(-0.5 * z**2 + 0.2 - 0.5 * np.log(2 * np.pi))
    np.testing.assert_allclose(few, expected, rtol=1e-5)
    many, padding = PerEntity(350), jnp.full(50, 9.0)
    found = log_probability(
        many,
        jnp.concatenate([jnp.tile(logits, 100), jnp.ones(50)]),
        log_std,
        jnp.concatenate([jnp.tile(explored, 100), padding]),
        jnp.arange(350) < 300,
    )
    np.testing.assert_allclose(found, few, rtol=1e-5)


@pytest.mark.parametrize("space", [LEVEL, SCORES])
def test_there_is_one_standard_deviation_for_each_element(space):
    log_std = init_log_std(space, 0.5)
    assert log_std.shape == (len(space.elements),) and log_std.dtype == jnp.float32
    np.testing.assert_allclose(log_std, np.log(0.5), rtol=1e-6)


def test_samples_are_as_likely_as_is_said():
    """Their mean and spread, and the mean of minus their log-density, which is the entropy."""
    logits, log_std = jnp.array([0.4, -2.0]), jnp.log(jnp.array([0.5, 1.5]))
    keys = jax.random.split(jax.random.key(0), 20_000)
    samples = jax.vmap(lambda key: explore(logits, log_std, key))(keys)
    np.testing.assert_allclose(samples.mean(0), logits, atol=0.05)
    np.testing.assert_allclose(samples.std(0), [0.5, 1.5], rtol=0.03)
    density = jax.vmap(lambda x: log_probability(LEVEL, logits, log_std, x, ALL))(samples)
    assert float(entropy(log_std)) == pytest.approx(-float(density.mean()), abs=0.04)
