"""An environment with all that its properties are checked with."""

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
from jaxtyping import PRNGKeyArray

from fairgym.core import Environment, Struct
from fairgym.policies import equivariant


class Transition(Struct):
    """One recorded step: observations and state before it, and its result."""

    key: Any
    observations: Any
    state: Any
    actions: Any
    result: Any


@dataclasses.dataclass(frozen=True)
class Case:
    """An environment with its compiled functions, a key, and an episode with random actions.

    The episode begins in the state `later`, or with a reset where that is None.
    """

    env: Environment
    params: Any
    key: PRNGKeyArray
    steps: int
    programs: dict[str, Any]
    later: Any = None

    def compiled(self, name: str, function: Callable[..., Any]) -> Any:
        """The function under jit; compiled once for all keys."""
        return self.programs.setdefault(name, jax.jit(function))

    @property
    def reset(self) -> Any:
        """`env.reset`, compiled."""
        return self.compiled("reset", self.env.reset)

    @property
    def step(self) -> Any:
        """`env.step`, compiled."""
        return self.compiled("step", self.env.step)

    @cached_property
    def start(self) -> tuple[Any, Any]:
        """Observations and state at the start of the episode."""
        if self.later is None:
            return self.reset(self.key, self.params)
        return self.observe(self.later), self.later

    @cached_property
    def reset_eagerly(self) -> tuple[Any, Any]:
        """Result of `env.reset`, not compiled: a program for each operation, so once for all."""
        return self.env.reset(self.key, self.params)

    @cached_property
    def first_step_eagerly(self) -> tuple[Any, ...]:
        """Result of the episode's first step, not compiled."""
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
        """Every state of the episode, the first included."""
        return [self.start[1], *(t.result[1] for t in self.transitions)]

    def sampled(self, key: PRNGKeyArray) -> dict[str, Any]:
        """One random action per agent."""
        return {
            agent: self.env.action_space(agent).sample(jax.random.fold_in(key, i))
            for i, agent in enumerate(self.env.agents)
        }

    def observe(self, state: Any) -> dict[str, Any]:
        """`env.observe`, compiled."""
        return self.compiled("observe", self.env.observe)(state, self.params)

    def count(self, state: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """`env.people` and `env.census`, compiled."""
        env: Any = self.env
        count = self.compiled("count", lambda state: (env.people(state), env.census(state)))
        return count(state)

    def inside(self, seen: dict[str, Any]) -> dict[str, Any]:
        """Agent -> True if its observation lies inside its space."""
        inside = self.compiled(
            "inside",
            lambda seen: {a: self.env.observation_space(a).contains(o) for a, o in seen.items()},
        )
        return inside(seen)

    @cached_property
    def policies(self) -> dict[str, Any]:
        """Equivariant networks that differ with the key."""
        return equivariant(self.env, self.key, 8, pooled=True, params=self.params)

    def act(self, observations: Any) -> dict[str, Any]:
        """Actions of these policies, for observations with any number of rows."""
        act = self.compiled(
            "act", lambda policies, seen, key: {a: p(seen[a], key) for a, p in policies.items()}
        )
        return act(self.policies, observations, self.key)
