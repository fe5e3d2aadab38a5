"""`fairgym sweep`: train many runs from one file, and analyse their results."""

import collections
import dataclasses
import inspect
import reprlib
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairgym.cli.common import dispatch, plain, resumable
from fairgym.cli.output import LOG, LOG_HELP, Output
from fairgym.cli.parsing import EngineFlags, flag, parse
from fairgym.cli.sweep_results import (
    PROG,
    PlanFlags,
    plan_of,
    print_effects,
    print_front,
    tabulate,
    write_page,
)
from fairgym.config import Sweep
from fairgym.core import FairgymError

WATCH_SECONDS = 5.0


def sweep(arguments: Sequence[str]) -> None:
    """Train a plan, show its state, or analyse its results."""
    actions = {
        "run": _run,
        "status": _status,
        "table": tabulate,
        "pareto": print_front,
        "effects": print_effects,
        "page": write_page,
    }
    about = "\n".join(f"  {name.ljust(7)}  {inspect.getdoc(f)}" for name, f in actions.items())
    usage = f"usage: {PROG} ACTION PLAN [flags]\n\n{about}"
    plan = "A plan is a TOML, YAML or JSON file (docs/sweeps.md)."
    dispatch("sweep", actions, f"{usage}\n\n{plan}", arguments)


@dataclasses.dataclass(frozen=True)
class RunFlags(PlanFlags, EngineFlags):
    """Train the runs of a plan that are not finished, and continue those that were begun."""

    shard: str = flag(
        "1/1",
        "Train only the K-th of N equal parts of the runs, for several machines with one folder.",
        metavar="K/N",
    )
    dry_run: bool = flag(False, "Only count the runs and estimate their time.")
    log: str | None = flag(None, LOG_HELP, metavar=LOG)


@dataclasses.dataclass(frozen=True)
class StatusFlags(PlanFlags, Output):
    """Show the state of the runs of a plan."""

    watch: bool = flag(False, "Repeat every few seconds until all runs are finished.")


def _shard(text: str) -> tuple[int, int]:
    part, slash, parts = text.partition("/")
    short = len(text) < 20 and part.isascii() and parts.isascii()
    if not (slash and short and part.isdecimal() and parts.isdecimal()):
        raise FairgymError(f"shard must be K/N, such as 3/16, got {reprlib.repr(text)}")
    return int(part), int(parts)


def _run(arguments: Sequence[str]) -> None:
    """Train the runs of a plan that are not finished."""
    flags = parse(RunFlags, arguments, f"{PROG} run")
    found, out = plan_of(flags)
    from fairgym.sweeps import engine_of, entries_of, failure_of, run_sweep
    from fairgym.training import devices
    from fairgym.training.progress import Several, shown_together
    from fairgym.training.tensorboard import also_logged, log_folder

    log = log_folder(flags.log)
    devices.configure()
    engine = engine_of(flags.workers, flags.engine, flags.gpus)
    entries = entries_of(found, out, _shard(flags.shard))
    _say_count(found, entries)
    if flags.dry_run:
        _say_time(entries, engine)
        return
    clock = Several(sum(not entry.run.finished for entry in entries))

    def show(one: Any) -> Any:
        within = log and log / one.folder.relative_to(out / "runs")
        return also_logged(shown(one.label), within, one.folder)

    with (
        resumable(lambda: [*PROG.split(), "run", *arguments]),
        shown_together(several=clock) as shown,
    ):
        failed = run_sweep(
            entries,
            out,
            engine,
            show,
            lambda text: print(plain(text), flush=True),
        )
    if failed:
        raise failure_of(failed, len(entries))
    done = sum(entry.run.finished for entry in entries)
    where = plain(out / "runs")
    if done < len(entries):
        raise FairgymError(f"{done} of {len(entries)} runs are finished in {where}; run it again")
    print(f"{done} runs are finished in {where}")


