"""`fairgym benchmark`: compare learners on frozen tasks, with equal tuning and intervals."""

import dataclasses
import inspect
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairgym.cli.common import dispatch, plain, resumable
from fairgym.cli.output import Output, line, show
from fairgym.cli.parsing import EngineFlags, flag, parse
from fairgym.core import FairgymError
from fairgym.results.table import Table
from fairgym.utils.files import require_folder, require_path

PROG = "fairgym benchmark"
QUICK = "quick"
TIER_HELP = "Size: quick (under half an hour a learner on two cores), or full (hours)."


def benchmark(arguments: Sequence[str]) -> None:
    """List tasks and learners, train, print tables, or write the page."""
    actions = {"list": _list, "run": _run, "table": _table, "page": _page}
    about = "\n".join(f"  {name.ljust(5)}  {inspect.getdoc(f)}" for name, f in actions.items())
    usage = (
        f"usage: {PROG} ACTION [flags]\n\n{about}\n\nThe speed of environments is measured by"
        " fairgym bench."
    )
    dispatch("benchmark", actions, usage, arguments)


@dataclasses.dataclass(frozen=True)
class ChoiceFlags:
    """Flags that choose tasks and learners."""

    task: tuple[str, ...] = flag(
        (),
        "Task by name, or a TOML file of your own; may be repeated (default: all built-in tasks).",
        metavar="NAME|FILE",
    )
    algorithm: tuple[str, ...] = flag(
        (),
        "Learner by name, MODULE:CLASS of your own, or a TOML file; may be repeated (default: all"
        " built-in learners).",
        metavar="NAME|MODULE:CLASS|FILE",
    )


@dataclasses.dataclass(frozen=True)
class ListFlags(ChoiceFlags, Output):
    """List tasks, and the learners that fit each."""

    check: bool = flag(False, "Simulate each task's default episode and compare it to the record.")


@dataclasses.dataclass(frozen=True)
class RunFlags(ChoiceFlags, EngineFlags):
    """Tune, train and measure learners; finished parts are kept, and a later call goes on."""

    tier: str = flag(QUICK, TIER_HELP, choices=(QUICK, "full"))
    hours: float | None = flag(
        None, "Begin no further stage after so many hours; run again to go on.", metavar="HOURS"
    )
    results: str | None = flag(
        None,
        "Table of raw results that grows (default: runs/benchmark/TIER.csv).",
        metavar="FILE",
    )
    out: str = flag("runs/benchmark", "Folder of the runs.", metavar="FOLDER")
    dry_run: bool = flag(False, "Only list the stages that are left, with estimated times.")


@dataclasses.dataclass(frozen=True)
class ReadFlags(ChoiceFlags):
    """Flags of actions on results."""

    tier: str = flag("full", "Size of the results: quick or full.", choices=(QUICK, "full"))
    results: tuple[str, ...] = flag(
        (),
        "Further raw results, beside those of the package; may be repeated (default:"
        " runs/benchmark/TIER.csv if it exists).",
        metavar="FILE",
    )


@dataclasses.dataclass(frozen=True)
class TableFlags(ReadFlags, Output):
    """Print results per task and over tasks, with 95% CI; nothing is trained."""


@dataclasses.dataclass(frozen=True)
class PageFlags(ReadFlags):
    """Write the page with tables and figures from stored results; nothing is trained."""

    file: str = flag("docs/benchmark.md", "Path of the page.", metavar="FILE")


def _chosen(flags: ChoiceFlags) -> tuple[list[Any], list[Any]]:
    """Tasks and learners that the flags name."""
    from fairgym.benchmark import learner_names, learner_of, task_names, task_of

    tasks = [task_of(name) for name in dict.fromkeys(flags.task or task_names())]
    learners = [learner_of(name) for name in dict.fromkeys(flags.algorithm or learner_names())]
    return tasks, learners


def _fitting(tasks: Sequence[Any], learners: Sequence[Any]) -> tuple[list[Any], dict[str, str]]:
    """Pairs that fit, and why pairs of learners from outside do not."""
    from fairgym.benchmark import learner_names

    own, cells, refused = learner_names(), [], {}
    for learner in learners:
        for task in tasks:
            if learner.name in own:
                if learner.name in task.learners:
                    cells.append((task, learner))
            elif reason := learner.refusal(task):
                refused[f"{task.name}, {learner.name}"] = reason
            else:
                cells.append((task, learner))
    return cells, refused


def _list(arguments: Sequence[str]) -> None:
    """List tasks, and the learners that fit each."""
    flags = parse(ListFlags, arguments, f"{PROG} list")
    tasks, learners = _chosen(flags)
    changes = {task.name: task.changes() for task in tasks} if flags.check else {}
    cells, _ = _fitting(tasks, learners)
    records = [
        {
            "task": task.name,
            "title": task.title,
            "suite": task.suite,
            "environment": task.environment,
            "steps": task.steps,
            "learners": ", ".join(one.name for of, one in cells if of is task),
            "fingerprint": task.fingerprint,
            "changes": "; ".join(changes.get(task.name, ())) or None,
        }
        for task in tasks
    ]
    if flags.give("benchmark list", lambda: {"results": records}):
        rows = [[r["task"], r["suite"], f"{r['steps']:,}", r["learners"]] for r in records]
        show(Table(["task", "suite", "steps", "learners that fit"], rows, words=True))
    if wrong := [f"{name}: {text[0]}" for name, text in changes.items() if text]:
        raise FairgymError(f"{len(wrong)} tasks differ from their records: {'; '.join(wrong)}")


