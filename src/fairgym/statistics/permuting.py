"""Disparities that luck alone makes: the people's groups permuted, what happened to them kept."""

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from fairgym.core import Environment, group_counts, in_groups
from fairgym.fairness.metrics import Metric, Rate, rates_of


def compared_by_group(env: Environment) -> Mapping[str, Metric]:
    """Disparities between the groups by name: those whose null permutations of groups give."""
    counted = group_counts(env)

    def of_groups(metric: Metric) -> bool:
        return all({rate.numerator, rate.denominator} <= set(counted) for rate in rates_of(metric))

    fair = {name: metric for name, metric in env.metrics.items() if metric.kind == "fair"}
    return {name: metric for name, metric in fair.items() if of_groups(metric)}


def raw_value(metric: Metric, totals: PyTree) -> Float[Array, ""]:
    """Raw value of a metric."""
    return metric.value(totals)


def known_value(metric: Metric, totals: PyTree) -> Float[Array, ""]:
    """Raw value of a metric; NaN where it is 0/0."""
    return jnp.where(metric.defined(totals), metric.value(totals), jnp.nan)


def known_rates(rate: Rate, totals: PyTree) -> Float[Array, " groups"]:
    """The rate of each group; NaN where it is 0/0."""
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
    """Raw value of each disparity under random permutations of the people's groups.

    The null distribution of a permutation test (E. J. G. Pitman, Significance Tests Which May be
    Applied to Samples From any Populations, 1937): everybody keeps what happened to them, and the
    sizes of the groups stay, so that nothing but luck links the two.

    Args:
        env: the environment.
        tallies: component sums, one number per person (`rollout` with `tally`).
        group: group of each person, or part of a partition.
        key: a JAX key.
        permutations: their number.
        groups: number of groups, or of parts; that of the environment's groups if None.
        value: what is taken of a disparity; its raw value, in which the rate of a group that
            nobody counts for is 0, as objectives take it.

    Returns:
        Name of a disparity -> what is taken of it, with a first axis over permutations.
    """
    groups = len(env.spec.groups) if groups is None else groups
    metrics = compared_by_group(env)

    def one(key: PRNGKeyArray) -> dict[str, PyTree]:
        totals = in_groups(env, tallies, _shuffled(key, group, groups), groups)
        return {name: value(metric, totals) for name, metric in metrics.items()}

    return jax.lax.map(one, jax.random.split(key, permutations))


def _shuffled(key: PRNGKeyArray, group: Int[Array, " people"], groups: int) -> Array:
    """The groups in random order.

    Random numbers are sorted whose last bits are the group, which takes an eighth of the time of
    `jax.random.permutation`; the other bits of two people are equal once in 2^31, for two groups.
    """
    last = jnp.uint32((1 << (groups - 1).bit_length()) - 1)
    lot = jax.random.bits(key, group.shape, jnp.uint32) & ~last
    return (jnp.sort(lot | group.astype(jnp.uint32)) & last).astype(jnp.int32)
