"""Runs that differ in nothing but their seed belong together."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairgym.report.style import words

# What may differ between runs of one configuration: luck, place, machine and date.
INCIDENTAL = frozenset({"seed", "seeds", "out", "folder", "provenance", "resume", "overwrite"})


@dataclasses.dataclass(frozen=True)
class RunGroup:
    """Runs of one configuration.

    Attributes:
        label: what sets the configuration apart from the others shown; "" if it is the only one.
        runs: one run per seed, in the order given.
    """

    label: str
    runs: tuple[Any, ...]

    @property
    def env(self) -> Any:
        """The environment, which all runs of a group share."""
        return self.runs[0].env

    @property
    def name(self) -> str:
        """The label, or what a lone configuration is called."""
        return self.label or "learned policy"

    def series(self, key: str) -> "Series":
        """One logged number over the epochs: mean, lowest and highest over the seeds."""
        return series(self.runs, key)


@dataclasses.dataclass(frozen=True)
class Series:
    """One logged number over training.

    Attributes:
        epochs: the epochs at which any run has logged, ascending.
        values: one row per run, one column per epoch; NaN where a run has no number.
    """

    epochs: np.ndarray
    values: np.ndarray

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


def _quiet(function: Any, values: np.ndarray) -> np.ndarray:
    result = np.full(values.shape[1], np.nan)
    known = np.any(np.isfinite(values), axis=0)
    if known.any():
        result[known] = function(np.where(np.isfinite(values), values, np.nan)[:, known], axis=0)
    return result


def series(runs: Sequence[Any], key: str) -> Series:
    """Line up one logged number of several runs by epoch."""
    rows = [
        {int(line["epoch"]): float(line[key]) for line in run.metrics if line.get(key) is not None}
        for run in runs
    ]
    epochs = sorted(set().union(*rows)) if rows else []
    values = [[row.get(epoch, np.nan) for epoch in epochs] for row in rows]
    return Series(np.array(epochs, int), np.array(values, float).reshape(len(rows), len(epochs)))


def group_runs(runs: Sequence[Any]) -> list[RunGroup]:
    """Gather runs by configuration, seed apart, and name each group by what differs.

    Args:
        runs: as `fairgym.training.load` returns them; a folder given twice counts once.
    """
    gathered: dict[str, list[Any]] = {}
    seen = set()
    for run in runs:
        folder = Path(run.folder).resolve()
        if folder in seen:
            continue
        seen.add(folder)
        gathered.setdefault(json.dumps(essence(run.config), sort_keys=True), []).append(run)
    groups = list(gathered.values())
    flat = [essence(group[0].config) for group in groups]
    differing = [key for key in _union(flat) if len({json.dumps(f.get(key)) for f in flat}) > 1]
    labels = [_label(f, differing) for f in flat]
    if len(groups) == 1:
        labels = [""]
    elif any(len(label) > 60 for label in labels):  # too much differs to be told in a legend
        labels = [_folder_name(group[0]) for group in groups]
    return [RunGroup(label, tuple(g)) for label, g in zip(labels, groups, strict=True)]


def essence(config: Any) -> dict[str, Any]:
    """A configuration without luck, place, machine and date, flat: "a.b.c" -> value."""
    if dataclasses.is_dataclass(config) and not isinstance(config, type):
        config = dataclasses.asdict(config)
    return {
        key: value for key, value in flatten(config).items() if not INCIDENTAL & set(key.split("."))
    }


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one: "a.b.c" -> value; lists stay whole."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _union(flat: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for f in flat for key in f))


def _label(flat: Mapping[str, Any], differing: Sequence[str]) -> str:
    parts = []
    for key in differing:
        value = flat.get(key, "not set")
        if isinstance(value, float):
            value = f"{value:g}"
        parts.append(f"{words(key.split('.')[-1])} {value}")
    return ", ".join(parts)


def _folder_name(run: Any) -> str:
    folder = Path(run.folder)
    return f"{folder.parent.name}/{folder.name}" if folder.name.startswith("seed") else folder.name
