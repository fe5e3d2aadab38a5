"""The formulas of the lending pool (Alamdari et al. 2024, sections 6.2, A.3 and A.4.2).

| symbol | name here |
| --- | --- |
| C_i | `credit` |
| c, or mu | `size` |
| sigma | `spread` |
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Number = float | Float[Array, ""]


def credit_change(
    repaid: Bool[Array, ""], size: Number, spread: Number, shift: Float[Array, ""]
) -> Float[Array, ""]:
    """Change of a borrower's credit: +- c (A.4.2), or Normal(+- mu, sigma) (A.3).

    Args:
        repaid: whether the loan was repaid.
        size: the mean change, upwards on repayment and downwards on default.
        spread: its standard deviation.
        shift: a standard normal number.
    """
    return jnp.where(repaid, size, -size) + spread * shift


def margin_missed(profit: Float[Array, ""], margin: Number, steps: int) -> Bool[Array, ""]:
    """True if the profit of an episode is below the margin per step (A.4.2).

    Args:
        profit: loans repaid less loans defaulted, over the episode.
        margin: profit per step that is aimed at.
        steps: number of steps of the episode.
    """
    return profit < margin * steps - 1e-3  # profits are whole: what is aimed at may be rounded up
