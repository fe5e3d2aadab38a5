"""The protocol: sweep plans of each stage of a learner in a task."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from fairgym.benchmark.choice import chosen
from fairgym.benchmark.learner import Learner
from fairgym.benchmark.store import CHOSEN, FRONTIER, PUBLISHED, TUNING, Row, level_text
from fairgym.benchmark.task import Task
from fairgym.benchmark.tiers import Tier
from fairgym.config.sweep_file import Sweep

TUNING_SEEDS = tuple(range(1000, 1100))  # used for nothing else


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
    name, setting = chosen(task, learner.rows_in(task, rows))
    points = [(name, level) for level in learner.levels]
    return _planned(FRONTIER, task, learner, {name: setting}, points, range(tier.seeds), tier.share)


def published(task: Task, learner: Learner, tier: Tier, rows: Sequence[Row]) -> Planned | None:
    """Return the plan of the published setting at the middle level; None if it was chosen."""
    name, _ = chosen(task, learner.rows_in(task, rows))
    if name == CHOSEN:
        return None
    settings, points = {CHOSEN: {}}, [(CHOSEN, learner.middle)]
    return _planned(PUBLISHED, task, learner, settings, points, range(tier.seeds), tier.share)


def setting_name(place: int) -> str:
    """Return the name of a setting in the order in which they are tried."""
    return CHOSEN if place == 0 else f"random-{place}"


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
