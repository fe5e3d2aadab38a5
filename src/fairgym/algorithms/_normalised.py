"""PPO with normalised values: the critic learns returns less their mean, over their deviation.

van Hasselt et al., "Learning Values Across Many Orders of Magnitude" (2016),
https://arxiv.org/abs/1602.07714.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fairgym.algorithms._algorithm import Objectives
from fairgym.algorithms._ppo import PpoLearner, PpoState
from fairgym.core import Environment

VALUE_DECAY = 0.99  # of the running moments of returns, per update


class NormalisedState(PpoState):
    """The training state of PPO with normalised values.

    Attributes:
        moments: running mean and mean square of the returns of each value, and their weight.
    """

    moments: tuple[Float[Array, " agents"], Float[Array, " agents"], Float[Array, ""]]


StateT = TypeVar("StateT", bound=NormalisedState)


@dataclasses.dataclass(frozen=True)
class NormalisedPpo(PpoLearner[StateT]):
    """Hyperparameters of PPO with normalised values: those of `PpoLearner`."""

    def _init_fields(
        self,
        key: PRNGKeyArray,
        env: Environment,
        objective: Objectives,
        params: Any,
        fixed: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """Fields of a `NormalisedState` before the first update, by name."""
        fields = super()._init_fields(key, env, objective, params, fixed)
        zeros = jnp.zeros((self._values(fields["env"], len(fields["objectives"])),))
        return fields | {"moments": (zeros, zeros, jnp.zeros(()))}

    def _values(self, env: Environment, trained: int) -> int:
        """Number of values that the critic has: one for each trained agent by default."""
        return trained

    def _value_scale(self, state: StateT) -> tuple[Array, Array]:
        """Mean and standard deviation of returns, 0 and 1 before the first."""
        mean, square, weight = state.moments
        known = weight > 0.0
        weight = jnp.where(known, weight, 1.0)
        mean = mean / weight
        spread = jnp.sqrt(jnp.maximum(square / weight - mean**2, 1e-6))
        return jnp.where(known, mean, 0.0), jnp.where(known, spread, 1.0)

    def _with_returns(self, state: StateT, returns: Float[Array, "worlds steps agents"]) -> StateT:
        """The state with this round's returns in the running moments."""
        mean, square, weight = state.moments
        keep = VALUE_DECAY
        axes = (0, 1)
        moments = (
            keep * mean + (1.0 - keep) * jnp.mean(returns, axes),
            keep * square + (1.0 - keep) * jnp.mean(returns**2, axes),
            keep * weight + (1.0 - keep),
        )
        return state.replace(moments=moments)
