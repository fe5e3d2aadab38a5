"""Case for which properties are checked, and comparison of pytrees with readable messages."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray, PyTree

from fairgym.core import AnyPolicy, Environment, Params, Struct
from fairgym.core.contract import change_of, label
from fairgym.policies import equivariant

RELATIVE, ABSOLUTE = 1e-4, 1e-4


class ConformanceError(AssertionError):
    """Error for a property that does not hold, with its agent or field and the numbers."""


def require(holds: Any, message: str) -> None:
    """Raise a ConformanceError with this message unless `holds`."""
    if not bool(holds):
        raise ConformanceError(message)


def require_names(what: str, names: Any) -> None:
    """Raise a ConformanceError unless this is a non-empty tuple of different names."""
    require(
        isinstance(names, tuple) and names and len(set(names)) == len(names),
        f"{what} must be a tuple of different names, got {names!r}",
    )


def named(result: tuple[Any, ...]) -> dict[str, PyTree]:
    """Return the results of `reset` or `step` by name, for messages."""
    names = ("observations", "state", "components", "terminated", "truncated", "info")
    return dict(zip(names, result, strict=False))


def require_same_structure(expected: PyTree, found: PyTree, what: str) -> None:
    """Raise a ConformanceError unless both trees have the same structure, shapes and dtypes."""
    change = change_of(expected, found)
    require(not change, f"{what}: {change}")


def as_numpy(leaf: Any) -> np.ndarray:
    """Return the leaf as a NumPy array; JAX keys as their bits."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)


def close(expected: np.ndarray, found: np.ndarray) -> bool:
    """Return whether two arrays are equal; floats up to rounding relative to the largest number."""
    if expected.shape != found.shape:
        return False
    if not np.issubdtype(expected.dtype, np.inexact):
        return bool(np.array_equal(expected, found))
    finite = expected[np.isfinite(expected)]
    scale = float(np.max(np.abs(finite))) if finite.size else 0.0
    return np.allclose(expected, found, rtol=0, atol=ABSOLUTE + RELATIVE * scale, equal_nan=True)


def require_close(expected: PyTree, found: PyTree, what: str, *, exact: bool = False) -> None:
    """Raise a ConformanceError unless two trees of equal structure hold the same numbers.

    Args:
        expected: Pytree.
        found: Pytree to compare.
        what: Name of what is compared, for the message.
        exact: Whether to compare bit for bit. Otherwise floats may differ by rounding (a
            ten-thousandth of the largest number of the array, plus 1e-4); integers and truth values
            must be equal.
    """
    require_same_structure(expected, found, what)
    leaves = jax.tree_util.tree_flatten_with_path(expected)[0]
    for (path, a), b in zip(leaves, jax.tree.leaves(found), strict=True):
        a, b = as_numpy(a), as_numpy(b)
        same = a.tobytes() == b.tobytes() if exact else close(a, b)
        if not same:
            raise ConformanceError(f"{what}: {label(path)} {difference(a, b)}")


def difference(a: np.ndarray, b: np.ndarray) -> str:
    """Return a text about the entry in which two arrays differ most."""
    if a.shape != b.shape:
        return f"has shape {list(a.shape)} here and {list(b.shape)} there"
    apart = np.abs(a.astype(float) - b.astype(float))
    worst = int(np.argmax(np.where(np.isnan(apart), np.inf, apart)))
    place = f" at {[int(i) for i in np.unravel_index(worst, a.shape)]}" if a.ndim else ""
    return f"is {a.reshape(-1)[worst]} here and {b.reshape(-1)[worst]} there{place}"


def differ(a: Any, b: Any) -> bool:
    """Return whether any leaf differs in any bit."""
    return any(
        as_numpy(x).tobytes() != as_numpy(y).tobytes()
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )


class Transition(Struct):
    """Recorded step: observations and state before it, and its result."""

    key: Any
    observations: PyTree
    state: PyTree
    actions: PyTree
    result: Any


@dataclasses.dataclass(frozen=True)
class Case:
    """Environment with its compiled functions, a key, and an episode of random actions.

    The episode begins in the state `later`, or with a reset if that is None.
    """

    env: Environment
    params: Params
    key: PRNGKeyArray
    steps: int
    programs: dict[str, Any]
    later: PyTree = None

    def compiled(self, name: str, function: Callable[..., Any]) -> Any:
        """Return the function under jit, compiled once for all keys."""
        return self.programs.setdefault(name, jax.jit(function))

    @property
    def reset(self) -> PyTree:
        """`env.reset`, compiled."""
        return self.compiled("reset", self.env.reset)

    @property
    def step(self) -> PyTree:
        """`env.step`, compiled."""
        return self.compiled("step", self.env.step)

    @cached_property
    def start(self) -> tuple[PyTree, PyTree]:
        """Observations and state at the start of the episode."""
        if self.later is None:
            return self.reset(self.key, self.params)
        return self.observe(self.later), self.later

    @cached_property
    def reset_eagerly(self) -> tuple[PyTree, PyTree]:
        """Result of `env.reset` without jit; computed once, since each operation compiles."""
        return self.env.reset(self.key, self.params)

    @cached_property
    def first_step_eagerly(self) -> tuple[Any, ...]:
        """Result of the episode's first step, without jit."""
        first = self.transitions[0]
        return self.env.step(first.key, first.state, first.actions, self.params)

    @cached_property
    def transitions(self) -> list[Transition]:
        """The recorded episode."""
        observations, state = self.start
        recorded = []
        for number in range(self.steps):
            key = jax.random.fold_in(self.key, number)
            actions = self.sampled(key)
            result = self.step(key, state, actions, self.params)
            recorded.append(Transition(key, observations, state, actions, result))
            observations, state = result[0], result[1]
        return recorded

    @property
    def states(self) -> list[Any]:
        """All states of the episode, including the first."""
        return [self.start[1], *(t.result[1] for t in self.transitions)]

    def sampled(self, key: PRNGKeyArray) -> dict[str, PyTree]:
        """Return one random action per agent."""
        return {
            agent: self.env.action_space(agent).sample(jax.random.fold_in(key, i))
            for i, agent in enumerate(self.env.agents)
        }

    def observe(self, state: PyTree) -> dict[str, PyTree]:
        """Return the result of `env.observe`, compiled."""
        return self.compiled("observe", self.env.observe)(state, self.params)

    def count(self, state: PyTree) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the results of `env.people` and `env.census`, compiled."""
        env: Any = self.env
        count = self.compiled("count", lambda state: (env.people(state), env.census(state)))
        return count(state)

    def inside(self, observations: dict[str, PyTree]) -> dict[str, PyTree]:
        """Return whether each agent's observation lies inside its space."""
        inside = self.compiled(
            "inside",
            lambda given: {a: self.env.observation_space(a).contains(o) for a, o in given.items()},
        )
        return inside(observations)

    @cached_property
    def policies(self) -> Mapping[str, AnyPolicy]:
        """Equivariant networks that differ with the key."""
        return equivariant(self.env, self.key, 8, pooled=True, params=self.params)

    def act(self, observations: PyTree) -> dict[str, PyTree]:
        """Return the actions of these policies, for observations with any number of rows."""
        act = self.compiled(
            "act", lambda policies, given, key: {a: p(given[a], key) for a, p in policies.items()}
        )
        return act(self.policies, observations, self.key)
