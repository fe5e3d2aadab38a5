import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fairgym.data import (
    directions_by_rank,
    resampling_weights,
    standardised_mean_difference,
    strength_for,
)
from fairgym.data.fitting import fit_amplification


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    group = (rng.random(40_000) < 0.3).astype(np.int8)
    return rng.normal(2.0 - 0.4 * group, 1.5), group


def test_difference_is_cohens_d():
    values = np.array([1.0, 2.0, 3.0, 10.0, 14.0])
    group = np.array([1, 1, 1, 0, 0])
    # means 12 and 2; sums of squares 8 and 2 over 3 degrees of freedom
    assert standardised_mean_difference(values, group) == pytest.approx(10 / np.sqrt(10 / 3))


def test_difference_with_weights():
    values = np.array([1.0, 3.0, 5.0, 5.0, 9.0])
    group = np.array([1, 1, 0, 0, 0])
    ones = standardised_mean_difference(values, group)
    assert standardised_mean_difference(values, group, np.ones(5)) == pytest.approx(ones)
    # only the proportions within a group matter
    scaled = standardised_mean_difference(values, group, np.array([7, 7, 0.5, 0.5, 0.5]))
    assert scaled == pytest.approx(ones)
    # group 1: mean 1.5 (weights 3/2, 1/2), squares 1.5; group 0: mean 7 (weights 3/4, 3/4, 3/2)
    weights = np.array([3.0, 1.0, 1.0, 1.0, 2.0])
    pooled = np.sqrt((1.5 * 0.25 + 0.5 * 2.25 + 1.5 * 4 + 1.5 * 4) / 3)
    assert standardised_mean_difference(values, group, weights) == pytest.approx(5.5 / pooled)


@pytest.mark.parametrize(
    ("values", "group"),
    [([1.0, 2.0, 3.0], [0, 0, 0]), ([1.0, 1.0, 1.0], [0, 1, 1]), ([1.0, 2.0], [0, 1])],
)
def test_difference_is_zero_where_undefined(values, group):
    assert standardised_mean_difference(np.array(values), np.array(group)) == 0


def test_weights_are_the_formula(people):
    values, group = people
    weights = resampling_weights(values, group, 0.3)
    for code, sign in ((0, 1), (1, -1)):
        x = values[group == code]
        expected = np.exp(sign * 0.3 * (x - x.mean()) / x.std())
        np.testing.assert_allclose(weights[group == code], expected / expected.mean())
    np.testing.assert_array_equal(resampling_weights(values, group, 0.0), np.ones(len(values)))


def test_normal_attribute_moves_by_twice_the_strength(people):
    values, group = people
    before = standardised_mean_difference(values, group)
    after = standardised_mean_difference(values, group, resampling_weights(values, group, 0.2))
    assert after - before == pytest.approx(0.4, abs=0.02)
    assert strength_for(values, group, target=before + 0.4) == pytest.approx(0.2, abs=0.01)
    assert strength_for(values, group, target=before) == 0


def test_weights_keep_group_shares(people):
    values, group = people
    weights = resampling_weights(values, group, 0.8)
    assert weights[group == 1].sum() / weights.sum() == pytest.approx((group == 1).mean())


def test_same_on_jax_inside_jit(people):
    values, group = (np.asarray(x[:2000], np.float32) for x in people)

    @jax.jit
    def both(values, group, strength):
        weights = resampling_weights(values, group, strength)
        return weights, standardised_mean_difference(values, group, weights)

    weights, difference = both(jnp.asarray(values), jnp.asarray(group), 0.3)
    expected = resampling_weights(values.astype(float), group, 0.3)
    assert isinstance(weights, jax.Array) and weights.dtype == jnp.float32
    np.testing.assert_allclose(weights, expected, rtol=1e-4)
    expected = standardised_mean_difference(values.astype(float), group, expected)
    assert float(difference) == pytest.approx(float(expected), abs=1e-4)
    # a traced strength alone is enough
    jitted = jax.jit(lambda s: resampling_weights(values, group, s).sum())
    assert float(jitted(0.3)) == pytest.approx(len(values), rel=1e-4)


def test_empty_group_gives_finite_weights():
    weights = resampling_weights(np.array([1.0, 2.0]), np.array([0, 0]), 0.5)
    assert np.isfinite(weights).all() and weights.mean() == pytest.approx(1.0)


@pytest.fixture
def regions():
    """Four groups; the best is 2, then 0, 3 and 1."""
    rng = np.random.default_rng(1)
    group = rng.integers(0, 4, 40_000)
    return rng.normal(np.array([0.1, -0.2, 0.3, 0.0])[group], 2.0), group


def test_difference_of_any_pair(regions):
    values, group = regions
    for pair in ((2, 1), (0, 3)):
        first, second = (values[group == g] for g in pair)
        pooled = np.sqrt(
            (first.var() * len(first) + second.var() * len(second)) / (len(first) + len(second) - 2)
        )
        found = standardised_mean_difference(values, group, pair=pair)
        assert found == pytest.approx((first.mean() - second.mean()) / pooled)
        swapped = standardised_mean_difference(values, group, pair=(pair[1], pair[0]))
        assert swapped == pytest.approx(-found)


def test_directions_by_rank(regions):
    values, group = regions
    third, minus = pytest.approx(1 / 3, abs=1e-6), pytest.approx(-1 / 3, abs=1e-6)
    assert directions_by_rank(values, group, 4) == (third, -1.0, 1.0, minus)
    assert directions_by_rank(-values, group, 4)[1] == 1.0
    # a group without people, and one alone
    assert directions_by_rank(values, np.where(group == 3, 0, group), 4)[3] == 0.0
    assert directions_by_rank(np.array([1.0, 2.0]), np.array([1, 1]), 3) == (0.0, 0.0, 0.0)

    # nothing to amplify
    assert fit_amplification(values, np.zeros(len(values), int), 4) == ((0.0,) * 4, 0.0)


def test_weights_and_strength_of_several_groups(regions):
    values, group = regions
    directions = directions_by_rank(values, group, 4)
    strength = strength_for(values, group, 0.5, directions=directions)
    weights = resampling_weights(values, group, strength, directions)
    for code, direction in enumerate(directions):
        x = values[group == code]
        expected = np.exp(strength * direction * (x - x.mean()) / x.std())
        np.testing.assert_allclose(weights[group == code], expected / expected.mean())
    pair = (2, 1)
    assert standardised_mean_difference(values, group, weights, pair) == pytest.approx(
        0.5, abs=1e-6
    )
    # inside jit, with the directions fixed
    jitted = jax.jit(lambda v, g, s: resampling_weights(v, g, s, directions))
    found = jitted(jnp.asarray(values, "float32"), jnp.asarray(group), strength)
    np.testing.assert_allclose(found, weights, rtol=2e-3)
    # a group that has no direction keeps its weights of 1
    assert (resampling_weights(values, group, 0.3)[group > 1] == 1).all()
