"""A while loop that records, against the rows written down."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fairgym.core.loops import while_recording


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 9, 10, 17])
def test_rows_are_the_squares_of_the_steps_made(steps):
    """Episodes of 0 to `steps` steps, together: full and begun blocks, and none at all."""
    row = {"square": jnp.int32(0), "pair": jnp.zeros(2)}

    def made(last):
        return while_recording(
            lambda number: number < last,
            lambda number: (number + 1, {"square": number**2, "pair": jnp.full(2, number + 0.5)}),
            jnp.int32(0),
            row,
            steps,
        )

    lasts = np.arange(steps + 1)
    state, rows = jax.vmap(made)(jnp.asarray(lasts))
    numbers = np.arange(steps)
    there = numbers < lasts[:, None]
    np.testing.assert_array_equal(state, lasts)
    np.testing.assert_array_equal(rows["square"], numbers**2 * there)
    np.testing.assert_array_equal(
        rows["pair"], np.repeat(((numbers + 0.5) * there)[..., None], 2, 2)
    )


def test_nothing_is_recorded_without_a_row():
    state, rows = while_recording(lambda n: n < 7, lambda n: (n + 1, None), jnp.int32(0), None, 9)
    assert int(state) == 7 and rows is None
