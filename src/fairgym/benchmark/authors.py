"""Settings of F-PPO's authors, by environment (Hu, Lear and Zhang 2023, and their code)."""

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Authors:
    """Settings of the authors' learners in an environment.

    Attributes:
        f_ppo: F-PPO's threshold schedule, lambda and delta, as published.
        a_ppo: A-PPO's b1, b2 and tolerance, as published.
        network: Units of the layers of the authors' networks: a shared trunk, then those of the
            actor and of the critic. Here both have all of these layers to themselves.
        f_ppo_code: Further hyperparameters of F-PPO in the authors' code.
    """

    f_ppo: Mapping[str, Any]
    a_ppo: Mapping[str, float]
    network: tuple[int, ...]
    f_ppo_code: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def published(self, algorithm: str) -> dict[str, Any]:
        """Return the published hyperparameters of "ppo" (none), "a-ppo" or "f-ppo"."""
        return dict({"ppo": {}, "a-ppo": self.a_ppo, "f-ppo": self.f_ppo}[algorithm])

    def code(self, algorithm: str) -> dict[str, Any]:
        """Return the hyperparameters of the authors' code, many those of stable-baselines3.

        One environment, batches of 64 steps, a learning rate of 1e-5 and large networks with
        rectified linear units. Learning from standardised inputs or returns is not part of it, but
        the critic here always learns standardised returns.
        """
        return {
            "num_envs": 1,
            "num_steps": 2_048,
            "num_minibatches": 32,
            "learning_rate": 1e-5,
            "layers": self.network,
            "critic_layers": self.network,
            "activation": "relu",
            "init_std": 1.0,
            **(self.f_ppo_code if algorithm == "f-ppo" else {}),
        }


LEARNERS = ("ppo", "a-ppo", "f-ppo")  # of the authors' code, whose networks are known
AUTHORS = {
    "bank_loans": Authors(
        f_ppo={
            "threshold": 1.0,
            "threshold_start": 17,
            "threshold_rate": 0.985,
            "regularise": 1.0,
            "delta": 0.05,
        },
        a_ppo={"value_weight": 0.25, "growth_weight": 0.25, "tolerance": 0.005},
        network=(256, 256, 256, 128),
    ),
    "attention": Authors(
        f_ppo={
            "threshold": 0.08,
            "threshold_start": 15,
            "threshold_rate": 0.0,
            "regularise": 0.15,
            "delta": 0.1,
        },
        a_ppo={"value_weight": 0.15, "growth_weight": 0.15, "tolerance": 0.05},
        network=(128, 128, 128, 64),
    ),
    "epidemic": Authors(
        f_ppo={
            "threshold": 0.35,
            "threshold_schedule": "exponential",
            "threshold_start": 50,
            "threshold_rate": 1.2,
            "regularise": 0.25,
            "delta": 0.05,
        },
        a_ppo={"value_weight": 0.1, "growth_weight": 0.1, "tolerance": 0.05},
        network=(512, 512, 512, 256),
        f_ppo_code={"long_term": "long_term"},  # present health, which the clinic observes
    ),
}
