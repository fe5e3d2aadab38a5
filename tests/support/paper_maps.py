"""Objects that the maps of papers name, and what is said of them."""

import functools
import importlib
import inspect
from typing import Any


def resolved(name: str) -> Any:
    """The object of a dotted name."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        return functools.reduce(getattr, parts[cut:], module)
    raise AssertionError(f"no module in {name}")


def docstring(thing: Any) -> str:
    return inspect.getdoc(thing) or ""
