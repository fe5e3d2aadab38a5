"""Coefficients of inequality against published numbers, and plain NumPy in double precision."""

import math
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgym.core import FairgymError
from fairgym.fairness import AlphaFair, Atkinson, Gini, LargestGap, Rate, Theil

RATE = Rate("hits", "tries")
RATES = st.lists(st.floats(2.0**-7, 1.0, width=32), min_size=2, max_size=6)
EPSILONS = st.sampled_from([0.2, 0.5, 0.999, 1.0, 1.001, 2.0, 7.0])

# Mean incomes of ten classes, and what the R packages ineq and DescTools give of them.
INCOMES = [541, 1463, 2445, 3438, 4437, 5401, 6392, 8304, 11904, 22261]
PUBLISHED = {
    Gini(RATE): 0.4620911,
    Theil(RATE): 0.3623412,
    Atkinson(RATE, 0.5): 0.1796591,
    Atkinson(RATE, 1.0): 0.3518251,
    Atkinson(RATE, 2.0): 0.6290111,
}
KINDS = [*PUBLISHED, Atkinson(RATE), Atkinson(RATE, 20.0), Atkinson(RATE, 1000.0)]


def totals(rates):
    hits = jnp.asarray(rates, jnp.float32)
    return SimpleNamespace(hits=hits, tries=jnp.ones_like(hits))


def found(metric, rates):
    return -float(metric.value(totals(rates)))


def by_the_formula(metric, rates):
    """In the words of the formula, of float64."""
    x = np.asarray(rates, np.float32).astype(np.float64)
    x = x / x.mean()
    if isinstance(metric, Theil):
        return np.mean([one * math.log(one) if one else 0.0 for one in x])
    if metric.epsilon == 1.0:
        return 1.0 - np.prod(x) ** (1.0 / len(x))
    power = 1.0 - metric.epsilon
    return 1.0 - np.mean(x**power) ** (1.0 / power)


@pytest.mark.parametrize("metric", PUBLISHED)
def test_published_numbers(metric):
    assert found(metric, INCOMES) == pytest.approx(PUBLISHED[metric], abs=1.5e-7)


@settings(max_examples=60)
@given(st.lists(st.floats(0.0, 1.0, width=32), min_size=2, max_size=6))
def test_theil_is_its_formula(rates):
    if max(rates) > 1e-6:
        expected = by_the_formula(Theil(RATE), rates)
        assert found(Theil(RATE), rates) == pytest.approx(expected, rel=1e-5, abs=1e-9)


@settings(max_examples=100)
@given(RATES, EPSILONS)
def test_atkinson_is_its_formula(rates, epsilon):
    metric = Atkinson(RATE, epsilon)
    expected = by_the_formula(metric, rates)
    assert found(metric, rates) == pytest.approx(expected, rel=1e-4, abs=1e-7)


@settings(max_examples=40)
@given(RATES, EPSILONS)
def test_atkinson_is_what_alpha_fair_welfare_would_give_up(rates, epsilon):
    """The rate that all could have for the same welfare is the mean times one less the index."""
    welfare = AlphaFair(epsilon, plus=0.0)
    mean = float(np.mean(rates))
    alike = jnp.full(len(rates), mean * (1.0 - found(Atkinson(RATE, epsilon), rates)))
    expected = float(welfare(jnp.array(rates, jnp.float32)))
    assert float(welfare(alike)) == pytest.approx(expected, rel=2e-4, abs=2e-5)


@pytest.mark.parametrize("metric", [Theil(RATE), Atkinson(RATE), Atkinson(RATE, 1.0)])
def test_small_differences_are_not_lost_in_rounding(metric):
    """Of 0.1%, where the formula in single precision is off by half and more."""
    rng = np.random.default_rng(0)
    rates = rng.uniform(0.1, 0.9, (100, 1)) * (1 + 1e-3 * rng.normal(size=(100, 3)))
    plain = [by_the_formula(metric, row) for row in rates]
    np.testing.assert_allclose([found(metric, row) for row in rates], plain, rtol=0.01)


