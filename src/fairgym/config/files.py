"""Configuration files: YAML, JSON or TOML."""

import contextlib
import json
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairgym.core import FairgymError
from fairgym.utils.files import read_regular, require_path
from fairgym.utils.plugins import import_plugin

LARGEST = 2**19  # bytes, which are read within a second
MOST_VALUES = 10_000
DEEPEST = 50
# A dotted key of TOML with more parts than are allowed.
_DEEP_KEY = re.compile(
    rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{DEEPEST}}}"""
)


def read_config_file(path: str | Path) -> dict[str, Any]:
    """Read the keys and values of a YAML, JSON or TOML file.

    Raises:
        FairgymError: The file cannot be read, is of another kind, holds no keys, or is too large
            or too deeply nested for a configuration.
    """
    require_path(path, "config")
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _PARSERS:
        raise FairgymError(f"{path} must end in .yaml, .yml, .json or .toml, got {suffix!r}")
    try:
        content = read_regular(path, LARGEST)
    except OSError as error:
        raise FairgymError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FairgymError(f"{path} must be a text file: YAML, JSON or TOML") from error
    try:
        values = _parsed(text, suffix)
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise FairgymError(f"{path} is not valid {suffix[1:].upper()}: {reason}") from error
    if not isinstance(values, dict):
        raise FairgymError(f"{path} must hold names with values, got {describe(values)}")
    return values


def import_listed(fields: dict[str, Any], run: Path | None = None) -> None:
    """Remove `imports` from the keys of a file, and import these modules.

    Args:
        fields: The keys with their values.
        run: The file, if it is the config.json of a run: its modules, and those of its rules, are
            imported as by `import_of_run`.

    Raises:
        FairgymError: The value is no list of names, or a module cannot be imported.
    """
    modules = fields.pop("imports", [])
    if not isinstance(modules, list) or not all(isinstance(name, str) for name in modules):
        raise FairgymError(f"imports must be a list of module names, got {modules!r}")
    if run is None:
        for module in modules:
            import_plugin(module)
        return
    fixed = fields.get("fixed")
    for module in (*modules, *rule_modules(fixed if isinstance(fixed, Mapping) else {}).values()):
        import_of_run(module, run)


def rule_modules(fixed: Mapping[str, object]) -> dict[str, str]:
    """Return the modules of the fixed policies that are named as "module:function", by agent."""
    rules = {a: rule for a, rule in fixed.items() if isinstance(rule, str) and ":" in rule}
    return {agent: rule.partition(":")[0] for agent, rule in rules.items()}


def import_of_run(name: str, path: Path) -> None:
    """Import a module that the config.json of a run names, and say so on standard error before.

    Nothing is imported from the run's folder, or from that of its seeds: somebody else may have
    made them.

    Args:
        name: Dotted name of the module; "__main__" stands for a script and is not imported.
        path: The config.json.

    Raises:
        FairgymError: As `import_plugin`.
    """
    if name == "__main__":
        return
    made_by = path.parent
    while made_by.name == ".replacement" or re.fullmatch(r"seed-\d+", made_by.name):
        made_by = made_by.parent
    if name not in sys.modules and all(map(str.isidentifier, name.split("."))):
        there = str(path) if str(path).isprintable() else repr(str(path))
        with contextlib.suppress(OSError, ValueError):  # closed
            print(f"importing module {name!r} named by {there}", file=sys.stderr, flush=True)
    import_plugin(name, outside=made_by)


def parse_json(content: bytes) -> Any:
    """Return the values of a JSON text with bounded depth and numbers.

    Raises:
        ValueError: The text is not of this kind; the message says why.
    """
    try:
        return _parsed(content.decode("utf-8-sig"), ".json")
    except UnicodeDecodeError as error:
        raise ValueError("it is not text") from error


def describe(values: object) -> str:
    """Return the kind of a value in a file, in words."""
    kinds = {list: "a list", str: "a text", bool: "true or false", type(None): "nothing"}
    return kinds.get(type(values), "a number" if isinstance(values, int | float) else "a value")


def differences(
    here: Mapping[str, object], there: Mapping[str, object]
) -> list[tuple[str, Any, Any]]:
    """Return the differences of two configurations: (field, value here, value there)."""
    ours, theirs = _flat(here), _flat(there)
    return [
        (key, ours.get(key), theirs.get(key))
        for key in {**ours, **theirs}
        if ours.get(key) != theirs.get(key)
    ]


def _flat(config: Mapping[str, object]) -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{name}": entry for name, entry in value.items()}
        else:
            flat[key] = value
    return flat


def _parsed(text: str, suffix: str) -> Any:
    try:
        values = _PARSERS[suffix](text)
    except RecursionError as error:
        raise ValueError("the file is nested too deeply") from error
    _check(values)
    return values


def _check(values: object) -> None:
    """Raise a ValueError for a depth, amount or number that no configuration has."""
    waiting, count = [(values, 0)], 0
    while waiting:
        value, depth = waiting.pop()
        count += 1
        if depth > DEEPEST:
            raise ValueError("the file is nested too deeply")
        if count > MOST_VALUES:
            raise ValueError(f"the file holds more than {MOST_VALUES:,} values")
        if isinstance(value, int) and not abs(value) <= sys.float_info.max:
            raise ValueError("it holds a whole number with more than 308 digits")
        if isinstance(value, dict):
            waiting += [(part, depth + 1) for item in value.items() for part in item]
        elif isinstance(value, list | tuple | set):
            waiting += [(part, depth + 1) for part in value]


def _read_yaml(text: str) -> Any:
    from fairgym.config.yaml_core import read_yaml  # not imported where it is not needed

    return read_yaml(text, MOST_VALUES, DEEPEST)


def _read_json(text: str) -> Any:
    def read(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, value in pairs:
            if key in found:  # one of the values would be lost
                raise ValueError(f"the key {key!r} is given twice")
            found[key] = value
        return found

    return json.loads(text, object_pairs_hook=read)


def _read_toml(text: str) -> Any:
    if _DEEP_KEY.search(text):  # tomllib needs time that grows with the square of its length
        raise ValueError(f"a key in it has more than {DEEPEST} parts")
    return tomllib.loads(text)


_PARSERS = {
    ".json": _read_json,
    ".toml": _read_toml,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
}
