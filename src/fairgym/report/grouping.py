"""Runs grouped by configuration: those that differ only in their seed belong together."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from fairgym.config.differences import AIM, LONGEST, SYSTEM, as_text, essence, labels_of, part_of
from fairgym.core import Environment
from fairgym.training.folder import seed_of
from fairgym.training.run import Run

LONE = "learned policy"  # name of the only configuration of a report


@dataclasses.dataclass(frozen=True)
class RunGroup:
    """Runs of one configuration.

    Attributes:
        label: Difference of the configuration from the others shown; "" if it is the only one.
        runs: One run per seed, in the order given.
        environment: What differs in its environment, parameters and data; "" if nothing does.
        aim: Environment and objective, as text that is equal for equal ones.
    """

    label: str
    runs: tuple[Run, ...]
    environment: str = ""
    aim: str = ""

    @property
    def env(self) -> Environment:
        """Environment, which all runs of a group share."""
        return self.runs[0].env

    @property
    def name(self) -> str:
        """Label, or name of a lone configuration."""
        return self.label or LONE

    @property
    def fixed(self) -> tuple[str, ...]:
        """Agents that are not trained."""
        return tuple(self.runs[0].config.fixed)

    def series(self, key: str) -> "Series":
        """One logged number over the epochs: mean, lowest and highest over the seeds."""
        return series(self.runs, key)


@dataclasses.dataclass(frozen=True)
class Series:
    """One logged number over training.

    Attributes:
        epochs: The epochs at which any run has logged, ascending.
        values: One row per run, one column per epoch; NaN where a run has no number.
    """

    epochs: np.ndarray
    values: np.ndarray

    @property
    def marker(self) -> str:
        """Marker of its line: a dot for a single epoch, which makes no line."""
        return "o" if len(self.epochs) == 1 else ""

    @property
    def mean(self) -> np.ndarray:
        """Mean over the runs that have a number."""
        return _quiet(np.nanmean, self.values)

    @property
    def low(self) -> np.ndarray:
        """Lowest over the runs."""
        return _quiet(np.nanmin, self.values)

    @property
    def high(self) -> np.ndarray:
        """Highest over the runs."""
        return _quiet(np.nanmax, self.values)


def _quiet(function: Callable[..., np.ndarray], values: np.ndarray) -> np.ndarray:
    result = np.full(values.shape[1], np.nan)
    known = np.any(np.isfinite(values), axis=0)
    if known.any():
        result[known] = function(np.where(np.isfinite(values), values, np.nan)[:, known], axis=0)
    return result


def series(runs: Sequence[Run], key: str) -> Series:
    """Line up one logged number of several runs by epoch."""
    rows = [
        {int(line["epoch"]): float(line[key]) for line in run.metrics if line.get(key) is not None}
        for run in runs
    ]
    epochs = sorted(set().union(*rows)) if rows else []
    values = [[row.get(epoch, np.nan) for epoch in epochs] for row in rows]
    return Series(np.array(epochs, int), np.array(values, float).reshape(len(rows), len(epochs)))


def group_runs(runs: Sequence[Run]) -> list[RunGroup]:
    """Group runs by configuration, ignoring the seed, and label each group by what differs.

    Args:
        runs: As `fairgym.training.load` returns them; a folder given twice counts once.
    """
    gathered: dict[str, list[Run]] = {}
    seen = set()
    for run in runs:
        folder = Path(run.folder).resolve()
        if folder in seen:
            continue
        seen.add(folder)
        gathered.setdefault(as_text(essence(run)), []).append(run)
    groups = list(gathered.values())
    flat = [essence(group[0]) for group in groups]
    labels = labels_of(flat)
    if any(len(label) > LONGEST for label in labels):  # too long for a legend
        labels = [_folder_name(group[0]) for group in groups]
        labels = [
            label if labels.count(label) == 1 else f"{label} ({i + 1})"
            for i, label in enumerate(labels)
        ]
    environments = labels_of([part_of(f, SYSTEM) for f in flat])
    return [
        RunGroup(label, tuple(group), environment, as_text(part_of(f, AIM)))
        for label, group, environment, f in zip(labels, groups, environments, flat, strict=True)
    ]


def groups_of(runs: Sequence[Run] | Sequence[RunGroup]) -> list[RunGroup]:
    """Group runs by configuration, unless they are grouped already."""
    if runs and isinstance(runs[0], RunGroup):
        return list(cast(Sequence[RunGroup], runs))
    return group_runs(cast(Sequence[Run], runs))


def _folder_name(run: Run) -> str:
    folder = Path(run.folder)
    return folder.name if seed_of(folder) is None else f"{folder.parent.name}/{folder.name}"
