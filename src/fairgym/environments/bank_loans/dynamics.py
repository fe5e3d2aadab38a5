"""The formulas of bank loans (Hu, Lear and Zhang 2023, section 6.A; D'Amour et al. 2020).

| symbol | name here |
| --- | --- |
| c | `group`, its place |
| x | `score`, its place from 0 (the source counts from 1) |
| P_c(x) | `shares` |
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

Number = float | Float[Array, ""]

SCORES = 7


def profit_of(repaid: Bool[Array, ""], loan: Number, interest: Number) -> Float[Array, ""]:
    """Profit of a loan: the interest if it is repaid, less the loan if it is not.

    Args:
        repaid: whether it is repaid.
        loan: its amount.
        interest: interest on it, as a share of the amount.
    """
    return jnp.where(repaid, loan * interest, -loan)


def expected_profit(
    repayment: Float[Array, "..."], loan: Number, interest: Number
) -> Float[Array, "..."]:
    """Mean profit of a loan that is repaid with this probability.

    Args:
        repayment: the probability.
        loan: its amount.
        interest: interest on it, as a share of the amount.
    """
    return repayment * loan * interest - (1.0 - repayment) * loan


def chance_of(repayment: float | Float[Array, "..."], score: Int[Array, ""]) -> Float[Array, ""]:
    """Chance that somebody with this score repays.

    Args:
        repayment: chance of each score, or one for all.
        score: place of the score.
    """
    here = jax.nn.one_hot(score, SCORES)
    return jnp.sum(jnp.broadcast_to(repayment, (SCORES,)) * here)


def estimated_repayment(
    loans: Float[Array, "..."], repayments: Float[Array, "..."], prior: Number, weight: Number
) -> Float[Array, "..."]:
    """Estimated chance to repay: the mean of a Beta distribution after the outcomes of loans.

    Args:
        loans: number of loans.
        repayments: number of them that were repaid.
        prior: the estimate without any loan.
        weight: number of loans that it counts as.
    """
    return (repayments + prior * weight) / (loans + weight)


def moved_shares(
    shares: Float[Array, "groups scores"],
    group: Int[Array, ""],
    score: Int[Array, ""],
    approved: Bool[Array, ""],
    repaid: Bool[Array, ""],
    shift: Number,
) -> Float[Array, "groups scores"]:
    """The score distributions after a decision.

    A loan moves a little mass of its group from the applicant's score to the next, up if it is
    repaid and down if it is not, but no more than there is; the lowest and the highest score keep
    it. Without a loan nothing moves.

    Args:
        shares: share of each score in each group.
        group: the applicant's group.
        score: place of the applicant's score.
        approved: whether there is a loan.
        repaid: whether it is repaid.
        shift: the mass.
    """
    own = jax.nn.one_hot(group, shares.shape[0])[:, None]
    here = jax.nn.one_hot(score, SCORES)
    to = jnp.clip(score + jnp.where(repaid, 1, -1), 0, SCORES - 1)
    mass = jnp.minimum(shift, jnp.sum(own * here * shares)) * approved
    return shares + own * mass * (jax.nn.one_hot(to, SCORES) - here)


def drawn_group(uniform: Float[Array, ""], advantaged: Number) -> Int[Array, ""]:
    """Group of an applicant: 0, the advantaged, with this probability.

    Args:
        uniform: a uniform number in [0, 1).
        advantaged: the probability.
    """
    return (uniform >= advantaged).astype(jnp.int32)


def drawn_score(
    uniform: Float[Array, ""], shares: Float[Array, "groups scores"], group: Int[Array, ""]
) -> Int[Array, ""]:
    """Place of an applicant's score, drawn from the distribution of the group.

    A score without mass is never drawn, whatever rounding has done to the sum.

    Args:
        uniform: a uniform number in [0, 1).
        shares: share of each score in each group.
        group: the applicant's group.
    """
    own = jax.nn.one_hot(group, shares.shape[0])[:, None]
    below = jnp.cumsum(jnp.sum(own * shares, axis=0))
    return jnp.sum(below <= uniform * below[-1]).astype(jnp.int32)
