"""Features that improve, stay or deteriorate (MAFE, equations 9, 16, 17, 24 and 25).

Also divides money among people by weight (equation 15).
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fairgym.core.environment import by_group

Numbers = Float[Array, "..."]
Parameter = float | Numbers


def improvement_probability(
    money: Numbers, *, base: Parameter, gain: Parameter, slope: Parameter, shift: Parameter
) -> Numbers:
    """Equations (16) and (24): P = Q + R sigmoid(V x + W).

    Args:
        money: x, dollars that a region receives.
        base: Q.
        gain: R, the most that any amount of money adds.
        slope: V, per dollar.
        shift: W.
    """
    return base + gain * jax.nn.sigmoid(slope * money + shift)


def improve_or_deteriorate(uniform: Numbers, improve: Parameter, stay: Parameter) -> Numbers:
    """Return direction +1 with probability `improve`, 0 with probability `stay`, else -1.

    Equations (17) and (25): the highest P and U sum to 1, so that with enough money nobody
    deteriorates. If they sum to less than 1, some people deteriorate whatever the money.

    Args:
        uniform: Independent uniform numbers in [0, 1). [0, P] improves, (P, P + U] stays, the
            rest deteriorates.
        improve: P.
        stay: U.
    """
    worse = jnp.where(uniform <= improve + stay, 0.0, -1.0)
    return jnp.where(uniform <= improve, 1.0, worse)


def moved(
    value: Numbers, direction: Numbers, change: Parameter, low: Parameter, high: Parameter
) -> Numbers:
    """Equation (9): v + c where the direction is +1, v - c where it is -1, else v.

    Changed values are clipped to [low, high].
    """
    return jnp.where(direction == 0.0, value, jnp.clip(value + direction * change, low, high))


def divided_by_weight(
    money: Float[Array, " groups"],
    weight: Float[Array, " n"],
    group: Int[Array, " n"],
) -> Float[Array, " n"]:
    """Divide each group's money among its rows in proportion to their weights.

    Args:
        money: Dollars of each group.
        weight: Non-negative weight of each row; a row of weight 0 gets nothing.
        group: Group of each row.

    Returns:
        Dollars for each row; 0 where the weights of a group sum to 0.
    """
    total = by_group(weight, group, money.shape[0])
    rate = jnp.where(total > 0.0, money / jnp.where(total > 0.0, total, 1.0), 0.0)
    return weight * rate[group]
