"""Differences between groups, and the resampling that amplifies them.

The published environments resample their data so that the groups differ visibly at the start.
Here one number, `bias_strength`, controls this: people are sampled within each group with the
weights of `resampling_weights`. `standardised_mean_difference` measures how far apart two groups
are.

The functions work on numpy arrays, and on JAX arrays inside jit, vmap and grad. They use the
namespace of the arrays, so this module does not import JAX.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

# Of two groups, group 0 is the advantaged one.
TWO_GROUPS = (1.0, -1.0)


def _namespace(*arrays: Any) -> Any:
    """Return the namespace (numpy, jax.numpy) of the first array that is not a numpy array."""
    namespaces = [a.__array_namespace__() for a in arrays if hasattr(a, "__array_namespace__")]
    return next((n for n in namespaces if n is not np), np)


def _within(xp: Any, values: Any, member: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Return count, weighted mean and weighted sum of squared deviations of a group's members.

    Weights are scaled to sum to the count, so that weights of 1 give the unweighted values.
    """
    inside = member * xp.ones_like(values)
    count = xp.sum(inside)
    total = xp.sum(inside * weights)
    scaled = inside * weights * (count / xp.where(total > 0, total, 1.0))
    size = xp.where(count > 0, count, 1.0)
    mean = xp.sum(scaled * values) / size
    return count, mean, xp.sum(scaled * (values - mean) ** 2)


def standardised_mean_difference(
    values: Any, group: Any, weights: Any = None, pair: tuple[int, int] = (0, 1)
) -> Any:
    """Return Cohen's d: the difference of two groups' means in pooled standard deviations.

    Args:
        values: The attribute, shape (n,), any unit.
        group: Code of each row's group, shape (n,). Rows of groups outside the pair are
            ignored.
        weights: Non-negative weight of each row, shape (n,); None weights all rows equally. Only
            the proportions within each group matter.
        pair: Codes of the two groups; 0 (advantaged) and 1 (disadvantaged) by default.

    Returns:
        A scalar without unit, positive if the first group of the pair has the higher mean. 0 if a
        group is empty or no group varies.
    """
    xp = _namespace(values, group, weights)
    values = xp.asarray(values) * 1.0
    group = xp.asarray(group)
    weights = xp.ones_like(values) if weights is None else xp.asarray(weights)
    n0, mean0, square0 = _within(xp, values, group == pair[0], weights)
    n1, mean1, square1 = _within(xp, values, group == pair[1], weights)
    freedom = n0 + n1 - 2
    variance = (square0 + square1) / xp.where(freedom > 0, freedom, 1.0)
    defined = (n0 > 0) & (n1 > 0) & (variance > 0)
    spread = xp.sqrt(xp.where(variance > 0, variance, 1.0))
    return xp.where(defined, (mean0 - mean1) / spread, 0.0)


def resampling_weights(
    attribute: Any, group: Any, strength: Any, directions: Sequence[float] = TWO_GROUPS
) -> Any:
    """Return weights that set the groups apart: exp(s d z) in a group of direction d.

    z is the attribute standardised within the row's own group, so a strength means the same in
    all groups. The weights are scaled to a mean of 1 within each group. This keeps the group shares
    when rows of all groups are sampled at once. If the attribute is normal, a group's mean moves by
    s d standard deviations; with directions 1 and -1 the standardised mean difference grows by 2 s.

    Args:
        attribute: The core attribute, higher is better for the person, shape (n,). If higher is
            worse (a health risk), pass its negative.
        group: Code of each row's group, shape (n,).
        strength: s, a scalar; 0 gives weights of 1.
        directions: d of each group, by code; 1 favours high values. By default there are two
            groups, 0 (advantaged) and 1 (disadvantaged).

    Returns:
        Positive weights, shape (n,); 1 in groups without a direction.
    """
    xp = _namespace(attribute, group, strength)
    attribute = xp.asarray(attribute) * 1.0
    group = xp.asarray(group)
    ones = xp.ones_like(attribute)
    weights = ones
    for code, direction in enumerate(directions):
        member = group == code
        count, mean, square = _within(xp, attribute, member, ones)
        size = xp.where(count > 0, count, 1.0)
        spread = xp.sqrt(xp.where(square > 0, square / size, 1.0))
        z = xp.where(member, (attribute - mean) / spread, 0.0)
        raw = xp.exp(direction * strength * z)
        average = xp.sum(xp.where(member, raw, 0.0)) / size
        weights = xp.where(member, raw / xp.where(average > 0, average, 1.0), weights)
    return weights


def directions_by_rank(attribute: Any, group: Any, groups: int) -> tuple[float, ...]:
    """Return the groups' directions by rank: +1 for the best, -1 for the worst.

    Groups in between are evenly spaced by rank, not by mean.

    Args:
        attribute: The core attribute, higher is better, shape (n,).
        group: Code of each row's group, shape (n,).
        groups: Number of groups.

    Returns:
        A number in [-1, 1] to 6 digits for each group; 0 for an empty or a single group.
    """
    values, group = np.asarray(attribute, np.float64), np.asarray(group)
    means = {g: values[group == g].mean() for g in range(groups) if (group == g).any()}
    ranked = sorted(means, key=lambda g: -means[g])
    directions = [0.0] * groups
    if len(ranked) > 1:
        for rank, g in enumerate(ranked):
            directions[g] = round(1.0 - 2.0 * rank / (len(ranked) - 1), 6)
    return tuple(directions)


def extreme_pair(directions: Sequence[float]) -> tuple[int, int]:
    """Return the codes of the best and the worst group, by direction."""
    return int(np.argmax(directions)), int(np.argmin(directions))


def strength_for(
    attribute: Any,
    group: Any,
    target: Any = 0.5,
    largest: float = 5.0,
    directions: Sequence[float] = TWO_GROUPS,
) -> float:
    """Return the strength at which the weighted standardised mean difference reaches a target.

    The difference is between the groups with the largest and the smallest direction.

    Args:
        attribute: The core attribute, higher is better, shape (n,).
        group: Code of each row's group, shape (n,).
        target: The target difference, in pooled standard deviations.
        largest: Upper bound of the strength, returned if the target cannot be reached.
        directions: Direction of each group, as for `resampling_weights`.

    Returns:
        The strength; 0 if the groups already differ by the target.
    """
    values = np.asarray(attribute, np.float64)
    group = np.asarray(group)
    pair = extreme_pair(directions)

    def difference(strength: float) -> float:
        weights = resampling_weights(values, group, strength, directions)
        return float(standardised_mean_difference(values, group, weights, pair))

    low, high = 0.0, largest
    if difference(low) >= target:
        return low
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if difference(middle) < target else (low, middle)
    return high
