"""Features that improve, stay or deteriorate."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgym.environments._common.moves import (
    improve_or_deteriorate,
    improvement_probability,
    moved,
)

thorough = settings(max_examples=60)
health = {"base": 0.29, "gain": 0.4, "slope": 16.0 * 4.0 / 2.5e8, "shift": -4.0}


def unit(high=1.0):
    return st.floats(0.0, high, width=32, allow_subnormal=False)


@thorough
@given(unit(), unit(), st.floats(0, 1e9), st.floats(0, 1e-6), st.floats(-10, 10))
def test_money_moves_the_chance_along_a_sigmoid(base, gain, money, slope, shift):
    found = improvement_probability(
        jnp.array([money]), base=base, gain=gain, slope=slope, shift=shift
    )
    expected = base + gain / (1 + np.exp(-(slope * money + shift)))
    assert float(found[0]) == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_the_published_numbers_of_health():
    """0.2972 without money, 0.69 with any amount, half way at a sixteenth of the budget."""
    money = jnp.array([0.0, 2.5e8 / 16, 1e12])
    found = improvement_probability(money, **health)
    np.testing.assert_allclose(found, [0.2972, 0.49, 0.69], atol=1e-4)
    # U is such that the chances sum to at most 1; the published 0.2 leaves 0.11
    assert float(found[-1]) + 0.2 < 1.0


@thorough
@given(unit(), unit(0.5), unit(0.5))
def test_a_uniform_number_lands_in_one_of_three_segments(uniform, improve, stay):
    uniform, improve, stay = (np.float32(x) for x in (uniform, improve, stay))
    found = improve_or_deteriorate(jnp.array([uniform]), jnp.array([improve]), float(stay))
    expected = 1.0 if uniform <= improve else 0.0 if uniform <= improve + stay else -1.0
    assert float(found[0]) == expected


def test_the_segments_as_printed():
    """[0, P] improves, (P, P + U] stays, (P + U, 1] deteriorates."""
    uniform = jnp.array([0.0, 0.25, 0.2500001, 0.75, 0.7500001, 1.0])
    found = improve_or_deteriorate(uniform, 0.25, 0.5)
    assert found.tolist() == [1.0, 1.0, 0.0, 0.0, -1.0, -1.0]


@pytest.mark.parametrize(("improve", "stay"), [(0.3, 0.2), (0.69, 0.2), (0.0, 0.0), (1.0, 0.0)])
def test_frequencies_are_the_probabilities(improve, stay):
    """100,000 draws, within five standard errors."""
    draws = 100_000
    uniform = jax.random.uniform(jax.random.key(0), (draws,))
    direction = np.asarray(improve_or_deteriorate(uniform, improve, stay))
    for value, p in ((1.0, improve), (0.0, stay), (-1.0, 1.0 - improve - stay)):
        error = np.sqrt(p * (1.0 - p) / draws)
        assert abs((direction == value).mean() - p) <= 5.0 * error + 1e-6


@thorough
@given(
    st.floats(-10, 10, width=32),
    st.sampled_from([-1.0, 0.0, 1.0]),
    st.floats(-5, 5, width=32),
)
def test_features_move_by_c_within_their_range(value, direction, change):
    found = float(moved(jnp.array([value]), jnp.array([direction]), change, -2.0, 3.0)[0])
    expected = value if direction == 0 else np.clip(value + direction * change, -2.0, 3.0)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_who_stays_keeps_even_what_is_out_of_range():
    value = jnp.array([7.0, 7.0, -7.0])
    direction = jnp.array([0.0, 1.0, -1.0])
    assert moved(value, direction, 0.5, 0.0, 4.0).tolist() == [7.0, 4.0, 0.0]
