"""Results of learned policies and baselines: means with intervals, rates and gaps of groups."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from jaxtyping import PyTree

from fairgym.core import Environment
from fairgym.data import standardised_mean_difference
from fairgym.fairness import Rate
from fairgym.results.labels import OBJECTIVE, MetricLabel
from fairgym.results.numbers import Estimate, estimate, gaps_without_rounding, ratio
from fairgym.statistics.comparisons import Null, null_of
from fairgym.statistics.intervals import paired_interval
from fairgym.statistics.survival import WaitCourse, still_waiting
from fairgym.training.courses import Course, courses, few
from fairgym.training.evaluation import Evaluation


@dataclasses.dataclass(frozen=True)
class Result:
    """One policy, measured.

    Attributes:
        name: name of the configuration or the baseline.
        learned: False for a baseline.
        evaluations: one per seed that it was trained with; one for a baseline.
        environment: text that is equal for policies that met the same episodes.
    """

    name: str
    learned: bool
    evaluations: tuple[Evaluation, ...]
    environment: str = ""

    def values(self, metric: MetricLabel) -> list[np.ndarray]:
        """Per evaluation the shown value of every episode; NaN where undefined."""
        found = []
        for evaluation in self.evaluations:
            if metric.kind == "objective":
                values, defined = evaluation.objective, True
                values = np.zeros(0) if values is None else values
            else:
                rates = evaluation.rates.get(metric.name)
                values = gaps_without_rounding(evaluation.metrics[metric.name], rates)
                defined = evaluation.defined[metric.name]
            found.append(metric.shown(np.where(np.asarray(defined), np.asarray(values), np.nan)))
        return found

    def estimate(self, metric: MetricLabel) -> Estimate:
        """Mean and 95% interval, for the luck of episodes and of seeds where there are several."""
        return estimate(self.values(metric)).within(*metric.limits)

    def difference(self, other: "Result", metric: MetricLabel) -> Estimate:
        """Mean difference of the shown value from another policy's, in the same episodes."""
        ours, theirs = self.values(metric), other.values(metric)
        if any(values.size == 0 for side in (ours, theirs) for values in side):
            return Estimate(np.nan, np.nan, np.nan)  # no score to compare
        return Estimate(*paired_interval(ours, theirs))

    def null(self, name: str, partition: str = "") -> Null | None:
        """A disparity beside permutations of the people's groups; None where none were made.

        Args:
            name: name of the metric.
            partition: a key of `env.spec.partitions`, whose parts are compared; "" compares the
                groups.
        """
        if any(name not in e.nulls for e in self.evaluations):
            return None
        sides = zip(*(e.beside_luck(name, partition) for e in self.evaluations), strict=True)
        values, permuted = map(np.concatenate, sides)
        return null_of(values, permuted)

    @property
    def ended_early(self) -> tuple[int, int]:
        """Episodes that ended before their horizon, and all episodes."""
        flags = np.concatenate([np.asarray(e.terminated).reshape(-1) for e in self.evaluations])
        return int(flags.sum()), len(flags)


def who(result: Result) -> str:
    """A policy within a sentence."""
    if not result.learned:
        return f"the baseline “{result.name}”"
    return "the learned policy" if result.name == "learned policy" else f"“{result.name}”"


def best(results: Sequence[Result]) -> Result | None:
    """The highest mean objective, of policies that did not fail if there are any.

    None if none has a score.
    """
    scores = [(not r.ended_early[0], float(r.estimate(OBJECTIVE).mean), r) for r in results]
    scores = [score for score in scores if np.isfinite(score[1])]
    return max(scores, key=lambda score: score[:2])[2] if scores else None


# One evaluation; several of one policy; name of a policy -> one or several; or results.
Evaluations = (
    Evaluation
    | Sequence[Evaluation]
    | Sequence[Result]
    | Mapping[str, Evaluation | Sequence[Evaluation]]
)


def named_evaluations(evaluations: Evaluations) -> Mapping[str, Sequence[Evaluation]]:
    """Evaluations by name of policy: one, a mapping, or results."""
    if isinstance(evaluations, Evaluation):
        return {"": [evaluations]}
    if isinstance(evaluations, Mapping):
        return {k: [v] if isinstance(v, Evaluation) else v for k, v in evaluations.items()}
    if evaluations and isinstance(evaluations[0], Result):
        return {one.name: one.evaluations for one in cast(Sequence[Result], evaluations)}
    return {"": cast(Sequence[Evaluation], evaluations)}


