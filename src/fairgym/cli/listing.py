"""`fairgym list`: the environments and algorithms that are installed."""

import dataclasses
import itertools
import sys
from collections.abc import Sequence
from typing import Any

from fairgym.cli.common import plain
from fairgym.cli.output import Output
from fairgym.cli.parsing import parse
from fairgym.core import FairgymError
from fairgym.utils import Registry


@dataclasses.dataclass(frozen=True)
class ListFlags(Output):
    """List environments and algorithms, one per line."""


def list_all(arguments: Sequence[str]) -> None:
    """Print environments and algorithms, one per line."""
    from fairgym.algorithms import algorithms
    from fairgym.utils.registry import environments

    flags = parse(ListFlags, arguments, "fairgym list")
    found = [
        {"kind": kind, "name": name, **_described(registry, name)}
        for kind, registry in (("environment", environments), ("algorithm", algorithms))
        for name in registry.names()
    ]
    if not flags.give("list", lambda: {"results": found}):
        return
    for kind, rows in itertools.groupby(found, key=lambda row: row["kind"]):
        print(f"{kind}s")
        several = list(rows)
        width = max(len(row["name"]) for row in several)
        for row in several:
            origin = f" [{row['origin']}]" if row["origin"] else ""
            print(f"  {plain(row['name'].ljust(width) + '  ' + row['about'] + origin)}")


def _about(thing: Any) -> str:
    """Return the first paragraph of the docstring of a module or, without one, of its class."""
    from fairgym.config.settings import summary_line

    about = summary_line(sys.modules.get(thing.__module__))
    if not about and not (thing.__doc__ or "").startswith(f"{thing.__name__}("):
        about = summary_line(thing)
    return about


def _described(registry: Registry, name: str) -> dict[str, Any]:
    """Return what a registered name is, and its origin if it does not come with fairgym."""
    try:
        about = _about(registry.get(name))
    except FairgymError as error:  # a missing extra, or a broken plug-in
        about = f"({error})"
    origin = registry.distribution_of(name) or registry.module_of(name)
    return {"about": about, "origin": origin or None}
