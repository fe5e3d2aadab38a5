"""A-PPO: PPO whose advantages are regularised by a measure of unfairness.

Yu, Qin, Lee and Gao, "Policy Optimization with Advantage Regularization for Long-Term Fairness in
Decision Systems" (2022), https://arxiv.org/abs/2210.12546.
"""

import dataclasses
from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.algorithms._algorithm import algorithms
from fairgym.algorithms._terms import (
    SCALE,
    SHORT_TERM,
    FairnessMeasures,
    Signals,
    Terms,
    gain_of,
    scaled,
)
from fairgym.algorithms.ppo import Ppo
from fairgym.core import Environment, param


@algorithms.register("a-ppo")
@dataclasses.dataclass(frozen=True)
class APpo(FairnessMeasures, Ppo):
    """Hyperparameters of A-PPO, beside those of PPO; the defaults are those of bank_loans.

    The advantage is A + b1 min(0, w - D) + b2 min(0, -dD), the last term where D > w alone: D is
    the measure after the step, and dD by how much it has grown with it.
    """

    scale: Literal["minibatch", "none"] = param("minibatch", SCALE)
    value_weight: float = param(0.25, "Weight b1 of unfairness above the tolerance.", low=0)
    growth_weight: float = param(0.25, "Weight b2 of its growth.", low=0)
    tolerance: float = param(0.005, "Unfairness w that is not penalised.", low=0)

    def terms(self, env: Environment, trained: tuple[str, ...]) -> Terms:
        """Both terms beside the advantages."""
        return Terms(self.measures(env), shape=self._penalised)

    def _penalised(
        self, advantage: Float[Array, "envs steps"], signals: Signals
    ) -> Float[Array, "envs steps"]:
        """Advantages with both terms."""
        unfair, gain = signals[SHORT_TERM], signals[gain_of(SHORT_TERM)]
        value = jnp.minimum(0.0, self.tolerance - unfair)
        grown = jnp.where(unfair > self.tolerance, jnp.minimum(0.0, gain), 0.0)
        return (
            scaled(advantage, self.scale)
            + self.value_weight * scaled(value, self.scale)
            + self.growth_weight * scaled(grown, self.scale)
        )
