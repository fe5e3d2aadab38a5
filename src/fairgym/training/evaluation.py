"""Evaluation of policies: every metric in many episodes, the same episodes for every policy."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray, PyTree

from fairgym.core import (
    AnyPolicy,
    Environment,
    FairgymError,
    Params,
    check_shape,
    counts_people,
)
from fairgym.core.environment import require_agent, require_agents
from fairgym.fairness import Objective
from fairgym.fairness.measuring import measuring
from fairgym.statistics.comparisons import Null, null_of
from fairgym.statistics.intervals import mean_interval, paired_interval
from fairgym.statistics.shares import share_difference, share_interval
from fairgym.training._measuring import measure, of_people
from fairgym.training.devices import keep_programs

# Largest number of people, over all episodes, whose features are in memory at once.
_PEOPLE_AT_ONCE = 2_000_000
# Name of the share of episodes that do not terminate.
SURVIVED = "survived"
# Permutations in commands and reports: enough for the 95% quantile.
ENOUGH = 200


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Measured episodes of one joint policy, as NumPy arrays whose first axis is the episode.

    Attributes:
        metrics: Name of a metric or scheme -> raw value, higher is better; 0/0 counts as 0.
        defined: The same names -> False where the value is 0/0.
        objective: The score, averaged over agents with different objectives; None without an
            objective.
        lengths: Number of steps.
        terminated: True for episodes that terminated before the horizon.
        totals: Discounted sums of the components; metrics and objectives are functions of them.
        mean_actions: Agent -> mean action; one number for per-person actions.
        trace: Components of every step, with time as second axis; None unless requested.
        people_start: Feature name -> value of every person at the start, for the first
            `people_episodes` episodes; empty for environments without people.
        people_end: The same after the last step.
        orders: Agent with one number per person and no hidden state -> {"action": the numbers that
            it would set after the last step, (episodes, rows); "mask": rows that hold people;
            "features": its observation of them, (episodes, rows, features)}, for the same episodes.
        discount: Discount factor gamma of the totals.
        rates: Metric that compares a rate between groups or people -> the rate of each of them,
            arrays (episodes, groups); NaN for 0/0.
        parts: State of the subgroups of each of `env.spec.partitions` at the start and after each
            step: partition -> {"people", each stage: number of people; the core attribute: its
            sum}, arrays (episodes, horizon + 1, subgroups), zero after an episode's end. Empty
            without trace, and for environments without people.
        waits: People waiting in each stage of `env.spec.waits`, at the start and after each step:
            stage -> {"share": share of people in the stage; "median": median time that they have
            waited so far, 0 if nobody waits}, arrays (episodes, horizon + 1, groups + 1) whose last
            column is everybody; and {"reached": number of people who have waited for exactly this
            time}, (episodes, horizon + 1, groups, ages), with the ages of `wait_ages`. Zero after
            an episode's end. Empty without trace, and for environments without people.
        ends: State of each group at the start and after the last step: {"people", each stage:
            number of people; the core attribute: its sum}, arrays (episodes, 2, groups). Empty
            unless requested, and for environments without people.
        memories: States of the schemes after the last step, by name.
        nulls: Disparity between groups -> its raw values under random permutations of the people's
            groups in each episode, shape (episodes, permutations); `null` summarises them. Empty
            unless requested, and for environments that count only by group.
        null_rates: As `nulls`: the groups' rates behind each disparity between rates, shape
            (episodes, permutations, groups); NaN for 0/0.
        part_totals: For each of `env.spec.partitions`, the totals with one number per subgroup
            instead of per group. Empty without permutations.
        part_metrics: For each of `env.spec.partitions`, the disparities computed over its subgroups
            instead of the groups: name -> raw value in each episode, NaN for 0/0. Empty without
            permutations.
        part_nulls: As `nulls`, with the subgroups of each of `env.spec.partitions` permuted:
            partition -> disparity -> (episodes, permutations), NaN for 0/0. Each place counts for
            the subgroup of the person who holds it at the episode's end. Empty without
            permutations.
    """

    metrics: dict[str, np.ndarray]
    defined: dict[str, np.ndarray]
    objective: np.ndarray | None
    lengths: np.ndarray
    terminated: np.ndarray
    totals: PyTree
    mean_actions: dict[str, np.ndarray]
    trace: PyTree
    people_start: dict[str, np.ndarray]
    people_end: dict[str, np.ndarray]
    discount: float = 1.0
    rates: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    parts: dict[str, dict[str, np.ndarray]] = dataclasses.field(default_factory=dict)
    waits: dict[str, dict[str, np.ndarray]] = dataclasses.field(default_factory=dict)
    ends: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    memories: dict[str, PyTree] = dataclasses.field(default_factory=dict)
    orders: dict[str, dict[str, np.ndarray]] = dataclasses.field(default_factory=dict)
    nulls: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    null_rates: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    part_totals: dict[str, PyTree] = dataclasses.field(default_factory=dict)
    part_metrics: dict[str, dict[str, np.ndarray]] = dataclasses.field(default_factory=dict)
    part_nulls: dict[str, dict[str, np.ndarray]] = dataclasses.field(default_factory=dict)

    @property
    def episodes(self) -> int:
        """Number of episodes."""
        return len(self.lengths)

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float, float]:
        """Return the mean over episodes and its confidence interval, `(mean, low, high)`.

        Args:
            name: A metric or scheme, "objective", or "survived" (the share of episodes that did
                not terminate).
            level: Confidence level.
        """
        return (share_interval if name == SURVIVED else mean_interval)(self.values(name), level)

    def difference(
        self, other: "Evaluation", name: str, level: float = 0.95
    ) -> tuple[float, float, float]:
        """Return the mean paired difference from another policy and its confidence interval.

        Only episodes in which the value is defined for both count; without any, all is NaN.

        Args:
            other: Evaluation of another policy with the same key.
            name: As for `interval`.
            level: Confidence level.

        Raises:
            FairgymError: If the numbers of episodes differ.
        """
        ours, theirs = (
            np.where(one.defined.get(name, True), one.values(name), np.nan) for one in (self, other)
        )
        if name != SURVIVED:
            return paired_interval(ours, theirs, level)
        same = np.array_equal(ours, theirs)  # no difference in any episode
        return (0.0, 0.0, 0.0) if same else share_difference(ours, theirs, level)

    def null(self, name: str, level: float = 0.95, partition: str = "") -> Null:
        """Return the permutation test of a disparity: groups are permuted in each episode.

        Only episodes in which the disparity is defined count.

        Args:
            name: A key of `nulls`.
            level: Share of the permutations that are closer to parity than the bound.
            partition: One of `env.spec.partitions` to compare its subgroups; "" for the groups.

        Raises:
            FairgymError: If there are no permutations of the disparity, or no such partition.
        """
        if name not in self.nulls:
            raise FairgymError(
                f"there are no permutations of {name!r}; use evaluate(..., permutations=200) and"
                f" one of: {', '.join(self.nulls) or 'nothing was permuted'}"
            )
        if partition and partition not in self.part_nulls:
            raise FairgymError(
                f"unknown partition {partition!r}; there are:"
                f" {', '.join(self.part_nulls) or 'none'}"
            )
        return null_of(*self.beside_null(name, partition), level)

    def beside_null(self, name: str, partition: str = "") -> tuple[np.ndarray, np.ndarray]:
        """Return the defined raw values of a disparity, and those under permutations.

        Args:
            name: A key of `nulls`.
            partition: One of `env.spec.partitions`, or "" for the groups.

        Returns:
            Arrays (defined episodes,) and (defined episodes, permutations).
        """
        if partition:
            values, permuted = (
                found[partition][name] for found in (self.part_metrics, self.part_nulls)
            )
            known = np.isfinite(values)
        else:
            values, permuted, known = self.metrics[name], self.nulls[name], self.defined[name]
        return values[known], permuted[known]

    def values(self, name: str) -> np.ndarray:
        """Return the value of every episode; "survived" is 1 if it did not terminate."""
        if name == SURVIVED:
            return 1.0 - self.terminated
        found = self.objective if name == "objective" else self.metrics[name]
        return np.zeros(0) if found is None else found

    def undefined(self, name: str) -> int:
        """Return the number of episodes in which the metric is 0/0."""
        return int(np.sum(~self.defined[name])) if name in self.defined else 0

    def scored_by(self, objective: Objective | Mapping[str, Objective] | None) -> "Evaluation":
        """Return the same episodes, scored by another objective.

        Args:
            objective: Objective of all agents, one per agent, or None for no score. Its schemes
                must be those of the environment, or have been measured.
        """
        objectives = _several(objective)
        scores = [np.asarray(jax.vmap(one.score)(self.totals, self.memories)) for one in objectives]
        mean = np.mean(scores, axis=0) if scores else None
        return dataclasses.replace(self, objective=mean)


