"""The short commands: report, bench, data, list, version."""

import dataclasses
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import tyro

from fairgym._version import __version__
from fairgym.cli.parsing import parse, typed
from fairgym.core import FairgymError

Folders = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN ...")]
Names = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="NAME ...")]


@typed(metavars={"out": "FILE"})
@dataclasses.dataclass(frozen=True)
class ReportFlags:
    """Write one HTML page about runs, which opens without a network.

    Attributes:
        folders: run folders, or folders that hold seed-N folders.
        out: the page; report.html in the first folder by default. Figures go beside it.
        episodes: episodes that each policy is measured in.
        seed: of these episodes.
    """

    folders: Folders
    out: str | None = None
    episodes: int = 16
    seed: int = 1


def report(arguments: Sequence[str]) -> None:
    """Write a report and say where it is."""
    from fairgym.training import devices
    from fairgym.training.run import load_runs

    devices.configure()
    flags: Any = parse(ReportFlags, arguments, "fairgym report")
    load_runs(flags.folders)  # what is wrong is said before matplotlib is imported
    from fairgym.report import write_report

    page = write_report(
        flags.folders, flags.out, episodes=flags.episodes, seed=flags.seed, progress=_say
    )
    print(page)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def data(arguments: Sequence[str]) -> None:
    """`data describe` and `data import`."""
    actions = {"describe": _describe, "import": _import}
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: fairgym data describe POPULATION [--source NAME]")
        print("       fairgym data import SOURCE FILE")
        return
    if arguments[0] not in actions:
        raise FairgymError(f"unknown action {arguments[0]!r}; data takes: {', '.join(actions)}")
    actions[arguments[0]](arguments[1:])


@typed()
@dataclasses.dataclass(frozen=True)
class DescribeFlags:
    """Say who is in a population.

    Attributes:
        names: populations, such as loan.
        source: built-in, or the name of an import.
    """

    names: Names
    source: str = "built-in"


def _describe(arguments: Sequence[str]) -> None:
    from fairgym.data import describe, population_names

    flags: Any = parse(DescribeFlags, arguments, "fairgym data describe")
    if not flags.names:
        raise FairgymError(f"no population is given; there are: {', '.join(population_names())}")
    print("\n\n".join(describe(name, flags.source) for name in flags.names))


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


def list_all(arguments: Sequence[str]) -> None:
    """Environments and algorithms with a line each."""
    from fairgym.algorithms import algorithms
    from fairgym.core.registry import environments
    from fairgym.training.settings import summary_line

    if any(word not in ("-h", "--help") for word in arguments):
        raise FairgymError(f"unknown argument {arguments[0]!r}; list takes none")
    if arguments:
        print("usage: fairgym list")
        return
    for title, registry in (("environments", environments), ("algorithms", algorithms)):
        print(title)
        names = registry.names()
        for name in names:
            try:
                about = summary_line(sys.modules[registry.get(name).__module__])
            except FairgymError as error:  # an extra that is not installed
                about = f"({error})"
            print(f"  {name.ljust(max(map(len, names)))}  {about}")


def version(arguments: Sequence[str]) -> None:
    """The version."""
    if arguments:
        raise FairgymError(f"unknown argument {arguments[0]!r}; version takes none")
    print(f"fairgym {__version__}")


@typed(metavars={"populations": "N,N,...", "batches": "N,N,..."})
@dataclasses.dataclass(frozen=True)
class BenchFlags:
    """Measure the speed of environments, without and with policies, and against NumPy.

    Attributes:
        names: environments, such as loan.
        populations: numbers of people, as 1000,10000.
        batches: numbers of episodes that run together.
        repetitions: how often each figure is measured; the median counts.
        json: print one JSON list.
    """

    names: Names
    populations: tuple[int, ...] | None = None
    batches: tuple[int, ...] | None = None
    repetitions: int = 5
    json: bool = False


def bench(arguments: Sequence[str]) -> None:
    """Measure and print."""
    from fairgym.core.registry import environments
    from fairgym.training import devices

    flags: Any = parse(BenchFlags, arguments, "fairgym bench")
    if not flags.names:
        raise FairgymError(f"no environment is given; there are: {', '.join(environments.names())}")
    devices.configure()
    from fairgym.bench import main_bench

    given = {"populations": flags.populations, "batches": flags.batches}
    given = {name: value for name, value in given.items() if value is not None}
    main_bench(flags.names, as_json=flags.json, repetitions=flags.repetitions, **given)
