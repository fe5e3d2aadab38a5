"""Compiled episodes of fixed policies, with their scores, waits and permutation nulls."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Key, PRNGKeyArray, PyTree

from fairgym.core import (
    AnyPolicy,
    Environment,
    Params,
    PopulationEnvironment,
    RecurrentPolicy,
    by_group,
    decide,
    rollout,
)
from fairgym.core.batching import map_episodes
from fairgym.core.rollout import episode_keys
from fairgym.fairness import Objective, Rate
from fairgym.fairness.metrics import Metric
from fairgym.statistics.permuting import (
    compared_by_group,
    known_rates,
    known_value,
    permuted,
    raw_value,
)
from fairgym.statistics.survival import wait_ages


def waits(system: Any, state: PyTree) -> dict[str, dict[str, Float[Array, " parts"]]]:
    """Return share, median time and times reached of people who wait now; see `Evaluation.waits`.

    Args:
        system: An environment with people, wrapped or not.
        state: A state of it.
    """
    if not system.spec.waits:
        return {}
    people = system.people(state)
    groups = jnp.arange(len(system.spec.groups))[:, None] == state.group
    member = jnp.concatenate([groups, jnp.ones_like(groups[:1])])
    ages = jnp.asarray(wait_ages(system.horizon))
    found = {}
    for stage, feature in system.spec.waits.items():
        there = member & (state.stage == system.spec.stages.index(stage))
        share = jnp.sum(there, axis=1) / jnp.maximum(jnp.sum(member, axis=1), 1)
        at_age = people[feature] == ages[:, None]
        reached = jnp.sum(there[:-1, None] & at_age, axis=2)  # everybody is the sum of the groups
        found[stage] = {
            "share": share,
            "median": medians(people[feature], there, system.horizon),
            "reached": reached,
        }
    return found


def medians(
    values: Float[Array, " people"], who: Bool[Array, "parts people"], most: int
) -> Float[Array, " parts"]:
    """Return the median of each subgroup's values; 0 for an empty subgroup.

    Args:
        values: A whole number per person, from 0 to `most`.
        who: True for the people of each subgroup.
        most: Largest possible number.
    """
    count = jnp.sum(who, axis=1)
    # for an even count, the two in the middle
    rank = jnp.stack([(count - 1) // 2, count // 2])

    def halve(_: object, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) // 2
        enough = jnp.sum(who & (values <= middle[:, :, None]), axis=2) > rank
        return jnp.where(enough, low, middle + 1), jnp.where(enough, middle, high)

    # bisection, because sorting all people in every step takes longer than the step itself
    ends = jnp.zeros_like(rank), jnp.full_like(rank, most)
    found, _ = lax.fori_loop(0, most.bit_length(), halve, ends)
    return jnp.where(count > 0, jnp.mean(found.astype(jnp.float32), axis=0), 0.0)


# Folded into an episode's key for the key of its permutations.
_PERMUTATIONS = 2**31 - 1


def of_people(env: Environment) -> Any:
    """Return the environment if the system inside all wrappers has people, else None."""
    return env if isinstance(env.unwrapped, PopulationEnvironment) else None


def _records(env: Environment, state: PyTree) -> dict[str, Any]:
    """Return the records of people in a trace, in addition to the components."""
    system = of_people(env)
    if system is None:
        return {}
    return {"parts": _parts(system, state), "waits": waits(system, state)}


def _parts(system: Any, state: PyTree) -> dict[str, dict[str, Float[Array, " parts"]]]:
    """Return the state of each partition's subgroups; see `Evaluation.parts`."""
    if not system.spec.partitions:
        return {}
    people = system.people(state)
    columns = _columns(system, state, people)
    return {
        name: {
            column: by_group(values, people[name].astype(jnp.int32), len(codes))
            for column, values in columns.items()
        }
        for name, codes in system.spec.partitions.items()
    }


def _columns(
    system: Any, state: PyTree, people: Mapping[str, Array]
) -> dict[str, Float[Array, " people"]]:
    """Return the columns to sum over people: ones, stages and the core attribute."""
    counted = {
        stage: jnp.float32(1) * (state.stage == i) for i, stage in enumerate(system.spec.stages)
    }
    return {
        "people": jnp.ones((system.population,)),
        **counted,
        system.spec.core_attribute: people[system.spec.core_attribute],
    }


def _ends(system: Any, states: Sequence[PyTree]) -> dict[str, Float[Array, "states groups"]]:
    """Return the state of the groups in these states; see `Evaluation.ends`."""
    columns = [_columns(system, state, system.people(state)) for state in states]
    return {
        name: jnp.stack(
            [
                by_group(column[name], state.group, len(system.spec.groups))
                for column, state in zip(columns, states, strict=True)
            ]
        )
        for name in columns[0]
    }


