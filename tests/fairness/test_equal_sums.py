"""Equal sums of decimal amounts against exact fractions, and whole amounts against plain sums."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jax import lax

from fairgym.core import Components, component
from fairgym.fairness import AllEqual, Full, Min, Reset

STEPS = 400


class Money(Components):
    """Money of some stakeholders."""

    paid: jax.Array = component("money paid out", unit="dollars", per="group")


@jax.jit
def followed(rows):
    """AllEqual, and the values of Full, Min and Reset, after each step."""
    full, least, reset = Full("paid"), Min("paid"), Reset("paid")

    def step(memories, row):
        now = tuple(m.update(x, row) for m, x in zip((full, least, reset), memories, strict=True))
        return now, (AllEqual()(now[0].value), *(x.value for x in now))

    trace = Money(paid=rows)
    nothing = jax.tree.map(lambda x: x[0], trace)
    return lax.scan(step, tuple(m.initial(nothing) for m in (full, least, reset)), trace)[1]


def in_float32(counts, unit):
    """The same amounts as float32 numbers: whole counts of a decimal unit."""
    amounts = [[float(int(n) * Fraction(unit)) for n in row] for row in counts]
    return jnp.asarray(np.array(amounts, np.float32))


def sums_of(counts):
    """Exact sums, in units; sums since all were equal; and whether they are equal."""
    sums = np.cumsum(counts, axis=0)
    assert sums.dtype == np.int64
    equal = (sums == sums[:, :1]).all(axis=1)
    restarts = np.maximum.accumulate(np.where(equal, sums[:, 0], 0))
    return sums, sums - restarts[:, None], equal


def check(counts, unit):
    """Compare everything with exact numbers."""
    sums, since, equal = sums_of(counts)
    said, full, least, reset = (np.asarray(x) for x in followed(in_float32(counts, unit)))
    np.testing.assert_array_equal(said, equal)
    ahead = sums - sums.min(axis=1, keepdims=True)
    np.testing.assert_array_equal((reset == 0.0).all(axis=1), equal)
    size = float(Fraction(unit))
    atol = 2.0**-23 * size * float(sums.max())
    for found, exact in ((full, sums), (least, ahead), (reset, since)):
        np.testing.assert_allclose(found, size * exact, rtol=1e-6, atol=atol)
    return int(equal.sum())


def near(seed, stakeholders, largest):
    """Amounts in random order; whoever is behind often gets exactly what is missing."""
    rng = np.random.default_rng(seed)
    sums, rows = np.zeros(stakeholders, np.int64), []
    for _ in range(STEPS):
        row = rng.integers(0, largest + 1, stakeholders)
        if rng.random() < 0.3:
            row = (sums + row).max() - sums
        rows.append(row)
        sums = sums + row
    return np.array(rows)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from((2, 3)),
    st.sampled_from(("0.1", "0.7", "0.6", "0.05", "1.1", "0.001", "1/3")),
    st.sampled_from((1, 9, 40)),
)
@example(0, 3, "0.7", 9)
@settings(max_examples=40, deadline=None)
def test_decimal_amounts_are_equal_exactly_where_fractions_are(seed, stakeholders, unit, largest):
    assert check(near(seed, stakeholders, largest), unit) > STEPS // 10


@pytest.mark.parametrize("unit", ["0.1", "0.7", "0.01"])
def test_sums_are_equal_at_last_though_never_before(unit):
    """Differences of a few units stay, while the rounding of hundreds of payments adds up."""
    rng = np.random.default_rng(3)
    rows = np.zeros((STEPS, 2), np.int64)
    rows[0, 0] = 1
    rows[1:, 0] = rng.integers(1, 9, STEPS - 1)
    rows[1:, 1] = rows[1:, 0]  # always one behind
    rows[1:-1:2, 1] -= 1  # in one step even two
    rows[2::2, 1] += 1
    rows[-1, 1] += rows[:, 0].sum() - rows[:, 1].sum()
    assert check(rows, unit) == 1


@pytest.mark.parametrize(("times", "amount", "other"), [(7, 0.6, 4.2), (10, 0.7, 7.0)])
def test_many_small_amounts_equal_a_large_one(times, amount, other):
    for last in (0, 1):  # whoever gets the last payment
        rows = np.zeros((times + 1, 2), np.float32)
        rows[last : last + times, 0], rows[-1 if last == 0 else 0, 1] = amount, other
        said, _, least, reset = followed(jnp.asarray(rows))
        assert said.tolist() == [0.0] * times + [1.0]
        assert reset[-1].tolist() == [0.0, 0.0]
        np.testing.assert_allclose(least[-1], 0.0, atol=1e-6)


@pytest.mark.parametrize("largest", [2, 9, 3_000, 200_000])
@pytest.mark.parametrize("stakeholders", [2, 3])
def test_whole_amounts_are_compared_exactly(stakeholders, largest):
    """To the bit, also where sums are above 2^24 and are rounded to float32."""
    counts = near(5, stakeholders, largest)
    before = counts[:-1].sum(axis=0)
    counts[-1] = before.max() - before + 1
    counts[-1, 0] += 1  # the first has one more than the others
    assert np.abs(counts).max() < 2**24, "amounts that float32 has"
    sums = np.cumsum(counts, axis=0)
    rounded = sums.astype(np.float32)
    equal = (rounded == rounded[:, :1]).all(axis=1)
    said, full, least, reset = followed(jnp.asarray(counts, jnp.float32))
    np.testing.assert_array_equal(said, equal)
    np.testing.assert_array_equal(full, rounded)
    ahead = sums - sums.min(axis=1, keepdims=True)
    np.testing.assert_array_equal(least, ahead.astype(np.float32))
    since = np.zeros(stakeholders, np.int64)
    for row, found in zip(counts, np.asarray(reset), strict=True):
        since = since + row
        now = since.astype(np.float32)
        since = np.zeros_like(since) if (now == now[0]).all() else since
        np.testing.assert_array_equal(found, since.astype(np.float32))
