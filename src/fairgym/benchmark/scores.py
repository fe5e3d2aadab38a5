"""Numbers of the benchmark's tables, with their intervals and numbers of runs."""

import dataclasses
import json
import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from fairgym.benchmark.choice import chosen
from fairgym.benchmark.intervals import Interval, iqm, told
from fairgym.benchmark.learner import Learner
from fairgym.benchmark.store import FIXED, FRONTIER, RANDOM, Row, level_text, number_of
from fairgym.benchmark.task import SUITES, Task
from fairgym.results.labels import title
from fairgym.statistics import Gap, systematic_gaps
from fairgym.statistics.comparisons import hypervolume
from fairgym.statistics.learners import Front, front_of, improvement_probability

RANDOM_TITLE = "Random policy"
SUITE_TITLES = {
    "institutions": "Institutions with several agents",
    "decisions": "Decisions about groups",
    "memory": "Fairness that remembers",
}
ORIGIN = (0.0, 0.0)  # the reference in a task's box


def suite_name(suite: str) -> str:
    """Return the title of a suite."""
    return SUITE_TITLES.get(suite, title(suite))


def tasks_text(number: int) -> str:
    """Return a number of tasks as text."""
    return f"{number} task{'s' * (number != 1)}"


@dataclasses.dataclass(frozen=True)
class Point:
    """A learner at one level in a task.

    Attributes:
        task: The task.
        level: Name of the level, or of the rule.
        rows: Rows of the runs, by seed.
    """

    task: Task
    level: str
    rows: Sequence[Row]

    def of(self, name: str) -> Interval:
        """Return a number of the rows over runs."""
        return iqm([number_of(row, name) for row in self.rows])

    @property
    def measures(self) -> np.ndarray:
        """Reward and unfairness of the runs in the task's box, shape (runs, 2).

        A run without numbers, which diverged, counts as the reference.
        """
        names = ("reward", "unfairness", "terminated")
        numbers = [[number_of(row, name) for name in names] for row in self.rows]
        return np.nan_to_num(self.task.in_box(*np.array(numbers).T))

    @property
    def counted(self) -> np.ndarray:
        """Reward and unfairness of the runs with ended episodes as the reference, (runs, 2)."""
        (low, most), (high, least) = self.task.reference, self.task.ideal
        return np.array([low, most]) + self.measures * np.array([high - low, least - most])

    @property
    def terminated(self) -> tuple[int, int]:
        """Number of episodes that terminate, and of all episodes of all runs."""
        counts = [int(row["episodes"]) for row in self.rows]
        ended = (number_of(row, "terminated") * n for row, n in zip(self.rows, counts, strict=True))
        return round(sum(ended)), sum(counts)

    @cached_property
    def rates(self) -> np.ndarray:
        """Mean rates of the groups in each run, shape (runs, groups); NaN where undefined."""
        known = [json.loads(row["rates"]) for row in self.rows if row["rates"]]
        return np.array([[math.nan if x is None else x for x in one] for one in known], np.float64)

    @property
    def gap(self) -> Gap | None:
        """The widest systematic gap between two groups, among the clear ones if there are any.

        Its interval is simultaneous over all pairs, and over runs, whose episodes are independent.
        """
        if not self.rates.size or self.rates.shape[1] < 2:
            return None
        gaps = [gap for gap in systematic_gaps(self.rates) if math.isfinite(gap.mean)]
        return max(gaps, key=lambda gap: (gap.clear, abs(gap.mean)), default=None)

    @property
    def rejections(self) -> tuple[int, int]:
        """Number of runs whose permutation test has p of at most .05, and of runs with a test."""
        p = [number_of(row, "p") for row in self.rows]
        known = [x for x in p if math.isfinite(x)]
        return sum(x <= 0.05 for x in known), len(known)

    def worst_group(self) -> tuple[str, Interval] | None:
        """Return the group that is worst off, and its rate over runs; None without groups."""
        if not self.rates.size:
            return None
        env, _ = self.task.world
        rate = env.metrics[self.task.disparity].rate
        known = np.isfinite(self.rates)
        means = np.mean(self.rates, axis=0, where=known | ~known.any(axis=0)) * rate.sign
        if np.isnan(means).all():
            return None
        place = int(np.nanargmin(means))
        return rate.parts_in(env.spec)[place], iqm(self.rates[:, place].tolist())


