"""Measuring policies: many episodes, every metric, the same luck for every policy compared."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray, PyTree

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

# People of all episodes whose features are held at once, so that memory stays bounded.
_PEOPLE_AT_ONCE = 2_000_000
# The share of episodes that do not fail.
SURVIVED = "survived"
# Permutations that commands and reports make: enough for the quantile of 95%.
ENOUGH = 200


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Episodes of one joint policy, measured; NumPy arrays, first axis the episodes.

    Attributes:
        metrics: name of a metric or scheme -> raw value, more is better; 0/0 counts as 0.
        defined: the same names -> False where the value is 0/0.
        objective: the score (mean over agents that have their own); None without an objective.
        lengths: steps made.
        terminated: True where the episode failed before its horizon.
        totals: discounted sums of the components, which metrics and objectives act on.
        mean_actions: agent -> mean action; one number for per-person actions.
        trace: components of every step, a second axis over time; None unless asked for.
        people_start: feature name -> value of every person at the start, of the first episodes
            (as many as asked for); empty for environments without people.
        people_end: the same after the last step.
        orders: agent that sets a number per person and remembers nothing -> {"action": the numbers
            that it would set after the last step, (episodes, rows); "mask": rows that hold people;
            "features": what it observes of them, (episodes, rows, features)}, of the same episodes.
        discount: gamma of the totals.
        rates: measure that compares a rate between groups, or people -> the rate of each of them,
            arrays (episodes, groups); NaN for 0/0.
        parts: state of the parts of each of `env.spec.partitions` at the start and after each step:
            partition -> {"people", each stage: numbers of people; the core attribute: its sum},
            arrays (episodes, horizon + 1, parts), zero after an episode's end. Empty without
            trace, and for environments without people.
        waits: those who wait, in each stage of `env.spec.waits`, at the start and after each step:
            stage -> {"share": share of the people who are in it; "median": median of the time that
            these have waited so far, 0 where nobody waits}, arrays (episodes, horizon + 1,
            groups + 1) whose last column is everybody, and {"reached": number of those who have
            waited for just this long}, (episodes, horizon + 1, groups, ages), the ages being those
            of `wait_ages`. Zero after an episode's end. Empty without trace, and for environments
            without people.
        ends: state of each group at the start and after the last step: {"people", each stage:
            numbers of people; the core attribute: its sum}, arrays (episodes, 2, groups). Empty
            unless asked for, and for environments without people.
        memories: memories of the schemes after the last step, by name.
        nulls: disparity between groups -> its raw value in each episode under random permutations
            of the people's groups, shape (episodes, permutations); what `null` sums up. Empty
            unless asked for, and for environments that count by group only.
        null_rates: as `nulls`, the groups' rates behind each disparity between rates, shape
            (episodes, permutations, groups); NaN for 0/0.
        part_totals: for each of `env.spec.partitions` the totals with one number per part in place
            of each group's. Empty without permutations.
        part_metrics: for each of `env.spec.partitions` the disparities between groups counted over
            its parts instead: name -> raw value in each episode, NaN for 0/0. Empty without
            permutations.
        part_nulls: as `nulls`, with the parts of each of `env.spec.partitions` permuted: partition
            -> disparity -> (episodes, permutations), NaN for 0/0. Everybody has the part of an
            episode's end, though others may have had their place before. Empty without
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
        """Mean over the episodes and its interval.

        Args:
            name: a metric or scheme, "objective", or "survived" (the share that did not fail).
            level: probability that the interval holds the mean.
        """
        return (share_interval if name == SURVIVED else mean_interval)(self.values(name), level)

    def difference(
        self, other: "Evaluation", name: str, level: float = 0.95
    ) -> tuple[float, float, float]:
        """Mean difference from another policy in the same episodes, and its interval.

        Only episodes count in which the value is defined for both; without one, all is NaN.

        Args:
            other: another policy, measured with the same key.
            name: as for `interval`.
            level: probability that the interval holds the mean difference.

        Raises:
            FairgymError: different numbers of episodes.
        """
        ours, theirs = (
            np.where(one.defined.get(name, True), one.values(name), np.nan) for one in (self, other)
        )
        if name != SURVIVED:
            return paired_interval(ours, theirs, level)
        same = np.array_equal(ours, theirs)  # no difference, as of all that differs in no episode
        return (0.0, 0.0, 0.0) if same else share_difference(ours, theirs, level)

    def null(self, name: str, level: float = 0.95, partition: str = "") -> Null:
        """The disparity beside that which luck makes: the people's groups permuted in each episode.

        Only episodes count in which the disparity is defined.

        Args:
            name: a key of `nulls`.
            level: share of the permutations that the bound leaves on the side of parity.
            partition: one of `env.spec.partitions`, whose parts are compared; "" compares the
                groups.

        Raises:
            FairgymError: the disparity was not measured under permutations, or no such partition.
        """
        if name not in self.nulls:
            raise FairgymError(
                f"there are no permutations of {name!r}; it takes evaluate(..., permutations=200),"
                f" and one of: {', '.join(self.nulls) or 'nothing was permuted'}"
            )
        if partition and partition not in self.part_nulls:
            raise FairgymError(
                f"partition: {partition!r} is none of this environment's:"
                f" {', '.join(self.part_nulls) or 'it has none'}"
            )
        return null_of(*self.beside_luck(name, partition), level)

    def beside_luck(self, name: str, partition: str = "") -> tuple[np.ndarray, np.ndarray]:
        """Raw values of a disparity where it is defined, and the same episodes under permutations.

        Args:
            name: a key of `nulls`.
            partition: one of `env.spec.partitions`, or "" for the groups.

        Returns:
            Arrays (known episodes,) and (known episodes, permutations).
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
        """Value of every episode: a measure, "objective", or "survived" (1 if it did not fail)."""
        if name == SURVIVED:
            return 1.0 - self.terminated
        found = self.objective if name == "objective" else self.metrics[name]
        return np.zeros(0) if found is None else found

    def undefined(self, name: str) -> int:
        """Episodes in which the metric is 0/0."""
        return int(np.sum(~self.defined[name])) if name in self.defined else 0

    def scored_by(self, objective: Objective | Mapping[str, Objective] | None) -> "Evaluation":
        """The same episodes, scored by another objective.

        Args:
            objective: objective of all agents, one per agent, or None for no score. The schemes
                that it weighs are those of the environment, or have been measured.
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

    The same key gives the same people and the same luck, whatever the policies: differences
    between policies are paired. Policies of equal structure share one compiled program, which is
    kept for other processes (`fairgym.configure`).

    Args:
        env: the environment.
        params: as `env.default_params`.
        policies: agent -> policy, with or without a hidden state.
        key: a JAX key.
        episodes: number of episodes.
        objective: score of the episodes: one objective for all agents, or one per agent. Metrics
            and schemes that it brings along are measured beside the environment's.
        discount: gamma of the component sums, 1 for plain sums.
        trace: True to return the components of every step, the state of the parts of the people,
            and who waits.
        people_episodes: number of the first episodes of which to return everybody's features;
            without effect in environments without people.
        ends: True to return the state of the groups at the start and at the end.
        permutations: number of random permutations of the people's groups per episode, under which
            disparities between groups are counted anew (`Evaluation.null`; 200 do). What happens
            in the episode stays as it is. With them comes what is counted for the parts of the
            people (`Evaluation.part_totals`). Without effect in environments that count by group
            only.

    Raises:
        FairgymError: a missing or unknown agent, or a number of episodes or permutations out of
            range.
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
    keys = jax.random.split(key, episodes)
    parts, shown = [], []
    for start in range(0, episodes, at_once):
        # the last part is filled up, so that it is the same program
        index = jnp.minimum(jnp.arange(start, start + at_once), episodes - 1)
        options = (trace, people_episodes > start, ends, permutations)
        part, everybody = measure(
            env, objectives, params, dict(policies), keys[index], jnp.float32(discount), *options
        )
        parts.append(_first(part, episodes - start))
        if people_episodes > start:
            shown.append(_first(everybody, min(people_episodes, episodes) - start))
    together = jax.tree.map(lambda *xs: np.concatenate(xs), *parts)
    joined = jax.tree.map(lambda *xs: np.concatenate(xs), *shown) if shown else ({}, {}, {})
    people = dict(zip(("people_start", "people_end", "orders"), joined, strict=True))
    for name in ("metrics", "defined"):
        together[name] = {key: together[name][key] for key in (*env.metrics, *env.spec.schemes)}
    return Evaluation(**together, **people, discount=discount)


def _at_once(env: Environment, episodes: int) -> int:
    """Number of episodes whose people are held at once."""
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
    """The first entries of every array, as NumPy arrays of their own."""
    return jax.tree.map(lambda x: np.asarray(x)[:count], tree)
