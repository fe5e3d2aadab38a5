"""The people who wait in a stage: how many there are, and how long they have waited so far."""

from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float


def waits(system: Any, state: Any) -> dict[str, dict[str, Float[Array, " parts"]]]:
    """Share and median time of those who wait at this moment; see `Evaluation.waits`.

    Args:
        system: an environment of people, which may be wrapped.
        state: a state of it.
    """
    if not system.waits:
        return {}
    people = system.people(state)
    groups = jnp.arange(len(system.groups))[:, None] == state.group
    member = jnp.concatenate([groups, jnp.ones_like(groups[:1])])
    found = {}
    for stage, feature in system.waits.items():
        there = member & (state.stage == system.stages.index(stage))
        share = jnp.sum(there, axis=1) / jnp.maximum(jnp.sum(member, axis=1), 1)
        found[stage] = {"share": share, "median": medians(people[feature], there, system.horizon)}
    return found


def medians(
    values: Float[Array, " people"], who: Bool[Array, "parts people"], most: int
) -> Float[Array, " parts"]:
    """Median of the values of each part of the people; 0 for a part without anybody.

    Args:
        values: a whole number per person, from 0 to `most`.
        who: True for the people of each part.
        most: the largest number that there can be.
    """
    count = jnp.sum(who, axis=1)
    # of an even number the two in the middle
    rank = jnp.stack([(count - 1) // 2, count // 2])

    def halve(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) // 2
        enough = jnp.sum(who & (values <= middle[:, :, None]), axis=2) > rank
        return jnp.where(enough, low, middle + 1), jnp.where(enough, middle, high)

    # bisection: sorting everybody in every step would take longer than the step itself
    ends = jnp.zeros_like(rank), jnp.full_like(rank, most)
    found, _ = lax.fori_loop(0, most.bit_length(), halve, ends)
    return jnp.where(count > 0, jnp.mean(found.astype(jnp.float32), axis=0), 0.0)