def _nulls(
    env: Environment, episode: PyTree, key: PRNGKeyArray, permutations: int
) -> dict[str, dict[str, Any]]:
    """Return disparities under permutations, for groups and for subgroups."""
    if not permutations:
        return {}
    null_key, tallies = jax.random.fold_in(key, _PERMUTATIONS), episode.tallies
    system = of_people(env)
    partitions = {} if system is None else system.spec.partitions
    people = {} if system is None else system.people(episode.final_state)
    part_nulls = {
        name: permuted(
            env,
            tallies,
            people[name].astype(jnp.int32),
            jax.random.fold_in(null_key, place),
            permutations,
            len(parts),
            known_value,
        )
        for place, (name, parts) in enumerate(partitions.items())
    }
    nulls = permuted(
        env, tallies, episode.final_state.group, null_key, permutations, value=_value_and_rates
    )
    return {
        "nulls": {name: one["value"] for name, one in nulls.items()},
        "null_rates": {name: one["rates"] for name, one in nulls.items() if "rates" in one},
        "part_metrics": {
            name: {
                disparity: known_value(metric, totals)
                for disparity, metric in compared_by_group(env).items()
            }
            for name, totals in episode.part_totals.items()
        },
        "part_nulls": part_nulls,
    }


def _orders(
    env: Environment,
    policies: Mapping[str, AnyPolicy],
    state: PyTree,
    params: Params,
    key: PRNGKeyArray,
) -> dict[str, dict[str, Array]]:
    """Return the per-person actions and what they depend on; see `Evaluation.orders`."""
    found = {}
    for agent, observation in env.observe(state, params).items():
        if env.action_space(agent).per_entity and not isinstance(policies[agent], RecurrentPolicy):
            action, _ = decide(policies[agent], observation, key, None)
            found[agent] = {
                "action": action,
                "mask": observation.mask,
                "features": observation.features,
            }
    return found


def _rate_of(metric: Metric) -> Rate | None:
    """Return the rate that a metric compares, or None."""
    rate = getattr(metric, "rate", None)
    return rate if isinstance(rate, Rate) else None


def _value_and_rates(metric: Metric, totals: PyTree) -> dict[str, Array]:
    """Return the raw value of a disparity, with the groups' rates if it compares rates."""
    found, rate = {"value": raw_value(metric, totals)}, _rate_of(metric)
    return found if rate is None else found | {"rates": known_rates(rate, totals)}


@eqx.filter_jit
def measure(
    env: Environment,
    objectives: tuple[Objective, ...],
    params: Params,
    policies: dict[str, AnyPolicy],
    keys: Key[Array, " episodes"],
    discount: Float[Array, ""],
    trace: bool,
    with_people: bool,
    with_ends: bool,
    permutations: int,
    each: bool = False,
) -> Any:
    """Run the episodes of these keys; return fields of `Evaluation`, and people with orders.

    With `each`, every leaf of the parameters has a first axis with the parameters of each episode.
    """

    def one(key: PRNGKeyArray, params: Params) -> Any:
        watch = functools.partial(_records, env) if trace else None
        episode = rollout(
            env,
            params,
            policies,
            key,
            discount=discount,
            trace=trace,
            watch=watch,
            tally=permutations > 0,
        )
        totals, metrics, schemes = episode.totals, env.metrics, env.spec.schemes
        scores = [objective.score(totals, episode.memories) for objective in objectives]
        results = {
            "metrics": {name: metric.value(totals) for name, metric in metrics.items()}
            | {name: scheme.score(episode.memories[name]) for name, scheme in schemes.items()},
            "defined": {name: metric.defined(totals) for name, metric in metrics.items()}
            | {name: jnp.array(True) for name in schemes},
            "rates": {
                name: known_rates(rate, totals)
                for name, rate in ((name, _rate_of(metric)) for name, metric in metrics.items())
                if rate is not None
            },
            "objective": jnp.mean(jnp.stack(scores)) if scores else None,
            "lengths": episode.length,
            "terminated": episode.terminated,
            "totals": totals,
            "mean_actions": {a: jnp.reshape(x, -1) for a, x in episode.mean_actions.items()},
            "trace": episode.trace,
            **(episode.watched or {}),
            "memories": episode.memories,
            "part_totals": episode.part_totals,
            **_nulls(env, episode, key, permutations),
        }
        system = of_people(env)
        if system is None or not (with_people or with_ends):
            return results, None
        states = env.initial_state(episode_keys(key)[0], params), episode.final_state
        if with_ends:
            results["ends"] = _ends(system, states)
        if not with_people:
            return results, None
        orders = _orders(env, policies, states[1], params, key)
        return results, (*(system.people(state) for state in states), orders)

    if each:
        return map_episodes(lambda item: one(*item), (keys, params), env=env)
    return map_episodes(lambda key: one(key, params), keys, env=env)