def _run(arguments: Sequence[str]) -> None:
    """Tune, train and measure learners, in pieces if need be."""
    flags = parse(RunFlags, arguments, f"{PROG} run")
    if flags.hours is not None and not 0.0 < flags.hours < math.inf:
        raise FairgymError(f"hours must be a number above 0, got {flags.hours}")
    require_path(flags.out, "out")
    require_folder(Path(flags.out))
    from fairgym.benchmark import TIERS, Benchmark, run_benchmark
    from fairgym.benchmark.store import require_results
    from fairgym.sweeps import engine_of, failure_of
    from fairgym.training import devices
    from fairgym.training.progress import shown_together

    default = f"runs/benchmark/{flags.tier}.csv"
    results = require_results(default if flags.results is None else flags.results)
    devices.configure()
    engine = engine_of(flags.workers, flags.engine, flags.gpus)
    cells, refused = _fitting(*_chosen(flags))
    for pair, reason in refused.items():
        print(f"{plain(pair)} does not fit: {plain(reason)}")
    if not cells:
        raise FairgymError("no learner fits a task; fairgym benchmark list shows which do")
    found = Benchmark(TIERS[flags.tier], cells, Path(flags.out) / flags.tier, results)
    if flags.dry_run:
        _say_stages(found)
        return

    def say(text: str) -> None:
        print(plain(text), flush=True)

    with (
        resumable(lambda: [*PROG.split(), "run", *arguments]),
        shown_together() as shown,
    ):
        failed, done = run_benchmark(found, engine, lambda one: shown(one.label), say, flags.hours)
    if failed:
        raise failure_of(failed, len(failed))
    if not done:
        line(f"{flags.hours:g} hours have passed; run the same command again to go on")
        return
    print(f"{len(found.rows)} rows are in {plain(results)}")


def _say_stages(found: Any) -> None:
    """Print the stages that are left."""
    from fairgym.benchmark import TIERS
    from fairgym.benchmark.running import estimated_seconds
    from fairgym.benchmark.store import merged, read_results, stored

    known = merged(*(read_results(stored(tier)) for tier in TIERS), found.rows)
    seconds = estimated_seconds(found, known)
    cells = [[label, "" if s is None else f"{s / 60:,.1f}"] for label, s in seconds.items()]
    show(Table(["stage that is left", "minutes"], cells))
    sure = [s for s in seconds.values() if s is not None]
    more = len(seconds) - len(sure)
    unknown = f"; {more} stages have no stored time" if more else ""
    line(f"{len(seconds)} stages, about {sum(sure) / 3600:.1f} hours one after another{unknown}")


def _read(flags: ReadFlags) -> list[Any]:
    """Rows of the package, and of the files that the flags name."""
    from fairgym.benchmark.store import merged, read_results, stored

    given = list(flags.results)
    for path in given:
        require_path(path, "results")
        if not Path(path).is_file():
            raise FairgymError(f"results must be a file of fairgym benchmark run, got {path!r}")
    default = f"runs/benchmark/{flags.tier}.csv"
    given = given or [default]
    rows = merged(read_results(stored(flags.tier)), *(read_results(Path(p)) for p in given))
    if not rows:
        raise FairgymError(
            f"there are no {flags.tier} results yet; train with: {PROG} run --tier {flags.tier}"
        )
    return rows


def _table(arguments: Sequence[str]) -> None:
    """Print results per task and over tasks, with 95% CI."""
    flags = parse(TableFlags, arguments, f"{PROG} table")
    rows = _read(flags)
    from fairgym.benchmark.scores import Results
    from fairgym.benchmark.tables import OTHERS, records_of, tables_of

    tasks, learners = _known(flags, rows)
    results = Results.of(rows, tasks, learners)
    if flags.give("benchmark table", lambda: {"results": records_of(results)}):
        for table in tables_of(results):
            show(table, most=110)
        if results.others:
            line(f"{results.others} rows do not count: {OTHERS}")


def _page(arguments: Sequence[str]) -> None:
    """Write the page with tables and figures from stored results."""
    flags = parse(PageFlags, arguments, f"{PROG} page")
    require_path(flags.file, "file")
    if Path(flags.file).suffix != ".md":
        raise FairgymError(f"file must end in .md, got {flags.file!r}")
    rows = _read(flags)
    from fairgym.benchmark import TIERS
    from fairgym.benchmark.page import write_page
    from fairgym.benchmark.scores import Results

    results = Results.of(rows, *_known(flags, rows))
    for path in write_page(results, rows, TIERS[flags.tier], Path(flags.file)):
        print(plain(path))


def _known(flags: ReadFlags, rows: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Tasks and learners of the flags.

    Learners from outside come beside the built-in ones, unless some of those are named. Without
    flags, learners of which only rows are known come last.
    """
    from fairgym.benchmark import Learner, learner_names, learner_of

    tasks, learners = _chosen(flags)
    if not flags.algorithm:
        levels: dict[str, set[float]] = {}
        for row in rows:
            if row["stage"] == "frontier":
                levels.setdefault(row["algorithm"], set()).add(float(row["level"]))
        for learner in learners:
            levels.pop(learner.name, None)
        own = ("its own",)  # what its levels multiply is not known
        learners += [Learner(n, n, "", tuple(sorted(x)), own) for n, x in levels.items()]
    elif not any(learner.name in learner_names() for learner in learners):
        learners = [*map(learner_of, learner_names()), *learners]
    return tasks, learners
