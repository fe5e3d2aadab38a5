"""Drawing a population of any size from the rows of the data."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray


def draw_rows(
    key: PRNGKeyArray,
    weights: Float[Array, " rows"],
    row_group: Int[Array, " rows"],
    group: Int[Array, " people"],
    groups: int,
) -> Int[Array, " people"]:
    """Draw for each person a row of their own group, with replacement.

    Args:
        key: a JAX key.
        weights: relative chance of each row within its group (`resampling_weights`).
        row_group: group of each row; every group that occurs in `group` has a row.
        group: group of each person.
        groups: number of groups.

    Returns:
        A row number for each person.
    """
    position = jax.random.uniform(key, group.shape)
    rows = jnp.zeros(group.shape, jnp.int32)
    last = weights.shape[0] - 1
    for g in range(groups):
        # the inverse of the distribution over the rows of this group
        cumulative = jnp.cumsum(jnp.where(row_group == g, weights, 0.0))
        found = jnp.searchsorted(cumulative, position * cumulative[-1], side="right")
        rows = jnp.where(group == g, jnp.minimum(found, last), rows)
    return rows
