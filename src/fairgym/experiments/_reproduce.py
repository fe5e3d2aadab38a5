"""Reproduce experiments: plan, train missing runs, measure, plot, write the page."""

import contextlib
import dataclasses
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fairgym.core import FairgymError
from fairgym.experiments._base import Experiment, Grid, Outcome, Size, experiments
from fairgym.experiments._markdown import Making, cut_words, page_text, sources, training_time
from fairgym.sweeps import Engine, Failed, Planned, engine_of, failure_of, loaded, plan, unique
from fairgym.training.progress import Several, Shown, shown_together
from fairgym.training.run import Run
from fairgym.utils.files import make_folder, require_path, write_errors, write_whole


@dataclasses.dataclass(frozen=True)
class Reproduced:
    """Result of one experiment, with its files.

    Attributes:
        name: Name of the experiment.
        outcome: Figures, tables and checks.
        page: The Markdown file.
        figures: The PNG files.
        cut: Differences from the paper scale, as text.
    """

    name: str
    outcome: Outcome
    page: Path
    figures: tuple[Path, ...]
    cut: str


def reproduce(
    names: Sequence[str],
    *,
    scale: str = "quick",
    seeds: int | None = None,
    out: str | Path = "runs/reproduce",
    pages: str | Path | None = None,
    workers: int | None = None,
    engine: str = "",
    gpus: float = 0.0,
    say: Callable[[str], None] = print,
    shown: Shown | None = None,
    done: Callable[[Reproduced], None] | None = None,
) -> list[Reproduced]:
    """Reproduce experiments. Runs in OUT/runs are shared between them, reused and resumed.

    Args:
        names: Names of the experiments.
        scale: "quick", "paper", or "full" for experiments that have it.
        seeds: Number of seeds; by default that of the scale.
        out: Folder of the runs.
        pages: Folder of the pages, with figures in its `images`; `out` by default.
        workers: Number of runs at the same time; by default the engine decides.
        engine: Engine that trains the runs (`fairgym.sweeps.engine_of`). The default is this
            process, or worker processes if `workers` is above 1. All engines give bitwise equal
            results, except "vmap".
        gpus: GPUs per run, or a share of one GPU, for the engine "ray".
        say: Called with a line about each step other than training.
        shown: Function from a run's label to a context that yields a `Progress`; plain lines or a
            progress bar by default.
        done: Called with each result once its page is written.

    Raises:
        FairgymError: If a name is unknown, a number is out of range, or a folder cannot be used;
            nothing is written then. If runs failed, after all others are trained and written.
    """
    trainer = engine_of(workers, engine, gpus)
    out, where = _folders(out, pages)
    todo = []
    for name in dict.fromkeys(names):
        experiment = experiments.get(name)()
        size = experiment.size(scale, seeds)
        planned = _planned(experiment, experiment.grid(size), size, out)
        todo.append((name, experiment, size, planned))
    every = unique(one for *_, planned in todo for several in planned.values() for one in several)
    _prepare(where)
    total = len(every) + sum(e.following * size.seeds for _, e, size, _ in todo)
    finished = sum(one.finished for one in every)
    if every:
        say(f"{total} runs in {out / 'runs'}, {finished} of them finished")
    train = _Training(trainer, shown, say, total)
    train.clock.runs -= finished
    results = []
    for name, experiment, size, planned in todo:
        here = train(planned)  # skips runs that an earlier experiment has trained
        if here is not None:
            more = train(_planned(experiment, experiment.then(size, here), size, out))
            here = None if more is None else here | more
        if here is None:
            say(f"{name}: left out, as runs of it failed")
            continue
        began = time.perf_counter()
        say(f"{name}: measuring and plotting ...")
        outcome = experiment.conclude(experiment.measure(size, here, experiment.seeds(size)))
        runs = [run for several in here.values() for run in several]
        making = Making(
            name=name,
            scale=scale,
            size=size,
            seeds_given=seeds is not None and size.seeds > 0,
            training_s=sum(map(training_time, runs)),
            runs=len(runs),
            sources=sources(runs),
            measuring_s=time.perf_counter() - began,
        )
        results.append(_write(experiment, outcome, making, where))
        if done is not None:
            done(results[-1])
    if train.failed:
        raise failure_of(list(train.failed.values()), len(train.places))
    return results


