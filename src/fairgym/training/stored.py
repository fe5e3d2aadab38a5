"""Reading of a run's files of text, which others may have damaged or forged."""

import dataclasses
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fairgym.config.files import describe, parse_json
from fairgym.config.run_config import RunConfig, check_fields, registered
from fairgym.core import FairgymError
from fairgym.utils.files import read_regular
from fairgym.utils.plugins import import_plugin

FORMAT = "fairgym-run-1"
LARGEST = 2**24  # bytes


class Stored(NamedTuple):
    """Content of a config.json.

    Attributes:
        config: the complete configuration.
        environment_version: version of the environment that the run began in.
        provenance: versions, device, commit, data and date.
        imports: modules that registered the environment and the algorithm.
    """

    config: RunConfig
    environment_version: int
    provenance: dict[str, Any]
    imports: tuple[str, ...] = ()


def read_names(path: Path) -> dict[str, Any]:
    """The names with values of a JSON file.

    Raises:
        OSError: it cannot be read.
        ValueError: it holds something else; the error says what in plain words.
    """
    content = parse_json(read_regular(path, LARGEST))
    if not isinstance(content, dict):
        raise ValueError(f"it holds {describe(content)}")
    return content


def read_config(path: Path) -> Stored:
    """Read a config.json, and import the modules that it names.

    Raises:
        FairgymError: it is not that of a run, or needs a module that cannot be imported here.
    """
    try:
        content = read_names(path)
        if content.pop("format", None) != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        for name in ("environment_version", "provenance", "environment"):
            if name not in content:
                raise ValueError(f"{name} is not given")
        version, provenance = content.pop("environment_version"), content.pop("provenance")
        imports = content.pop("imports", [])
        if not isinstance(imports, list) or not all(isinstance(name, str) for name in imports):
            raise ValueError(f"imports is {describe(imports)}, not names of modules")
        unknown = [n for n in content if n not in {f.name for f in dataclasses.fields(RunConfig)}]
        if unknown:
            raise ValueError(f"it has the unknown key {unknown[0]!r}")
        if type(version) is not int:
            raise ValueError(f"environment_version is {version!r}")
        _check_provenance(provenance)
    except (OSError, ValueError) as error:
        raise FairgymError(
            f"{path} cannot be read ({_reason(error)}); it takes the config.json of a run"
        ) from error
    try:
        check_fields(content)
    except FairgymError as error:
        raise FairgymError(f"{path} is damaged: {error}") from error
    config = RunConfig(**content)
    _import(imports, config, path.parent)
    return Stored(config, version, provenance, tuple(imports))


def _import(modules: Sequence[str], config: RunConfig, folder: Path) -> None:
    """Import the modules of a run, from elsewhere than its own folder: others may have made it.

    Those of its rules, too, so that these are not looked for there later.

    Raises:
        FairgymError: one of them cannot be imported, and something that the run needs is not
            known without it.
    """
    made_by = folder
    while made_by.name == ".replacement" or re.fullmatch(r"seed-\d+", made_by.name):
        made_by = made_by.parent
    for agent, rule in config.fixed.items():
        if isinstance(rule, str) and ":" in rule:
            try:
                import_plugin(rule.partition(":")[0], outside=made_by)
            except FairgymError as error:
                raise FairgymError(
                    f"{folder} needs the rule {rule!r} of {agent!r}, but {error}"
                ) from error
    reasons = []
    for module in modules:
        try:
            if module != "__main__":
                import_plugin(module, outside=made_by)
        except FairgymError as error:
            reasons.append(str(error))
    missing = [
        f"the {what} {name!r}" for what, name, known in registered(config) if name not in known
    ]
    if not (modules and missing):
        return  # as it was when the run began, or found elsewhere
    why = reasons[0] if reasons else f"{missing[0]} is not known after that"
    if "__main__" in modules:
        why = f"{missing[0]} was registered by a script, which no other process can import"
    raise FairgymError(
        f"{folder} needs {' and '.join(missing)}, from {' and '.join(modules)}, but {why}; --import"
        " MODULE takes one that registers what is missing (in Python: import it before)"
    )


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a metrics.jsonl up to the first damaged one; none without a file.

    Raises:
        FairgymError: it cannot be read.
    """
    lines: list[dict[str, Any]] = []
    try:
        content = read_regular(path) if path.exists() else b""
    except OSError as error:
        raise FairgymError(f"{path} cannot be read ({_reason(error)}); it takes a file") from error
    for text in content.splitlines(keepends=True):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            break
        if not (text.endswith(b"\n") and _is_line(line, len(lines) + 1)):
            break
        lines.append(line)
    return lines


def _is_line(line: object, epoch: int) -> bool:
    """True for names with finite numbers, or null, of this epoch."""
    if not isinstance(line, dict) or type(line.get("epoch")) is not int or line["epoch"] != epoch:
        return False
    if not _is_number(line.get("wall_time_s")):
        return False
    return all(value is None or _is_number(value) for value in line.values())


def read_summary(path: Path) -> dict[str, Any]:
    """The content of a summary.json; empty without a file.

    Raises:
        FairgymError: it is not that of a run.
    """
    if not path.exists():
        return {}
    try:
        summary = read_names(path)
        for name in ("objective", "epochs", "wall_time_s"):
            if summary.get(name) is not None and not _is_number(summary[name]):
                raise ValueError(f"{name} is {summary[name]!r}")
    except (OSError, ValueError) as error:
        raise FairgymError(
            f"{path} cannot be read ({_reason(error)}); it takes the summary.json of a run"
        ) from error
    return summary


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) <= sys.float_info.max


def _check_provenance(provenance: object) -> None:
    """Raise a ValueError unless it is of the kind that `fairgym.training.provenance` makes."""
    if not isinstance(provenance, Mapping):
        raise ValueError(f"provenance is {describe(provenance)}")
    for name, value in provenance.items():
        kind = Mapping if name in ("versions", "device") else str
        if not isinstance(value, kind):
            raise ValueError(f"provenance.{name} is {describe(value)}")
        for part, entry in value.items() if isinstance(value, Mapping) else ():
            if isinstance(entry, Mapping | list):
                raise ValueError(f"provenance.{name}.{part} is {describe(entry)}")


def _reason(error: Exception) -> str:
    strerror = error.strerror if isinstance(error, OSError) else None
    return " ".join(str(strerror or error).split())
