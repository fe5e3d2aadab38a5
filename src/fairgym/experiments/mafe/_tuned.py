"""Hyperparameters that the benchmark's tuning found, for comparisons of learners."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from fairgym.benchmark.presets import better_of
from fairgym.benchmark.task import task_of
from fairgym.experiments import _parts as ex

# Presets are tuned with this number of people.
SIZE = dataclasses.replace(ex.PAPER, people=300)
WORDS = (
    "Learners have the presets of `fairgym benchmark` for 300 people, where these beat the"
    " published settings on held-out seeds. Every learner tried four settings, the published"
    " one and three random ones, with two seeds each and a quarter of the benchmark's steps:"
    " nominally 100,000 in loan and 50,000 in health and education, where runs at paper scale have"
    " 1.6 million and 400,000."
)


def tuned(environment: str, algorithm: str, size: ex.Size) -> dict[str, Any]:
    """Return hyperparameters and training length, of as many episodes as the size has.

    Tuned hyperparameters are those of the preset of the environment with 300 people. There may be
    none: then all others are published or default ones.

    Args:
        environment: Name of the environment whose task is looked up.
        algorithm: Name of the algorithm.
        size: Size of the runs.
    """
    assert size.epochs is not None and size.episodes is not None
    found = better_of(task_of(f"{environment}-300-v0"), algorithm)
    setting = {} if found is None else found.setting
    each = setting.get("episodes_per_epoch", size.episodes)
    epochs = max(1, round(size.epochs * size.episodes / each))
    return {**setting, "epochs": epochs, "episodes_per_epoch": each}


def settings_table(learners: Mapping[str, str], environments: Iterable[str]) -> ex.Table:
    """Return a table of the settings of each learner in each environment.

    Args:
        learners: Label -> name of the algorithm.
        environments: Names of the environments.
    """
    rows = []
    for environment in environments:
        for label, algorithm in learners.items():
            found = better_of(task_of(f"{environment}-300-v0"), algorithm)
            setting = {} if found is None else found.setting
            words = ", ".join(f"{name} {value}" for name, value in setting.items())
            rows.append([environment, label, words or "published"])
    return ex.Table(
        ["environment", "algorithm", "hyperparameters"],
        rows,
        "Settings of `fairgym benchmark`. “Published”: no tuned setting was clearly better than the"
        " published one on held-out seeds.",
        words=True,
    )
