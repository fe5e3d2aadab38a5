"""Dividing money among people."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fairgym.core.environment import by_group


def divided_by_weight(
    money: Float[Array, " groups"],
    weight: Float[Array, " n"],
    group: Int[Array, " n"],
) -> Float[Array, " n"]:
    """Each group's money divided among its rows in proportion to their weights.

    Args:
        money: dollars for each group.
        weight: non-negative weight of each row; a row of weight 0 gets nothing.
        group: group of each row.

    Returns:
        Dollars for each row; nothing where the weights of a group sum to 0.
    """
    total = by_group(weight, group, money.shape[0])
    rate = jnp.where(total > 0.0, money / jnp.where(total > 0.0, total, 1.0), 0.0)
    return weight * rate[group]
