"""Learners of the three environments: published numbers, and training lengths."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from fairgym.config import RunConfig
from fairgym.experiments._base import Size

F_PPO, PPO, A_PPO, R_PPO, CPO = "F-PPO", "PPO", "A-PPO", "R-PPO", "CPO"
F_PPO_L, F_PPO_S = "F-PPO-L", "F-PPO-S"
LAGRANGIAN, ELBERT = "PPO-Lagrangian", "ELBERT-PO"
BEYOND = (LAGRANGIAN, ELBERT)  # newer learners that are not in the paper


# An epoch of 7 x 2,000, 41 x 1,000 or 512 x 20 steps has 7, 20 or 5 rounds of 2,048. In all these
# are 343, 980 and 245 rounds; the paper has 350 (of 2,000 steps), 976 and 244.
SIZES = {"paper": Size(epochs=49, seeds=20), "quick": Size(epochs=20, seeds=3)}


def at_most(seeds: int) -> dict[str, Size]:
    """Return both sizes with no more than this number of seeds."""
    return {
        scale: dataclasses.replace(size, seeds=min(size.seeds, seeds))
        for scale, size in SIZES.items()
    }


@dataclasses.dataclass(frozen=True)
class System:
    """Environment with the settings of its learners.

    Attributes:
        name: Name of the environment.
        f_ppo: F-PPO's threshold schedule, lambda and delta, as published.
        a_ppo: A-PPO's b1, b2 and tolerance, as published.
        limit: Limit of the short-term unfairness for PPO-Lagrangian and CPO. It is F-PPO's delta,
            except in bank loans, where it is the value that the paper calls small: exact equal
            opportunity has a windowed gap of 0.065 by chance.
        bias_weight: alpha of ELBERT-PO, as published for these environments.
        episodes: Episodes per training epoch, at paper scale and at quick scale.
        held_out: Evaluation episodes per seed, at paper scale and at quick scale.
        seeds: Largest number of seeds, also where several systems are compared.
        network: Units of the layers of the authors' networks: a shared trunk, then those of the
            actor and of the critic. Here both have all of these layers to themselves.
        environment: Arguments of the environment, also in evaluation.
        memory: Name of the memory that learners observe, as in the authors' code.
        shared: Further hyperparameters of all learners.
        authors_f_ppo: Further hyperparameters of F-PPO in the authors' code.
    """

    name: str
    f_ppo: Mapping[str, Any]
    a_ppo: Mapping[str, float]
    limit: float
    bias_weight: float
    episodes: tuple[int, int]
    held_out: tuple[int, int]
    seeds: int
    network: tuple[int, ...]
    environment: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    memory: str = ""
    shared: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    authors_f_ppo: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, Size]:
        """Both sizes of an experiment in this environment."""
        return {
            scale: dataclasses.replace(
                size, episodes=episodes, held_out=held_out, seeds=min(size.seeds, self.seeds)
            )
            for (scale, size), episodes, held_out in zip(
                SIZES.items(), self.episodes, self.held_out, strict=True
            )
        }

    def at(self, size: Size) -> Size:
        """Return this environment's size with the nearest number of epochs."""
        return min(self.sizes.values(), key=lambda own: abs((own.epochs or 0) - (size.epochs or 0)))

    def seeds_at(self, size: Size) -> Sequence[int]:
        """Return the seeds in a comparison of several systems."""
        return range(min(size.seeds, self.seeds))

    def config(self, label: str, size: Size, **more: Any) -> RunConfig:
        """Return the configuration of a learner by its label, with further hyperparameters."""
        algorithm, own = self._learner(label)
        length = {"epochs": size.epochs, "episodes_per_epoch": self.at(size).episodes}
        arguments = {**length, **self.shared, **own, **more}
        return RunConfig(
            self.name,
            environment_args=dict(self.environment),
            memory=self.memory,
            algorithm=algorithm,
            algorithm_args=arguments,
            objective="published",
        )

    def authors(self, label: str) -> dict[str, Any]:
        """Return the hyperparameters of an authors' learner, many those of stable-baselines3.

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
            **(self.authors_f_ppo if label == F_PPO else {}),
        }

    def _learner(self, label: str) -> tuple[str, dict[str, Any]]:
        bound = {"cost_limit": self.limit}
        return {
            PPO: ("ppo", {}),
            F_PPO: ("f-ppo", {**self.f_ppo}),
            F_PPO_L: ("f-ppo", {**self.f_ppo, "massage": False}),
            F_PPO_S: ("f-ppo", {**self.f_ppo, "regularise": 0.0}),
            A_PPO: ("a-ppo", {**self.a_ppo}),
            CPO: ("cpo", bound),
            LAGRANGIAN: ("ppo-lagrangian", bound),
            ELBERT: ("elbert-po", {"bias_weight": self.bias_weight}),
        }[label]


BANK_LOANS = System(
    "bank_loans",
    f_ppo={
        "threshold": 1.0,
        "threshold_start": 17,
        "threshold_rate": 0.985,
        "regularise": 1.0,
        "delta": 0.05,
    },
    a_ppo={"value_weight": 0.25, "growth_weight": 0.25, "tolerance": 0.005},
    limit=0.1,
    bias_weight=2e5,
    episodes=(7, 7),
    held_out=(10, 4),
    seeds=20,
    network=(256, 256, 256, 128),
    environment={"shows_cash": False},
    memory="rates",
)
ATTENTION = System(
    "attention",
    f_ppo={
        "threshold": 0.08,
        "threshold_start": 15,
        "threshold_rate": 0.0,
        "regularise": 0.15,
        "delta": 0.1,
    },
    a_ppo={"value_weight": 0.15, "growth_weight": 0.15, "tolerance": 0.05},
    limit=0.1,
    bias_weight=50.0,
    episodes=(41, 14),  # 7 rounds of an epoch at the quick scale, 140 in all
    held_out=(10, 10),
    seeds=10,
    network=(128, 128, 128, 64),
    memory="rates",
    shared={"init_std": 1.0},  # of the authors' learners; tau is a difference of densities
)
EPIDEMIC = System(
    "epidemic",
    f_ppo={
        "threshold": 0.35,
        "threshold_schedule": "exponential",
        "threshold_start": 50,
        "threshold_rate": 1.2,
        "regularise": 0.25,
        "delta": 0.05,
    },
    a_ppo={"value_weight": 0.1, "growth_weight": 0.1, "tolerance": 0.05},
    limit=0.05,
    bias_weight=20.0,
    episodes=(512, 512),
    held_out=(200, 200),
    seeds=20,
    network=(512, 512, 512, 256),
    authors_f_ppo={"long_term": "long_term"},  # present health, which the clinic observes
)
