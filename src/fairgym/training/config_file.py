"""Configuration files: YAML, JSON or TOML."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from fairgym.core import FairgymError


def read_config_file(path: Path) -> dict[str, Any]:
    """The keys of a YAML, JSON or TOML file.

    Raises:
        FairgymError: the file cannot be read, is of another kind, or holds no keys.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FairgymError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise FairgymError(f"{path} is not a text file; it takes YAML, JSON or TOML") from error
    suffix = path.suffix.lower()
    try:
        if suffix == ".json":
            content = json.loads(text)
        elif suffix == ".toml":
            content = tomllib.loads(text)
        elif suffix in (".yaml", ".yml"):
            content = _read_yaml(text)
        else:
            raise FairgymError(f"{path} ends in {suffix!r}; it takes .yaml, .yml, .json or .toml")
    except FairgymError:
        raise
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise FairgymError(f"{path} is not valid {suffix[1:].upper()}: {reason}") from error
    if not isinstance(content, dict):
        raise FairgymError(f"{path} holds {type(content).__name__}; it takes names with values")
    return content


def _read_yaml(text: str) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """Reads 1e-3 as the number that it is in YAML 1.2."""

    number = re.compile(r"[-+]?(\d[\d_]*)(\.\d*)?[eE][-+]?\d+$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+0123456789"))
    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
