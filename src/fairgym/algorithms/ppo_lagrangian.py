"""PPO-Lagrangian: PPO with a bound on a measure, enforced by a learned multiplier.

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
    """Hyperparameters of PPO-Lagrangian, in addition to those of PPO.

    The reward of a step is (r - m D) / (1 + m), with D the short-term unfairness after the step and
    m the multiplier. After each round m grows by `cost_multiplier_rate` times (mean D - limit); it
    is never below 0.
    """

    cost_limit: float = param(0.05, "Limit on mean short-term unfairness over the steps.", low=0)
    cost_multiplier_rate: float = param(0.1, "Step size of the multiplier.", low=0)
    cost_multiplier_init: float = param(0.0, "Initial multiplier.", low=0)

    def terms(self, env: Environment, trained: tuple[str, ...]) -> Terms:
        """Return the penalty on unfairness, whose multiplier is kept between rounds."""
        start = {MULTIPLIER: jnp.float32(self.cost_multiplier_init)}
        return Terms(self.measures(env), start=start, reward=self._priced, learn=self._raised)

    def _priced(
        self, carried: Carried, rewards: Float[Array, "envs steps agents"], signals: Signals
    ) -> Float[Array, "envs steps agents"]:
        """Return rewards with the penalty on unfairness."""
        price = carried[MULTIPLIER]
        return (rewards - price * signals[SHORT_TERM][..., None]) / (1.0 + price)

    def _raised(self, carried: Carried, log: Signals) -> tuple[Carried, Signals]:
        """Return the multiplier after a round."""
        excess = log[SHORT_TERM] - self.cost_limit
        price = jnp.maximum(0.0, carried[MULTIPLIER] + self.cost_multiplier_rate * excess)
        return {MULTIPLIER: price}, {MULTIPLIER: price}