def cumulative_rates(trace: PyTree, rate: Rate, discount: float = 1.0) -> np.ndarray:
    """Each group's rate over all steps so far: (episodes, steps, groups), NaN before the first.

    Args:
        trace: components per episode and step, zero after an episode's end, so that its rate
            stays as it was.
        rate: a `Rate`.
        discount: gamma; the last column then agrees with the metric.
    """
    above, below = (
        np.asarray(getattr(trace, name), np.float64) for name in (rate.numerator, rate.denominator)
    )
    weights = discount ** np.arange(above.shape[1], dtype=np.float64)[None, :, None]
    above, below = np.cumsum(weights * above, axis=1), np.cumsum(weights * below, axis=1)
    return ratio(above, below + rate.offset)


def rate_values(result: Result, rate: Rate, code: int) -> list[np.ndarray]:
    """One group's rate over whole episodes, per evaluation; NaN where undefined."""
    return [cumulative_rates(e.trace, rate, e.discount)[:, -1, code] for e in result.evaluations]


def group_rates_of(result: Result, rate: Rate, parts: Sequence[str]) -> list[Estimate]:
    """Each part's rate over whole episodes, with its interval; of many parts three (`few`)."""
    every = [cumulative_rates(e.trace, rate, e.discount)[:, -1] for e in result.evaluations]
    columns = [few(rates, parts)[0] for rates in every]
    return [estimate([column[:, i] for column in columns]) for i in range(columns[0].shape[1])]


def courses_of(result: Result, env: Environment) -> dict[str, list[Course]]:
    """Courses of every scheme with one policy, one per evaluation.

    Args:
        result: evaluations made with `trace=True`.
        env: the environment whose schemes they are.
    """
    several = [courses(evaluation, env.spec.schemes) for evaluation in result.evaluations]
    return {name: [one[name] for one in several] for name in env.spec.schemes}


def wait_courses(result: Result, stage: str) -> dict[str, list[np.ndarray]]:
    """Share of people who wait, and median time so far, of each group and then of everybody.

    Args:
        result: evaluations made with `trace=True`.
        stage: a key of `env.spec.waits`.

    Returns:
        "share" and "median": per evaluation an array (episodes, steps + 1, groups + 1); NaN after
        an episode's end, and medians where nobody waits.
    """
    found: dict[str, list[np.ndarray]] = {"share": [], "median": []}
    for evaluation in result.evaluations:
        share, median = (np.asarray(evaluation.waits[stage][name], np.float64) for name in found)
        ended = np.arange(share.shape[1]) > np.asarray(evaluation.lengths)[:, None]
        found["share"].append(np.where(ended[:, :, None], np.nan, share))
        found["median"].append(np.where(share > 0.0, median, np.nan))
    return found


def waits_of(evaluations: Sequence[Evaluation], stage: str, groups: Sequence[int]) -> WaitCourse:
    """Share of those who begin to wait that still does after a time (`still_waiting`).

    Args:
        evaluations: made with `trace=True`; their episodes are pooled.
        stage: a key of `env.spec.waits`.
        groups: places of the groups that count.
    """
    own = list(groups)
    return still_waiting(
        (np.asarray(e.waits[stage]["reached"], np.float64)[..., own, :].sum(axis=2), e.lengths)
        for e in evaluations
    )


def core_values(
    env: Environment, people: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The core attribute and the group of every person: two arrays (episodes, people)."""
    attribute = np.asarray(people[env.spec.core_attribute], np.float64)
    group = np.asarray(people["group"]).astype(int)
    return np.atleast_2d(attribute), np.atleast_2d(group)


def group_gap(attribute: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """The standardised mean difference of each episode, shape (episodes,).

    Two groups: mean of the first minus mean of the second, in pooled standard deviations. More:
    the largest over all pairs of groups, without sign.
    """
    if groups == 2:
        return np.array(
            [standardised_mean_difference(a, g) for a, g in zip(attribute, group, strict=True)]
        )
    gaps = []
    for values, codes in zip(attribute, group, strict=True):
        pairs = [(i, j) for i in range(groups) for j in range(i)]
        gaps.append(max(abs(_pair_gap(values, codes, i, j)) for i, j in pairs) if pairs else 0.0)
    return np.array(gaps)


def _pair_gap(values: np.ndarray, codes: np.ndarray, first: int, second: int) -> float:
    both = (codes == first) | (codes == second)
    return float(standardised_mean_difference(values[both], (codes[both] == second).astype(int)))
