"""Tables of the benchmark as texts, and the same numbers as records."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fairgym.benchmark.intervals import Interval, iqm, over_tasks
from fairgym.benchmark.scores import RANDOM_TITLE, Cell, Point, Results, suite_name, tasks_text
from fairgym.benchmark.store import FIXED, RANDOM
from fairgym.benchmark.task import Task
from fairgym.results.labels import metric_label, rate_title, those
from fairgym.results.numbers import Estimate, interval, number
from fairgym.results.table import Table
from fairgym.statistics.shares import share_interval

RIVAL = "ppo"  # of the probability of improvement: the learner without a fairness method
LEVEL_HEAD = ("learner", "level", "runs", "reward ↑", "unfairness ↓", "terminated episodes")
GROUP_HEAD = (
    *("learner", "level", "runs", "published disparity", "null mean"),
    *("widest systematic gap", "p ≤ .05", "worst group"),
)
FRONT_HEAD = (
    *("learner", "seeds", "hypervolume ↑", "score ↑", "score of one run ↑"),
    *("steps per run", "seconds per run"),
)
SUITE_HEAD = (
    *("learner", "tasks", "fronts", "score ↑", "score of one run ↑"),
    *("fronts above the best fixed rule", "probability of improvement over PPO"),
)
ALL_RULES = "All fixed rules"
OTHERS = (
    "they are of other definitions of a task or learner, or of settings that tuning no longer"
    " chooses"
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
            yield level_table(results, task)
            if (groups := group_table(results, task)) is not None:
                yield groups


def suite_table(results: Results, suite: str, tasks: Sequence[Task]) -> Table | None:
    """Return the scores of learners over the tasks of a suite; None without scores."""
    rows = []
    for name in (*(one.name for one in results.learners), FIXED):
        scores = results.by_task(tasks, name)
        if not scores:
            continue
        single = results.by_task(tasks, name, single=True)
        better = results.improvement(tasks, name, RIVAL)
        rows.append(
            (
                (len(scores) < len(tasks), -over_tasks(scores).value),
                [
                    ALL_RULES if name == FIXED else title_of(results, name),
                    f"{len(scores)} of {len(tasks)}",
                    str(sum(map(len, scores))),
                    text_of(over_tasks(scores)),
                    text_of(over_tasks(single)) if single else "",
                    text_of(above_the_rule(scores)),
                    ""
                    if name == RIVAL or not better.n
                    else f"{text_of(better)} ({tasks_text(better.n)})",
                ],
            )
        )
    if len(rows) < 2:
        return None
    rows.sort(key=lambda row: row[0])
    caption = (
        "score: normalised hypervolume of a seed's front, random policy 0, best fixed rule 1;"
        " interquartile mean over seeds of all tasks [stratified bootstrap 95% CI]; one run: the"
        " same of each run at the middle level, by which learners are compared with PPO, since a"
        " front is the best of several runs; share of fronts: exact 95% CI; learners with results"
        " in all tasks come first"
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
        scores = results.scores(task, cell.learner)
        volume = cell.volume
        trained = cell.learner not in (RANDOM, FIXED)
        rows.append(
            [
                title_of(results, cell.learner),
                str(volume.n),
                text_of(volume),
                text_of(iqm(scores.tolist())),
                text_of(iqm(results.single_scores(task, cell.learner).tolist())),
                number(cell.steps.value) if trained else "",
                text_of(cell.seconds) if trained else "",
            ]
        )
    caption = (
        f"hypervolume of the front of interquartile means from reward {task.reference[0]:g} and"
        f" unfairness {task.reference[1]:g}, in units of the box to {task.ideal[0]:g} and"
        f" {task.ideal[1]:g} [bootstrap 95% CI]; one run: at the middle level; seconds: over all"
        " runs of the front"
    )
    return _filled(Table(FRONT_HEAD, rows, caption, f"{task.name}: fronts"))


def level_table(results: Results, task: Task) -> Table:
    """Return reward and unfairness of every learner at every level in a task."""
    rows = []
    for cell in cells_of(results, task):
        for point in cell.points:
            ended, episodes = point.terminated
            rows.append(
                [
                    *_named(results, cell, point),
                    text_of(point.of("reward")),
                    text_of(point.of("unfairness")),
                    f"{ended} of {episodes}" if ended else "",
                ]
            )
    caption = "interquartile means over runs [bootstrap 95% CI], of episodes that do not terminate"
    return _filled(Table(LEVEL_HEAD, rows, caption, f"{task.name}: every level"))


def group_table(results: Results, task: Task) -> Table | None:
    """Return what becomes of the groups at every level; None without groups."""
    if not task.disparity:
        return None
    rows, same = [], True
    for cell in cells_of(results, task):
        for point in cell.points:
            rejected, tests = point.rejections
            worst = point.worst_group()
            disparity = text_of(point.of("disparity"))
            same &= disparity == text_of(point.of("unfairness"))
            rows.append(
                [
                    *_named(results, cell, point),
                    disparity,
                    text_of(point.of("null")),
                    gap_text(point),
                    f"{rejected} of {tests}" if tests else "",
                    "" if worst is None else f"{worst[0].replace('_', ' ')}: {text_of(worst[1])}",
                ]
            )
    if same:  # the unfairness of the task is this disparity
        rows = [[*row[:3], "", *row[4:]] for row in rows]
    env, _ = task.world
    caption = (
        f"{metric_label(env.unwrapped, task.disparity).title.lower()}: it compares the groups'"
        f" {rate_title(env.unwrapped, task.disparity).lower()}, here in all episodes; gap: between"
        " the two groups that are furthest apart [simultaneous 95% t interval over runs], unclear"
        " if 0 is inside"
    )
    table = _filled(Table(GROUP_HEAD, rows, caption, f"{task.name}: groups"))
    if "p ≤ .05" in table.head:
        more = (
            "; null mean: the disparity if labels of groups are permuted; p ≤ .05: runs whose"
            " permutation test rejects equal treatment"
        )
        table = dataclasses.replace(table, caption=caption + more)
    return table


def _named(results: Results, cell: Cell, point: Point) -> list[str]:
    return [title_of(results, cell.learner), point.level, str(len(point.rows))]


def _filled(table: Table) -> Table:
    """Return the table without columns that are empty in every row."""
    kept = [k for k in range(len(table.head)) if not k or any(row[k] for row in table.rows)]
    rows = [[row[k] for k in kept] for row in table.rows]
    return dataclasses.replace(table, head=[table.head[k] for k in kept], rows=rows)


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
        for name in (*(one.name for one in results.learners), FIXED):
            if scores := results.by_task(tasks, name):
                add(suite, name, "", "score", over_tasks(scores))
                if single := results.by_task(tasks, name, single=True):
                    add(suite, name, "", "score_of_one_run", over_tasks(single))
                add(suite, name, "", "above_best_rule", above_the_rule(scores))
                if name != RIVAL:
                    better = results.improvement(tasks, name, RIVAL)
                    add(suite, name, "", "improvement_over_ppo", better)
        for task in tasks:
            for cell in cells_of(results, task):
                name = cell.learner
                add(task.name, name, "", "hypervolume", cell.volume)
                add(task.name, name, "", "score", iqm(results.scores(task, name).tolist()))
                single = results.single_scores(task, name)
                add(task.name, name, "", "score_of_one_run", iqm(single.tolist()))
                for measure, one in (("seconds", cell.seconds), ("steps", cell.steps)):
                    if name not in (RANDOM, FIXED):
                        add(task.name, name, "", measure, one)
                for point in cell.points:
                    for measure in ("reward", "unfairness", "disparity", "null"):
                        add(task.name, name, point.level, measure, point.of(measure))
                    ended, episodes = point.terminated
                    share = Interval(ended / episodes, math.nan, math.nan, len(point.rows))
                    add(task.name, name, point.level, "terminated", share)
                    if gap := point.gap:
                        wide = Interval(gap.mean, gap.low, gap.high, len(point.rows))
                        add(task.name, name, point.level, "widest_gap", wide)
                    if worst := point.worst_group():
                        add(task.name, name, point.level, "worst_group", worst[1])
    return found
