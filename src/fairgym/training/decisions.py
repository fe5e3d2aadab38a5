"""Logs of an environment's decisions: one row per decision, as real tables of decisions have."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, cast

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PRNGKeyArray, PyTree

from fairgym.core import (
    AnyPolicy,
    Decision,
    Environment,
    EnvironmentSpec,
    FairgymError,
    Moment,
    Params,
    PopulationEnvironment,
    check_shape,
    counts_people,
    rollout,
)
from fairgym.utils.changes import unknown

ENOUGH_EPISODES = 10  # from which episodes are the independent units of an audit
EPISODE, PERSON = "episode", "person"


@dataclasses.dataclass(frozen=True)
class Named:
    """A column of names.

    Attributes:
        codes: Index of each row's name, int32 with the shape (rows,).
        names: The names.
    """

    codes: np.ndarray
    names: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class DecisionLog:
    """Logged decisions of an environment.

    Attributes:
        columns: Columns by name, arrays with the shape (rows,). Groups are texts as `Named`. The
            decision is bool; an outcome is 1 for good, 0 for bad, NaN where it is not known.
        roles: Roles of the columns, as keywords of `fairgym.audit.Roles`.
        decision: What a row is, and what is not logged.
    """

    columns: Mapping[str, np.ndarray | Named]
    roles: Mapping[str, object]
    decision: Decision

    @property
    def rows(self) -> int:
        """Number of decisions."""
        return len(np.asarray(self.columns[EPISODE]))

    def table(self) -> dict[str, np.ndarray]:
        """Return the columns with groups as texts, as `fairgym.audit.audit` takes them."""
        return {
            name: np.array(one.names, object)[one.codes] if isinstance(one, Named) else one
            for name, one in self.columns.items()
        }


def decision_of(spec: EnvironmentSpec, environment: str, name: str = "") -> Decision:
    """Return a decision of an environment that can be logged, by default the first one.

    Args:
        spec: Declaration of the environment.
        environment: Name of the environment, for messages.
        name: Key of `spec.decisions`; "" for the first.

    Raises:
        FairgymError: There is no such decision, or none at all.
    """
    if not spec.decisions:
        raise FairgymError(
            f"log must not be given for {environment}, which declares no decision about persons or"
            " places (EnvironmentSpec.decisions)"
        )
    if name and name not in spec.decisions:
        raise unknown("decision", name, spec.decisions, "there are", f" in {environment}")
    return spec.decisions[name or next(iter(spec.decisions))]


def log_decisions(
    env: Environment,
    params: Params,
    policies: Mapping[str, AnyPolicy],
    key: PRNGKeyArray,
    episodes: int = 1,
    *,
    decision: str = "",
) -> DecisionLog:
    """Run episodes and log every decision of a kind.

    The episodes are those of `fairgym.evaluate` with the same key. An outcome that becomes known in
    a later step is written into the row of its decision; it is NaN if the episode ends before.

    Args:
        env: The environment.
        params: As `env.default_params`.
        policies: Agent -> policy, with or without a hidden state.
        key: A JAX key.
        episodes: Number of episodes.
        decision: Key of `env.spec.decisions`; "" for the first.

    Raises:
        FairgymError: The environment has no such decision, an agent is missing or unknown, or the
            number of episodes is out of range.

    Examples:
        >>> import fairgym, jax
        >>> from fairgym.policies import fixed_policies
        >>> from fairgym.training import log_decisions
        >>> env = fairgym.make("lending_pool", horizon=5)
        >>> policies = fixed_policies(env, {"bank": "random-present"})
        >>> log = log_decisions(env, env.default_params, policies, jax.random.key(0))
        >>> list(log.columns)
        ['episode', 'step', 'person', 'group', 'granted', 'repaid', 'credit']
    """
    declared = decision_of(env.spec, env.name, decision)
    check_shape("episodes", episodes, 1, 1_000_000)
    found = [
        _rows_of(env, declared, jax.device_get(_logged(env, params, dict(policies), one, decision)))
        for one in jax.random.split(key, episodes)
    ]
    numbers = np.repeat(np.arange(episodes), [len(rows[declared.decision]) for rows in found])
    together = {name: np.concatenate([rows[name] for rows in found]) for name in found[0]}
    if PERSON in together:  # other people in every episode
        people = cast(PopulationEnvironment, env.unwrapped).population
        together[PERSON] = together[PERSON] + numbers * people
    names = {**env.spec.axes, **declared.names}
    groups = _groups(env.spec, declared)
    columns = {
        name: Named(one.astype(np.int32), names[name]) if name in groups else one
        for name, one in {EPISODE: numbers, **together}.items()
    }
    return DecisionLog(columns, _roles(env, declared, columns, episodes), declared)


@eqx.filter_jit
def _logged(
    env: Environment,
    params: Params,
    policies: dict[str, AnyPolicy],
    key: PRNGKeyArray,
    decision: str,
) -> PyTree:
    """Return the declared columns of every step and entry of one episode."""
    log = functools.partial(_columns_of, env, decision_of(env.spec, env.name, decision))
    return rollout(env, params, policies, key, tally=counts_people(env), log=log).logged


def _columns_of(env: Environment, decision: Decision, step: Moment) -> dict[str, Any]:
    """Return the columns of one step, with the groups of the people."""
    spec, own = env.spec, {}
    if not decision.groups:
        own = {spec.group_word: step.before.group}
        own |= {name: step.people[name] for name in spec.partitions}
    return own | dict(decision.rows(step))


def _rows_of(
    env: Environment, decision: Decision, logged: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the rows of one episode, given columns with the shape (steps, entries)."""
    asked, chosen = logged["asked"] > 0, logged[decision.decision] > 0
    when, who = np.nonzero(asked)
    rows: dict[str, np.ndarray] = {time_column(env.spec): when}
    if isinstance(env.unwrapped, PopulationEnvironment):
        rows[PERSON] = who
    own = ("asked", "settled", decision.decision, decision.outcome)
    others = {name: column[when, who] for name, column in logged.items() if name not in own}
    groups = _groups(env.spec, decision)
    rows |= {name: others.pop(name) for name in groups}
    favourable = rows[decision.decision] = chosen[when, who]
    if decision.outcome:
        at = _first_from(logged["settled"] > 0)[when, who]
        known = (at < len(asked)) & (favourable | (at == when))
        good = logged[decision.outcome][np.minimum(at, len(asked) - 1), who] > 0
        rows[decision.outcome] = np.where(known, good, np.nan)
    return rows | others


def _first_from(settled: np.ndarray) -> np.ndarray:
    """Return the first step from each step on that is True, the number of steps if none is."""
    steps = len(settled)
    at = np.where(settled, np.arange(steps)[:, None], steps)
    return np.minimum.accumulate(at[::-1])[::-1]


def _groups(spec: EnvironmentSpec, decision: Decision) -> tuple[str, ...]:
    return decision.groups or (spec.group_word, *spec.partitions)


def time_column(spec: EnvironmentSpec) -> str:
    """Return the name of a log's column with the number of the step: one unit of time."""
    return spec.time_unit.removesuffix("s")


def _roles(
    env: Environment, decision: Decision, columns: Mapping[str, object], episodes: int
) -> dict[str, object]:
    """Return the roles of the columns. Episodes are clusters if there are enough of them."""
    roles: dict[str, object] = {
        "decision": decision.decision,
        "groups": _groups(env.spec, decision),
        "time": time_column(env.spec),
        "outcome": decision.outcome,
        "score": decision.score,
        "amount": decision.amount,
        "person": PERSON if PERSON in columns else "",
        "cluster": EPISODE if episodes >= ENOUGH_EPISODES else "",
    }
    return {role: column for role, column in roles.items() if column}
