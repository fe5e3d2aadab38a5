"""Episodes one after the other: an environment that begins anew by itself."""

import dataclasses
from typing import ClassVar

import jax
from jax import lax
from jaxtyping import Array, Bool, PRNGKeyArray, PyTree

from fairgym.core.components import Components
from fairgym.core.environment import Actions, Observations, check_actions, time_of
from fairgym.core.params import Params
from fairgym.core.struct import Struct
from fairgym.wrappers.wrappers import Wrapper


class StepOutcome(Struct):
    """One step with its end, kept apart from the start of the next episode.

    Attributes:
        components: components of the step.
        terminated: True if the episode failed with this step.
        truncated: True if it has reached the horizon.
        final_state: the state after the step and before a reset.
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
            key: a fresh JAX key.
            state: as returned by `reset` or this function.
            actions: one array per agent, shaped as its action space.
            params: as `default_params`.

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
            FairgymError: an agent's action is missing, unknown or of the wrong shape.
        """
        check_actions(self, actions)
        state, end = self.step_autoreset(key, state, actions, params)
        info = {
            "final_observation": self.observe(end.final_state, params),
            "final_state": end.final_state,
        }
        seen = self.observe(state, params)
        return seen, state, end.components, end.terminated, end.truncated, info
