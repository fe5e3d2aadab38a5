"""Sampling the people of an environment from the rows of the data."""

import zlib
from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fairgym.data.bias import resampling_weights
from fairgym.data.population import Population
from fairgym.data.populations import core_sign, population_module


def stream(seed: int, *names: str) -> np.random.Generator:
    """Return a separate random generator for each purpose, so that a new one shifts no other."""
    return np.random.default_rng([seed, *(zlib.crc32(name.encode()) for name in names)])


def whole_groups(shares: Float[Array, " groups"], people: int) -> Int[Array, " people"]:
    """Return each person's group; sizes are the shares, rounded, and groups are in order."""
    ends = jnp.round(jnp.cumsum(shares)[:-1] * people)
    return jnp.sum(jnp.arange(people)[:, None] >= ends, axis=1, dtype=jnp.int32)


def amplified_weights(
    data: Population, strength: float | Array, residual_share: float | Array = 0.0
) -> Float[Array, " rows"]:
    """Return the resampling weight of each row, which sets the groups' core attributes apart.

    Args:
        data: The population; its module names the core score and its sign.
        strength: `bias_strength`; 0 gives equal weights (`resampling_weights`).
        residual_share: Share of the row's residual in the core attribute, if the data have a
            column with the score's name.
    """
    module = population_module(data.name)
    score = data.scores[module.CORE_SCORE]
    columns = {name: jnp.asarray(data.columns[name]) for name in score.coefficients}
    attribute = score.predict(columns)
    if module.CORE_SCORE in data.columns:
        own = jnp.asarray(data.columns[module.CORE_SCORE])
        attribute = attribute + residual_share * (own - attribute)
    attribute = core_sign(module) * attribute
    return resampling_weights(
        attribute, jnp.asarray(data.columns["group"]), strength, data.directions
    )


def resample_people(
    key: PRNGKeyArray,
    data: Population,
    names: Iterable[str],
    group: Int[Array, " people"],
    strength: float | Array,
    residual_share: float | Array = 0.0,
) -> dict[str, Float[Array, " people"]]:
    """Sample people of the given groups from the data, with replacement.

    Args:
        key: A JAX key.
        data: The population.
        names: Names of the columns to return.
        group: Group of each person; every group needs a row in the data.
        strength: `bias_strength`.
        residual_share: As for `amplified_weights`.

    Returns:
        Column name -> value of each person.
    """
    rows = resample_rows(
        key,
        amplified_weights(data, strength, residual_share),
        jnp.asarray(data.columns["group"]),
        group,
        len(data.directions),
    )
    return columns_of(data, names, rows)


def columns_of(
    data: Population, names: Iterable[str], rows: Int[Array, "..."]
) -> dict[str, Float[Array, "..."]]:
    """Return columns of the given rows as float32; row numbers must be valid."""
    columns = {name: jnp.asarray(data.columns[name], jnp.float32) for name in names}
    return {n: c.at[rows].get(mode="promise_in_bounds") for n, c in columns.items()}


def resample_rows(
    key: PRNGKeyArray,
    weights: Float[Array, " rows"],
    row_group: Int[Array, " rows"],
    group: Int[Array, " people"],
    groups: int,
) -> Int[Array, " people"]:
    """Sample a row of their own group for each person, with replacement.

    Args:
        key: A JAX key.
        weights: Relative probability of each row within its group (`resampling_weights`).
        row_group: Group of each row; every group in `group` needs a row.
        group: Group of each person.
        groups: Number of groups.

    Returns:
        A row number for each person.
    """
    position = jax.random.uniform(key, group.shape)
    rows = jnp.zeros(group.shape, jnp.int32)
    last = weights.shape[0] - 1
    for g in range(groups):
        # Invert the distribution over this group's rows. Because of rounding a parallel sum can
        # decrease in places, so it is carried forward only at the group's own rows.
        own = row_group == g
        cumulative = jnp.cumsum(jnp.where(own, weights, 0.0))
        cumulative = lax.cummax(jnp.where(own, cumulative, 0.0))
        found = jnp.searchsorted(cumulative, position * cumulative[-1], side="right")
        rows = jnp.where(group == g, jnp.minimum(found, last), rows)
    return rows


def group_shares(data: Population) -> tuple[float, ...]:
    """Return each group's share of the rows of the data."""
    codes: np.ndarray = data.columns["group"]
    return tuple(float((codes == g).mean()) for g in range(len(data.directions)))
