"""Differences between two groups, and the resampling that amplifies them.

The published environments resample their data so that the groups differ visibly at the start.
Here that is one number, `bias_strength`: people are drawn within each group with the weights of
`resampling_weights`, and `standardised_mean_difference` says how far apart the groups are.

The functions work on numpy arrays, and on JAX arrays inside jit, vmap and grad: each array brings
its own namespace, so nothing here imports JAX.
"""

from typing import Any

import numpy as np


def _namespace(*arrays: Any) -> Any:
    """The array namespace (numpy, jax.numpy) of the first array that is not a numpy array."""
    namespaces = [a.__array_namespace__() for a in arrays if hasattr(a, "__array_namespace__")]
    return next((n for n in namespaces if n is not np), np)


def _within(xp: Any, values: Any, member: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Count, weighted mean and weighted sum of squared deviations of the members of a group.

    Weights are scaled to sum to the count, so that weights of 1 give the plain figures.
    """
    inside = member * xp.ones_like(values)
    count = xp.sum(inside)
    total = xp.sum(inside * weights)
    scaled = inside * weights * (count / xp.where(total > 0, total, 1.0))
    size = xp.where(count > 0, count, 1.0)
    mean = xp.sum(scaled * values) / size
    return count, mean, xp.sum(scaled * (values - mean) ** 2)


def standardised_mean_difference(values: Any, group: Any, weights: Any = None) -> Any:
    """Cohen's d: mean of group 0 minus mean of group 1, in pooled standard deviations.

    Args:
        values: the attribute, shape (n,), any unit.
        group: 0 (advantaged) or 1 (disadvantaged), shape (n,).
        weights: non-negative weight of each row, shape (n,); None weighs all rows alike. Only
            the proportions within each group matter.

    Returns:
        A scalar without unit; positive if the advantaged group has the higher values. 0 if a
        group is empty or no group varies.
    """
    xp = _namespace(values, group, weights)
    values = xp.asarray(values) * 1.0
    group = xp.asarray(group)
    weights = xp.ones_like(values) if weights is None else xp.asarray(weights)
    n0, mean0, square0 = _within(xp, values, group == 0, weights)
    n1, mean1, square1 = _within(xp, values, group == 1, weights)
    freedom = n0 + n1 - 2
    variance = (square0 + square1) / xp.where(freedom > 0, freedom, 1.0)
    defined = (n0 > 0) & (n1 > 0) & (variance > 0)
    spread = xp.sqrt(xp.where(variance > 0, variance, 1.0))
    return xp.where(defined, (mean0 - mean1) / spread, 0.0)


def resampling_weights(attribute: Any, group: Any, strength: Any) -> Any:
    """Weights that move the groups apart: exp(+s z) in group 0 and exp(-s z) in group 1.

    z is the attribute standardised within the row's own group, so a strength means the same in
    both. The weights are scaled to a mean of 1 within each group, which keeps the group shares
    when rows of both groups are drawn with them at once. If the attribute is normal, each mean
    moves by s standard deviations and the standardised mean difference grows by 2 s.

    Args:
        attribute: the core attribute, higher is better for the person, shape (n,). Where higher
            is worse (a health risk), pass its negative.
        group: 0 (advantaged) or 1 (disadvantaged), shape (n,).
        strength: s, a scalar; 0 gives weights of 1.

    Returns:
        Positive weights, shape (n,).
    """
    xp = _namespace(attribute, group, strength)
    attribute = xp.asarray(attribute) * 1.0
    group = xp.asarray(group)
    ones = xp.ones_like(attribute)
    weights = ones
    for code, sign in ((0, 1.0), (1, -1.0)):
        member = group == code
        count, mean, square = _within(xp, attribute, member, ones)
        size = xp.where(count > 0, count, 1.0)
        spread = xp.sqrt(xp.where(square > 0, square / size, 1.0))
        z = xp.where(member, (attribute - mean) / spread, 0.0)
        raw = xp.exp(sign * strength * z)
        average = xp.sum(xp.where(member, raw, 0.0)) / size
        weights = xp.where(member, raw / xp.where(average > 0, average, 1.0), weights)
    return weights


def strength_for(attribute: Any, group: Any, target: Any = 0.5, largest: float = 5.0) -> float:
    """The strength at which the weighted standardised mean difference reaches a target.

    Args:
        attribute: the core attribute, higher is better, shape (n,).
        group: 0 (advantaged) or 1 (disadvantaged), shape (n,).
        target: the difference wanted, in pooled standard deviations.
        largest: the answer's upper end, returned if the target is out of reach.

    Returns:
        The strength; 0 if the groups differ by the target already.
    """
    values = np.asarray(attribute, np.float64)
    group = np.asarray(group)

    def difference(strength: float) -> float:
        weights = resampling_weights(values, group, strength)
        return float(standardised_mean_difference(values, group, weights))

    low, high = 0.0, largest
    if difference(low) >= target:
        return low
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if difference(middle) < target else (low, middle)
    return high
