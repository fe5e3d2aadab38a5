"""Conformance check of algorithms."""

import dataclasses
import io
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray, PyTree

from fairgym.core import Environment, decide, first_hidden
from fairgym.fairness import Objective
from fairgym.policies import Random
from fairgym.testing._compare import (
    ConformanceError,
    as_numpy,
    require,
    require_close,
    require_same_structure,
)

# Members of `fairgym.algorithms.Algorithm`; a class that derives from it inherits the defaults.
MEMBERS = (
    *("num_updates", "score_discount", "extended_by", "init", "update", "policies"),
    "massaged",
)


def _arrays(tree: PyTree) -> PyTree:
    """Return the arrays of a tree, which a checkpoint keeps."""
    return eqx.filter(tree, eqx.is_array)


def check_algorithm(
    algorithm: Any,
    env: Environment,
    *,
    objective: Any = None,
    fixed: dict[str, Any] | None = None,
    key: PRNGKeyArray | None = None,
    updates: int = 2,
) -> None:
    """Check that an algorithm keeps the contract of `fairgym.algorithms.Algorithm`.

    - It has all members of the interface.
    - The same key gives the same bits. This holds in a longer run, too, if there is a
      hyperparameter that extends runs.
    - The state keeps its structure, shapes and dtypes. Training that resumes from a state written
      to a file gives the same result.
    - There is a policy for every agent, and its actions lie inside the agent's space.
    - The log has the same entries after every update, all finite numbers, including "objective".
    - Fixed agents do not change.

    Args:
        algorithm: Algorithm with few, short episodes, so that an update takes seconds at most.
        env: Small environment.
        objective: Objective to learn; `Objective.uniform(env)` if None.
        fixed: Policies of agents that the algorithm cannot train.
        key: JAX key; a constant key if None.
        updates: Number of updates to make.

    Raises:
        ConformanceError: If a property does not hold; an AssertionError that names the property
            and the cause.
    """
    key = jax.random.key(0) if key is None else key
    objective = Objective.uniform(env) if objective is None else objective
    fixed = fixed or {}
    name = type(algorithm).__name__

    def run(
        fixed: dict[str, Any],
        after: Callable[[Any], Any] = lambda state: state,
        algorithm: Any = algorithm,
    ) -> Any:
        """Train from the start; `after` is applied to the state after the first update."""
        state = algorithm.init(key, env, objective, fixed=fixed)
        states, logs = [state], []
        for update in range(planned):
            state, log = algorithm.update(state)
            state = after(state) if update == 0 else state
            states.append(state)
            logs.append(log)
        return states, logs

    try:
        missing = [name for name in MEMBERS if not hasattr(algorithm, name)]
        require(not missing, f"members are missing: {', '.join(missing)}")
        right = isinstance(algorithm.num_updates, int) and algorithm.num_updates >= 1
        require(right, f"num_updates must be a whole number from 1, got {algorithm.num_updates!r}")
        planned = min(updates, algorithm.num_updates)
        longer = _longer(algorithm)
        states, logs = run(fixed)
        _check_states(states)
        _check_logs(logs)
        _check_policies(algorithm, env, states, key)
        again = run(fixed, _written_and_read, longer)
        more = f" and with more {algorithm.extended_by}" if algorithm.extended_by else ""
        require_close(
            (_arrays(states), logs),
            (_arrays(again[0]), again[1]),
            f"two runs with one key, the second through a checkpoint{more}",
            exact=True,
        )
        free = [agent for agent in env.agents if agent not in fixed]
        if len(free) > 1:
            still = Random(env.action_space(free[-1]))
            states, _ = run(fixed | {free[-1]: still})
            found = algorithm.policies(states[-1])[free[-1]]
            same = eqx.tree_equal(found, still)
            require(same, f"the policy of agent {free[-1]!r} was fixed, but has changed")
    except ConformanceError as error:
        raise ConformanceError(f"{name} on {env.name}: {error}") from error


def _longer(algorithm: Any) -> Any:
    """Return the algorithm with twice as many updates if it can be extended, else itself."""
    name = algorithm.extended_by
    if not name:
        return algorithm
    try:
        longer = dataclasses.replace(algorithm, **{name: 2 * getattr(algorithm, name)})
    except (AttributeError, TypeError) as error:
        raise ConformanceError(
            f"extended_by must be the name of a hyperparameter or empty, got {name!r}"
        ) from error
    require(
        longer.num_updates > algorithm.num_updates,
        f"extended_by is {name!r}, but doubling it leaves {longer.num_updates} updates",
    )
    return longer


def _check_states(states: list[Any]) -> None:
    for state in states[1:]:
        static = [eqx.filter(s, eqx.is_array, inverse=True) for s in (states[0], state)]
        require(
            eqx.tree_equal(*static),
            "the static part of the state has changed, which checkpoints do not keep",
        )
        require_same_structure(_arrays(states[0]), _arrays(state), "the state after two updates")


def _written_and_read(state: PyTree) -> PyTree:
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, state)
    file.seek(0)
    arrays, rest = eqx.partition(state, eqx.is_array)
    blank = jax.jit(lambda tree: jax.tree.map(jnp.zeros_like, tree))(arrays)
    return eqx.tree_deserialise_leaves(file, eqx.combine(blank, rest))


def _check_logs(logs: list[dict[str, Any]]) -> None:
    for log in logs:
        require("objective" in log, f"the log must have 'objective', got {sorted(log)}")
        require(
            set(log) == set(logs[0]),
            f"all updates must log the same entries, but not all have"
            f" {sorted(set(log) ^ set(logs[0]))}",
        )
        for entry, value in log.items():
            number = as_numpy(jnp.asarray(value))
            require(
                number.shape == () and bool(jnp.isfinite(number)),
                f"log entry {entry!r} must be one finite number, got {number}",
            )


def _check_policies(algorithm: Any, env: Environment, states: list[Any], key: Any) -> None:
    observations, _ = jax.jit(env.reset)(key, env.default_params)
    for state in (states[0], states[-1]):
        policies = algorithm.policies(state)
        require(
            set(policies) == set(env.agents),
            f"policies must be of the agents {sorted(env.agents)}, got {sorted(policies)}",
        )
        hidden = first_hidden(policies)
        actions = jax.jit(
            lambda p=policies, h=hidden: {
                a: decide(p[a], observations[a], key, h.get(a))[0] for a in p
            }
        )()
        for agent, action in actions.items():
            space = env.action_space(agent)
            require(
                jnp.shape(action) == space.shape and bool(space.contains(action)),
                f"the policy of agent {agent!r} has an action outside its space:"
                f" shape {jnp.shape(action)}, {as_numpy(action).reshape(-1)[:5]}",
            )
