"""Configuration files: YAML, JSON or TOML."""

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

LARGEST = 2**20  # bytes
MOST_VALUES = 10_000
DEEPEST = 50


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


def import_listed(fields: dict[str, Any], outside: Path | None = None) -> None:
    """Remove `imports` from the keys of a file, and import these modules.

    Args:
        fields: The keys with their values.
        outside: As for `import_plugin`.

    Raises:
        FairgymError: The value is no list of names, or a module cannot be imported.
    """
    modules = fields.pop("imports", [])
    if not isinstance(modules, list) or not all(isinstance(name, str) for name in modules):
        raise FairgymError(f"imports must be a list of module names, got {modules!r}")
    for module in modules:
        import_plugin(module, outside)


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
    import yaml

    class Loader(yaml.SafeLoader):
        """Loader that reads 1e-3 as a number, as YAML 1.2 does."""

    number = re.compile(r"[-+]?(\d[\d_]*)(\.\d*)?[eE][-+]?\d+$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+0123456789"))
    try:
        loader = Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _expanded(node, {})
        return loader.construct_document(node)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _expanded(node: Any, known: dict[int, int]) -> int:
    """Return the number of values of a node once its aliases are expanded.

    Raises:
        ValueError: There are too many values, an alias of itself, or a key given twice.
    """
    if id(node) in known:
        if not known[id(node)]:
            raise ValueError("an alias in it refers to itself")
        return known[id(node)]
    known[id(node)] = 0
    count = 1
    parts = node.value if isinstance(node.value, list) else ()
    _once([part[0].value for part in parts if isinstance(part, tuple)])
    for part in parts:
        for child in part if isinstance(part, tuple) else (part,):
            count += _expanded(child, known)
            if count > MOST_VALUES:
                raise ValueError(f"the file holds more than {MOST_VALUES:,} values")
    known[id(node)] = count
    return count


def _read_json(text: str) -> Any:
    def read(pairs: list[tuple[str, object]]) -> dict[str, object]:
        _once([key for key, _ in pairs])
        return dict(pairs)

    return json.loads(text, object_pairs_hook=read)


def _once(keys: list[object]) -> None:
    """Raise a ValueError for a key that is given twice, since one value would be lost."""
    known: set[str] = set()
    for key in keys:
        if isinstance(key, str) and key in known:
            raise ValueError(f"the key {key!r} is given twice")
        known |= {key} if isinstance(key, str) else set()


_PARSERS = {
    ".json": _read_json,
    ".toml": tomllib.loads,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
}
