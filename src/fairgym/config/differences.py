"""Differences between configurations in words, and whether one run continues another."""

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairgym.algorithms import algorithms
from fairgym.config.plain import further_data, objective_text
from fairgym.config.run_config import RunConfig
from fairgym.config.settings import ALGORITHM
from fairgym.core import FairgymError
from fairgym.fairness.named_memories import short

# May differ between runs of one configuration: seed, place, machine and date.
INCIDENTAL = frozenset({"seed", "seeds", "out", "folder", "provenance", "resume", "overwrite"})
SYSTEM = ("environment", "environment_args", "params", "data")
AIM = ("objective", "objectives", "bounds", "metrics", *SYSTEM)
LONGEST = 60  # characters of a label


def words(name: str) -> str:
    """Return a name in code as words: `debt_management` -> "debt management"."""
    return re.sub(r"\bgpa\b", "GPA", name.replace("_", " ").strip())


def small(text: str) -> str:
    """Return the text with a lower-case first letter, for use in a sentence ("GPA" stays)."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def essence(run: Any) -> dict[str, Any]:
    """Return the settings that determine a run, without its seed and place: "a.b.c" -> value."""
    settings = dataclasses.asdict(run.config)
    objective, own = run.config.objective, run.config.objectives
    settings["objective"] = objective_text(objective)
    settings["objectives"] = {agent: objective_text(given) for agent, given in own.items()}
    settings["metrics"] = {
        name: data
        for given in (objective, *own.values())
        for name, data in further_data(given).items()
    }
    flat = {key: v for key, v in flatten(settings).items() if not INCIDENTAL & set(key.split("."))}
    checksum = run.provenance.get("data_checksum")
    return flat | ({"data": checksum[:12]} if checksum else {})


def flatten(config: Mapping[str, object], prefix: str = "") -> dict[str, Any]:
    """Return nested mappings as one, "a.b.c" -> value; lists are kept."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def part_of(flat: Mapping[str, object], sections: Sequence[str]) -> dict[str, Any]:
    """Return the settings of some sections."""
    return {key: value for key, value in flat.items() if key.split(".")[0] in sections}


def as_text(value: object) -> str:
    """Return a text that is equal for equal settings."""
    return json.dumps(value, sort_keys=True, default=str)


def labels_of(flat: Sequence[Mapping[str, object]]) -> list[str]:
    """Return how each configuration differs from the others, in words; "" if none differs.

    Settings and parameters of the environment that follow from others are left out, such as a cap
    that is a share of the population.
    """
    values = {key: [as_text(f.get(key)) for f in flat] for f in flat for key in f}
    shown: list[str] = []
    parts: list[tuple[str, ...]] = [()] * len(flat)
    for key, column in values.items():
        finer = [(*part, value) for part, value in zip(parts, column, strict=True)]
        follows = key.split(".")[0] in SYSTEM and len({*finer}) == len({*parts})
        if len(set(column)) == 1 or follows:
            continue
        shown, parts = [*shown, key], finer
    return [", ".join(_words(key, f.get(key)) for key in shown) for f in flat]


def _words(key: str, value: object) -> str:
    section, _, name = key.rpartition(".")
    if key == "memory":
        return f"memory {short(str(value))}" if value else "no memory"
    if section == "fixed":
        return f"{words(name)} {'trained' if value is None else f'fixed at {plain(value)}'}"
    if section == "bounds":
        return f"{words(name)} {'free' if value is None else f'below {plain(value)}'}"
    if section == "objectives":
        return f"objective of {words(name)} {'shared' if value is None else plain(value)}"
    return f"{words(name)} {plain(value)}"


def plain(value: object) -> str:
    """Return a setting as text."""
    if isinstance(value, bool | None):
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, list | tuple):
        return ", ".join(plain(v) for v in value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def is_longer(config: RunConfig, begun: RunConfig) -> bool:
    """Return whether a run differs from another one only in training for longer.

    The longer run then begins with the same steps as the shorter one, bit for bit.

    Args:
        config: The complete configuration of the longer run.
        begun: That of the shorter run.
    """
    field = _length_field(config)
    differences = config.differences(begun)
    return [name for name, _, _ in differences] == [field] and all(
        _is_length(given) and _is_length(there) and given > there for _, given, there in differences
    )


def require_same_run(config: RunConfig, begun: RunConfig, folder: Path) -> None:
    """Raise a FairgymError for the first difference between two complete configurations.

    The length of training, which may grow, comes last.

    Args:
        config: The configuration to continue with.
        begun: That of the run in the folder.
        folder: The folder, for the message.
    """
    length = _length_field(config)
    differences = sorted(config.differences(begun), key=lambda difference: difference[0] == length)
    for field, given, there in differences:
        takes = "the same configuration"
        if field == length and _is_length(given) and _is_length(there):
            takes = f"{there} or more" if given < there else f"{there} until that run has finished"
        raise FairgymError(
            f"{field} is {given!r}, but the run in {folder} has {there!r}; resume needs {takes}"
        )


def _length_field(config: RunConfig) -> str:
    """Return the field of `RunConfig.differences` with the length of training; "" without one."""
    name = algorithms.get(config.algorithm).extended_by
    return f"{ALGORITHM}.{name}" if name else ""


def _is_length(value: object) -> bool:
    return type(value) is int
