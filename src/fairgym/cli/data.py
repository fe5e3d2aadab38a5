"""`fairgym data`: describe populations, and import them from a user's files."""

import dataclasses
import sys
from collections.abc import Sequence
from typing import Any

from fairgym.cli.common import IMPORT_HELP, dispatch
from fairgym.cli.output import Output
from fairgym.cli.parsing import flag, names, parse
from fairgym.core import FairgymError
from fairgym.utils.changes import unknown


def data(arguments: Sequence[str]) -> None:
    """Describe or import populations."""
    usage = (
        "usage: fairgym data ACTION ... [flags]\n\n"
        "  describe POPULATION  Describe the people of a population.\n"
        "  import SOURCE FILE   Import people from a file of yours into a population."
    )
    dispatch("data", {"describe": _describe, "import": _import}, usage, arguments)


@dataclasses.dataclass(frozen=True)
class DescribeFlags(Output):
    """Describe the people of a population."""

    names: tuple[str, ...] = names("Population to describe, such as loan.", "NAME")
    source: str = flag(
        "built-in", "Where the people come from: built-in, or the source of an import."
    )


def _describe(arguments: Sequence[str]) -> None:
    from fairgym.data import describe, population_names

    flags = parse(DescribeFlags, arguments, "fairgym data describe")
    if not flags.names:
        raise FairgymError(f"no population is given; there are: {', '.join(population_names())}")
    for name in flags.names:
        if name not in population_names():
            raise unknown("population", name, population_names())
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
        print("usage: fairgym data import SOURCE FILE\n")
        print("Import people from a file of yours into a population.\n\nsources:")
        for name, module in importers.items():
            print(f"  {name}, for the population {module.POPULATION}, takes\n    {module.FILE}")
        print(f"\n{IMPORT_HELP}")
        return
    if not arguments:
        raise FairgymError(f"source is not given; there are: {', '.join(importers)}")
    if arguments[0] not in importers:
        raise unknown("source", arguments[0], importers, "data import takes")
    if len(arguments) != 2:
        raise FairgymError(f"data import {arguments[0]} needs one file, got {len(arguments) - 1}")
    print(importers[arguments[0]].run(arguments[1], progress=_Percent()))


class _Percent:
    """Percentage of a file that has been read, shown on a terminal."""

    def __call__(self, done: int, total: int) -> None:
        if sys.stderr.isatty():
            end = "\n" if done >= total else ""
            print(f"\r{done / max(total, 1):4.0%} read", end=end, file=sys.stderr, flush=True)
