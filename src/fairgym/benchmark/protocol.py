"""The protocol: tiers, and the sweep plans of each stage of a learner in a task."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from fairgym.benchmark.learner import Learner
from fairgym.benchmark.store import CHOSEN, FRONTIER, PUBLISHED, TUNING, Row, number_of
from fairgym.benchmark.task import Task
from fairgym.config.sweep_file import Sweep

TUNING_SEEDS = tuple(range(1000, 1100))  # used for nothing else


@dataclasses.dataclass(frozen=True)
class Tier:
    """Size of the benchmark.

    Attributes:
        name: Name of the tier.
        settings: Settings tried in tuning, the published one among them; 1 for no tuning.
        tuning_seeds: Seeds of each of them.
        tuning_share: Share of the budget of each tuning run.
        share: Share of the budget of every other run.
        seeds: Seeds of each level.
        episodes: Held-out episodes of each run.
        permutations: Permutations of the groups, for null means.
    """

    name: str
    settings: int
    tuning_seeds: int
    tuning_share: float
    share: float
    seeds: int
    episodes: int
    permutations: int = 100


QUICK = Tier("quick", 1, 1, 0.0, 0.1, 2, 16)
FULL = Tier("full", 4, 2, 0.25, 1.0, 5, 32)
TIERS = {tier.name: tier for tier in (QUICK, FULL)}


@dataclasses.dataclass(frozen=True)
class Planned:
    """A stage of a learner in a task as a sweep plan, with what its rows are called.

    Attributes:
        stage: "tuning", "frontier" or "published".
        sweep: Configurations of the runs.
        labels: Label of a configuration -> name of the setting and level.
        settings: Name of a setting -> its hyperparameters.
    """

    stage: str
    sweep: Sweep
    labels: Mapping[str, tuple[str, float]]
    settings: Mapping[str, Mapping[str, Any]]


def tuning(task: Task, learner: Learner, tier: Tier) -> Planned | None:
    """Return the plan of tuning: all settings at the middle level; None without tuning."""
    tried = learner.tried(task, tier.settings)
    if len(tried) < 2:
        return None
    settings = {setting_name(k): one for k, one in enumerate(tried)}
    seeds = TUNING_SEEDS[: tier.tuning_seeds]
    points = [(name, learner.middle) for name in settings]
    return _planned(TUNING, task, learner, settings, points, seeds, tier.tuning_share)


def frontier(task: Task, learner: Learner, tier: Tier, rows: Sequence[Row]) -> Planned:
    """Return the plan of the front: the chosen setting at all levels.

    Args:
        task: The task.
        learner: The learner.
        tier: The tier.
        rows: Rows of the tier, among them those of tuning.
    """
    name, setting = chosen(task, learner, rows)
    points = [(name, level) for level in learner.levels]
    return _planned(FRONTIER, task, learner, {name: setting}, points, range(tier.seeds), tier.share)


def published(task: Task, learner: Learner, tier: Tier, rows: Sequence[Row]) -> Planned | None:
    """Return the plan of the published setting at the middle level; None if it was chosen."""
    name, _ = chosen(task, learner, rows)
    if name == CHOSEN:
        return None
    settings, points = {CHOSEN: {}}, [(CHOSEN, learner.middle)]
    return _planned(PUBLISHED, task, learner, settings, points, range(tier.seeds), tier.share)


def chosen(task: Task, learner: Learner, rows: Sequence[Row]) -> tuple[str, dict[str, Any]]:
    """Return name and hyperparameters of the setting with the best mean score in tuning.

    The score of a run is the mean of its reward and fairness in the task's box. The published
    setting is chosen if nothing was tuned.
    """
    scores: dict[str, list[float]] = {}
    settings: dict[str, dict[str, Any]] = {}
    for row in rows:
        same = row["task"] == task.name and row["algorithm"] == learner.name
        if same and row["stage"] == TUNING and row["fingerprint"] == task.fingerprint:
            scores.setdefault(row["setting"], []).append(score_of(task, row))
            settings[row["setting"]] = json.loads(row["settings"])
    if not scores:
        return CHOSEN, {}
    best = max(scores, key=lambda name: (sum(scores[name]) / len(scores[name]), name == CHOSEN))
    return best, settings[best]


def score_of(task: Task, row: Row) -> float:
    """Return the mean of reward and fairness in the box; minus infinity if a number is missing."""
    names = ("reward", "unfairness", "terminated")
    score = float(task.in_box(*(number_of(row, name) for name in names)).mean())
    return score if score == score else float("-inf")


def setting_name(place: int) -> str:
    """Return the name of a setting in the order in which they are tried."""
    return CHOSEN if place == 0 else f"random-{place}"


def level_text(level: float) -> str:
    """Return a level as it is stored."""
    return f"{level:g}"


def _planned(
    stage: str,
    task: Task,
    learner: Learner,
    settings: Mapping[str, dict[str, Any]],
    points: Sequence[tuple[str, float]],
    seeds: Sequence[int],
    share: float,
) -> Planned:
    """Return the plan of settings at levels, each with all seeds."""
    labels = {f"{task.name}, {learner.name}, {n}, {level_text(x)}": (n, x) for n, x in points}
    configs = {
        label: learner.config(task, settings[name], level, share)
        for label, (name, level) in labels.items()
    }
    rows = {
        label: {"setting": name, "level": level_text(level)}
        for label, (name, level) in labels.items()
    }
    return Planned(stage, Sweep(configs, rows, tuple(seeds)), labels, settings)
