"""Runs by configuration: those that differ in nothing but their seed belong together."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairgym.report.words import words
from fairgym.training.folder import seed_of

# What may differ between runs of one configuration: luck, place, machine and date.
INCIDENTAL = frozenset({"seed", "seeds", "out", "folder", "provenance", "resume", "overwrite"})
WORLD = ("environment", "environment_args", "params", "data")
AIM = ("objective", "objectives", "bounds", *WORLD)
LONGEST = 60  # characters of a label


@dataclasses.dataclass(frozen=True)
class RunGroup:
    """Runs of one configuration.

    Attributes:
        label: difference of the configuration from the others shown; "" if it is the only one.
        runs: one run per seed, in the order given.
        world: difference of its environment, parameters and data; "" if all groups share them.
        aim: environment and objective, as text that is equal for equal ones.
    """

    label: str
    runs: tuple[Any, ...]
    world: str = ""
    aim: str = ""

    @property
    def env(self) -> Any:
        """Environment, which all runs of a group share."""
        return self.runs[0].env

    @property
    def name(self) -> str:
        """Label, or name of a lone configuration."""
        return self.label or "learned policy"

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
        epochs: the epochs at which any run has logged, ascending.
        values: one row per run, one column per epoch; NaN where a run has no number.
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
        gathered.setdefault(_text(essence(run)), []).append(run)
    groups = list(gathered.values())
    flat = [essence(group[0]) for group in groups]
    labels = _labels(flat)
    if any(len(label) > LONGEST for label in labels):  # too long for a legend
        labels = [_folder_name(group[0]) for group in groups]
        labels = [
            label if labels.count(label) == 1 else f"{label} ({i + 1})"
            for i, label in enumerate(labels)
        ]
    worlds = _labels([_part(f, WORLD) for f in flat])
    return [
        RunGroup(label, tuple(group), world, _text(_part(f, AIM)))
        for label, group, world, f in zip(labels, groups, worlds, flat, strict=True)
    ]


def groups_of(runs: Sequence[Any]) -> list[RunGroup]:
    """Gather runs by configuration, if they are not gathered already."""
    return list(runs) if runs and isinstance(runs[0], RunGroup) else group_runs(runs)


def essence(run: Any) -> dict[str, Any]:
    """Settings that determine a run, without luck, place, machine and date: "a.b.c" -> value."""
    settings = dataclasses.asdict(run.config)
    flat = {key: v for key, v in flatten(settings).items() if not INCIDENTAL & set(key.split("."))}
    checksum = run.provenance.get("data_checksum")
    return flat | ({"data": checksum[:12]} if checksum else {})


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one: "a.b.c" -> value; lists stay whole."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _part(flat: Mapping[str, Any], sections: Sequence[str]) -> dict[str, Any]:
    return {key: value for key, value in flat.items() if key.split(".")[0] in sections}


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _labels(flat: Sequence[Mapping[str, Any]]) -> list[str]:
    """Differences between configurations, in words; all "" if nothing differs.

    Of the environment's settings and parameters those are left out that follow others (a cap
    that is a share of the population).
    """
    values = {key: [_text(f.get(key)) for f in flat] for f in flat for key in f}
    shown: list[str] = []
    parts: list[tuple[str, ...]] = [()] * len(flat)
    for key, column in values.items():
        finer = [(*part, value) for part, value in zip(parts, column, strict=True)]
        if len(set(column)) == 1 or (key.split(".")[0] in WORLD and len({*finer}) == len({*parts})):
            continue
        shown, parts = [*shown, key], finer
    return [", ".join(_words(key, f.get(key)) for key in shown) for f in flat]


def _words(key: str, value: Any) -> str:
    section, _, name = key.rpartition(".")
    if section == "fixed":
        return f"{words(name)} {'trained' if value is None else f'fixed at {plain(value)}'}"
    if section == "bounds":
        return f"{words(name)} {'free' if value is None else f'below {plain(value)}'}"
    if section == "objectives":
        return f"objective of {words(name)} {'shared' if value is None else plain(value)}"
    return f"{words(name)} {plain(value)}"


def plain(value: Any) -> str:
    """A setting in text."""
    if isinstance(value, bool | None):
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, list | tuple):
        return ", ".join(plain(v) for v in value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _folder_name(run: Any) -> str:
    folder = Path(run.folder)
    return folder.name if seed_of(folder) is None else f"{folder.parent.name}/{folder.name}"