@dataclasses.dataclass(frozen=True)
class Cell:
    """A learner in a task.

    Attributes:
        task: The task.
        learner: Name of the learner.
        points: Its levels, in the order of the learner.
        middle: The level at which it is tuned; None if it has no results there.
    """

    task: Task
    learner: str
    points: Sequence[Point]
    middle: Point | None = None

    @cached_property
    def front(self) -> Front:
        """Front of the interquartile means in the task's box, with its hypervolume."""
        return front_of([point.measures for point in self.points], ORIGIN)

    @cached_property
    def volumes(self) -> np.ndarray:
        """Hypervolume of the front of each seed that has all stored levels, shape (seeds,)."""
        tables = [
            {row["seed"]: xy for row, xy in zip(p.rows, p.measures, strict=True)}
            for p in self.points
        ]
        seeds = [s for s in tables[0] if all(s in table for table in tables)]
        fronts = [np.array([table[seed] for table in tables]) for seed in seeds]
        return np.array([hypervolume(front, ORIGIN) for front in fronts])

    @property
    def volume(self) -> Interval:
        """Hypervolume of `front` with its interval, and the seeds that have all levels."""
        n = self.volumes.size
        return told((self.front.hypervolume, self.front.low, self.front.high), n, n)

    @property
    def seconds(self) -> Interval:
        """Seconds of training per run."""
        return iqm([number_of(row, "seconds") for point in self.points for row in point.rows])

    @property
    def steps(self) -> Interval:
        """Environment steps of training per run."""
        return iqm([number_of(row, "steps") for point in self.points for row in point.rows])


