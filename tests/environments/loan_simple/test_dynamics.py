"""The formulas against closed forms and independent NumPy arithmetic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fairgym.environments.loan import dynamics as loan
from fairgym.environments.loan_simple import steps

settings.register_profile("loan_simple", max_examples=40)
settings.load_profile("loan_simple")


def floats(low, high):
    """Numbers that float32 can hold."""
    numbers = st.floats(low, high, allow_subnormal=False)
    return numbers.map(lambda x: float(np.float32(x)))


def arrays(*values):
    return tuple(jnp.array([v], jnp.float32) for v in values)


# ------------------------------------------------------------------------- the queue


@given(
    st.lists(st.tuples(st.sampled_from([0.0, -0.0, 0.3, 0.9, 1.0]), st.booleans()), min_size=9,
             max_size=9),
    st.integers(1, 10),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_waits_by_rank(people, cap, random):
    """Against sorting in Python: highest priority first, ties by `tie`, `cap` people a month."""
    tie = np.array([random.random() for _ in people], np.float32)
    tie[tie < np.finfo(np.float32).tiny] = 0.0  # as XLA compares subnormal numbers
    queue = sorted(
        (-priority, tie[i], i) for i, (priority, approved) in enumerate(people) if approved
    )
    expected = np.zeros(len(people))
    for place, (_, _, i) in enumerate(queue):
        expected[i] = place // cap
    priority, approved = (np.array(column) for column in zip(*people, strict=True))
    found = steps.months_waited(
        jnp.array(priority, jnp.float32), jnp.array(approved), jnp.array(tie), cap
    )
    np.testing.assert_array_equal(found, expected)


def test_a_known_queue():
    """Seven people, two a month; the third is not approved and holds nobody up."""
    waits = steps.months_waited(
        jnp.array([0.1, 0.7, 1.0, 0.6, 0.9, 0.2, 0.8]),
        jnp.array([True, True, False, True, True, True, True]),
        jnp.zeros(7),
        2,
    )
    assert waits.tolist() == [2, 1, 0, 1, 0, 2, 0]


def test_ties_break_at_random_and_not_by_row():
    """20 people of equal priority, 5 of whom do not wait: chi-square over 2,000 draws."""
    count = 2_000
    ties = jax.random.uniform(jax.random.key(0), (count, 20))
    waits = jax.vmap(
        lambda tie: steps.months_waited(jnp.full(20, 0.5), jnp.ones(20, bool), tie, 5)
    )(ties)
    first = (np.asarray(waits) == 0).sum(axis=0)
    assert first.sum() == 5 * count
    spread = ((first - count / 4) ** 2 / (count * 0.25 * 0.75)).sum()
    assert 0.001 < stats.chi2.sf(spread * 19 / 20, df=19) < 0.999


# ------------------------------------------------------------------------- money


def test_known_write_offs():
    """None without relief, all of it with full relief; a (1 + a) / 2 of two installments."""
    relief, term = jnp.array([0.0, 1.0, 0.3, 0.5]), jnp.array([36.0, 60.0, 1.0, 2.0])
    found = steps.written_off(relief, term)
    np.testing.assert_allclose(found, [0.0, 1.0, 0.3, 0.375], rtol=1e-5)


@pytest.mark.parametrize("months", [36, 60])
@pytest.mark.parametrize("relief", [0.05, 0.2, 0.5])
def test_relief_is_spread_as_in_the_full_environment(months, relief):
    """`loan`'s own months without interest, borrowers paying all that is requested."""
    (balance,) = arrays(12_000.0)
    received, nothing = 0.0, jnp.zeros(1)
    for month in range(months):
        left = jnp.array([float(months - month)])
        scheduled = loan.scheduled_installment(balance, nothing, left)
        paid = loan.requested_installment(scheduled, relief)
        balance = loan.next_balance(balance, nothing, paid)
        received += float(paid[0])
    principal, term, share = arrays(12_000.0, months, relief)
    installment = loan.scheduled_installment(principal, nothing, term)
    found = steps.loan_payments(installment, term, share, jnp.array([True]), 0.4)
    assert float(found[0]) == pytest.approx(received, rel=1e-4)


def test_a_known_loan():
    """10,000 dollars at 12% for 36 months: 332.14 a month; 290.81 a month to depositors at 3%."""
    principal, rate, term, relief = arrays(10_000.0, 0.01, 36.0, 0.0)
    scheduled = loan.scheduled_installment(principal, rate, term)
    for repaid, expected in ((True, 36 * 332.143), (False, 0.4 * 36 * 332.143)):
        paid = steps.loan_payments(scheduled, term, relief, jnp.array([repaid]), 0.4)
        assert float(paid[0]) == pytest.approx(expected, rel=1e-5)
    due = steps.deposits_due(principal, term, 0.03)
    assert float(due[0]) == pytest.approx(36 * 290.812, rel=1e-5)
    assert float(steps.deposits_due(principal, term, 0.0)[0]) == pytest.approx(10_000.0)
