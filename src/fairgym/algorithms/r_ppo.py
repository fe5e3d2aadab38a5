"""R-PPO: PPO whose reward is reduced by the short-term unfairness of the step.

Yu, Qin, Lee and Gao, "Policy Optimization with Advantage Regularization for Long-Term Fairness in
Decision Systems" (2022), https://arxiv.org/abs/2210.12546, where it is a baseline.
"""

import dataclasses

from jaxtyping import Array, Float

from fairgym.algorithms._algorithm import algorithms
from fairgym.algorithms._terms import SHORT_TERM, Carried, FairnessMeasures, Signals, Terms
from fairgym.algorithms.ppo import Ppo
from fairgym.core import Environment, param


@algorithms.register("r-ppo")
@dataclasses.dataclass(frozen=True)
class RPpo(FairnessMeasures, Ppo):
    """Hyperparameters of R-PPO, in addition to those of PPO.

    The reward of a step is r - zeta D, with D the short-term unfairness after the step.
    """

    penalty: float = param(1.0, "Weight zeta of the unfairness after a step.", low=0)

    def terms(self, env: Environment, trained: tuple[str, ...]) -> Terms:
        """Return the penalty on unfairness."""
        return Terms(self.measures(env), reward=self._penalised)

    def _penalised(
        self, carried: Carried, rewards: Float[Array, "envs steps agents"], signals: Signals
    ) -> Float[Array, "envs steps agents"]:
        """Return rewards with the penalty."""
        return rewards - self.penalty * signals[SHORT_TERM][..., None]
