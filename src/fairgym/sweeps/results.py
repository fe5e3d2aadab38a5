"""Results of a sweep, one row per run."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fairgym.core import check_shape
from fairgym.fairness import Disparity
from fairgym.sweeps.sweeping import FAILED, FINISHED, Entry
from fairgym.training.folder import RunFolder
from fairgym.training.run import Run, load

SCORE = "score"
# Prefixes of columns with results; columns without a prefix are settings.
METRICS, ACTIONS, GAPS = "metrics/", "actions/", "gap/"
HELD_OUT = 1  # seed of the episodes that all runs are measured in

Row = Mapping[str, Any]


def is_measure(column: str) -> bool:
    """Whether a column holds results of runs."""
    return column == SCORE or column.startswith((METRICS, ACTIONS, GAPS))


def has_measure(row: Row, column: str) -> bool:
    """Whether a run is finished and has a finite value of a measure."""
    value = row.get(column)
    return row["status"] == FINISHED and value is not None and math.isfinite(value)


def results_of(
    entries: Sequence[Entry],
    episodes: int = 0,
    say: Callable[[str], None] = lambda text: None,
) -> list[dict[str, Any]]:
    """Return a row for each run: settings, seed, status, epochs and results.

    "reason" is why a run failed, otherwise None. The results of the learned policy are "score" (the
    value of its objective), "metrics/NAME", "actions/AGENT/ELEMENT" (mean actions) and
    "gap/DISPARITY/GROUP": the signed difference of a group's rate from that of the first group,
    whereas a disparity has no sign. Results are None for runs that are not finished. Higher is
    better for scores and metrics.

    Args:
        entries: Runs of the sweep.
        episodes: Number of episodes in which to measure every finished policy, the same people and
            random numbers for all; 0 uses the numbers after the last epoch.
        say: Called with the label of a run before it is measured.

    Raises:
        FairgymError: `episodes` is below 0, or the policy of a run cannot be read.
    """
    check_shape("episodes", episodes, 0, 1_000_000)
    names = list(dict.fromkeys(name for entry in entries for name in entry.settings))
    rows = []
    for entry in entries:
        row = {name: _plain(entry.settings.get(name)) for name in names}
        row |= {"seed": entry.run.config.seed, "status": entry.status}
        row["reason"] = entry.failure if row["status"] == FAILED else None
        row |= {"epochs": entry.epochs, SCORE: None}
        if entry.run.finished:
            if episodes:
                say(entry.run.label)
                row |= _measured(load(entry.run.folder), episodes)
            else:
                row |= _summed_up(RunFolder(entry.run.folder).read_summary())
        row["folder"] = str(entry.run.folder)
        rows.append(row)
    columns = list(dict.fromkeys(name for row in rows for name in row if name != "folder"))
    return [{name: row.get(name) for name in (*columns, "folder")} for row in rows]


def _summed_up(summary: dict[str, Any]) -> dict[str, Any]:
    """Results of the final policy from the log of its training."""
    found = {SCORE: summary.get("objective")}
    for kind, name in ((METRICS, "metrics"), (ACTIONS, "actions"), (GAPS, "gaps")):
        found |= {kind + key: value for key, value in summary.get(name, {}).items()}
    return found


def _measured(run: Run, episodes: int) -> dict[str, Any]:
    """Results of the policy in new episodes."""
    evaluation = run.evaluate(episodes, HELD_OUT)
    assert evaluation.objective is not None
    found: dict[str, Any] = {SCORE: float(np.mean(evaluation.objective))}
    for name, values in evaluation.metrics.items():
        known = values[evaluation.defined[name]]
        found[METRICS + name] = float(np.mean(known)) if known.size else None
    for agent, action in evaluation.mean_actions.items():
        elements, means = run.env.action_space(agent).names, np.mean(action, axis=0)
        for element, mean in zip(elements, means, strict=True):
            found[f"{ACTIONS}{agent}/{element}"] = float(mean)
    for name, metric in run.env.metrics.items():
        if isinstance(metric, Disparity):
            known = evaluation.rates[name][evaluation.defined[name]]  # as in the metric
            for place, part in enumerate(metric.rate.parts_in(run.env.spec)[1:], 1):
                gaps = known[:, place] - known[:, 0]
                found[f"{GAPS}{name}/{part}"] = float(np.mean(gaps)) if gaps.size else None
    return found


def _plain(value: object) -> Any:
    """Return a value for a cell of a table."""
    return value if isinstance(value, str | int | float | bool | None) else json.dumps(value)
