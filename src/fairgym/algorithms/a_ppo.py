"""A-PPO: PPO with advantages regularised by a measure of unfairness.

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
    """Hyperparameters of A-PPO, in addition to those of PPO; the defaults are for bank_loans.

    The advantage is A + b1 min(0, w - D) + b2 min(0, -dD); the last term applies only if D > w.
    Here D is the measure after the step, and dD its increase in the step.
    """

    scale: Literal["minibatch", "none"] = param("minibatch", SCALE)
    value_weight: float = param(0.25, "Weight b1 of unfairness above the tolerance.", low=0)
    growth_weight: float = param(0.25, "Weight b2 of an increase of unfairness.", low=0)
    tolerance: float = param(0.005, "Tolerance w: unfairness up to it is not penalised.", low=0)

    def terms(self, env: Environment, trained: tuple[str, ...]) -> Terms:
        """Return both terms added to the advantages."""
        return Terms(self.measures(env), shape=self._penalised)

    def _penalised(
        self, advantage: Float[Array, "envs steps"], signals: Signals
    ) -> Float[Array, "envs steps"]:
        """Return the advantages with both terms added."""
        unfair, gain = signals[SHORT_TERM], signals[gain_of(SHORT_TERM)]
        value = jnp.minimum(0.0, self.tolerance - unfair)
        grown = jnp.where(unfair > self.tolerance, jnp.minimum(0.0, gain), 0.0)
        return (
            scaled(advantage, self.scale)
            + self.value_weight * scaled(value, self.scale)
            + self.growth_weight * scaled(grown, self.scale)
        )