def evaluate(
    env: Environment,
    params: Params,
    policies: Mapping[str, AnyPolicy],
    key: PRNGKeyArray,
    episodes: int = 32,
    *,
    objective: Objective | Mapping[str, Objective] | None = None,
    discount: float = 1.0,
    trace: bool = False,
    people_episodes: int = 0,
    ends: bool = False,
    permutations: int = 0,
) -> Evaluation:
    """Run episodes with fixed policies and measure them.

    The same key gives the same people and random numbers for all policies, so that differences
    between policies are paired. Policies of equal structure share one compiled program, which is
    cached for other processes (`fairgym.configure`).

    Args:
        env: The environment.
        params: As `env.default_params`.
        policies: Agent -> policy, with or without a hidden state.
        key: A JAX key.
        episodes: Number of episodes.
        objective: Score of the episodes: one objective for all agents, or one per agent. Custom
            metrics and schemes in it are measured as well.
        discount: Discount factor gamma of the component sums; 1 for plain sums.
        trace: Whether to return the components of every step, the state of the subgroups, and who
            waits.
        people_episodes: Number of first episodes for which to return everybody's features. It has
            no effect in environments without people.
        ends: Whether to return the state of the groups at the start and at the end.
        permutations: Number of random permutations of the people's groups per episode, for the
            null distribution of disparities (`Evaluation.null`; 200 are enough). The episodes
            themselves do not change. Subgroups are then counted too (`Evaluation.part_totals`). It
            has no effect in environments that count only by group.

    Raises:
        FairgymError: If an agent is missing or unknown, or the number of episodes or permutations
            out of range.
    """
    require_agents(env, policies, "policy")
    check_shape("episodes", episodes, 1, 1_000_000)
    check_shape("permutations", permutations, 0, 1_000_000)
    keep_programs()
    for agent in objective if isinstance(objective, Mapping) else ():
        require_agent(env, agent)
    objectives = _several(objective)
    env = measuring(env, objectives)
    permutations = permutations if counts_people(env) else 0
    people_episodes = 0 if of_people(env) is None else people_episodes
    params = jax.tree.map(jnp.asarray, params)
    at_once = _at_once(env, episodes) if people_episodes else episodes
    keys = np.asarray(jax.random.key_data(jax.random.split(key, episodes)))
    parts, shown = [], []
    for start in range(0, episodes, at_once):
        # the last chunk is padded, so that it runs the same program
        index = np.minimum(np.arange(start, start + at_once), episodes - 1)
        chunk = jax.random.wrap_key_data(jax.device_put(keys[index]), impl=jax.random.key_impl(key))
        options = (trace, people_episodes > start, ends, permutations)
        part, everybody = measure(
            env, objectives, params, dict(policies), chunk, jnp.float32(discount), *options
        )
        parts.append(_first(part, episodes - start))
        if people_episodes > start:
            shown.append(_first(everybody, min(people_episodes, episodes) - start))
    joined = jax.tree.map(lambda *xs: np.concatenate(xs), *shown) if shown else ({}, {}, {})
    people = dict(zip(("people_start", "people_end", "orders"), joined, strict=True))
    together = jax.tree.map(lambda *xs: np.concatenate(xs), *parts)
    return Evaluation(**_in_order(env, together), **people, discount=discount)


