"""Formulas of bank loans (Hu, Lear and Zhang 2023, section VI-A; D'Amour et al. 2020).

| symbol | name here |
| --- | --- |
| c | `group`, its index |
| x | `score`, its index from 0 (the source counts from 1) |
| P_c(x) | `shares` |
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

Number = float | Float[Array, ""]

SCORES = 7


def profit_of(repaid: Bool[Array, ""], loan: Number, interest: Number) -> Float[Array, ""]:
    """Return the profit of a loan: the interest if it is repaid, minus the loan if it is not.

    Args:
        repaid: Whether the loan is repaid.
        loan: Amount of the loan.
        interest: Interest, as a share of the amount.
    """
    return jnp.where(repaid, loan * interest, -loan)


def expected_profit(
    repayment: Float[Array, "..."], loan: Number, interest: Number
) -> Float[Array, "..."]:
    """Return the mean profit of a loan that is repaid with this probability.

    Args:
        repayment: Probability of repayment.
        loan: Amount of the loan.
        interest: Interest, as a share of the amount.
    """
    return repayment * loan * interest - (1.0 - repayment) * loan


def chance_of(repayment: float | Float[Array, "..."], score: Int[Array, ""]) -> Float[Array, ""]:
    """Return the probability that a person with this score repays.

    Args:
        repayment: Probability of each score, or one for all.
        score: Index of the score.
    """
    here = jax.nn.one_hot(score, SCORES)
    return jnp.sum(jnp.broadcast_to(repayment, (SCORES,)) * here)


def estimated_repayment(
    loans: Float[Array, "..."], repayments: Float[Array, "..."], prior: Number, weight: Number
) -> Float[Array, "..."]:
    """Return the estimated probability to repay: the posterior mean of a Beta distribution.

    Args:
        loans: Number of loans.
        repayments: Number of loans that were repaid.
        prior: Estimate without any loan.
        weight: Number of loans that the prior counts as.
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
    """Return the score distributions after a decision.

    A loan moves the mass `shift` of its group from the applicant's score to the next one, up if it
    is repaid and down if it is not, but no more than there is. The lowest and the highest score
    keep their mass. Without a loan nothing moves.

    Args:
        shares: Share of each score in each group.
        group: Group of the applicant.
        score: Index of the applicant's score.
        approved: Whether a loan is granted.
        repaid: Whether it is repaid.
        shift: Mass that a loan moves.
    """
    own = jax.nn.one_hot(group, shares.shape[0])[:, None]
    here = jax.nn.one_hot(score, SCORES)
    to = jnp.clip(score + jnp.where(repaid, 1, -1), 0, SCORES - 1)
    mass = jnp.minimum(shift, jnp.sum(own * here * shares)) * approved
    return shares + own * mass * (jax.nn.one_hot(to, SCORES) - here)


def drawn_group(uniform: Float[Array, ""], advantaged: Number) -> Int[Array, ""]:
    """Return the group of an applicant: 0 (advantaged) with this probability.

    Args:
        uniform: Uniform number in [0, 1).
        advantaged: Probability of the advantaged group.
    """
    return (uniform >= advantaged).astype(jnp.int32)


def drawn_score(
    uniform: Float[Array, ""], shares: Float[Array, "groups scores"], group: Int[Array, ""]
) -> Int[Array, ""]:
    """Return the index of an applicant's score, sampled from the group's distribution.

    A score without mass is never sampled, even if the sum of the shares is rounded.

    Args:
        uniform: Uniform number in [0, 1).
        shares: Share of each score in each group.
        group: Group of the applicant.
    """
    own = jax.nn.one_hot(group, shares.shape[0])[:, None]
    below = jnp.cumsum(jnp.sum(own * shares, axis=0))
    return jnp.sum(below <= uniform * below[-1]).astype(jnp.int32)
