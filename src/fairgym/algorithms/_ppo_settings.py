"""Hyperparameters of PPO."""

import dataclasses
from typing import Literal

from fairgym.algorithms._algorithm import LARGEST_WIDTH
from fairgym.core import param


@dataclasses.dataclass(frozen=True)
class PpoSettings:
    """Hyperparameters of PPO, in addition to those of gradient learners."""

    sampled_people: int = 0
    num_envs: int = 8
    num_steps: int = 256
    episodes_per_epoch: int = 8
    update_epochs: int = param(10, "Passes over each batch of rollouts.", low=1)
    num_minibatches: int = param(8, "Minibatches per pass; each makes one gradient step.", low=1)
    learning_rate: float = param(3e-4, "Learning rate of Adam.", low=0, above=True)
    clip_eps: float = param(0.2, "PPO clipping parameter epsilon.", low=0)
    gae_lambda: float = param(
        0.95, "Parameter lambda of generalised advantage estimation (GAE).", low=0, high=1
    )
    ent_coef: float = param(0.0, "Entropy coefficient.", low=0)
    vf_coef: float = param(0.5, "Weight of the critic's loss.", low=0)
    init_std: float = param(
        0.5,
        "Initial standard deviation of the exploration noise, before squashing.",
        low=0,
        above=True,
    )
    learn_std: bool = param(
        True, "Learn the standard deviation of the exploration noise; if off, it stays `init_std`."
    )
    max_std: float = param(
        1.0,
        "Maximum standard deviation of the exploration noise. With many people it hardly changes "
        "the mean log-probability, so without a limit only the entropy bonus would drive it.",
        low=0,
        above=True,
    )

    network: Literal["flat", "equivariant"] = param(
        "flat",
        'Network architecture: "flat" is a multi-layer perceptron over the flattened observation, '
        'for systems in which row i is always the same entity; "equivariant" treats all rows '
        "alike, as in F-MAPPO.",
    )
    layers: tuple[int, ...] = param(
        (64, 64), "Units of each hidden layer of a flat actor.", low=1, high=LARGEST_WIDTH
    )
    critic_layers: tuple[int, ...] = param(
        (64, 64),
        "Units of each hidden layer of a flat critic.",
        low=1,
        high=LARGEST_WIDTH,
    )
    activation: Literal["tanh", "relu"] = param(
        "tanh", "Activation function of the hidden units of flat networks."
    )
    normalise_inputs: bool = param(
        False,
        "Normalise the inputs of flat networks by their running mean and standard deviation, as "
        "stable-baselines3's VecNormalize does.",
    )
    bootstrap_truncated: bool = param(
        True,
        "Use time limit bootstrapping: the value after a truncated episode is predicted by the "
        "critic. If off, it is 0, which agents can only learn if they observe the time.",
    )