def evaluate_each(
    env: Environment,
    params: Params,
    policies: Mapping[str, AnyPolicy],
    keys: Key[Array, " episodes"],
) -> Evaluation:
    """Run one episode for each of many sets of parameters, in one program.

    Args:
        env: The environment.
        params: As `env.default_params`, with a first axis on every leaf: one entry per episode.
        policies: Agent -> policy.
        keys: Key of each episode, shape (episodes,). Equal keys give the same people and random
            numbers. `evaluate` splits its key into such keys.
    """
    require_agents(env, policies, "policy")
    keep_programs()
    params = jax.tree.map(jnp.asarray, params)
    gamma, options = jnp.float32(1.0), (False, False, True, 0, True)
    found, _ = measure(env, (), params, dict(policies), keys, gamma, *options)
    found = jax.tree.map(np.asarray, found)
    return Evaluation(**_in_order(env, found), people_start={}, people_end={})


def _in_order(env: Environment, fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields of `Evaluation` with metrics and schemes in the environment's order."""
    names = (*env.metrics, *env.spec.schemes)
    return fields | {part: {n: fields[part][n] for n in names} for part in ("metrics", "defined")}


def _at_once(env: Environment, episodes: int) -> int:
    """Return the number of episodes whose people are in memory at once."""
    devices = jax.local_device_count()
    people = of_people(env).population
    return min(max(devices, _PEOPLE_AT_ONCE // people // devices * devices), episodes)


def _several(
    objective: Objective | Mapping[str, Objective] | None,
) -> tuple[Objective, ...]:
    if objective is None:
        return ()
    return tuple(objective.values()) if isinstance(objective, Mapping) else (objective,)


def _first(tree: PyTree, count: int) -> Any:
    """Return the first entries of every array as NumPy arrays."""
    return jax.tree.map(lambda x: np.asarray(x)[:count], tree)