@settings(max_examples=60)
@given(RATES, st.sampled_from(KINDS), st.randoms(), st.floats(0.01, 100.0))
def test_what_does_not_matter_and_what_bounds_them(rates, metric, random, scale):
    """Neither the order of the groups nor a factor of all rates; from 0 to the most."""
    value = found(metric, rates)
    shuffled = random.sample(rates, len(rates))
    assert found(metric, shuffled) == pytest.approx(value, rel=1e-4, abs=1e-6)
    scaled = (np.float64(rates) * scale).tolist()
    assert found(metric, scaled) == pytest.approx(value, rel=1e-4, abs=1e-6)
    most = math.log(len(rates)) if isinstance(metric, Theil) else 1.0
    assert 0.0 <= value <= most + 1e-6
    assert found(metric, [rates[0]] * len(rates)) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("metric", KINDS)
def test_a_transfer_to_the_worse_off_makes_it_smaller(metric):
    """The principle of transfers (H. Dalton, 1920)."""
    assert found(metric, [0.3, 0.5, 0.9]) > found(metric, [0.35, 0.5, 0.85]) > 0.0


def test_one_group_has_all():
    """Theil is log n; Atkinson 1 - n^(1 - 1 / (1 - e)) below e = 1, and from there on 1."""
    rates = [0.0, 0.0, 0.7, 0.0]
    assert found(Theil(RATE), rates) == pytest.approx(math.log(4))
    assert found(Atkinson(RATE, 0.5), rates) == pytest.approx(1 - 4**-1.0)
    assert found(Atkinson(RATE, 0.2), rates) == pytest.approx(1 - 4**-0.25)
    for epsilon in (1.0, 2.0, 1000.0):
        assert found(Atkinson(RATE, epsilon), [0.0, 0.9, 0.9]) == 1.0


def test_a_large_aversion_looks_at_the_lowest_rate():
    """Without overflow: 1 less the lowest rate over the mean in the limit."""
    rates = [0.001, 0.4, 0.8]
    assert found(Atkinson(RATE, 1000.0), rates) == pytest.approx(1 - 0.001 / 0.40033, abs=1e-5)


@pytest.mark.parametrize("metric", [*KINDS, LargestGap(RATE)])
@pytest.mark.parametrize("rates", [[0, 0], [1, 1], [0.2, 0.6], [0, 0.6], [0, 0, 0.6]])
def test_gradients_are_finite_and_compiled_numbers_the_same(metric, rates):
    def value(hits):
        return metric.value(SimpleNamespace(hits=hits, tries=jnp.ones(len(rates))))

    hits = jnp.array(rates, jnp.float32)
    assert jnp.all(jnp.isfinite(jax.grad(value)(hits)))
    assert float(jax.jit(value)(hits)) == pytest.approx(float(value(hits)), rel=1e-6)


@pytest.mark.parametrize("metric", [Theil(RATE), Atkinson(RATE), Atkinson(RATE, 3.0)])
def test_gradients_are_those_of_the_formula(metric):
    """By differences of the formula in double precision."""
    rates = np.array([0.25, 0.5, 0.875])
    step = np.eye(3) * 2.0**-12  # exact in single precision
    plain = [by_the_formula(metric, rates + s) - by_the_formula(metric, rates - s) for s in step]
    slope = jax.grad(lambda hits: -metric.value(SimpleNamespace(hits=hits, tries=jnp.ones(3))))
    np.testing.assert_allclose(slope(jnp.array(rates)), np.array(plain) * 2**11, rtol=1e-4)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1001.0, math.nan, math.inf, True])
def test_epsilon_out_of_range(epsilon):
    with pytest.raises(FairgymError, match="epsilon must be a number above 0 and at most 1000"):
        Atkinson(RATE, epsilon)


def test_they_are_disparities_without_a_unit():
    for metric in KINDS:
        assert (metric.kind, metric.sign) == ("fair", -1)

        def defined(hits, tries, metric=metric):
            return metric.defined(SimpleNamespace(hits=hits, tries=tries))

        def both(hits, metric=metric):
            rates = SimpleNamespace(hits=hits, tries=jnp.ones(2))
            return metric.normalised(rates), metric.value(rates)

        defined, two = jax.jit(defined), np.ones(2, np.float32)
        assert not defined(0 * two, two) and defined(two * [0, 0.5], two)
        assert not defined(two * [1, 0], two * [2, 0])
        normalised, value = jax.jit(both)(two * [0.1, 0.3])
        assert normalised == value
    assert Atkinson(RATE) != Atkinson(RATE, 1.0) and Atkinson(RATE, title="A") == Atkinson(RATE)
