"""`fairgym sweep`: many runs from one file, resumed, and a table of what they came to."""

import collections
import dataclasses
import reprlib
import shlex
import time
from collections.abc import Sequence
from typing import Any

from fairgym.cli.imports import IMPORT_HELP, as_words
from fairgym.cli.parsing import Names, parse, typed
from fairgym.cli.printing import plain
from fairgym.cli.sweep_plan import PROG, plan_of
from fairgym.cli.sweep_results import print_effects, print_front, tabulate, write_page
from fairgym.cli.sweep_time import say_time
from fairgym.core import FairgymError
from fairgym.utils import interrupts

ACTIONS = {
    "run": "train the runs of a plan that are not finished",
    "status": "tell how far the runs of a plan are",
    "table": "write a table of all runs or settings: metrics, intervals, seeds, folders",
    "pareto": "tell which settings no other one beats in two measures, and how surely",
    "effects": "tell how much of the variance of each measure every setting makes",
    "page": "write a page with all of it in small multiples",
}
WATCH_SECONDS = 5.0


def sweep(arguments: Sequence[str]) -> None:
    """Train a plan, tell how far it is, or what it came to."""
    actions = {
        "run": _run,
        "status": _status,
        "table": tabulate,
        "pareto": print_front,
        "effects": print_effects,
        "page": write_page,
    }
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: fairgym sweep ACTION PLAN [flags]\n")
        for name, about in ACTIONS.items():
            print(f"  {name.ljust(7)}  {about}")
        print(f"\nA plan is a TOML, YAML or JSON file (docs/sweeps.md).\n\n{IMPORT_HELP}")
        return
    if arguments[0] not in actions:
        raise FairgymError(f"unknown action {arguments[0]!r}; sweep takes: {', '.join(actions)}")
    actions[arguments[0]](arguments[1:])


@typed(metavars={"out": "FOLDER", "engine": "NAME", "shard": "K/N"})
@dataclasses.dataclass(frozen=True)
class RunFlags:
    """Train the runs of a plan that are not finished; what was begun goes on.

    Attributes:
        names: the plan, a TOML, YAML or JSON file.
        out: folder of the sweep; runs/PLAN by default.
        engine: local, one run after another in this process; processes, each one run at a time;
            vmap, runs that share a program in one vectorised update; ray, tasks of a cluster. By
            default processes if there are several workers.
        workers: number of runs at a time; the engine's own by default.
        gpus: graphics cards, or the share of one, for each run of the engine ray.
        shard: the K-th of N equal parts of the runs, for several machines with one folder.
        dry_run: count of the runs and an estimate of the time they take, and nothing else.
    """

    names: Names
    out: str | None = None
    engine: str = ""
    workers: int | None = None
    gpus: float = 0.0
    shard: str = "1/1"
    dry_run: bool = False


@typed(metavars={"out": "FOLDER"})
@dataclasses.dataclass(frozen=True)
class StatusFlags:
    """Tell how far the runs of a plan are.

    Attributes:
        names: the plan.
        out: folder of the sweep; runs/PLAN by default.
        watch: telling it again every few seconds, until all runs are finished.
    """

    names: Names
    out: str | None = None
    watch: bool = False


def _shard(text: str) -> tuple[int, int]:
    part, slash, parts = text.partition("/")
    short = len(text) < 20 and part.isascii() and parts.isascii()
    if not (slash and short and part.isdecimal() and parts.isdecimal()):
        raise FairgymError(f"shard is {reprlib.repr(text)}; it takes K/N, such as 3/16")
    return int(part), int(parts)


def _run(arguments: Sequence[str]) -> None:
    flags: Any = parse(RunFlags, arguments, f"{PROG} run")
    found, out = plan_of(flags)
    from fairgym.sweeps import engine_of, entries_of, failure_of, run_sweep
    from fairgym.training import devices
    from fairgym.training.progress import shown_together

    devices.configure()
    engine = engine_of(flags.workers, flags.engine, flags.gpus)
    entries = entries_of(found, out, _shard(flags.shard))
    _say_count(found, entries)
    if flags.dry_run:
        say_time(entries, engine)
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
    done = sum(entry.run.finished for entry in entries)
    where = plain(out / "runs")
    if done < len(entries):
        raise FairgymError(f"{done} of {len(entries)} runs are finished in {where}; run it again")
    print(f"{done} runs are finished in {where}")


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


def _status(arguments: Sequence[str]) -> None:
    flags: Any = parse(StatusFlags, arguments, f"{PROG} status")
    found, out = plan_of(flags)
    from fairgym.sweeps import entries_of

    entries = entries_of(found, out)
    while not _say_status(found, entries) and flags.watch:
        time.sleep(WATCH_SECONDS)
        print()


def _say_status(found: Any, entries: Sequence[Any]) -> bool:
    """Tell how far the runs are; True if all of them are finished."""
    from fairgym.sweeps.sweeping import FAILED

    _say_count(found, entries)
    rows: dict[str, list[Any]] = {}
    for entry in entries:
        rows.setdefault(entry.words, []).append(entry)
    for words, several in rows.items():
        states = collections.Counter(entry.status for entry in several)
        text = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        epochs = sum(entry.epochs for entry in several)
        print(f"  {plain(words)}: {text}; {epochs} epochs", flush=True)
        for entry in several:
            if entry.status == FAILED:
                print(f"    seed {entry.run.config.seed} failed: {plain(entry.failure)}")
    return all(entry.run.finished for entry in entries)
