"""`fairgym sweep`: many runs from one file, resumed, and a table of what they came to."""

import collections
import dataclasses
import reprlib
import shlex
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairgym.cli.imports import IMPORT_HELP, as_words
from fairgym.cli.parsing import Names, parse, typed
from fairgym.cli.printing import plain
from fairgym.core import FairgymError, interrupts
from fairgym.core.files import require_folder, require_path

PROG = "fairgym sweep"
ACTIONS = {
    "run": "train the runs of a plan that are not finished",
    "status": "tell how far the runs of a plan are",
    "table": "write a table of all runs: settings, metrics, seeds, folders",
}


def sweep(arguments: Sequence[str]) -> None:
    """Train a plan, tell how far it is, or write its table."""
    actions = {"run": _run, "status": _status, "table": _table}
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: fairgym sweep ACTION PLAN [flags]\n")
        for name, about in ACTIONS.items():
            print(f"  {name.ljust(6)}  {about}")
        print(f"\nA plan is a TOML, YAML or JSON file (docs/sweeps.md).\n\n{IMPORT_HELP}")
        return
    if arguments[0] not in actions:
        raise FairgymError(f"unknown action {arguments[0]!r}; sweep takes: {', '.join(actions)}")
    actions[arguments[0]](arguments[1:])


@typed(metavars={"out": "FOLDER", "shard": "K/N"})
@dataclasses.dataclass(frozen=True)
class RunFlags:
    """Train the runs of a plan that are not finished; what was begun goes on.

    Attributes:
        names: the plan, a TOML, YAML or JSON file.
        out: folder of the sweep; runs/PLAN by default.
        workers: number of processes that train, each one run at a time; results are the same.
        shard: the K-th of N equal parts of the runs, for several machines with one folder.
        dry_run: count of the runs and an estimate of the time they take, and nothing else.
    """

    names: Names
    out: str | None = None
    workers: int = 1
    shard: str = "1/1"
    dry_run: bool = False


@typed(metavars={"out": "FOLDER"})
@dataclasses.dataclass(frozen=True)
class StatusFlags:
    """Tell how far the runs of a plan are.

    Attributes:
        names: the plan.
        out: folder of the sweep; runs/PLAN by default.
    """

    names: Names
    out: str | None = None


@typed(metavars={"out": "FOLDER", "file": "FILE"})
@dataclasses.dataclass(frozen=True)
class TableFlags:
    """Write a table with a row for each run of a plan.

    Attributes:
        names: the plan.
        out: folder of the sweep; runs/PLAN by default.
        file: the table, .csv or .parquet; table.csv in the folder by default.
    """

    names: Names
    out: str | None = None
    file: str | None = None


def _plan(flags: Any) -> tuple[Any, Path]:
    """The sweep of a file, and its folder."""
    from fairgym.sweeps import read_sweep

    if len(flags.names) != 1:
        given = " ".join(flags.names) or "nothing"
        raise FairgymError(f"the plan is {given!r}; it takes one file, such as sweep.toml")
    path = Path(flags.names[0])
    if flags.out is not None:
        require_path(flags.out, "out")
    found = read_sweep(path)
    out = Path("runs") / path.stem if flags.out is None else Path(flags.out)
    require_folder(out)
    return found, out


def _shard(text: str) -> tuple[int, int]:
    part, slash, parts = text.partition("/")
    short = len(text) < 20 and part.isascii() and parts.isascii()
    if not (slash and short and part.isdecimal() and parts.isdecimal()):
        raise FairgymError(f"shard is {reprlib.repr(text)}; it takes K/N, such as 3/16")
    return int(part), int(parts)


