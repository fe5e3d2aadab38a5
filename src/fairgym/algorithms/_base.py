"""What every algorithm offers, so that the training loop is written once."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from fairgym.core import Environment, FairgymError, Registry, Struct
from fairgym.fairness import Objective

algorithms = Registry("fairgym.algorithms", "algorithm")

Objectives = Objective | Mapping[str, Objective]


class TrainState(Struct):
    """Everything that a run in progress consists of; subclasses add what they learn.

    Attributes:
        env: the environment; static.
        objectives: pairs (agent, objective), one per trained agent; static.
        params: the environment's parameters.
        fixed: the policies of the agents that are not trained.
        key: raw key data, advanced by every update.
        updates: number of updates done.
    """

    env: Environment = eqx.field(static=True)
    objectives: tuple[tuple[str, Objective], ...] = eqx.field(static=True)
    params: Any
    fixed: dict[str, Any]
    key: UInt32[Array, "..."]
    updates: Int[Array, ""]

    def next_key(self) -> tuple[PRNGKeyArray, UInt32[Array, "..."]]:
        """A key for this update, and the raw key of the next."""
        now, later = jax.random.split(jax.random.wrap_key_data(self.key))
        return now, jax.random.key_data(later)


@runtime_checkable
class Algorithm(Protocol):
    """A frozen dataclass of hyperparameters with these methods."""

    @property
    def num_updates(self) -> int:
        """Number of times that `update` is called in a whole run."""
        ...

    def init(
        self,
        key: PRNGKeyArray,
        env: Environment,
        objective: Objectives,
        *,
        params: Any = None,
        fixed: Mapping[str, Any] | None = None,
    ) -> Any:
        """The state before the first update.

        Args:
            key: a JAX key; everything random follows from it.
            env: the environment.
            objective: one objective for all, or one per agent (non-cooperative).
            params: the environment's parameters; its defaults if None.
            fixed: policies of agents that are not to be trained.
        """
        ...

    def update(self, state: Any) -> tuple[Any, dict[str, Float[Array, ""]]]:
        """One epoch (or a fixed number of updates), compiled: the next state, and what to log.

        The log is flat: "objective" (of the learned policy), "metrics/NAME", "terms/KIND",
        "actions/AGENT/ELEMENT", and whatever else the algorithm reports.
        """
        ...

    def policies(self, state: Any) -> dict[str, Any]:
        """The policies learned so far, fixed ones included: agent -> policy."""
        ...


def objectives_of(
    env: Environment, objective: Objectives, fixed: Mapping[str, Any]
) -> tuple[tuple[str, Objective], ...]:
    """Pairs (agent, objective) of the trained agents.

    Raises:
        FairgymError: an unknown agent, a trained agent without an objective, or none to train.
    """
    given = objective if isinstance(objective, Mapping) else dict.fromkeys(env.agents, objective)
    for agent in [*given, *fixed]:
        if agent not in env.agents:
            raise FairgymError(
                f"unknown agent {agent!r}; {env.name} has the agents: {', '.join(env.agents)}"
            )
    trained = [agent for agent in env.agents if agent not in fixed]
    missing = [agent for agent in trained if agent not in given]
    if missing or not trained:
        raise FairgymError(
            f"no objective for agent {missing[0]!r}" if missing else "no agent is left to train"
        )
    return tuple((agent, given[agent]) for agent in trained)


def as_arrays(params: Any) -> Any:
    """Parameters as arrays of a definite type, the type they have after a first compiled update."""
    return jax.tree.map(lambda x: jnp.asarray(np.asarray(x, np.float32)), params)


def log_episodes(
    env: Environment, objectives: tuple[tuple[str, Objective], ...], episodes: Any
) -> dict[str, Array]:
    """What the log says of a policy, as means over the episodes that it ran.

    Args:
        env: the environment.
        objectives: pairs (agent, objective).
        episodes: an `Episode` whose leaves have a first axis over episodes.

    Returns:
        "objective" (mean over agents, and "objective/AGENT" where they differ), "metrics/NAME",
        "terms/KIND", "actions/AGENT/ELEMENT" and "survived", the share of episodes that did not
        fail.
    """
    own = {
        agent: jnp.mean(jax.vmap(objective.score)(episodes.totals))
        for agent, objective in objectives
    }
    log = {"objective": jnp.mean(jnp.stack(list(own.values())))}
    if len({objective for _, objective in objectives}) > 1:
        log |= {f"objective/{agent}": value for agent, value in own.items()}
    log |= {f"metrics/{name}": x for name, x in mean_metrics(env, episodes).items()}
    log |= mean_terms(env, episodes)
    for agent, action in episodes.mean_actions.items():
        space = env.action_space(agent)
        names = getattr(space, "names", None) or (getattr(space, "name", "action"),)
        for name, value in zip(names, jnp.mean(action, axis=0).reshape(-1), strict=True):
            log[f"actions/{agent}/{name}"] = value
    log["survived"] = jnp.mean(1.0 - episodes.terminated.astype(jnp.float32))
    return log


def mean_metrics(env: Environment, episodes: Any) -> dict[str, Array]:
    """Mean of every metric's raw value over the episodes."""
    return {
        name: jnp.mean(jax.vmap(metric.value)(episodes.totals))
        for name, metric in env.metrics.items()
    }


def mean_terms(env: Environment, episodes: Any) -> dict[str, Array]:
    """The normalised metrics summed by kind ("terms/direct", "terms/rate", "terms/fair").

    Means over the episodes. They do not follow from the raw means: some normalisers are the
    episode's own (`Disparity.normalise_by_sum`).
    """
    found: dict[str, Array] = {}
    for metric in env.metrics.values():
        mean = jnp.mean(jax.vmap(metric.normalised)(episodes.totals))
        found[f"terms/{metric.kind}"] = found.get(f"terms/{metric.kind}", 0.0) + mean
    return found
