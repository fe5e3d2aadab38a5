"""Sampling people without replacement and serving queues, without sorting the population."""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fairgym.core.compiled import gather


def highest(
    scores: Float[Array, " n"],
    eligible: Bool[Array, " n"],
    count: int,
    priority: Float[Array, " n"],
) -> tuple[Int[Array, " count"], Bool[Array, " count"]]:
    """Select the `count` eligible rows with the highest scores; `priority` breaks ties.

    Args:
        scores: Any finite numbers.
        eligible: Mask of rows that may be selected.
        count: Number of rows to select.
        priority: Independent uniform numbers in [0, 1). Of the rows tied at the last place, those
            with the highest priority are selected, so random priorities break ties at random.

    Returns:
        `(rows, taken)`: row numbers, and whether each is selected. `taken` is False, and the row
        number meaningless, if fewer than `count` rows are eligible.
    """
    ranked = jnp.where(eligible, scores, -jnp.inf)
    values, rows = lax.top_k(ranked, count)
    last = jnp.min(values)  # not values[-1]: slicing would turn the selection into a full sort
    tied = jnp.sum(ranked == last) > jnp.sum(values == last)

    def break_ties() -> tuple[jax.Array, jax.Array]:
        order = jnp.where(ranked > last, 2.0, jnp.where(ranked == last, priority, -1.0))
        chosen = lax.top_k(order, count)[1]
        return gather(ranked, chosen), chosen

    values, rows = lax.cond(tied & (last > -jnp.inf), break_ties, lambda: (values, rows))
    return rows, values > -jnp.inf


def sample_rows(
    priority: Float[Array, " n"], eligible: Bool[Array, " n"], count: int
) -> tuple[Int[Array, " count"], Bool[Array, " count"]]:
    """Sample `count` eligible rows without replacement, or all of them if there are fewer.

    Args:
        priority: Independent uniform numbers in [0, 1), new for this sample.
        eligible: Mask of rows that may be sampled.
        count: Size of the sample.

    Returns:
        `(rows, taken)` as in `highest`.
    """
    values, rows = lax.top_k(jnp.where(eligible, priority, -1.0), count)
    return rows, values >= 0.0


def fill_places(
    scores: Float[Array, " n"],
    eligible: Bool[Array, " n"],
    group: Int[Array, " n"],
    places: Float[Array, " groups"],
    priority: Float[Array, " n"],
) -> Bool[Array, " n"]:
    """Give each group's places to its eligible rows with the highest scores.

    Use it for capacities that change between steps (free beds of a region, free seats). For a fixed
    number `highest` is faster. Nothing is sorted: a search in all groups at once finds the lowest
    score that gets a place.

    Args:
        scores: Any finite numbers.
        eligible: Mask of rows that may get a place.
        group: Group (region) of each row.
        places: Whole number of free places of each group; negative numbers count as 0.
        priority: Independent uniform numbers in [0, 1), which break ties.

    Returns:
        Mask of the rows that get a place: in each group as many as there are places, or all
        eligible rows if there are fewer.
    """
    member = eligible & (jnp.arange(places.shape[0])[:, None] == group)
    places = jnp.clip(places, 0.0, scores.shape[0]).astype(jnp.int32)
    keys = jnp.where(member, _ordered(scores), _LOWEST)
    cut, above = _cut(keys, places)
    sure, tied = keys > cut[:, None], member & (keys == cut[:, None])
    left = places - above
    tied &= (left > 0)[:, None]

    def break_ties() -> Array:
        lots = jnp.where(tied, _ordered(priority), _LOWEST)
        last, before = _cut(lots, left)
        alike = tied & (lots == last[:, None])
        first = jnp.cumsum(alike, axis=1) <= (left - before)[:, None]
        return sure | (lots > last[:, None]) & tied | alike & first

    crowded = jnp.any(jnp.sum(tied, axis=1) > left)
    return jnp.any(lax.cond(crowded, break_ties, lambda: sure | tied), axis=0)


_LOWEST = jnp.iinfo(jnp.int32).min


def _ordered(values: Float[Array, "..."]) -> Int[Array, "..."]:
    """Return integers in the order of the floats (their bits, inverted below zero)."""
    values = jnp.where(values == 0.0, 0.0, values)  # -0.0 equals 0.0
    bits = lax.bitcast_convert_type(values, jnp.int32)
    return bits ^ ((bits >> 31) & jnp.int32(0x7FFFFFFF))


def _cut(
    keys: Int[Array, "groups n"], places: Int[Array, " groups"]
) -> tuple[Int[Array, " groups"], Int[Array, " groups"]]:
    """Return, per row, the lowest cut with at most `places` keys above, and how many are."""

    def count(cut: Array) -> Array:
        return jnp.sum(keys > cut[:, None], axis=1, dtype=jnp.int32)

    present = keys > _LOWEST
    high = jnp.max(keys, axis=1)
    low = jnp.min(jnp.where(present, keys, high[:, None]), axis=1)
    low = jnp.maximum(low, _LOWEST + 1) - 1
    everybody = count(low)
    fits = everybody <= places
    # too many keys above `low`, few enough above `high`; both equal if there is nothing to search
    start = (
        jnp.int32(0),
        jnp.where(fits, low, high),
        jnp.where(places <= 0, high, low),
        jnp.where(fits, everybody, 0),
        everybody,
    )

    def searching(bounds: tuple[Array, ...]) -> Array:
        _, high, low, _, _ = bounds
        return jnp.any(high > low + 1)

    def narrow(bounds: tuple[Array, ...]) -> tuple[Array, ...]:
        turn, high, low, above, below = bounds
        # alternate fast interpolation with bisection, which always converges
        share = (below - places) / jnp.maximum(below - above, 1)
        guess = low.astype(jnp.float32) * (1.0 - share) + high.astype(jnp.float32) * share
        half = (high & low) + ((high ^ low) >> 1)  # their mean without overflow
        middle = jnp.where(turn % 2 == 0, guess.astype(jnp.int32), half)
        middle = jnp.clip(middle, low + 1, jnp.maximum(high - 1, low + 1))
        found = count(middle)
        open_ = high > low + 1
        fewer, more = open_ & (found <= places), open_ & (found > places)
        high = jnp.where(fewer, middle, high)
        exact = fewer & (found == places)
        low = jnp.where(exact, high, jnp.where(more, middle, low))
        above, below = jnp.where(fewer, found, above), jnp.where(more, found, below)
        return turn + 1, high, low, above, below

    _, high, _, above, _ = lax.while_loop(searching, narrow, start)
    return high, above
