"""Tables of the benchmark as texts, and the same numbers as records."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fairgym.benchmark.scores import (
    FIXED_TITLE,
    RANDOM_TITLE,
    Cell,
    Interval,
    Point,
    Results,
    iqm,
    over_tasks,
    suite_name,
    tasks_text,
)
from fairgym.benchmark.store import FIXED, RANDOM
from fairgym.benchmark.task import Task
from fairgym.results.labels import those
from fairgym.results.numbers import Estimate, interval, number
from fairgym.results.table import Table
from fairgym.statistics.shares import share_interval

RIVAL = "ppo"  # of the probability of improvement: the learner without a fairness method
TASK_HEAD = (
    *("learner", "level", "n", "reward ↑", "unfairness ↓", "published disparity", "null mean"),
    *("widest systematic gap", "p ≤ .05", "worst group", "episodes that terminate"),
)
FRONT_HEAD = ("learner", "n", "hypervolume ↑", "score ↑", "steps per run", "seconds per run")
SUITE_HEAD = (
    *("learner", "tasks", "runs", "score ↑", "runs above the best fixed rule"),
    "probability of improvement over PPO",
)


def text_of(found: Interval) -> str:
    """Return an estimate with its interval as text; "" without runs."""
    if not found.n or not math.isfinite(found.value):
        return ""
    return interval(Estimate(found.value, found.low, found.high))


def title_of(results: Results, name: str) -> str:
    """Return the title of a learner, or of the policies without learning."""
    own = {FIXED: "Fixed rules", RANDOM: RANDOM_TITLE}
    known = {learner.name: learner.title for learner in results.learners}
    return own.get(name) or known.get(name, name)


def cells_of(results: Results, task: Task) -> list[Cell]:
    """Return the cells of a task: random policy, fixed rules, then learners."""
    names = (RANDOM, FIXED, *(learner.name for learner in results.learners))
    found = (results.cells.get((task.name, name)) for name in names)
    return [cell for cell in found if cell is not None]


def tables_of(results: Results) -> Iterator[Table]:
    """Yield the tables of every suite and task."""
    for suite, tasks in results.suites.items():
        if table := suite_table(results, suite, tasks):
            yield table
        for task in tasks:
            yield front_table(results, task)
            yield task_table(results, task)


def suite_table(results: Results, suite: str, tasks: Sequence[Task]) -> Table | None:
    """Return the scores of learners over the tasks of a suite; None without scores."""
    rows = []
    for one in results.learners:
        scores = results.by_task(tasks, one.name)
        if not scores:
            continue
        runs = sum(map(len, scores))
        better = results.improvement(tasks, one.name, RIVAL)
        rows.append(
            (
                over_tasks(scores).value,
                [
                    one.title,
                    f"{len(scores)} of {len(tasks)}",
                    str(runs),
                    text_of(over_tasks(scores)),
                    text_of(above_the_rule(scores)),
                    ""
                    if one.name == RIVAL or not better.n
                    else f"{text_of(better)} ({tasks_text(better.n)})",
                ],
            )
        )
    if not rows:
        return None
    rows.sort(key=lambda row: -row[0])
    caption = (
        "score: normalised hypervolume of a seed's front, random policy 0, best fixed rule 1;"
        " interquartile mean over runs [stratified bootstrap 95% CI]; share of runs: exact 95% CI"
    )
    return _filled(Table(SUITE_HEAD, [row for _, row in rows], caption, suite_name(suite)))


def above_the_rule(scores: Sequence[np.ndarray]) -> Interval:
    """Return the share of runs that score above the best fixed rule, with its exact interval."""
    above = np.concatenate(list(scores)) > 1.0
    return Interval(*share_interval(above.astype(np.float64)), above.size)


def front_table(results: Results, task: Task) -> Table:
    """Return the fronts of a task, one row per learner."""
    rows = []
    for cell in cells_of(results, task):
        front, scores = cell.front, results.scores(task, cell.learner)
        volume = Interval(front.hypervolume, front.low, front.high, _seeds(cell))
        trained = cell.learner not in (RANDOM, FIXED)
        rows.append(
            [
                title_of(results, cell.learner),
                str(volume.n),
                text_of(volume),
                text_of(iqm(scores.tolist())),
                number(cell.steps.value) if trained else "",
                text_of(cell.seconds) if trained else "",
            ]
        )
    caption = (
        f"hypervolume of the front of interquartile means from reward {task.reference[0]:g} and"
        f" unfairness {task.reference[1]:g}, in units of the box to {task.ideal[0]:g} and"
        f" {task.ideal[1]:g} [bootstrap 95% CI]; n: seeds per level"
    )
    return Table(FRONT_HEAD, rows, caption, f"{task.name}: fronts")


def task_table(results: Results, task: Task) -> Table:
    """Return the measures of every learner at every level in a task."""
    rows = []
    for cell in cells_of(results, task):
        for point in cell.points:
            rows.append([title_of(results, cell.learner), point.level, *_measures(point)])
    caption = (
        "interquartile means over runs [bootstrap 95% CI]; gap: simultaneous t interval over runs;"
        " p ≤ .05: runs whose permutation test rejects equal treatment"
    )
    return _filled(Table(TASK_HEAD, rows, caption, f"{task.name}: every level"))


def _filled(table: Table) -> Table:
    """Return the table without columns that are empty in every row."""
    kept = [k for k in range(len(table.head)) if not k or any(row[k] for row in table.rows)]
    rows = [[row[k] for k in kept] for row in table.rows]
    return dataclasses.replace(table, head=[table.head[k] for k in kept], rows=rows)


def _seeds(cell: Cell) -> int:
    return max(len(point.rows) for point in cell.points)


def _measures(point: Point) -> list[str]:
    rejected, tests = point.rejections
    worst = point.worst_group()
    return [
        str(len(point.rows)),
        text_of(point.of("reward")),
        text_of(point.of("unfairness")),
        text_of(point.of("disparity")),
        text_of(point.of("null")),
        gap_text(point),
        f"{rejected} of {tests}" if tests else "",
        "" if worst is None else f"{worst[0].replace('_', ' ')}: {text_of(worst[1])}",
        text_of(point.terminated),
    ]


def gap_text(point: Point) -> str:
    """Return the widest systematic gap with the group that is behind; "" without groups."""
    gap = point.gap
    if gap is None:
        return ""
    env, _ = point.task.world
    rate = env.metrics[point.task.disparity].rate
    names = rate.parts_in(env.spec)
    found = interval(Estimate(gap.mean, gap.low, gap.high), signed=True)
    if not gap.clear:
        return f"{found}, unclear"
    behind = gap.second if gap.mean * rate.sign > 0.0 else gap.first
    return f"{found}, {those(names[behind])} behind"


def records_of(results: Results) -> list[dict[str, Any]]:
    """Return a flat record for each number: what it is, its interval and its n."""
    found: list[dict[str, Any]] = []

    def add(task: str, learner: str, level: str, measure: str, one: Interval) -> None:
        if one.n:
            found.append(
                {
                    "task": task,
                    "algorithm": learner,
                    "level": level,
                    "measure": measure,
                    "value": one.value,
                    "low": one.low,
                    "high": one.high,
                    "n": one.n,
                }
            )

    for suite, tasks in results.suites.items():
        for one in results.learners:
            if scores := results.by_task(tasks, one.name):
                add(suite, one.name, "", "score", over_tasks(scores))
                add(suite, one.name, "", "above_best_rule", above_the_rule(scores))
                better = results.improvement(tasks, one.name, RIVAL)
                add(suite, one.name, "", "improvement_over_ppo", better)
        for task in tasks:
            for cell in cells_of(results, task):
                name, front = cell.learner, cell.front
                volume = Interval(front.hypervolume, front.low, front.high, _seeds(cell))
                add(task.name, name, "", "hypervolume", volume)
                add(task.name, name, "", "score", iqm(results.scores(task, name).tolist()))
                for measure, one in (("seconds", cell.seconds), ("steps", cell.steps)):
                    if name not in (RANDOM, FIXED):
                        add(task.name, name, "", measure, one)
                for point in cell.points:
                    for measure in ("reward", "unfairness", "disparity", "null"):
                        add(task.name, name, point.level, measure, point.of(measure))
                    add(task.name, name, point.level, "terminated", point.terminated)
                    if gap := point.gap:
                        wide = Interval(gap.mean, gap.low, gap.high, len(point.rows))
                        add(task.name, name, point.level, "widest_gap", wide)
                    if worst := point.worst_group():
                        add(task.name, name, point.level, "worst_group", worst[1])
    return found


def rule_text(results: Results, task: Task) -> str:
    """Return the name of the best fixed rule of a task, and its hypervolume."""
    rule = results.best_rule(task)
    if rule is None:
        return ""
    volume = Cell(task, FIXED, [rule]).front.hypervolume
    return f"{FIXED_TITLE.lower()}: {rule.level.replace('_', ' ')}, hypervolume {number(volume)}"
