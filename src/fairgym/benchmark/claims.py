"""Published claims about learners, checked on the tasks after equal tuning."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fairgym.benchmark.scores import Point, Results
from fairgym.benchmark.task import Task
from fairgym.statistics.checks import Check

MACEM, ELBERT, A_PPO, F_PPO, PPO = "f-macem", "elbert-po", "a-ppo", "f-ppo", "ppo"
OTHERS = {"f-mappo": "F-MAPPO", "f-maddpg": "F-MADDPG"}  # MAFE's baselines
KEPT = 0.1  # share of the box that counts as little reward
# Tasks whose unfairness is F-PPO's measure of short-term fairness, which its paper has results on
SHORT_TERM = ("bank-loans-v0", "epidemic-v0")


class Checked(NamedTuple):
    """A claim in a task.

    Attributes:
        claim: The claim, without the task.
        task: Name of the task.
        n: Number of seeds.
        check: Its check. The estimate is the mean over seeds of what the claim says is above 0,
            with its t interval.
    """

    claim: str
    task: str
    n: int
    check: Check


def claims_of(results: Results) -> list[Checked]:
    """Return the claims in all tasks in which the learners have results at their middle level.

    Learners are compared by paired differences over seeds, which share their episodes. An episode
    that terminates counts as the reference.
    """
    parts: Sequence[Callable[[Results, Task], Iterator[Checked | None]]]
    parts = (_macem, _elbert, _f_ppo)
    found = [one for part in parts for task in results.tasks for one in part(results, task)]
    known = [one for one in found if one is not None]
    order = list(dict.fromkeys(one.claim for one in known))
    return sorted(known, key=lambda one: order.index(one.claim))


def _macem(results: Results, task: Task) -> Iterator[Checked | None]:
    """F-MACEM is better on the objective that weighs both parts equally (MAFE, D.6)."""
    if task.suite == "institutions":
        for name, title in OTHERS.items():
            claim = f"F-MACEM has more reward minus unfairness than {title} (MAFE, appendix D.6)"
            yield _higher(results, task, claim, MACEM, name, (1.0, -1.0))


def _elbert(results: Results, task: Task) -> Iterator[Checked | None]:
    """ELBERT-PO has less bias than A-PPO, at no less reward (Xu et al. 2024)."""
    less = "ELBERT-PO has less unfairness than A-PPO (Xu et al. 2024)"
    yield _higher(results, task, less, ELBERT, A_PPO, (0.0, -1.0))
    more = (
        "ELBERT-PO loses less reward against A-PPO than a tenth of the box (Xu et al. 2024; what is"
        " left of the tenth)"
    )
    margin = KEPT * (task.ideal[0] - task.reference[0])
    yield _higher(results, task, more, ELBERT, A_PPO, (1.0, 0.0), margin)


def _f_ppo(results: Results, task: Task) -> Iterator[Checked | None]:
    """F-PPO is fairer than PPO in the short term (Hu et al. 2023)."""
    if task.name in SHORT_TERM:
        claim = "F-PPO has less short-term unfairness than PPO (Hu et al. 2023)"
        yield _higher(results, task, claim, F_PPO, PPO, (0.0, -1.0))


def _higher(
    results: Results,
    task: Task,
    claim: str,
    ours: str,
    theirs: str,
    signs: tuple[float, float],
    margin: float = 0.0,
) -> Checked | None:
    """Return the check of a sum of reward and unfairness with signs, at the middle levels.

    None without common seeds.
    """
    cells = [results.cells.get((task.name, name)) for name in (ours, theirs)]
    middles = [cell.middle for cell in cells if cell is not None and cell.middle is not None]
    if len(middles) < 2:
        return None
    first, second = (_by_seed(point, signs) for point in middles)
    seeds = [seed for seed in first if seed in second]
    if not seeds:
        return None
    a, b = (np.array([one[seed] for seed in seeds]) for one in (first, second))
    return Checked(claim, task.name, len(seeds), Check.higher(claim, a + margin, b))


def _by_seed(point: Point, signs: tuple[float, float]) -> dict[str, float]:
    values = point.counted @ np.array(signs)
    return {row["seed"]: float(x) for row, x in zip(point.rows, values, strict=True)}
