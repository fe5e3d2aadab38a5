"""Sums and thresholds of schemes against exact arithmetic in fractions and float64."""

import itertools
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from fairgym.core import Components, component
from fairgym.core.sums import CompensatedSum, sum_compensated
from fairgym.fairness import (
    AllEqual,
    EachTime,
    Full,
    Min,
    Recent,
    RelaxedParity,
    Scheme,
    StakeholderFirst,
)

STEPS = 300  # of every trace, so that there is one program for each scheme


class Money(Components):
    """Money of two groups."""

    paid: jax.Array = component("money paid out", unit="dollars", per="group")


def fold(memory, rows):
    """The memory after each step."""
    trace = Money(paid=jnp.asarray(rows, jnp.float32))
    first = memory.initial(jax.tree.map(lambda x: x[0], trace))
    return lax.scan(lambda m, row: (memory.update(m, row),) * 2, first, trace)[1]


folded = jax.jit(fold, static_argnums=0)


def assessed(amount, steps):
    """The numbers of the steps that a filter passes, one stakeholder receiving each amount."""
    rows = np.stack([steps, np.zeros(len(steps))], axis=1)
    when = EachTime("paid", amount)
    return np.flatnonzero(jax.vmap(when.passes)(folded(when, rows))).tolist()


def exactly(amount, steps):
    """The same by fractions of the decimal numbers."""
    reached, total, found = 0, Fraction(0), []
    for place, step in enumerate(steps):
        total += Fraction(str(step))
        if total // Fraction(str(amount)) > reached:
            reached = total // Fraction(str(amount))
            found.append(place)
    return found


@pytest.mark.parametrize(
    ("amount", "step"),
    [(7, 0.7), (0.3, 0.1), (1, 0.1), (12, 1), (12, 5), (0.7, 2.1), (1e-3, 1e-4), (2.5, 0.05)],
)
def test_multiples_of_decimal_numbers_are_reached_in_time(amount, step):
    """Ten times 0.7 are 7, though its float32 is less, and so are ten thousand times."""
    steps = [step] * STEPS
    assert assessed(amount, steps) == exactly(amount, steps)


@given(
    st.integers(1, 400),
    st.sampled_from((1, 10, 100)),
    st.lists(st.integers(0, 900), min_size=STEPS, max_size=STEPS),
)
@settings(max_examples=25, deadline=None)
def test_amounts_of_any_decimals(amount, scale, numbers):
    steps = [number / scale for number in numbers]
    # `amount` is static: few values, so that few programs are compiled
    amount = (3, 7, 12, 40)[amount % 4] / scale
    assert assessed(amount, steps) == exactly(amount, steps)


def test_whole_numbers_have_no_tolerance():
    """Sums above 2^24 are exact, though no float32 is between 20,000,000 and one less."""
    many = [2.0**24 - 1] + [0.0] * (STEPS - 3) + [1.0, 2.0**24 - 1]
    assert assessed(2**24, many) == [STEPS - 2]
    assert assessed(20_000_000, [2.0**24, 1.0, 3_222_782.0, 1.0]) == [3]


def test_several_multiples_at_once_and_setbacks():
    assert assessed(7, [22.0, 5.0, 1.0, 0.5, 7.0]) == [0, 2, 4]
    # money paid back does not make a new multiple of an old one
    assert assessed(7, [8.0, -3.0, 2.0, 7.0]) == [0, 3]


def test_equal_totals_of_millions_are_equal():
    """20 million each, paid in other parts: a float32 sum is off by hundreds."""
    rng = np.random.default_rng(0)
    parts = rng.integers(1, 20_000, (2_000, 2)).astype(np.float64)
    parts[-1] = parts[-1] + parts.sum(0).max() - parts.sum(0)
    plain = np.cumsum(parts.astype(np.float32), axis=0, dtype=np.float32)[-1]
    assert plain[0] != plain[1], "what a float32 sum would say"
    status = Full("paid").status(jax.tree.map(lambda x: x[-1], fold(Full("paid"), parts)))
    assert float(RelaxedParity()(status)) == 0.0 and float(AllEqual()(status)) == 1.0
    np.testing.assert_array_equal(status, parts.sum(0).astype(np.float32))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 3e5])
def test_statuses_of_any_amounts_follow_float64(scale):
    rng = np.random.default_rng(1)
    rows = (scale * rng.lognormal(0, 2, (STEPS, 2))).astype(np.float32)
    exact = rows.astype(np.float64)
    sums = np.cumsum(exact, axis=0)
    one_off: Any = {"rtol": 2.0**-23, "atol": 0.0}  # rounded once
    np.testing.assert_allclose(folded(Full("paid"), rows).value, sums, **one_off)
    differences = sums - sums.min(1, keepdims=True)
    np.testing.assert_allclose(folded(Min("paid"), rows).value, differences, rtol=1e-6)
    past, discounted = np.zeros(2), []
    for row in exact:
        past = 0.9 * past + row
        discounted.append(past)
    found = folded(Full("paid", discount=0.9), rows).value
    np.testing.assert_allclose(found, discounted, rtol=2e-6)
    window = [exact[max(0, t - 9) : t + 1].sum(0) for t in range(STEPS)]
    recent = jax.vmap(Recent("paid", 10).status)(folded(Recent("paid", 10), rows))
    np.testing.assert_allclose(recent, window, **one_off)


@pytest.mark.parametrize("scale", [1.0, 3e5])
def test_scores_of_any_amounts_follow_float64(scale):
    rng = np.random.default_rng(2)
    rows = (scale * rng.lognormal(0, 1, (STEPS, 2))).astype(np.float32)
    trace, exact = Money(paid=jnp.asarray(rows)), rows.astype(np.float64)
    u = np.cumsum(exact, axis=0)
    parity = -np.cumsum(np.abs(u[:, 0] - u[:, 1]))
    score, scores = Scheme.anytime(Full("paid"), RelaxedParity()).of_trace(trace)
    # a difference of large sums has the rounding of the sums
    np.testing.assert_allclose(scores, parity, rtol=1e-4)
    overall = np.cumsum(u - u.mean(1, keepdims=True), axis=0)
    _, found = Scheme(Full("paid"), StakeholderFirst()).of_trace(trace)
    np.testing.assert_allclose(found[-1], -(overall[-1] ** 2).sum(), rtol=1e-3)
    assert float(score) == float(scores[-1])


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 64, 101])
def test_a_compensated_sum_over_an_axis(rows):
    rng = np.random.default_rng(rows)
    numbers = (10.0 ** rng.uniform(-6, 6, (rows, 3)) * rng.choice([-1, 1], (rows, 3))).astype(
        np.float32
    )
    found = sum_compensated(jnp.asarray(numbers))
    due = numbers.astype(np.float64).sum(0)
    np.testing.assert_allclose(found.value, due, rtol=2e-7, atol=1e-5 * 2.0**-20)


def test_sums_that_overflow_stay_infinite():
    total = CompensatedSum.of(jnp.full(1, 3e38)).plus(jnp.full(1, 3e38))
    assert total.value.tolist() == [np.inf] and total.plus(jnp.ones(1)).value.tolist() == [np.inf]


def test_the_order_of_payments_does_not_matter():
    parts = [1e7, 1.0, 3.0, 0.25]
    values = {
        float(folded(Full("paid"), np.array([[p, 0.0] for p in order])).value[-1, 0])
        for order in itertools.permutations(parts)
    }
    assert values == {10_000_004.0}
