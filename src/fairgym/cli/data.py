"""`fairgym data`: populations described, and imported from a user's own files."""

import dataclasses
import sys
from collections.abc import Sequence
from typing import Any

from fairgym.cli.common import dispatch
from fairgym.cli.output import Output
from fairgym.cli.parsing import flag, names, parse
from fairgym.core import FairgymError


def data(arguments: Sequence[str]) -> None:
    """Describe or import populations."""
    usage = (
        "usage: fairgym data describe POPULATION [--source NAME]\n"
        "       fairgym data import SOURCE FILE"
    )
    dispatch("data", {"describe": _describe, "import": _import}, usage, arguments)


@dataclasses.dataclass(frozen=True)
class DescribeFlags(Output):
    """Describe the people of a population."""

    names: tuple[str, ...] = names("Populations, such as loan.", "NAME")
    source: str = flag("built-in", "Origin of the people: built-in, or the name of an import.")


def _describe(arguments: Sequence[str]) -> None:
    from fairgym.data import describe, population_names

    flags = parse(DescribeFlags, arguments, "fairgym data describe")
    if not flags.names:
        raise FairgymError(f"no population is given; there are: {', '.join(population_names())}")
    if flags.give("data describe", lambda: _records(flags)):
        print("\n\n".join(describe(name, flags.source) for name in flags.names))


def _records(flags: DescribeFlags) -> dict[str, Any]:
    from fairgym.data import describe_records

    several = [describe_records(name, flags.source) for name in flags.names]
    return {"results": [row for rows in several for row in rows]}


def _import(arguments: Sequence[str]) -> None:
    from fairgym.data.importers import importer_modules

    importers = importer_modules()
    if any(word in ("-h", "--help") for word in arguments):
        print("usage: fairgym data import SOURCE FILE\n\nsources, what they fill and the file:")
        width = max(len(name) for name in importers)
        for name, module in importers.items():
            print(f"  {name.ljust(width)}  {module.POPULATION}: {module.FILE}")
        return
    if not arguments or arguments[0] not in importers:
        given = repr(arguments[0]) if arguments else "not given"
        raise FairgymError(f"source is {given}; data import takes: {', '.join(importers)}")
    if len(arguments) != 2:
        raise FairgymError(
            f"data import {arguments[0]} got {len(arguments) - 1} files; it takes one"
        )
    print(importers[arguments[0]].run(arguments[1], progress=_Percent()))


class _Percent:
    """Percent of a file read, on a terminal."""

    def __call__(self, done: int, total: int) -> None:
        if sys.stderr.isatty():
            end = "\n" if done >= total else ""
            print(f"\r{done / max(total, 1):4.0%} read", end=end, file=sys.stderr, flush=True)
