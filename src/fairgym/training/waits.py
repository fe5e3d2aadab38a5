"""The people who wait in a stage: how many there are, and how long they have waited so far."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def waits(system: Any, state: Any) -> dict[str, dict[str, Float[Array, " parts"]]]:
    """Those who wait at this moment; see `Evaluation.waits`.

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
        found[stage] = {"share": share, "median": medians(people[feature], there)}
    return found


def medians(
    values: Float[Array, " people"], who: Bool[Array, "parts people"]
) -> Float[Array, " parts"]:
    """Median of the values of each part of the people; 0 for a part without anybody.

    Args:
        values: one number per person, 0 or more.
        who: True for the people of each part.
    """
    order = jnp.argsort(values)  # once, for all parts
    so_far = jnp.cumsum(who[:, order], axis=1)
    count = so_far[:, -1:]
    # of an even number the two in the middle
    middle = [jnp.argmax(so_far > rank, axis=1) for rank in ((count - 1) // 2, count // 2)]
    found = jnp.mean(values[order][jnp.stack(middle)], axis=0)
    return jnp.where(count[:, 0] > 0, found, 0.0)