def _planned(experiment: Experiment, grid: Grid, size: Size, out: Path) -> dict[str, list[Planned]]:
    """Return the planned runs by key, each configuration with its seeds."""
    return plan(grid, {key: experiment.seeds_of(key, size) for key in grid}, out)


class _Training:
    """Training of the runs of all experiments.

    Args:
        engine: Engine that trains the runs.
        shown: Function from a run's label to a context that yields a `Progress`; None for the
            default.
        say: Called with lines of text.
        total: Number of runs known in advance.

    Attributes:
        places: Run folder -> number of the run, in the order of planning.
        failed: Run folder -> failure.
    """

    def __init__(
        self, engine: Engine, shown: Shown | None, say: Callable[[str], None], total: int
    ) -> None:
        self.engine, self.shown, self.say, self.total = engine, shown, say, total
        self.places: dict[Path, int] = {}
        self.failed: dict[Path, Failed] = {}
        self.clock = Several(total)

    def __call__(self, planned: dict[str, list[Planned]]) -> dict[str, list[Run]] | None:
        """Train unfinished runs. Return the runs by key, or None if one of them failed."""
        every = unique(one for several in planned.values() for one in several)
        for one in every:
            self.places.setdefault(one.folder, len(self.places) + 1)
        ahead = [one for one in every if one.folder not in self.failed and not one.finished]
        if ahead:
            # some experiments choose further runs by the results of the first
            self.clock.runs = max(self.clock.runs, self.clock.done + len(ahead))
            together = contextlib.nullcontext(self.shown) if self.shown else None
            with together or shown_together(several=self.clock) as shown:
                failed = self.engine.run(ahead, lambda one: shown(self._label(one)), self.say)
            self.failed |= {failure.run.folder: failure for failure in failed}
        if any(one.folder in self.failed for one in every):
            return None
        return loaded(planned)

    def _label(self, one: Planned) -> str:
        place = self.places[one.folder]
        return f"run {place} of {max(self.total, place)}: {one.label}"


def _folders(out: str | Path, pages: str | Path | None) -> tuple[Path, Path]:
    """Return the folders of the runs and of the pages, and refuse files."""
    pages = out if pages is None else pages
    for field, given in (("out", out), ("pages", pages)):
        require_path(given, field)
    for field, folder in (("out", Path(out)), ("pages", Path(pages))):
        if folder.exists() and not folder.is_dir():
            raise FairgymError(f"{field} must be a folder, got the file {str(folder)!r}")
    return Path(out), Path(pages)


def _prepare(where: Path) -> None:
    """Create the folder of the pages, so that an error comes before hours of training."""
    with write_errors(where):
        where.mkdir(parents=True, exist_ok=True)
        make_folder(where / "images")
        with tempfile.TemporaryFile(dir=where / "images"):
            pass


def _write(experiment: Experiment, outcome: Outcome, making: Making, where: Path) -> Reproduced:
    """Write the figures first, then the page, so that every page has its figures."""
    from fairgym.report.svg import png

    files, links = [], {}
    for ending, figure in outcome.figures.items():
        name = f"{making.stem}-{ending}.png" if ending else f"{making.stem}.png"
        files.append(where / "images" / name)
        write_whole(files[-1], png(figure, dpi=120))
        links[f"{experiment.title}, {ending}" if ending else experiment.title] = f"images/{name}"
    for name, text in outcome.files.items():
        write_whole(where / name, text.encode())
    page = where / f"{making.stem}.md"
    write_whole(page, page_text(experiment, outcome, making, links).encode())
    return Reproduced(making.name, outcome, page, tuple(files), cut_words(experiment, making))
