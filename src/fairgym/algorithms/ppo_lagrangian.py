"""PPO-Lagrangian: PPO under a bound on a measure, with a multiplier that is learned.

Ray, Achiam and Amodei, "Benchmarking Safe Exploration in Deep Reinforcement Learning" (2019),
https://cdn.openai.com/safexp-short.pdf.
"""

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.algorithms._algorithm import algorithms
from fairgym.algorithms._terms import SHORT_TERM, Carried, FairnessMeasures, Signals, Terms
from fairgym.algorithms.ppo import Ppo
from fairgym.core import Environment, param

MULTIPLIER = "cost_multiplier"


@algorithms.register("ppo-lagrangian")
@dataclasses.dataclass(frozen=True)
class PpoLagrangian(FairnessMeasures, Ppo):
    """Hyperparameters of PPO-Lagrangian, beside those of PPO.

    The reward of a step is (r - m D) / (1 + m), with D short-term unfairness after the step and m
    the multiplier, which grows by `cost_multiplier_rate` times the mean of D less the limit after
    each round, and is never below 0.
    """

    cost_limit: float = param(0.05, "Largest mean of short-term unfairness over the steps.", low=0)
    cost_multiplier_rate: float = param(0.1, "Step size of the multiplier.", low=0)
    cost_multiplier_init: float = param(0.0, "The multiplier at the start.", low=0)

    def terms(self, env: Environment, trained: tuple[str, ...]) -> Terms:
        """The price of unfairness, which is carried from round to round."""
        start = {MULTIPLIER: jnp.float32(self.cost_multiplier_init)}
        return Terms(self.measures(env), start=start, reward=self._priced, learn=self._raised)

    def _priced(
        self, carried: Carried, rewards: Float[Array, "envs steps agents"], signals: Signals
    ) -> Float[Array, "envs steps agents"]:
        """Rewards less the price of unfairness."""
        price = carried[MULTIPLIER]
        return (rewards - price * signals[SHORT_TERM][..., None]) / (1.0 + price)

    def _raised(self, carried: Carried, log: Signals) -> tuple[Carried, Signals]:
        """The price after a round."""
        excess = log[SHORT_TERM] - self.cost_limit
        price = jnp.maximum(0.0, carried[MULTIPLIER] + self.cost_multiplier_rate * excess)
        return {MULTIPLIER: price}, {MULTIPLIER: price}
