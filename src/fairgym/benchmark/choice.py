"""The choice among the settings that were tried in tuning."""

import json
from collections.abc import Sequence
from typing import Any

from fairgym.benchmark.store import CHOSEN, TUNING, Row, number_of
from fairgym.benchmark.task import Task


def chosen(task: Task, learner: str, rows: Sequence[Row]) -> tuple[str, dict[str, Any]]:
    """Return name and hyperparameters of the setting with the best mean score in tuning.

    The score of a run is the mean of its reward and fairness in the task's box. The published
    setting is chosen if nothing was tuned.

    Args:
        task: The task.
        learner: Name of the learner.
        rows: Rows of the tier.
    """
    scores: dict[str, list[float]] = {}
    settings: dict[str, dict[str, Any]] = {}
    for row in rows:
        same = row["task"] == task.name and row["algorithm"] == learner
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
