"""A-PPO: PPO whose advantages are regularised by a measure of unfairness.

Yu, Qin, Lee and Gao, "Policy Optimization with Advantage Regularization for Long-Term Fairness in
Decision Systems" (2022), https://arxiv.org/abs/2210.12546.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.algorithms._algorithm import algorithms, check_inside
from fairgym.algorithms._watching import SHORT_TERM, RegularisedPpo, WatchingState, gain_of


@algorithms.register("a-ppo")
@dataclasses.dataclass(frozen=True)
class APpo(RegularisedPpo[WatchingState]):
    """Hyperparameters of A-PPO, beside those of `RegularisedPpo`; defaults are those of bank_loans.

    The advantage is A + b1 min(0, w - D) + b2 min(0, -dD), the last term where D > w alone: D is
    the measure after the step, and dD by how much it has grown with it.

    Attributes:
        value_weight: b1, the weight of unfairness above the tolerance.
        growth_weight: b2, the weight of its growth.
        tolerance: w, the unfairness that is not penalised.
    """

    value_weight: float = 0.25
    growth_weight: float = 0.25
    tolerance: float = 0.005

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        check_inside(self, math.inf, "value_weight", "growth_weight", "tolerance")

    def _state(self, fields: dict[str, Any]) -> WatchingState:
        return WatchingState(**fields)

    def _shaped(
        self, advantage: Float[Array, "worlds steps"], signals: Mapping[str, Array]
    ) -> Float[Array, "worlds steps"]:
        """Advantages with both terms."""
        unfair, gain = signals[SHORT_TERM], signals[gain_of(SHORT_TERM)]
        value = jnp.minimum(0.0, self.tolerance - unfair)
        grown = jnp.where(unfair > self.tolerance, jnp.minimum(0.0, gain), 0.0)
        return (
            self._scaled(advantage)
            + self.value_weight * self._scaled(value)
            + self.growth_weight * self._scaled(grown)
        )
