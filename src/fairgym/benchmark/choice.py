"""The choice among the settings that were tried in tuning."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairgym.benchmark.store import CHOSEN, TUNING, Row, number_of
from fairgym.benchmark.task import Task


def chosen(task: Task, rows: Sequence[Row]) -> tuple[str, dict[str, Any]]:
    """Return name and hyperparameters of the setting with the best mean score in tuning.

    The score of a run is the mean of its reward and fairness in the task's box. The published
    setting is chosen if nothing was tuned.

    Args:
        task: The task.
        rows: Rows of a learner in it (`Learner.rows_in`).
    """
    scores: dict[str, list[float]] = {}
    settings: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["stage"] == TUNING:
            scores.setdefault(row["setting"], []).append(score_of(task, row))
            settings[row["setting"]] = json.loads(row["settings"])
    if not scores:
        return CHOSEN, {}
    best = max(scores, key=lambda name: (sum(scores[name]) / len(scores[name]), name == CHOSEN))
    return best, settings[best]


def score_of(task: Task, row: Row) -> float:
    """Return the mean of reward and fairness in the box; a run without numbers has 0."""
    names = ("reward", "unfairness", "terminated")
    return float(np.nan_to_num(task.in_box(*(number_of(row, name) for name in names))).mean())
