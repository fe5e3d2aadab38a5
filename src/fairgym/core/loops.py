"""A while loop that records its steps."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, PyTree


def while_recording(
    goes_on: Callable[[PyTree], Bool[Array, ""]],
    step: Callable[[PyTree], tuple[PyTree, PyTree]],
    state: PyTree,
    row: PyTree,
    steps: int,
) -> tuple[PyTree, PyTree]:
    """Apply `lax.while_loop`, and stack a row of each step.

    Under vmap, a while loop copies all that it carries in every step. Therefore rows are collected
    in blocks of the square root of their number.

    Args:
        goes_on: Whether there is another step, from the state.
        step: `step(state) -> (state, row)`.
        state: The first state.
        row: A row, for its shapes; nothing is recorded if it has no arrays.
        steps: Largest number of steps.

    Returns:
        The last state, and the rows, stacked along a first axis `steps` and zero after the end.
    """
    if not jax.tree.leaves(row):
        return lax.while_loop(goes_on, lambda state: step(state)[0], state), row
    size = math.isqrt(steps - 1) + 1
    start = jnp.int32(0)

    def make_step(carry: tuple) -> tuple:
        state, place, block = carry
        state, new = step(state)
        return state, place + 1, _put(block, jax.tree.map(lambda x: x[None], new), place)

    def make_block(carry: tuple) -> tuple:
        state, first, rows = carry
        state, made, block = lax.while_loop(
            lambda carry: goes_on(carry[0]) & (carry[1] < size),
            make_step,
            (state, start, _zeros(row, size)),
        )
        return state, first + made, _put(rows, block, first)

    room = _zeros(row, -(-steps // size) * size)
    state, _, rows = lax.while_loop(
        lambda carry: goes_on(carry[0]), make_block, (state, start, room)
    )
    return state, jax.tree.map(lambda x: x[:steps], rows)


def _zeros(row: PyTree, rows: int) -> PyTree:
    """Return zeros for this number of rows."""
    return jax.tree.map(lambda x: jnp.zeros((rows, *jnp.shape(x)), jnp.result_type(x)), row)


def _put(rows: PyTree, block: PyTree, first: Array) -> PyTree:
    """Return the rows with a block of them replaced."""
    return jax.tree.map(
        lambda many, few: lax.dynamic_update_slice_in_dim(many, few, first, 0), rows, block
    )
