"""PPO-Lagrangian: PPO under a bound on a measure, with a multiplier that is learned.

Ray, Achiam and Amodei, "Benchmarking Safe Exploration in Deep Reinforcement Learning" (2019),
https://cdn.openai.com/safexp-short.pdf.
"""

import dataclasses
import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fairgym.algorithms._algorithm import algorithms, check_inside
from fairgym.algorithms._watching import SHORT_TERM, WatchingPpo, WatchingState
from fairgym.algorithms._worlds import Step

MULTIPLIER = "cost_multiplier"


class LagrangianState(WatchingState):
    """The training state of PPO-Lagrangian.

    Attributes:
        multiplier: price of short-term unfairness.
    """

    multiplier: Float[Array, ""]


@algorithms.register("ppo-lagrangian")
@dataclasses.dataclass(frozen=True)
class PpoLagrangian(WatchingPpo[LagrangianState]):
    """Hyperparameters of PPO-Lagrangian, beside those of `WatchingPpo`.

    The reward of a step is (r - m D) / (1 + m), with D short-term unfairness after the step and m
    the multiplier, which grows by `cost_multiplier_rate` times the mean of D less the limit after
    each round, and is never below 0.

    Attributes:
        cost_limit: largest mean of short-term unfairness over the steps.
        cost_multiplier_rate: step size of the multiplier.
        cost_multiplier_init: the multiplier at the start.
    """

    cost_limit: float = 0.05
    cost_multiplier_rate: float = 0.1
    cost_multiplier_init: float = 0.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        check_inside(self, math.inf, "cost_limit", "cost_multiplier_rate", "cost_multiplier_init")

    def _state(self, fields: dict[str, Any]) -> LagrangianState:
        return LagrangianState(**fields, multiplier=jnp.float32(self.cost_multiplier_init))

    def _rewards(self, state: LagrangianState, steps: Step) -> Float[Array, "worlds steps agents"]:
        """Rewards less the price of unfairness."""
        price = state.multiplier
        return (steps.rewards - price * steps.signals[SHORT_TERM][..., None]) / (1.0 + price)

    def _round(
        self, state: LagrangianState, key: PRNGKeyArray
    ) -> tuple[LagrangianState, dict[str, Array]]:
        state, log = super()._round(state, key)
        excess = log[SHORT_TERM] - self.cost_limit
        price = jnp.maximum(0.0, state.multiplier + self.cost_multiplier_rate * excess)
        return state.replace(multiplier=price), log | {MULTIPLIER: price}
