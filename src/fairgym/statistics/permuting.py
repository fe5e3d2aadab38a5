"""Null distributions of disparities: people's groups permuted, their outcomes kept."""

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from fairgym.core import Environment, group_counts, in_groups
from fairgym.fairness.metrics import Metric, Rate, rates_of


def compared_by_group(env: Environment) -> Mapping[str, Metric]:
    """Return the disparities between groups whose null distribution permutations can give."""
    counted = group_counts(env)

    def of_groups(metric: Metric) -> bool:
        return all({rate.numerator, rate.denominator} <= set(counted) for rate in rates_of(metric))

    fair = {name: metric for name, metric in env.metrics.items() if metric.kind == "fair"}
    return {name: metric for name, metric in fair.items() if of_groups(metric)}


def raw_value(metric: Metric, totals: PyTree) -> Float[Array, ""]:
    """Return the raw value of a metric."""
    return metric.value(totals)


def known_value(metric: Metric, totals: PyTree) -> Float[Array, ""]:
    """Return the raw value of a metric; NaN where it is 0/0."""
    return jnp.where(metric.defined(totals), metric.value(totals), jnp.nan)


def known_rates(rate: Rate, totals: PyTree) -> Float[Array, " groups"]:
    """Return the rate of each group; NaN where it is 0/0."""
    return jnp.where(rate.denominators(totals) > 0, rate.per_group(totals), jnp.nan)


def permuted(
    env: Environment,
    tallies: PyTree,
    group: Int[Array, " people"],
    key: PRNGKeyArray,
    permutations: int,
    groups: int | None = None,
    value: Callable[[Metric, PyTree], PyTree] = raw_value,
) -> dict[str, PyTree]:
    """Return the raw value of each disparity under random permutations of people's groups.

    This is the null distribution of a permutation test (E. J. G. Pitman, Significance Tests Which
    May be Applied to Samples From any Populations, 1937). People keep their outcomes and groups
    their sizes, so outcomes and groups are independent.

    Args:
        env: Environment of the episode.
        tallies: Component sums, one number per person (`rollout` with `tally`).
        group: Group of each person, or subgroup of an attribute.
        key: JAX key.
        permutations: Number of permutations.
        groups: Number of groups or subgroups; that of the environment's groups if None.
        value: Function of a disparity and the totals. By default the raw value, in which a rate
            of 0/0 is 0, as in objectives.

    Returns:
        Name of a disparity -> values of the function, with a first axis over permutations.
    """
    groups = len(env.spec.groups) if groups is None else groups
    metrics = compared_by_group(env)

    def one(key: PRNGKeyArray) -> dict[str, PyTree]:
        totals = in_groups(env, tallies, _shuffled(key, group, groups), groups)
        return {name: value(metric, totals) for name, metric in metrics.items()}

    return jax.lax.map(one, jax.random.split(key, permutations))


def _shuffled(key: PRNGKeyArray, group: Int[Array, " people"], groups: int) -> Array:
    """Return the groups in random order.

    Sorts random numbers whose last bits are the group, in an eighth of the time of
    `jax.random.permutation`. With two groups, the other bits of two people are equal once in 2^31.
    """
    last = jnp.uint32((1 << (groups - 1).bit_length()) - 1)
    lot = jax.random.bits(key, group.shape, jnp.uint32) & ~last
    return (jnp.sort(lot | group.astype(jnp.uint32)) & last).astype(jnp.int32)
