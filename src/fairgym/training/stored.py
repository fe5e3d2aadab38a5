"""Reading a run's text files, which may be damaged or forged."""

import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fairgym.config.files import describe, import_of_run, parse_json, rule_modules
from fairgym.config.run_config import RunConfig, check_fields, registered
from fairgym.core import FairgymError
from fairgym.utils.files import read_regular

FORMAT = "fairgym-run-1"
LARGEST = 2**24  # bytes


class Stored(NamedTuple):
    """Content of a config.json.

    Attributes:
        config: The complete configuration.
        environment_version: Version of the environment with which the run began.
        provenance: Versions, device, commit, data and date.
        imports: Modules that registered the environment and the algorithm.
    """

    config: RunConfig
    environment_version: int
    provenance: dict[str, Any]
    imports: tuple[str, ...] = ()


def read_names(path: Path) -> dict[str, Any]:
    """Read the names and values of a JSON file.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it holds something else; the message says what.
    """
    content = parse_json(read_regular(path, LARGEST))
    if not isinstance(content, dict):
        raise ValueError(f"it holds {describe(content)}")
    return content


def read_config(path: Path) -> Stored:
    """Read a config.json and import the modules that it names.

    Raises:
        FairgymError: If it is not that of a run, or a module cannot be imported.
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
            f"{path} cannot be read ({_reason(error)}); it must be the config.json of a run"
        ) from error
    try:
        check_fields(content)
    except FairgymError as error:
        raise FairgymError(f"{path} is damaged: {error}") from error
    config = RunConfig(**content)
    _import(imports, config, path)
    return Stored(config, version, provenance, tuple(imports))


def _import(modules: Sequence[str], config: RunConfig, path: Path) -> None:
    """Import the modules of a run, but not from its own folder, which others may have made.

    Modules of its rules are imported too, so that they are not searched for there later.

    Raises:
        FairgymError: If a module cannot be imported and the run needs something from it.
    """
    folder = path.parent
    for agent, module in rule_modules(config.fixed).items():
        try:
            import_of_run(module, path)
        except FairgymError as error:
            raise FairgymError(
                f"{folder} needs the rule {config.fixed[agent]!r} of {agent!r}, but {error}"
            ) from error
    reasons = []
    for module in modules:
        try:
            import_of_run(module, path)
        except FairgymError as error:
            reasons.append(str(error))
    missing = [
        f"the {what} {name!r}" for what, name, known in registered(config) if name not in known
    ]
    if not (modules and missing):
        return  # known already
    why = reasons[0] if reasons else f"{missing[0]} is still unknown after importing them"
    if "__main__" in modules:
        why = f"{missing[0]} was registered by a script, which no other process can import"
    raise FairgymError(
        f"{folder} needs {' and '.join(missing)}, from {' and '.join(modules)}, but {why}; give the"
        " module that registers it with --import MODULE (in Python: import it before)"
    )


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a metrics.jsonl up to the first damaged one; none without a file.

    Raises:
        FairgymError: If it cannot be read.
    """
    lines: list[dict[str, Any]] = []
    try:
        content = read_regular(path) if path.exists() else b""
    except OSError as error:
        raise FairgymError(f"{path} cannot be read ({_reason(error)})") from error
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
    """Return whether a line has finite numbers or null, and this epoch."""
    if not isinstance(line, dict) or type(line.get("epoch")) is not int or line["epoch"] != epoch:
        return False
    if not _is_number(line.get("wall_time_s")):
        return False
    return all(value is None or _is_number(value) for value in line.values())


def read_summary(path: Path) -> dict[str, Any]:
    """Return the content of a summary.json; empty without a file.

    Raises:
        FairgymError: If it is not that of a run.
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
            f"{path} cannot be read ({_reason(error)}); it must be the summary.json of a run"
        ) from error
    return summary


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) <= sys.float_info.max


def _check_provenance(provenance: object) -> None:
    """Raise a ValueError unless this has the form of `fairgym.training.provenance`."""
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
