"""Features that improve, stay or deteriorate (MAFE, equations 9, 16, 17, 24 and 25)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Numbers = Float[Array, "..."]
Parameter = float | Numbers


def improvement_probability(
    money: Numbers, *, base: Parameter, gain: Parameter, slope: Parameter, shift: Parameter
) -> Numbers:
    """Equations (16) and (24): P = Q + R sigmoid(V x + W).

    Args:
        money: x, dollars that a region gets.
        base: Q.
        gain: R, what any amount of money adds at most.
        slope: V, per dollar.
        shift: W.
    """
    return base + gain * jax.nn.sigmoid(slope * money + shift)


def improve_or_deteriorate(uniform: Numbers, improve: Parameter, stay: Parameter) -> Numbers:
    """Direction +1 with probability `improve`, 0 with probability `stay`, else -1.

    Equations (17) and (25): the highest P and U add up to 1, so that nobody deteriorates where
    money abounds; less than 1 leaves a chance to deteriorate that no money takes away.

    Args:
        uniform: independent uniform numbers in [0, 1); [0, P] improves, (P, P + U] stays, the
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

    The result is kept within [low, high] where it changes.
    """
    return jnp.where(direction == 0.0, value, jnp.clip(value + direction * change, low, high))
