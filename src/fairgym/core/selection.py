"""Drawing people without replacement and serving queues, without sorting the population."""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int


def highest(
    scores: Float[Array, " n"],
    eligible: Bool[Array, " n"],
    count: int,
    priority: Float[Array, " n"],
) -> tuple[Int[Array, " count"], Bool[Array, " count"]]:
    """The `count` eligible rows with the highest scores; ties are broken by `priority`.

    Args:
        scores: any finite numbers.
        eligible: which rows may be chosen.
        count: how many to choose.
        priority: independent uniform numbers in [0, 1); of the rows tied at the last place those
            with the highest priority are chosen, so random priorities break ties at random.

    Returns:
        `(rows, taken)`: row numbers, and whether each is really chosen (False where fewer than
        `count` rows were eligible; such a row number means nothing).
    """
    ranked = jnp.where(eligible, scores, -jnp.inf)
    values, rows = lax.top_k(ranked, count)
    last = jnp.min(values)  # not values[-1]: slicing would turn the selection into a full sort
    tied = jnp.sum(ranked == last) > jnp.sum(values == last)

    def break_ties() -> tuple[jax.Array, jax.Array]:
        order = jnp.where(ranked > last, 2.0, jnp.where(ranked == last, priority, -1.0))
        chosen = lax.top_k(order, count)[1]
        return ranked[chosen], chosen

    values, rows = lax.cond(tied & (last > -jnp.inf), break_ties, lambda: (values, rows))
    return rows, values > -jnp.inf


def draw(
    priority: Float[Array, " n"], eligible: Bool[Array, " n"], count: int
) -> tuple[Int[Array, " count"], Bool[Array, " count"]]:
    """Draw `count` eligible rows at random without replacement (all of them if there are fewer).

    Args:
        priority: independent uniform numbers in [0, 1), fresh for this draw.
        eligible: which rows may be drawn.
        count: how many to draw.

    Returns:
        `(rows, drawn)` as in `highest`.
    """
    values, rows = lax.top_k(jnp.where(eligible, priority, -1.0), count)
    return rows, values >= 0.0
