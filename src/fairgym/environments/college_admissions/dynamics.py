"""Formulas of college admissions (D'Amour et al. 2020; its ml-fairness-gym).

| name in ml-fairness-gym | name here |
| --- | --- |
| `original_test_scores` | `score`, the true score |
| `test_scores_x`, `test_scores_y` | `test_score`, before and after applicants have responded |
| `group_cost`, `subsidy_beta` | `cost`, 1 - `subsidy` |
| `gaming_control` | `most_change` |
| `epsilon_prob` | `lottery` |
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Number = float | Float[Array, "..."]
People = Float[Array, " people"]

WORTH = 1.0  # of an admission
ROUNDING = 1e-6  # tolerance of comparisons of costs and changes


def true_score(normal: People, mean: Number, spread: Number) -> People:
    """Return scores from a normal distribution, clipped to [0, 1].

    Args:
        normal: Standard normal numbers.
        mean: Mean of each applicant's group.
        spread: Its standard deviation.
    """
    return jnp.clip(mean + spread * normal, 0.0, 1.0)


def error(normal: People, spread: Number, mean: Number, low: Number, high: Number) -> People:
    """Return normally distributed errors, clipped to [low, high]; 0 if the spread is 0.

    Args:
        normal: Standard normal numbers.
        spread: Standard deviation.
        mean: Mean of the distribution.
        low: Lowest error.
        high: Highest error.
    """
    return jnp.where(jnp.asarray(spread) > 0.0, jnp.clip(mean + spread * normal, low, high), 0.0)


def is_qualified(score: People, mean: Number, margin: Number) -> Bool[Array, " people"]:
    """Return whether the true score is at least (1 + margin) times the group's mean."""
    return score >= (1.0 + margin) * mean


class Response(NamedTuple):
    """What applicants do about a threshold.

    Attributes:
        test_score: Test score that the jury sees.
        gamed: Whether the applicant has raised it.
        cost: Cost of reaching the threshold, whether or not the applicant pays it; 0 for those
            above.
    """

    test_score: People
    gamed: Bool[Array, " people"]
    cost: People


def respond(
    test_score: People,
    threshold: Float[Array, ""],
    lottery: Float[Array, ""],
    aim_error: People,
    cost: Number,
    most_change: Number,
) -> Response:
    """Return the applicants' best responses to a threshold that they know.

    An applicant below the threshold raises the test score to it if that costs no more than it
    gains: an admission instead of one with the probability `lottery`. With an error the applicant
    aims at another score. One that misses the threshold is of no use, and nobody pays for it.

    Args:
        test_score: Test score before.
        threshold: Threshold of the jury.
        lottery: Probability of admission whatever the score.
        aim_error: Error in the threshold that the applicant aims at.
        cost: Cost of a point, for each applicant.
        most_change: Largest change of the test score.
    """
    below = test_score < threshold
    aim = jnp.clip(threshold + aim_error, 0.0, 1.0)
    change = jnp.maximum(aim - test_score, 0.0)
    price = jnp.where(below, cost * change, 0.0)
    pays = price <= (1.0 - lottery) * WORTH + ROUNDING
    gamed = below & (aim >= threshold) & pays & (change <= most_change + ROUNDING)
    return Response(jnp.where(gamed, aim, test_score), gamed, price)


def is_admitted(
    test_score: People, threshold: Float[Array, ""], lottery: Float[Array, ""], uniform: People
) -> Bool[Array, " people"]:
    """Return who reaches the threshold, or is drawn in the lottery.

    Args:
        test_score: Test score that the jury sees.
        threshold: Threshold of the jury.
        lottery: Probability of admission whatever the score.
        uniform: Uniform numbers in [0, 1).
    """
    return (test_score >= threshold) | (uniform < lottery)


def largest_rise(cost: Number, most_change: Number, lottery: Number = 0.0) -> Float[Array, "..."]:
    """Return by how much somebody with this cost would raise a test score at most.

    Args:
        cost: Cost of a point.
        most_change: Largest change of a test score.
        lottery: Probability of admission whatever the score.
    """
    worth_it = (1.0 - lottery) * WORTH / jnp.maximum(jnp.asarray(cost, jnp.float32), ROUNDING)
    return jnp.minimum(worth_it, most_change)


def costs_of(cost: Number, subsidy: Number, group: Array, groups: int) -> Float[Array, " people"]:
    """Return the cost of a point that each applicant bears.

    Args:
        cost: Cost of a point, one number or one per group.
        subsidy: Share of it that the last group does not bear.
        group: Group of each applicant.
        groups: Number of groups.
    """
    borne = jnp.where(jnp.arange(groups) == groups - 1, 1.0 - subsidy, 1.0)
    return (jnp.broadcast_to(jnp.asarray(cost, jnp.float32), (groups,)) * borne)[group]
