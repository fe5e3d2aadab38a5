"""Money divided among people."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgym.environments._common.moves import divided_by_weight

N, GROUPS = 8, 3
divide = jax.jit(divided_by_weight)
money = st.lists(st.floats(0, 1e6, width=32), min_size=GROUPS, max_size=GROUPS)
weights = st.lists(st.sampled_from([0.0, 1.0, 2.5, 1e-3]), min_size=N, max_size=N)
groups = st.lists(st.integers(0, GROUPS - 1), min_size=N, max_size=N)


@settings(max_examples=100)
@given(money, weights, groups)
def test_each_gets_in_proportion_and_nothing_is_lost(money, weight, group):
    money, weight, group = np.array(money), np.array(weight), np.array(group)
    found = np.asarray(
        divide(
            jnp.asarray(money, jnp.float32),
            jnp.asarray(weight, jnp.float32),
            jnp.asarray(group, jnp.int32),
        )
    )
    for g in range(GROUPS):
        here = group == g
        total = weight[here].sum()
        expected = money[g] * weight[here] / total if total > 0 else np.zeros(here.sum())
        np.testing.assert_allclose(found[here], expected, rtol=1e-5, atol=1e-6)
        paid = money[g] if total > 0 else 0.0
        np.testing.assert_allclose(found[here].sum(), paid, rtol=1e-5, atol=1e-6)


def test_by_hand():
    """Half the income gives twice the money; the money of an empty group is not distributed."""
    found = divide(
        jnp.array([90.0, 10.0, 77.0]),
        1.0 / jnp.array([10_000.0, 20_000.0, 5_000.0]),
        jnp.array([0, 0, 1], jnp.int32),
    )
    np.testing.assert_allclose(found, [60.0, 30.0, 10.0], rtol=1e-6)