@dataclasses.dataclass(frozen=True)
class Results:
    """Results of learners on tasks.

    Attributes:
        known: All tasks, with or without results.
        tasks: Tasks with results, in order.
        learners: Learners with results, in order.
        cells: (task, learner) -> levels; the fixed rules and the random policy among them.
        others: Number of rows that do not count: of other definitions of a task or learner, or of
            settings that tuning does not choose any more.
    """

    known: Sequence[Task]
    tasks: Sequence[Task]
    learners: Sequence[Learner]
    cells: dict[tuple[str, str], Cell]
    others: int

    @classmethod
    def of(
        cls, rows: Sequence[Row], tasks: Sequence[Task], learners: Sequence[Learner]
    ) -> "Results":
        """Return the results of tasks and learners in rows."""
        defined = {task.name: task for task in tasks}
        order = {learner.name: learner for learner in learners}
        found: dict[tuple[str, str], dict[str, list[Row]]] = {}

        def add(several: Sequence[Row]) -> None:
            for row in several:
                levels = found.setdefault((row["task"], row["algorithm"]), {})
                levels.setdefault(row["level"], []).append(row)

        of: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            if row["task"] in defined:
                of.setdefault((row["task"], row["algorithm"]), []).append(row)
        others = 0
        for (name, algorithm), several in of.items():
            task, learner = defined[name], order.get(algorithm)
            if algorithm in (FIXED, RANDOM):
                own = [row for row in several if row["fingerprint"] == task.fingerprint]
                counted = own
            elif learner is not None:
                own = learner.rows_in(task, several)
                best, _ = chosen(task, own)
                tried = [row for row in own if row["stage"] == FRONTIER]
                counted = [row for row in tried if row["setting"] == best]
                others += len(tried) - len(counted)
            else:
                continue
            others += len(several) - len(own)
            add(counted)
        cells = {
            (task, name): _cell(defined[task], name, order.get(name), levels)
            for (task, name), levels in found.items()
        }
        return cls(
            tasks,
            [task for task in tasks if any(name == task.name for name, _ in cells)],
            [one for one in learners if any(name == one.name for _, name in cells)],
            cells,
            others,
        )

    @property
    def suites(self) -> dict[str, list[Task]]:
        """Tasks by suite, those of the project first."""
        names = dict.fromkeys([*SUITES, *(task.suite for task in self.tasks)])
        found = {name: [t for t in self.tasks if t.suite == name] for name in names}
        return {name: several for name, several in found.items() if several}

    def best_rule(self, task: Task) -> Point | None:
        """Return the fixed rule with the largest mean hypervolume; None if none is stored."""
        cell = self.cells.get((task.name, FIXED))
        return None if cell is None else max(cell.points, key=lambda p: _area(p).mean())

    def scores(self, task: Task, learner: str) -> np.ndarray:
        """Return normalised scores of a learner's seeds: random policy 0, best fixed rule 1.

        The score of a seed is the hypervolume of its front. Empty without results, or if the best
        fixed rule is not above the random policy.
        """
        cell = self.cells.get((task.name, learner))
        return self._normalised(task, None if cell is None else cell.volumes)

    def single_scores(self, task: Task, learner: str) -> np.ndarray:
        """Return normalised scores of the learner's runs at its middle level, one by one.

        A front is the best of several runs, which noise alone makes better than one. So learners
        with different numbers of levels are compared by these.
        """
        cell = self.cells.get((task.name, learner))
        middle = None if cell is None else cell.middle
        return self._normalised(task, None if middle is None else _area(middle))

    def _normalised(self, task: Task, volumes: np.ndarray | None) -> np.ndarray:
        rule, random = self.best_rule(task), self.cells.get((task.name, RANDOM))
        if volumes is None or rule is None or random is None:
            return np.zeros(0)
        low, high = random.volumes.mean(), _area(rule).mean()
        # rounded, or the mean of the random policy itself would not be 0
        return np.round((volumes - low) / (high - low), 12) if high > low else np.zeros(0)

    def by_task(
        self, tasks: Sequence[Task], learner: str, *, single: bool = False
    ) -> list[np.ndarray]:
        """Return the scores in those of the tasks in which the learner has any.

        Args:
            tasks: The tasks.
            learner: Name of the learner.
            single: Whether those of runs at the middle level instead of those of fronts.
        """
        of = self.single_scores if single else self.scores
        found = [of(task, learner) for task in tasks]
        return [scores for scores in found if scores.size]

    def improvement(self, tasks: Sequence[Task], ours: str, theirs: str) -> Interval:
        """Return the probability that a run of ours scores above one of theirs (middle levels).

        It is over the tasks in which both have runs; `n` is their number.
        """
        pairs = [(self.single_scores(t, ours), self.single_scores(t, theirs)) for t in tasks]
        both = [(x, y) for x, y in pairs if x.size and y.size]
        if not both:
            return Interval(math.nan, math.nan, math.nan, 0)
        found = improvement_probability([x for x, _ in both], [y for _, y in both])
        return told(found, len(both), max(min(x.size, y.size) for x, y in both))


def _cell(task: Task, name: str, learner: Learner | None, levels: dict[str, list[Row]]) -> Cell:
    """Return a cell with levels in the order of the learner, and rows by seed."""
    names = list(levels)
    if learner is not None:
        order = [level_text(level) for level in learner.levels]
        names.sort(key=lambda name: order.index(name) if name in order else len(order))
    points = {
        one: Point(task, one, sorted(levels[one], key=lambda row: int(row["seed"])))
        for one in names
    }
    middle = None if learner is None else points.get(level_text(learner.middle))
    return Cell(task, name, list(points.values()), middle)


def _area(point: Point) -> np.ndarray:
    """Return the hypervolume of each run of a single level."""
    return np.array([hypervolume(one[None], ORIGIN) for one in point.measures])
