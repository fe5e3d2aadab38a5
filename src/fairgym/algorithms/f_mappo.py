"""F-MAPPO: multi-agent PPO with fairness in the reward of every step (MAFE, appendix D.6).

Agents act on their own observations. A centralised critic (`CentralCritic`) observes all of them
and predicts the discounted sum of step rewards, equation (5), of each trained agent. The method is
that of Yu et al., "The Surprising Effectiveness of PPO in Cooperative Multi-Agent Games" (2022),
https://arxiv.org/abs/2103.01955: PPO with generalised advantage estimation, value normalisation, an
entropy bonus and gradient clipping.
"""

import dataclasses
from typing import ClassVar, Literal

from fairgym.algorithms._algorithm import algorithms
from fairgym.algorithms.ppo import Ppo
from fairgym.core import param


@algorithms.register("f-mappo")
@dataclasses.dataclass(frozen=True)
class FMappo(Ppo):
    """PPO with equivariant networks and without time limit bootstrapping, for MAFE's systems."""

    # constants here: they define F-MAPPO
    network: ClassVar[Literal["flat", "equivariant"]] = "equivariant"  # pyright: ignore[reportIncompatibleVariableOverride]
    bootstrap_truncated: ClassVar[bool] = False  # pyright: ignore[reportIncompatibleVariableOverride]
    layers: ClassVar[tuple[int, ...]] = ()  # pyright: ignore[reportIncompatibleVariableOverride]
    critic_layers: ClassVar[tuple[int, ...]] = ()  # pyright: ignore[reportIncompatibleVariableOverride]
    activation: ClassVar[Literal["tanh", "relu"]] = "tanh"  # pyright: ignore[reportIncompatibleVariableOverride]
    normalise_inputs: ClassVar[bool] = False  # pyright: ignore[reportIncompatibleVariableOverride]

    episodes_per_epoch: int = 100
    num_envs: int = 16
    num_steps: int = 100
    update_epochs: int = 4
    num_minibatches: int = 4
    sampled_people: int = 32
    gamma: float = 0.997  # effects of decisions about a loan take years
    learning_rate: float = 1e-3
    gae_lambda: float = 0.98
    failure_penalty: float = 100.0  # the objective of a hundred steps
    ent_coef: float = param(
        0.0003,
        "Entropy coefficient. With ten times the default, the exploration of loan's admissions "
        "grows to `max_std`.",
        low=0,
    )