def _run(arguments: Sequence[str]) -> None:
    flags: Any = parse(RunFlags, arguments, f"{PROG} run")
    found, out = _plan(flags)
    from fairgym.sweeps import engine_of, entries_of, failure_of, run_sweep
    from fairgym.training import devices
    from fairgym.training.progress import shown_together

    devices.configure()
    engine = engine_of(flags.workers)
    entries = entries_of(found, out, _shard(flags.shard))
    _say_count(found, entries)
    if flags.dry_run:
        _say_time(entries, flags.workers)
        return
    again = f"interrupted; continue with: {shlex.join([*PROG.split(), 'run', *arguments])}"
    again = " ".join([again, *as_words()])
    interrupts.set_last_words(lambda: again)
    try:
        with shown_together() as shown:
            failed = run_sweep(
                entries,
                out,
                engine,
                lambda one: shown(one.label),
                lambda text: print(plain(text), flush=True),
            )
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(again) from stop
    if failed:
        raise failure_of(failed, len(entries))
    print(f"{len(entries)} runs are finished in {plain(out / 'runs')}")


def _say_count(found: Any, entries: Sequence[Any]) -> None:
    states = collections.Counter(entry.status for entry in entries)
    settings = len({entry.words for entry in entries})
    print(f"{len(entries)} runs: {settings} settings, seeds {_span(found.seeds)}")
    if found.names:
        print(f"differing: {plain(', '.join(found.names))}")
    print(", ".join(f"{count} {state}" for state, count in sorted(states.items())), flush=True)


def _span(seeds: Sequence[int]) -> str:
    whole = list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]} to {seeds[-1]}" if whole and len(seeds) > 1 else ", ".join(map(str, seeds))


def _say_time(entries: Sequence[Any], workers: int) -> None:
    """Estimate the time from two epochs of one run that is not finished, in a folder that goes."""
    from fairgym.training.loop import train

    waiting = [entry for entry in entries if not entry.run.finished]
    if not waiting:
        print("nothing is left to train")
        return
    config = waiting[0].run.config
    algorithm = config.build().algorithm
    whole = algorithm.num_updates
    name = algorithm.extended_by
    if not name:
        print(f"{len(waiting)} runs to train; {config.algorithm} has no epochs to time")
        return
    short = dataclasses.replace(config, algorithm_args={**config.algorithm_args, name: 2})
    times: list[float] = []
    began = time.perf_counter()

    def progress(done: int, total: int, line: Any) -> None:
        times.append(time.perf_counter() - began)

    with tempfile.TemporaryDirectory() as folder:
        train(short, Path(folder) / "run", progress=progress)
    epoch, first = times[-1] - times[-2], times[-2]
    left = sum(max(0, whole - entry.epochs) for entry in waiting)
    programs = len({entry.run.program for entry in waiting})
    seconds = (programs * max(0.0, first - epoch) + left * epoch) / min(workers, len(waiting))
    length = f"{seconds / 60:,.0f} minutes" if seconds > 120 else f"{seconds:,.0f} seconds"
    print(
        f"{len(waiting)} runs to train: about {length} with {workers}"
        f" worker{'s' if workers > 1 else ''} (an epoch of the first takes {epoch:.2f} s, compiling"
        f" {max(0.0, first - epoch):.0f} s for each of {programs} settings)"
    )


def _status(arguments: Sequence[str]) -> None:
    flags: Any = parse(StatusFlags, arguments, f"{PROG} status")
    found, out = _plan(flags)
    from fairgym.sweeps import entries_of

    entries = entries_of(found, out)
    _say_count(found, entries)
    rows: dict[str, list[Any]] = {}
    for entry in entries:
        rows.setdefault(entry.words, []).append(entry)
    for words, several in rows.items():
        states = collections.Counter(entry.status for entry in several)
        text = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        epochs = sum(entry.epochs for entry in several)
        print(f"  {plain(words)}: {text}; {epochs} epochs")


def _table(arguments: Sequence[str]) -> None:
    flags: Any = parse(TableFlags, arguments, f"{PROG} table")
    found, out = _plan(flags)
    if flags.file is not None:
        require_path(flags.file, "file")
    from fairgym.sweeps import entries_of, results_of
    from fairgym.sweeps.tables import write_table

    rows = results_of(entries_of(found, out))
    path = Path(flags.file) if flags.file else out / "table.csv"
    write_table(path, rows)
    done = sum(row["status"] == "finished" for row in rows)
    print(f"{plain(path)}: {len(rows)} runs, {done} of them finished")
