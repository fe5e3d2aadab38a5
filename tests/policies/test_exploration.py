"""Exploration: log-probabilities and entropies against NumPy, and samples against both."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fairgym.core import Discrete, OneEntity, PerEntity, Shares, Unit
from fairgym.policies.exploration import act, entropy, explore, init_log_std, log_probability

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
    samples = jax.vmap(lambda key: explore(LEVEL, logits, log_std, ALL, key))(keys)
    np.testing.assert_allclose(samples.mean(0), logits, atol=0.05)
    np.testing.assert_allclose(samples.std(0), [0.5, 1.5], rtol=0.03)
    density = jax.vmap(lambda x: log_probability(LEVEL, logits, log_std, x, ALL))(samples)
    assert float(entropy(LEVEL, logits, log_std, ALL)) == pytest.approx(
        -float(density.mean()), abs=0.04
    )


class TestChoices:
    """An option is drawn from the softmax of the logits, rows that are masked never."""

    logits = jnp.array([0.5, -1.0, 2.0, 0.0])
    none = jnp.zeros(0)

    def test_there_are_no_standard_deviations(self):
        assert init_log_std(Discrete(("a", "b")), 0.5).shape == (0,)

    @pytest.mark.parametrize(
        ("space", "mask"),
        [
            (Discrete(("a", "b", "c", "d")), [True]),
            (OneEntity(4), [True, True, False, True]),
            (OneEntity(3, none=True), [False, True, True]),
        ],
    )
    def test_probabilities_entropy_and_samples_are_those_of_the_softmax(self, space, mask):
        open_to = np.ones(4, bool)
        if space.chooses_row:
            open_to[: len(mask)] = mask
        weight = np.where(open_to, np.exp(np.asarray(self.logits, float)), 0.0)
        share = weight / weight.sum()
        mask = jnp.array(mask)
        for option in np.flatnonzero(open_to):
            found = log_probability(space, self.logits, self.none, jnp.int32(option), mask)
            np.testing.assert_allclose(found, np.log(share[option]), rtol=1e-5)
        expected = -np.sum(share[open_to] * np.log(share[open_to]))
        found = entropy(space, self.logits, self.none, mask)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        keys = jax.random.split(jax.random.key(0), 4000)
        drawn = jax.vmap(lambda k: explore(space, self.logits, self.none, mask, k))(keys)
        assert drawn.dtype == jnp.int32
        np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 4000, share, atol=0.03)
        assert act(space, drawn[0], mask) == drawn[0]

    def test_derivatives_are_finite_beside_masked_rows(self):
        space, mask = OneEntity(4), jnp.array([True, False, True, False])

        def bonus(logits):
            likely = log_probability(space, logits, self.none, jnp.int32(2), mask)
            return likely + entropy(space, logits, self.none, mask)

        found = jax.grad(bonus)(self.logits)
        a, b = np.exp(0.5), np.exp(2.0)
        p = a / (a + b)
        # d log(1 - p) / dx = -p; d entropy / dx = -p (1 - p) log(p / (1 - p)); x: the first logit
        slope = -p - p * (1 - p) * np.log(p / (1 - p))
        np.testing.assert_allclose(found, [slope, 0.0, -slope, 0.0], rtol=1e-4, atol=1e-6)