def _say_count(found: Sweep, entries: Sequence[Any]) -> None:
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
    """Show the state of the runs of a plan."""
    flags = parse(StatusFlags, arguments, f"{PROG} status")
    found, out = plan_of(flags)
    from fairgym.sweeps import entries_of

    entries = entries_of(found, out)
    while True:
        if flags.give("sweep status", lambda: {"results": _states(entries)}):
            _say_status(found, entries)
        if not flags.watch or all(entry.run.finished for entry in entries):
            return
        time.sleep(WATCH_SECONDS)
        print()


def _states(entries: Sequence[Any]) -> list[dict[str, Any]]:
    """State of each run, as records."""
    from fairgym.sweeps.sweeping import FAILED

    return [
        {
            **entry.settings,
            "seed": entry.run.config.seed,
            "status": entry.status,
            "reason": entry.failure if entry.status == FAILED else None,
            "epochs": entry.epochs,
            "folder": str(entry.run.folder),
        }
        for entry in entries
    ]


def _say_status(found: Sweep, entries: Sequence[Any]) -> None:
    """Print the state of the runs of each setting."""
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


def _say_time(entries: Sequence[Any], engine: Any) -> None:
    """Time the first run that is not finished, in a temporary folder, and estimate all runs."""
    waiting = [entry for entry in entries if not entry.run.finished]
    if not waiting:
        print("no run is left to train")
        return
    config = waiting[0].run.config
    algorithm = config.build().algorithm
    if not algorithm.extended_by:
        print(f"{len(waiting)} runs to train; {config.algorithm} has no epochs to time")
        return
    first, epoch, busy = _timed(config, algorithm.extended_by)
    compiling = max(0.0, first - epoch)
    left = sum(max(0, algorithm.num_updates - entry.epochs) for entry in waiting)
    programs = len({entry.run.program for entry in waiting})
    workers, gain, assumed = _gain(engine, len(waiting), busy)
    seconds = compiling * programs / min(workers, programs) + left * epoch / gain
    length = f"{seconds / 60:,.0f} minutes" if seconds > 120 else f"{seconds:,.0f} seconds"
    print(f"{len(waiting)} runs to train: about {length} {assumed}")
    print(
        f"assumed: every epoch takes {epoch:.2f} s and {busy:.1f} processors, and each of"
        f" {programs} programs {compiling:.0f} s to compile, as with {plain(waiting[0].run.label)}"
    )


def _timed(config: Any, epochs: str) -> tuple[float, float, float]:
    """Seconds of the first epoch and of the second, and the CPUs that the second uses."""
    from fairgym.training import devices
    from fairgym.training.loop import train

    short = dataclasses.replace(config, algorithm_args={**config.algorithm_args, epochs: 2})
    clocks = [(time.perf_counter(), time.process_time())]

    def progress(done: int, total: int, line: object) -> None:
        clocks.append((time.perf_counter(), time.process_time()))

    with tempfile.TemporaryDirectory() as folder:
        train(short, Path(folder) / "run", progress=progress)
    (began, _), *_, (first, work), (second, all_work) = clocks
    epoch = max(1e-6, second - first)
    busy = min(max(1.0, (all_work - work) / epoch), float(devices.cores()))
    return first - began, epoch, busy


def _gain(engine: Any, runs: int, busy: float) -> tuple[int, float, str]:
    """Return number of runs at a time, speed-up over one after another, and both in words.

    Args:
        engine: Engine that would train.
        runs: Number of runs that are left.
        busy: Number of CPUs that one run uses; a run that uses all leaves none to other workers.
    """
    from fairgym.sweeps import Processes, Ray, Vmap
    from fairgym.training import devices

    cores = devices.cores()
    if isinstance(engine, Processes):
        workers = min(engine.workers, runs)
        words = f"in {workers} processes that share {cores} processors"
        return workers, min(float(workers), max(1.0, cores / busy)), words
    if isinstance(engine, Ray):
        workers = min(engine.workers or cores, runs)
        words = f"on a cluster of {workers} processors like those of this machine"
        return workers, max(1.0, workers / busy), words
    if isinstance(engine, Vmap):
        return 1, 1.0, "if vmap is as fast as one after another"
    return 1, 1.0, "one after another"
