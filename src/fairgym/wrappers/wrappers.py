"""Wrappers of environments: another start, another end, additional metrics.

A wrapper is an environment that forwards every member to the inner one. It overrides methods that a
subclass of `Environment` implements (`initial_state`, `transition`, ...). `reset`, `advance` and
`step` use these, so rollouts and learners do not depend on wrappers.
"""

import dataclasses
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, PRNGKeyArray, PyTree

from fairgym.core.components import Components, EnvironmentSpec
from fairgym.core.environment import Actions, Environment, Observations, check_actions, time_of
from fairgym.core.errors import FairgymError
from fairgym.core.params import Params
from fairgym.core.struct import Struct


def _forwarded(member: str) -> Any:
    """Return a property that forwards to the inner environment."""
    return property(lambda self: getattr(self.env, member))


@dataclasses.dataclass(frozen=True)
class Wrapper(Environment):
    """Base of wrappers: behaves as the inner environment; subclasses change a part of it.

    A wrapper of a `PopulationEnvironment` has its members but is not an instance of it. Use
    `isinstance(env.unwrapped, PopulationEnvironment)` for wrapped and other environments alike.

    Wrappers of equal environments with equal fields are equal, and share compiled programs if all
    fields are hashable. Arrays are not: create such a wrapper inside the compiled function.

    Attributes:
        env: The inner environment.
    """

    _outermost: ClassVar[bool] = False  # whether no other wrapper may be put around it

    env: Environment

    def __post_init__(self) -> None:
        """Refuse to wrap a wrapper that must be the outermost one.

        Raises:
            FairgymError: The inner environment is an `AutoReset`.
        """
        if isinstance(self.env, Wrapper) and self.env._outermost:
            inside = type(self.env).__name__
            raise FairgymError(
                f"{type(self).__name__} wraps {inside}; {inside} must be the outermost wrapper"
            )

    def __getattr__(self, name: str) -> Any:
        """Return a member that only some environments have, such as those with people."""
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        return getattr(self.env, name)

    @property
    def unwrapped(self) -> Environment:
        """Environment inside all wrappers."""
        return self.env.unwrapped

    @property
    def default_params(self) -> Params:
        """Published values of the parameters."""
        return self.env.default_params

    name = _forwarded("name")
    horizon = _forwarded("horizon")
    spec = _forwarded("spec")
    observation_space = _forwarded("observation_space")
    action_space = _forwarded("action_space")
    initial_state = _forwarded("initial_state")
    observe = _forwarded("observe")
    noise = _forwarded("noise")
    transition = _forwarded("transition")


@dataclasses.dataclass(frozen=True)
class StartsFrom(Wrapper):
    """An environment whose episodes start from a given state.

    Attributes:
        state: A state of the inner environment; episodes start at its `time`.
    """

    state: PyTree

    def initial_state(self, key: PRNGKeyArray, params: Params) -> PyTree:
        """Return the given state; `key` is not used."""
        return self.state


@dataclasses.dataclass(frozen=True)
class EndsAfter(Wrapper):
    """An environment that terminates at a given time at the latest.

    Attributes:
        steps: `time` of the state at which the episode terminates; may be traced.

    Examples:
        >>> import fairgym
        >>> from fairgym.wrappers import EndsAfter
        >>> env = EndsAfter(fairgym.make("loan_simple", population=100), 3)
        >>> env.name, env.population, env.steps
        ('loan_simple', 100, 3)
    """

    steps: Any

    def transition(
        self, noise: PyTree, state: PyTree, actions: Actions, params: Params
    ) -> tuple[PyTree, Components, Bool[Array, ""]]:
        """Make one step, and terminate if it reaches the given time."""
        state, components, terminated = self.env.transition(noise, state, actions, params)
        return state, components, terminated | (state.time >= self.steps)


@dataclasses.dataclass(frozen=True)
class NeverEnds(Wrapper):
    """An environment that never terminates: episodes continue to the horizon."""

    def transition(
        self, noise: PyTree, state: PyTree, actions: Actions, params: Params
    ) -> tuple[PyTree, Components, Bool[Array, ""]]:
        """Make one step without terminating."""
        state, components, terminated = self.env.transition(noise, state, actions, params)
        return state, components, jnp.zeros_like(terminated)


@dataclasses.dataclass(frozen=True)
class MoreMetrics(Wrapper):
    """An environment with additional metrics and fairness schemes.

    Attributes:
        more: Pairs (name, metric); metrics are functions of the environment's components.
        more_schemes: Pairs (name, scheme); schemes accumulate the environment's components.
    """

    more: tuple[tuple[str, Any], ...]
    more_schemes: tuple[tuple[str, Any], ...] = ()

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """Declaration of the inner environment with the additional metrics and schemes."""
        inside = self.env.spec
        return dataclasses.replace(
            inside,
            metrics={**inside.metrics, **dict(self.more)},
            terms=(*inside.terms, *(name for name, _ in self.more)),
            schemes={**inside.schemes, **dict(self.more_schemes)},
        )


class StepOutcome(Struct):
    """Outcome of one step, separate from the start of the next episode.

    Attributes:
        components: Components of the step.
        terminated: Whether the episode terminated with this step.
        truncated: Whether the episode reached the horizon.
        final_state: State after the step, before a reset.
    """

    components: PyTree
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    final_state: PyTree

    @property
    def done(self) -> Bool[Array, ""]:
        """Whether the episode ended with this step, terminated or truncated."""
        return self.terminated | self.truncated


@dataclasses.dataclass(frozen=True)
class AutoReset(Wrapper):
    """An environment that starts a new episode after each one that terminates or is truncated.

    If an episode ends, `step` returns the first observation and state of the new episode. The last
    ones are in `info` as "final_observation" and "final_state". `advance`, and therefore `rollout`,
    does not reset.

    It must be the outermost wrapper; others would hide the resets of its `step`.
    """

    _outermost: ClassVar[bool] = True

    def step_autoreset(
        self, key: PRNGKeyArray, state: PyTree, actions: Actions, params: Params
    ) -> tuple[PyTree, StepOutcome]:
        """Make one step without observations, and reset if the episode ends.

        Args:
            key: A fresh JAX key.
            state: State returned by `reset` or this function.
            actions: One array per agent, with the shape of its action space.
            params: Parameters, such as `default_params`.

        Returns:
            `(state, outcome)`: the next state, after a reset if there was one, and the outcome of
            the step.
        """
        step_key, reset_key = jax.random.split(key)
        final, components, terminated = self.env.advance(step_key, state, actions, params)
        outcome = StepOutcome(components, terminated, time_of(final) >= self.horizon, final)
        state = lax.cond(
            outcome.done, lambda: self.env.initial_state(reset_key, params), lambda: final
        )
        return state, outcome

    def step(
        self, key: PRNGKeyArray, state: PyTree, actions: Actions, params: Params
    ) -> tuple[
        Observations, PyTree, Components, Bool[Array, ""], Bool[Array, ""], dict[str, PyTree]
    ]:
        """Make one step as `Environment.step`, and reset if the episode ends.

        Raises:
            FairgymError: An agent's action is missing or has the wrong shape, or an agent is
                unknown.
        """
        check_actions(self, actions)
        state, end = self.step_autoreset(key, state, actions, params)
        info = {
            "final_observation": self.observe(end.final_state, params),
            "final_state": end.final_state,
        }
        observations = self.observe(state, params)
        return observations, state, end.components, end.terminated, end.truncated, info
