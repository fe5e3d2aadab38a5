"""Running of the benchmark: stages of learners in tasks, in pieces, with results after each."""

import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairgym.benchmark import protocol
from fairgym.benchmark.learner import Learner
from fairgym.benchmark.measuring import row_of_run, rows_of_rules
from fairgym.benchmark.protocol import Planned
from fairgym.benchmark.store import (
    FIXED,
    RANDOM,
    TUNING,
    Row,
    key_of,
    level_text,
    merged,
    number_of,
    read_results,
    write_results,
)
from fairgym.benchmark.task import Task
from fairgym.benchmark.tiers import Tier
from fairgym.sweeps import Engine, Entry, Failed, entries_of, run_sweep
from fairgym.sweeps.plan import Show
from fairgym.training.run import load

Say = Callable[[str], None]


@dataclasses.dataclass
class Benchmark:
    """Tasks and learners of a tier, with a table of results that grows.

    Attributes:
        tier: The tier.
        cells: Pairs of tasks and learners that fit.
        out: Folder of the runs; sweeps are in `out`/TASK/LEARNER.
        results: Path of the table of results (.csv).
    """

    tier: Tier
    cells: Sequence[tuple[Task, Learner]]
    out: Path
    results: Path

    @property
    def rows(self) -> list[Row]:
        """Rows of the table so far."""
        return merged(read_results(self.results))

    def stages(self) -> Iterator["Stage"]:
        """Yield the stages that have missing rows, in order.

        A stage is planned when the one before it is done, since it may depend on its results.
        """
        for task in {task.name: task for task, _ in self.cells}.values():
            if not self._has_rules(task):
                yield Stage(self, task, None, None)
        for task, learner in self.cells:
            for plan in self._plans(task, learner):
                if plan is not None and (stage := Stage(self, task, learner, plan)).missing():
                    yield stage

    def _plans(self, task: Task, learner: Learner) -> Iterator[Planned | None]:
        yield protocol.tuning(task, learner, self.tier)
        yield protocol.frontier(task, learner, self.tier, self.rows)
        if self.tier.settings > 1:
            yield protocol.published(task, learner, self.tier, self.rows)

    def _has_rules(self, task: Task) -> bool:
        seeds = {
            int(row["seed"])
            for row in self.rows
            if row["task"] == task.name
            and row["fingerprint"] == task.fingerprint
            and row["algorithm"] in (FIXED, RANDOM)
        }
        return set(range(self.tier.rule_seeds)) <= seeds

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows to the table."""
        write_results(self.results, merged(self.rows, rows))


@dataclasses.dataclass(frozen=True)
class Stage:
    """A stage: the fixed rules of a task, or a sweep of a learner.

    Attributes:
        benchmark: The benchmark.
        task: The task.
        learner: The learner; None for the fixed rules.
        plan: The sweep; None for the fixed rules.
    """

    benchmark: Benchmark
    task: Task
    learner: Learner | None
    plan: Planned | None

    @property
    def label(self) -> str:
        """The stage in words."""
        if self.learner is None or self.plan is None:
            return f"{self.task.name}: fixed rules"
        return f"{self.task.name}, {self.learner.name}: {self.plan.stage}"

    @property
    def folder(self) -> Path:
        """Folder of the sweep."""
        assert self.learner is not None
        return self.benchmark.out / self.task.name / self.learner.name

    def missing(self) -> list[Entry]:
        """Return the runs of the sweep whose rows are missing."""
        if self.plan is None or self.learner is None:
            return []
        known = {(*key_of(row), row["settings"]) for row in self.benchmark.rows}
        return [
            entry
            for entry in entries_of(self.plan.sweep, self.folder)
            if (*key_of(labels := self._labels(entry)), labels["settings"]) not in known
        ]

    @property
    def steps(self) -> int:
        """Environment steps that are left."""
        if self.plan is None:
            return 0
        tier = self.benchmark.tier
        share = tier.tuning_share if self.plan.stage == TUNING else tier.share
        return round(len(self.missing()) * share * self.task.steps)

    def _labels(self, entry: Entry) -> dict[str, Any]:
        assert self.plan is not None and self.learner is not None
        name, level = self.plan.labels[entry.words]
        return {
            "task": self.task.name,
            "fingerprint": self.task.fingerprint,
            "algorithm": self.learner.name,
            "learner_fingerprint": self.learner.fingerprint_in(self.task),
            "stage": self.plan.stage,
            "setting": name,
            "level": level_text(level),
            "seed": entry.run.config.seed,
            "settings": json.dumps(self.plan.settings[name]),
        }

    def run(self, engine: Engine, show: Show, say: Say) -> list[Failed]:
        """Train the missing runs, measure all that are finished, and add their rows.

        Args:
            engine: Engine that trains.
            show: Run -> context that yields its progress.
            say: Called with messages.

        Returns:
            The runs that failed twice; they have no rows.
        """
        tier, benchmark = self.benchmark.tier, self.benchmark
        if self.plan is None or self.learner is None:
            benchmark.add(rows_of_rules(self.task, tier))
            return []
        entries = self.missing()
        failed = run_sweep(entries, self.folder, engine, show, say)
        rows = []
        for entry in entries:
            if entry.run.finished:
                run = load(entry.run.folder)
                rows.append(
                    row_of_run(
                        self.task, tier, self._labels(entry), run, sample=self.learner.sampled
                    )
                )
        benchmark.add(rows)
        return failed


def run_benchmark(
    benchmark: Benchmark,
    engine: Engine,
    show: Show,
    say: Say,
    hours: float | None = None,
) -> tuple[list[Failed], bool]:
    """Run the stages that have missing rows, and stop after the one in which time is up.

    Args:
        benchmark: The benchmark.
        engine: Engine that trains.
        show: Run -> context that yields its progress.
        say: Called with messages, a line each.
        hours: Hours after which no further stage begins; None for no limit.

    Returns:
        `(failed, done)`: the runs that failed twice, and whether nothing is left but these.
    """
    began, failed, tried = time.monotonic(), [], set[str]()
    for stage in benchmark.stages():
        if hours is not None and time.monotonic() - began >= hours * 3600.0:
            return failed, False
        if stage.label in tried:
            continue
        tried.add(stage.label)
        say(stage.label)
        start = time.monotonic()
        failed += stage.run(engine, show, say)
        say(f"{stage.label}: {time.monotonic() - start:,.0f} s")
    return failed, True


def estimated_seconds(benchmark: Benchmark, known: Sequence[Row]) -> dict[str, float | None]:
    """Return the seconds that each stage would take, from the speed in stored results.

    Runs are counted one after another. Stages of one learner and task have the speed of its rows;
    without such rows the time is None.

    Args:
        benchmark: The benchmark; stages that depend on a choice in tuning are those of now.
        known: Rows of any tier.
    """
    spent: dict[tuple[str, str], np.ndarray] = {}  # compilation weighs less in long runs
    for row in known:
        one = np.array([number_of(row, "seconds"), number_of(row, "steps")])
        if (one > 0.0).all():
            place = (row["task"], row["algorithm"])
            spent[place] = spent.get(place, np.zeros(2)) + one
    found: dict[str, float | None] = {}
    for stage in benchmark.stages():
        if stage.learner is not None:
            sums = spent.get((stage.task.name, stage.learner.name))
            found[stage.label] = None if sums is None else stage.steps * float(sums[0] / sums[1])
    return found
