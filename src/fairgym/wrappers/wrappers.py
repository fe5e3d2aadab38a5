"""Environments around an environment: another start, another end, further metrics.

A wrapper is an environment itself and passes every member on to the one inside. It overrides what
a subclass of `Environment` writes (`initial_state`, `transition`, ...); `reset`, `advance` and
`step` follow from these, so that rollouts and learners need not know of wrappers.
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


def _inside(member: str) -> Any:
    """A member that is that of the environment inside."""
    return property(lambda self: getattr(self.env, member))


@dataclasses.dataclass(frozen=True)
class Wrapper(Environment):
    """An environment that behaves as another one; subclasses change a part of it.

    It has the members of a `PopulationEnvironment` if the one inside is one, but is none itself:
    `isinstance(env.unwrapped, PopulationEnvironment)` tells, of wrappers and others alike.

    Wrappers of equal environments with equal fields are equal, and share compiled programs where
    all fields can be hashed (arrays cannot: make such a wrapper inside the compiled function).

    Attributes:
        env: The environment inside.
    """

    _outermost: ClassVar[bool] = False  # True for a wrapper that none may be put around

    env: Environment

    def __post_init__(self) -> None:
        """Refuse to hide a wrapper that is to be the outermost one.

        Raises:
            FairgymError: The environment inside is an `AutoReset`.
        """
        if isinstance(self.env, Wrapper) and self.env._outermost:
            inside = type(self.env).__name__
            raise FairgymError(
                f"{type(self).__name__} is put around {inside}; {inside} takes the outermost"
                " place, around all other wrappers"
            )

    def __getattr__(self, name: str) -> Any:
        """Members that only some environments have: those of one with people, and of one's own."""
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        return getattr(self.env, name)

    @property
    def unwrapped(self) -> Environment:
        """The environment inside all wrappers."""
        return self.env.unwrapped

    @property
    def default_params(self) -> Params:
        """Published numbers."""
        return self.env.default_params

    name = _inside("name")
    horizon = _inside("horizon")
    spec = _inside("spec")
    observation_space = _inside("observation_space")
    action_space = _inside("action_space")
    initial_state = _inside("initial_state")
    observe = _inside("observe")
    noise = _inside("noise")
    transition = _inside("transition")


@dataclasses.dataclass(frozen=True)
class StartsFrom(Wrapper):
    """The environment with a given state as the start of every episode.

    Attributes:
        state: A state of the environment inside; an episode starts at its `time`.
    """

    state: PyTree

    def initial_state(self, key: PRNGKeyArray, params: Params) -> PyTree:
        """The given state, whatever the key."""
        return self.state


@dataclasses.dataclass(frozen=True)
class EndsAfter(Wrapper):
    """The environment, terminating at a given time at the latest.

    Attributes:
        steps: `time` of the state with which the episode terminates; it may be traced.

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
        """One step, the last one if it reaches the given time."""
        state, components, terminated = self.env.transition(noise, state, actions, params)
        return state, components, terminated | (state.time >= self.steps)


@dataclasses.dataclass(frozen=True)
class NeverEnds(Wrapper):
    """The environment without termination: an episode goes on past a failure, to its horizon."""

    def transition(
        self, noise: PyTree, state: PyTree, actions: Actions, params: Params
    ) -> tuple[PyTree, Components, Bool[Array, ""]]:
        """One step, never the last one."""
        state, components, terminated = self.env.transition(noise, state, actions, params)
        return state, components, jnp.zeros_like(terminated)


@dataclasses.dataclass(frozen=True)
class MoreMetrics(Wrapper):
    """The environment with further metrics and fairness schemes after its own.

    Attributes:
        more: Name and metric of each; functions of the environment's components.
        more_schemes: Name and scheme of each; folds over the environment's components.
    """

    more: tuple[tuple[str, Any], ...]
    more_schemes: tuple[tuple[str, Any], ...] = ()

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """The declaration of the environment inside, with the further metrics and schemes."""
        inside = self.env.spec
        return dataclasses.replace(
            inside,
            metrics={**inside.metrics, **dict(self.more)},
            terms=(*inside.terms, *(name for name, _ in self.more)),
            schemes={**inside.schemes, **dict(self.more_schemes)},
        )


class StepOutcome(Struct):
    """One step with its end, kept apart from the start of the next episode.

    Attributes:
        components: Components of the step.
        terminated: True if the episode failed with this step.
        truncated: True if it has reached the horizon.
        final_state: The state after the step and before a reset.
    """

    components: PyTree
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    final_state: PyTree

    @property
    def done(self) -> Bool[Array, ""]:
        """True if the episode ended with this step, in one way or the other."""
        return self.terminated | self.truncated


@dataclasses.dataclass(frozen=True)
class AutoReset(Wrapper):
    """The environment with a new episode after each one that terminates or is truncated.

    `step` returns the first observation and state of the new episode in place of the last ones,
    which are in `info` as "final_observation" and "final_state". `advance`, and `rollout` with
    it, runs single episodes and does not reset.

    It is put around all other wrappers, which would otherwise hide the resets of its `step`.
    """

    _outermost: ClassVar[bool] = True

    def step_autoreset(
        self, key: PRNGKeyArray, state: PyTree, actions: Actions, params: Params
    ) -> tuple[PyTree, StepOutcome]:
        """One step without observations, and a reset where the episode ends with it.

        Args:
            key: A fresh JAX key.
            state: As returned by `reset` or this function.
            actions: One array per agent, shaped as its action space.
            params: As `default_params`.

        Returns:
            `(state, outcome)`: the state to go on from, and what the step came to.
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
        """One step as `Environment.step`, and a reset where the episode ends with it.

        Raises:
            FairgymError: An agent's action is missing, unknown or of the wrong shape.
        """
        check_actions(self, actions)
        state, end = self.step_autoreset(key, state, actions, params)
        info = {
            "final_observation": self.observe(end.final_state, params),
            "final_state": end.final_state,
        }
        seen = self.observe(state, params)
        return seen, state, end.components, end.terminated, end.truncated, info
