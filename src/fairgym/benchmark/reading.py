"""Definitions in TOML files: known keys of the right types only, and their fingerprints."""

import dataclasses
import hashlib
import json
import math
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from fairgym.config.files import describe, read_config_file
from fairgym.core import FairgymError
from fairgym.utils.changes import unknown

T = TypeVar("T")

NAME = "name"  # field that has the name of the file
_WORDS = {str: "text", float: "a number", int: "a whole number", bool: "true or false"}


def read_definition(path: Path, cls: type[T], what: str) -> T:
    """Return the dataclass that a file describes; a field without default must be there.

    Args:
        path: TOML, YAML or JSON file. Its name without the ending is the field `name`.
        cls: Frozen dataclass. Its fields are texts, numbers, truth values, tuples and mappings.
        what: Word for it in messages, such as "task".

    Raises:
        FairgymError: The file cannot be read, a key is unknown or missing, or a value is of another
            type.
    """
    content = read_config_file(path)
    kinds = typing.get_type_hints(cls)
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init and f.name != NAME}  # type: ignore[arg-type]
    for key in content:
        if key not in fields:
            raise unknown("key", key, fields, f"a {what} takes", f" in {path}")
    for name, field in fields.items():
        needed = (
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )
        if needed and name not in content:
            raise FairgymError(f"{path}: {name} is missing; a {what} needs it")
    values = {key: _checked(f"{path}: {key}", value, kinds[key]) for key, value in content.items()}
    try:
        return cls(**{NAME: path.stem, **values})
    except FairgymError as error:
        raise FairgymError(f"{path}: {error}") from error


def _checked(field: str, value: object, kind: Any) -> Any:
    """Return a value as its type; lists become tuples."""
    origin = typing.get_origin(kind)
    if origin is tuple:
        inner, *more = typing.get_args(kind)
        fixed = None if more == [Ellipsis] else 1 + len(more)
        if isinstance(value, list | tuple) and fixed in (None, len(value)):
            return tuple(_checked(field, one, inner) for one in value)
        size = "a list" if fixed is None else f"a list of {fixed} values"
        raise FairgymError(f"{field} must be {size}, got {describe(value)}")
    if origin in (Mapping, dict) or getattr(origin, "__name__", "") == "Mapping":
        if isinstance(value, Mapping):
            inner = typing.get_args(kind)[1]
            return {str(n): _checked(f"{field}.{n}", one, inner) for n, one in value.items()}
        raise FairgymError(f"{field} must be a table, got {describe(value)}")
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        if math.isfinite(value):
            return float(value)
    elif kind in _WORDS:
        if isinstance(value, kind) and isinstance(value, bool) == (kind is bool):
            return value
    else:
        return value
    raise FairgymError(f"{field} must be {_WORDS[kind]}, got {describe(value)}")


def fingerprint_of(content: object) -> str:
    """Return ten hexadecimal digits that differ between different definitions.

    Args:
        content: Values of JSON.
    """
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]
