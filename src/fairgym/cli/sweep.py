"""`fairgym sweep`: many runs from one file, resumed, and a table of what they came to."""

import collections
import dataclasses
import math
import reprlib
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairgym.cli.imports import IMPORT_HELP, as_words
from fairgym.cli.parsing import Names, parse, typed
from fairgym.cli.printing import plain
from fairgym.cli.sweep_time import say_time
from fairgym.core import FairgymError, interrupts
from fairgym.core.files import require_folder, require_path, write_whole

PROG = "fairgym sweep"
ACTIONS = {
    "run": "train the runs of a plan that are not finished",
    "status": "tell how far the runs of a plan are",
    "table": "write a table of all runs or settings: metrics, intervals, seeds, folders",
    "pareto": "tell which settings no other one beats in two measures, and how surely",
    "effects": "tell how much of the variance of each measure every setting makes",
    "page": "write a page with all of it in small multiples",
}
RUN_ROWS, SETTING_ROWS = "run", "setting"
WATCH_SECONDS = 5.0


def sweep(arguments: Sequence[str]) -> None:
    """Train a plan, tell how far it is, or what it came to."""
    actions = {
        "run": _run,
        "status": _status,
        "table": _table,
        "pareto": _pareto,
        "effects": _effects,
        "page": _page,
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


@typed(metavars={"out": "FOLDER", "file": "FILE", "rows": "run|setting"})
@dataclasses.dataclass(frozen=True)
class TableFlags:
    """Write a table with a row for each run, or for each setting, of a plan.

    Attributes:
        names: the plan.
        out: folder of the sweep; runs/PLAN by default.
        rows: "run"; or "setting" for interquartile means and intervals over the seeds of each.
        episodes: number of episodes that policies are measured in anew, which gives the signed
            gaps of groups too; 0 for the measures after the last epoch.
        file: the table, .csv or .parquet; table.csv or settings.csv in the folder by
            default.
    """

    names: Names
    out: str | None = None
    rows: str = RUN_ROWS
    episodes: int = 0
    file: str | None = None


@typed(metavars={"out": "FOLDER", "x": "MEASURE", "y": "MEASURE", "reference": "X,Y"})
@dataclasses.dataclass(frozen=True)
class ParetoFlags:
    """Tell which settings of a plan no other one beats in two measures, and how surely.

    Attributes:
        names: the plan.
        out: folder of the sweep; runs/PLAN by default.
        x: measure such as profit, a column of the table; more is better.
        y: the other measure, such as admission_disparity.
        reference: point that the hypervolume is counted from; the worst of all settings in each
            measure by default.
        episodes: number of episodes that policies are measured in anew; 0 for the measures after
            the last epoch.
    """

    names: Names
    out: str | None = None
    x: str | None = None
    y: str | None = None
    reference: str | None = None
    episodes: int = 0


@typed(metavars={"out": "FOLDER", "measure": "MEASURE"})
@dataclasses.dataclass(frozen=True)
class EffectFlags:
    """Tell how much of the variance of each measure every setting of a plan makes.

    Attributes:
        names: the plan.
        out: folder of the sweep; runs/PLAN by default.
        measure: column of the table; may be repeated; the score and all metrics by default.
        episodes: number of episodes that policies are measured in anew; 0 for the measures after
            the last epoch.
    """

    names: Names
    out: str | None = None
    measure: tuple[str, ...] = ()
    episodes: int = 0


@typed(metavars={"out": "FOLDER", "measure": "MEASURE", "file": "FILE"})
@dataclasses.dataclass(frozen=True)
class PageFlags:
    """Write a page about a plan: small multiples, what matters how much, all settings.

    Attributes:
        names: the plan.
        out: folder of the sweep; runs/PLAN by default.
        measure: column of the table; may be repeated; the score and all metrics by default.
        episodes: number of episodes that policies are measured in anew; 0 for the measures after
            the last epoch.
        file: the page; page.html in the folder by default.
    """

    names: Names
    out: str | None = None
    measure: tuple[str, ...] = ()
    episodes: int = 0
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
    found, out = _plan(flags)
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


def _rows(flags: Any, found: Any, out: Path) -> list[dict[str, Any]]:
    """The rows of a sweep in a folder."""
    from fairgym.sweeps import entries_of, results_of
    from fairgym.training import devices

    if flags.episodes:
        devices.configure()
    entries = entries_of(found, out)
    return results_of(entries, flags.episodes, lambda text: print(f"measuring {plain(text)}"))


def _table(arguments: Sequence[str]) -> None:
    flags: Any = parse(TableFlags, arguments, f"{PROG} table")
    if flags.rows not in (RUN_ROWS, SETTING_ROWS):
        raise FairgymError(f"rows is {flags.rows!r}; it takes {RUN_ROWS} or {SETTING_ROWS}")
    if flags.file is not None:
        require_path(flags.file, "file")
    found, out = _plan(flags)
    rows = _rows(flags, found, out)
    from fairgym.sweeps import by_setting
    from fairgym.sweeps.tables import write_table

    done = sum(row["status"] == "finished" for row in rows)
    lost = sum(row["status"] == "failed" for row in rows)
    text = f"{len(rows)} runs, {done} of them finished" + (f", {lost} failed" if lost else "")
    if flags.rows == SETTING_ROWS:
        rows = by_setting(rows, found.names)
        text = f"{len(rows)} settings of {text}"
    name = "settings.csv" if flags.rows == SETTING_ROWS else "table.csv"
    path = Path(flags.file) if flags.file else out / name
    write_table(path, rows)
    print(f"{plain(path)}: {text}")


def _pareto(arguments: Sequence[str]) -> None:
    flags: Any = parse(ParetoFlags, arguments, f"{PROG} pareto")
    reference = None if flags.reference is None else _point(flags.reference)
    found, out = _plan(flags)
    if flags.x is None or flags.y is None:
        given = ", ".join(f"{field} is {getattr(flags, field)!r}" for field in ("x", "y"))
        raise FairgymError(
            f"{given}; pareto takes two measures, such as --x profit --y admission_disparity"
        )
    rows = _rows(flags, found, out)
    from fairgym.sweeps import measure_named, pareto
    from fairgym.sweeps.tables import write_table

    x, y = (measure_named(rows, getattr(flags, field), field) for field in ("x", "y"))
    front = pareto(rows, found.names, x, y, reference)
    head = [*found.names, "seeds", x, y, "on the front", "probability"]
    cells = [
        [*point.settings.values(), point.seeds, point.x, point.y, point.optimal, point.probability]
        for point in front.points
    ]
    path = out / "pareto.csv"
    write_table(path, [dict(zip(head, row, strict=True)) for row in cells])
    _print_table(head, [[_cell(value) for value in row] for row in cells])
    print(
        f"hypervolume {front.hypervolume:.4g} (95% interval {front.low:.4g} to {front.high:.4g})"
        f" above {front.reference[0]:.4g}, {front.reference[1]:.4g}; probabilities and intervals"
        f" are those of resampled seeds; {plain(path)}"
    )


def _point(text: str) -> tuple[float, float]:
    try:
        x, y = map(float, text.split(","))
    except ValueError:
        shown = reprlib.repr(text)
        raise FairgymError(f"reference is {shown}; it takes X,Y, such as 0,-1") from None
    if not (math.isfinite(x) and math.isfinite(y)):
        raise FairgymError(f"reference is {text!r}; it takes two finite numbers")
    return x, y


def _effects(arguments: Sequence[str]) -> None:
    flags: Any = parse(EffectFlags, arguments, f"{PROG} effects")
    found, out = _plan(flags)
    rows = _rows(flags, found, out)
    from fairgym.sweeps import effects
    from fairgym.sweeps.tables import write_table

    every = effects(rows, found.names, _measures(rows, flags.measure))
    head = ["measure", "setting", "share", "luck", "bound", "clear"]
    cells = [[s.measure, s.factor, s.share, s.luck, s.bound, s.clear] for s in every.shares]
    if not cells:
        raise FairgymError("every measure is the same in all runs; effects take one that differs")
    path = out / "effects.csv"
    write_table(path, [dict(zip(head, row, strict=True)) for row in cells])
    _print_table(head, [[_cell(value) for value in row] for row in cells])
    print(
        "shares of the variance over all runs; luck and bound: the mean under permutations of the"
        f" runs, and what 95% of them stay below; {plain(path)}"
    )
    if not every.crossed:
        print("not every combination has equally many runs, so that shares overlap")


def _measures(rows: Sequence[dict[str, Any]], given: Sequence[str]) -> list[str]:
    """The columns of measures that are meant."""
    from fairgym.sweeps import measure_named, measures_of

    if given:
        return [measure_named(rows, name, "measure") for name in given]
    return [name for name in measures_of(rows) if name.startswith(("score", "metrics/"))]


def _page(arguments: Sequence[str]) -> None:
    flags: Any = parse(PageFlags, arguments, f"{PROG} page")
    if flags.file is not None:
        require_path(flags.file, "file")
    found, out = _plan(flags)
    rows = _rows(flags, found, out)
    from fairgym.report.sweep import sweep_page

    text = sweep_page(Path(flags.names[0]).stem, rows, found.names, _measures(rows, flags.measure))
    path = Path(flags.file) if flags.file else out / "page.html"
    write_whole(path, text.encode())
    print(plain(path))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else ""
    return plain("" if value is None else value)


def _print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    for name in head:
        table.add_column(Text(plain(name)), overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(100, 24 * len(head)))
    console.print(table)
