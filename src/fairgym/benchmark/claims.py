"""Published claims about learners, checked on the tasks after equal tuning."""

from collections.abc import Sequence

import numpy as np

from fairgym.benchmark.scores import Point, Results
from fairgym.benchmark.store import number_of
from fairgym.benchmark.task import Task
from fairgym.statistics.checks import Check

MACEM, MAPPO, ELBERT, A_PPO = "f-macem", "f-mappo", "elbert-po", "a-ppo"
F_PPO, PPO = "f-ppo", "ppo"


def checks_of(results: Results) -> list[Check]:
    """Return the checks of the claims in the tasks in which both learners have results.

    The estimate is the mean paired difference over seeds, which share their episodes, with its t
    interval.
    """
    found: list[Check] = []
    for task in results.tasks:
        found += _macem(results, task) + _elbert(results, task) + _f_ppo(results, task)
    return found


def _macem(results: Results, task: Task) -> list[Check]:
    """F-MACEM is better than F-MAPPO on the objective that weighs both parts equally (MAFE)."""
    if task.suite != "institutions":
        return []
    statement = f"{task.name}: F-MACEM has more reward minus unfairness than F-MAPPO (MAFE, D.6)"
    return _higher(results, task, statement, MACEM, MAPPO, ("reward", "unfairness"), (1.0, -1.0))


def _elbert(results: Results, task: Task) -> list[Check]:
    """ELBERT-PO has less bias than A-PPO, at no less reward (Xu et al. 2024)."""
    less = f"{task.name}: ELBERT-PO has less unfairness than A-PPO (Xu et al. 2024)"
    more = f"{task.name}: ELBERT-PO loses less than a tenth of the box in reward against A-PPO"
    margin = 0.1 * (task.ideal[0] - task.reference[0])
    return [
        *_higher(results, task, less, ELBERT, A_PPO, ("unfairness",), (-1.0,)),
        *_higher(results, task, more, ELBERT, A_PPO, ("reward",), (1.0,), margin),
    ]


def _f_ppo(results: Results, task: Task) -> list[Check]:
    """F-PPO is fairer than PPO (Hu et al. 2023)."""
    statement = f"{task.name}: F-PPO has less unfairness than PPO (Hu et al. 2023)"
    return _higher(results, task, statement, F_PPO, PPO, ("unfairness",), (-1.0,))


def _higher(
    results: Results,
    task: Task,
    statement: str,
    ours: str,
    theirs: str,
    names: Sequence[str],
    signs: Sequence[float],
    margin: float = 0.0,
) -> list[Check]:
    """Return the check of a sum of measures at the middle levels; none without common seeds."""
    cells = [results.cells.get((task.name, name)) for name in (ours, theirs)]
    if None in cells:
        return []
    middle = [cell.points[len(cell.points) // 2] for cell in cells if cell is not None]
    first, second = (_by_seed(point, names, signs) for point in middle)
    seeds = [seed for seed in first if seed in second]
    if not seeds:
        return []
    a, b = (np.array([one[seed] for seed in seeds]) for one in (first, second))
    return [Check.higher(f"{statement} (n = {len(seeds)} seeds)", a + margin, b)]


def _by_seed(point: Point, names: Sequence[str], signs: Sequence[float]) -> dict[str, float]:
    return {
        row["seed"]: sum(sign * number_of(row, n) for n, sign in zip(names, signs, strict=True))
        for row in point.rows
    }
