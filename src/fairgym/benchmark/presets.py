"""Settings that tuning found, and whether they beat the published ones on held-out seeds."""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairgym.benchmark.authors import AUTHORS, LEARNERS
from fairgym.benchmark.choice import chosen, score_of
from fairgym.benchmark.learner import Learner, learner_names, learner_of
from fairgym.benchmark.store import (
    CHOSEN,
    FRONTIER,
    PUBLISHED,
    TUNING,
    Row,
    level_text,
    read_results,
    stored,
)
from fairgym.benchmark.task import Task, task_names, task_of
from fairgym.benchmark.tiers import FULL
from fairgym.core import FairgymError
from fairgym.statistics.intervals import mean_interval

TUNED, OF_AUTHORS = "tuned", "authors"


@dataclasses.dataclass(frozen=True)
class Tuned:
    """What was tried for a learner in a task, and what was chosen.

    Attributes:
        task: The task.
        learner: The learner.
        tried: Name of each setting -> its scores in tuning, one per seed.
        chosen: Name of the chosen setting.
        setting: Its hyperparameters; empty for the published setting.
        gain: Score minus that of the published setting on the seeds of measuring, at the middle
            level: mean and limits of its t interval; NaN if the published one was chosen, or not
            measured.
        n: Number of common seeds.
    """

    task: Task
    learner: Learner
    tried: dict[str, list[float]]
    chosen: str
    setting: dict[str, Any]
    gain: tuple[float, float, float]
    n: int

    @property
    def better(self) -> bool:
        """Whether the interval of the gain is above 0, so that the setting is a preset."""
        return self.gain[1] > 0.0

    @property
    def worse(self) -> bool:
        """Whether the interval of the gain is below 0."""
        return self.gain[2] < 0.0

    @property
    def preset(self) -> dict[str, Any]:
        """Hyperparameters that differ from the algorithm's defaults, those of the task too."""
        return _plain(self.learner.hyperparameters(self.task, self.setting, self.learner.middle))


def tuned_of(rows: Sequence[Row], task: Task, learner: Learner) -> Tuned | None:
    """Return what tuning found; None without rows of tuning."""
    own = learner.rows_in(task, rows)
    tried: dict[str, list[float]] = {}
    for row in own:
        if row["stage"] == TUNING:
            tried.setdefault(row["setting"], []).append(score_of(task, row))
    if not tried:
        return None
    name, setting = chosen(task, own)
    ours = _scores(task, own, FRONTIER, name, level_text(learner.middle))
    theirs = _scores(task, own, PUBLISHED, CHOSEN, level_text(learner.middle))
    seeds = [seed for seed in ours if seed in theirs]
    differences = np.array([ours[seed] - theirs[seed] for seed in seeds])
    return Tuned(task, learner, tried, name, setting, mean_interval(differences), len(seeds))


def _scores(
    task: Task, rows: Sequence[Row], stage: str, setting: str, level: str
) -> dict[str, float]:
    wanted = (stage, setting, level)
    return {
        row["seed"]: score_of(task, row)
        for row in rows
        if (row["stage"], row["setting"], row["level"]) == wanted
    }


def preset_of(name: str, environment: str, algorithm: str) -> dict[str, Any]:
    """Return the hyperparameters of a preset.

    Args:
        name: "tuned", those that beat the published ones in the plainest task of the environment;
            "tuned:TASK"; or "authors", those of F-PPO's authors.
        environment: Name of the environment.
        algorithm: Name of the algorithm.

    Raises:
        FairgymError: The name is unknown, or there are no such settings.
    """
    if name == OF_AUTHORS:
        return _of_authors(environment, algorithm)
    kind, colon, wanted = name.partition(":")
    if kind != TUNED or (colon and not wanted):
        known = f"{TUNED}, {TUNED}:TASK or {OF_AUTHORS}"
        raise FairgymError(f"preset must be {known}, got {name!r}")
    tasks = [task_of(one) for one in ([wanted] if wanted else task_names())]
    if wanted and tasks[0].environment != environment:
        raise FairgymError(f"preset {name!r} is for {tasks[0].environment}, got {environment!r}")
    own = [task for task in tasks if task.environment == environment]
    # variants, such as the harder ones, have more arguments
    plainest = min(own, key=lambda task: len(task.environment_args), default=None)
    found = None if plainest is None else better_of(plainest, algorithm)
    if found is None:
        of = environment if plainest is None else plainest.name
        others = [task.name for task in own if task is not plainest and better_of(task, algorithm)]
        more = f"; there is {', '.join(f'{TUNED}:{one}' for one in others)}" if others else ""
        raise FairgymError(
            f"preset {name!r} has no settings of {algorithm} for {of}: in the benchmark no tuned"
            f" settings beat the published ones on held-out seeds{more}"
        )
    return found.preset


def _of_authors(environment: str, algorithm: str) -> dict[str, Any]:
    if environment not in AUTHORS or algorithm not in LEARNERS:
        raise FairgymError(
            f"preset {OF_AUTHORS!r} has settings of {', '.join(LEARNERS)} in {', '.join(AUTHORS)},"
            f" got {algorithm} in {environment}"
        )
    own = AUTHORS[environment]
    return _plain({**own.published(algorithm), **own.code(algorithm)})


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings as a file has them."""
    return {name: list(x) if isinstance(x, tuple) else x for name, x in settings.items()}


def better_of(task: Task, algorithm: str) -> Tuned | None:
    """Return what tuning found for an algorithm in a task, if it beats the published settings."""
    rows = read_results(stored(FULL.name))
    for learner in (learner_of(one) for one in learner_names()):
        found = tuned_of(rows, task, learner) if learner.algorithm == algorithm else None
        if found is not None and found.better:
            return found
    return None


def settings_text(setting: dict[str, Any]) -> str:
    """Return hyperparameters as text."""
    return ", ".join(f"{name} {json.dumps(value)}" for name, value in setting.items()) or "defaults"
