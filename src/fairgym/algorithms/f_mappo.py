"""F-MAPPO: multi-agent PPO with fairness in the reward of every step (MAFE, appendix D.6).

Agents act on their own observations; a centralised critic sees all of them (`CentralCritic`) and
values the discounted sum of step rewards, equation (5), of each trained agent. The recipe is that
of Yu et al., "The Surprising Effectiveness of PPO in Cooperative Multi-Agent Games" (2022),
https://arxiv.org/abs/2103.01955: PPO with generalised advantage estimation, normalised values, an
entropy bonus and clipped gradients.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fairgym.algorithms._algorithm import Objectives, algorithms
from fairgym.algorithms._networks import Networks, make_networks
from fairgym.algorithms._ppo import PpoLearner, PpoState
from fairgym.core import Environment

VALUE_DECAY = 0.99  # of the running moments of returns, per update


class FMappoState(PpoState):
    """The training state of F-MAPPO.

    Attributes:
        moments: running mean and mean square of returns per agent, and their weight.
    """

    moments: tuple[Float[Array, " agents"], Float[Array, " agents"], Float[Array, ""]]


@algorithms.register("f-mappo")
@dataclasses.dataclass(frozen=True)
class FMappo(PpoLearner[FMappoState]):
    """Hyperparameters of F-MAPPO: those of PPO, with defaults for the systems of MAFE.

    Attributes:
        ent_coef: weight of the entropy bonus. Ten times the default lets the exploration of
            loan's admissions grow to `max_std`.
    """

    gamma: float = 0.997  # what is done about a loan shows over years
    learning_rate: float = 1e-3
    gae_lambda: float = 0.98
    ent_coef: float = 0.0003

    def init(
        self,
        key: PRNGKeyArray,
        env: Environment,
        objective: Objectives,
        *,
        params: Any = None,
        fixed: Mapping[str, Any] | None = None,
    ) -> FMappoState:
        """Networks near the middle of every action, and worlds at their start.

        Arguments and errors as in `fairgym.algorithms.Algorithm.init`.
        """
        fields = self._init_fields(key, env, objective, params, fixed)
        zeros = jnp.zeros((len(fields["objectives"]),))
        return FMappoState(**fields, moments=(zeros, zeros, jnp.zeros(())))

    def _networks(
        self, env: Environment, params: Any, trained: tuple[str, ...], key: PRNGKeyArray
    ) -> Networks:
        sizes = self.hidden, self.critic_hidden
        return make_networks(env, params, trained, *sizes, key, with_actions=False)

    def _value_scale(self, state: FMappoState) -> tuple[Array, Array]:
        """Mean and standard deviation of returns, 0 and 1 before the first."""
        mean, square, weight = state.moments
        known = weight > 0.0
        weight = jnp.where(known, weight, 1.0)
        mean = mean / weight
        spread = jnp.sqrt(jnp.maximum(square / weight - mean**2, 1e-6))
        return jnp.where(known, mean, 0.0), jnp.where(known, spread, 1.0)

    def _with_returns(
        self, state: FMappoState, returns: Float[Array, "worlds steps agents"]
    ) -> FMappoState:
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
