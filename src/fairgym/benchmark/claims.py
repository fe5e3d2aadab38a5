"""Published claims about learners, checked on the tasks after equal tuning."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fairgym.benchmark.scores import Point, Results
from fairgym.benchmark.task import Task
from fairgym.statistics.checks import Check

MACEM, ELBERT, A_PPO, F_PPO, PPO, CPO = "f-macem", "elbert-po", "a-ppo", "f-ppo", "ppo", "cpo"
OTHERS = {"f-mappo": "F-MAPPO", "f-maddpg": "F-MADDPG"}  # MAFE's baselines
KEPT = 0.1  # share of the box that counts as little reward
# Tasks whose unfairness is F-PPO's measure of short-term fairness, which its paper has results on
SHORT_TERM = ("bank-loans-v0", "epidemic-v0")
REWARD, UNFAIRNESS, BOTH = (1.0, 0.0), (0.0, 1.0), (1.0, -1.0)  # weights


class Checked(NamedTuple):
    """A claim in a task.

    Attributes:
        claim: The claim, without the task.
        task: Name of the task.
        n: Number of seeds, of the learner with fewer.
        check: Its check. The estimate is what the claim says is above 0, or above minus a margin.
    """

    claim: str
    task: str
    n: int
    check: Check


def claims_of(results: Results) -> list[Checked]:
    """Return the claims in all tasks in which the learners have results at their middle level.

    Seeds of different learners are independent samples. An episode that terminates counts as the
    reference.
    """
    parts: Sequence[Callable[[Results, Task], Iterator[Checked | None]]]
    parts = (_macem, _elbert, _f_ppo, _cpo)
    found = [one for part in parts for task in results.tasks for one in part(results, task)]
    known = [one for one in found if one is not None]
    order = list(dict.fromkeys(one.claim for one in known))
    return sorted(known, key=lambda one: order.index(one.claim))


def _macem(results: Results, task: Task) -> Iterator[Checked | None]:
    """F-MACEM is better on the objective that weighs both parts equally (MAFE, D.6)."""
    if task.suite == "institutions":
        for name, title in OTHERS.items():
            claim = f"F-MACEM has more reward minus unfairness than {title} (MAFE, appendix D.6)"
            yield _higher(results, task, claim, (MACEM, name), BOTH)


def _elbert(results: Results, task: Task) -> Iterator[Checked | None]:
    """ELBERT-PO has less bias than A-PPO, at no less reward (Xu et al. 2024)."""
    less = "ELBERT-PO has less unfairness than A-PPO (Xu et al. 2024)"
    yield _higher(results, task, less, (A_PPO, ELBERT), UNFAIRNESS)
    more = "ELBERT-PO has no less reward than A-PPO (Xu et al. 2024; margin: a tenth of the box)"
    margin = KEPT * (task.ideal[0] - task.reference[0])
    yield _higher(results, task, more, (ELBERT, A_PPO), REWARD, margin)


def _f_ppo(results: Results, task: Task) -> Iterator[Checked | None]:
    """F-PPO is fairer than PPO in the short term (Hu et al. 2023)."""
    if task.name in SHORT_TERM:
        claim = "F-PPO has less short-term unfairness than PPO (Hu et al. 2023)"
        yield _higher(results, task, claim, (PPO, F_PPO), UNFAIRNESS)


def _cpo(results: Results, task: Task) -> Iterator[Checked | None]:
    """CPO keeps its bound (Achiam et al. 2017)."""
    point = _middle(results, task, CPO)
    if point is not None:
        claim = (
            "CPO keeps its limit (Achiam et al. 2017; here on the unfairness of a whole episode, in"
            " training on the mean over steps of that so far, in bank loans of the last 300 steps)"
        )
        left = _limit(results, task, point) - point.counted @ np.array(UNFAIRNESS)
        yield Checked(claim, task.name, left.size, Check.above(claim, left))


def _limit(results: Results, task: Task, point: Point) -> float:
    """Return CPO's limit at its middle level with the chosen setting."""
    (learner,) = (one for one in results.learners if one.name == CPO)
    setting = json.loads(point.rows[0]["settings"])
    return float(learner.hyperparameters(task, setting, learner.middle)["cost_limit"])


def _higher(
    results: Results,
    task: Task,
    claim: str,
    learners: tuple[str, str],
    weights: tuple[float, float],
    margin: float = 0.0,
) -> Checked | None:
    """Return the check that the first of two learners has more of a weighted sum.

    Args:
        results: The results.
        task: The task.
        claim: The claim in words.
        learners: Names of both; their points are those of their middle levels.
        weights: Weights of reward and unfairness.
        margin: How much less the first may have.

    Returns:
        None if one of the learners has no results in the task.
    """
    points = [_middle(results, task, name) for name in learners]
    a, b = (None if one is None else one.counted @ np.array(weights) for one in points)
    if a is None or b is None:
        return None
    titles = {one.name: one.title for one in results.learners}
    first, second = (titles[name] for name in learners)
    check = Check.greater(claim, a, b, margin=margin, names=(first, second))
    return Checked(claim, task.name, min(a.size, b.size), check)


def _middle(results: Results, task: Task, name: str) -> Point | None:
    """Return the point of a learner at its middle level; None without results."""
    cell = results.cells.get((task.name, name))
    return None if cell is None else cell.middle
