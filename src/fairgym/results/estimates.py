"""Results of learned policies and baselines: means with intervals, rates, and gaps."""

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
    """Measurements of one policy.

    Attributes:
        name: Name of the configuration or the baseline.
        learned: False for a baseline.
        evaluations: One evaluation per training seed; one for a baseline.
        environment: Text that is equal for policies that were measured in the same episodes.
    """

    name: str
    learned: bool
    evaluations: tuple[Evaluation, ...]
    environment: str = ""

    def values(self, metric: MetricLabel) -> list[np.ndarray]:
        """Return the shown value of every episode, per evaluation; NaN where undefined."""
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
        """Return mean and 95% CI over episodes, and over seeds if there are several."""
        return estimate(self.values(metric)).within(*metric.limits)

    def difference(self, other: "Result", metric: MetricLabel) -> Estimate:
        """Return the mean paired difference of the shown value from another policy."""
        ours, theirs = self.values(metric), other.values(metric)
        if any(values.size == 0 for side in (ours, theirs) for values in side):
            return Estimate(np.nan, np.nan, np.nan)  # no score to compare
        return Estimate(*paired_interval(ours, theirs))

    def null(self, name: str, partition: str = "") -> Null | None:
        """Return a disparity beside its null distribution; None without permutations.

        Args:
            name: Name of the metric.
            partition: Key of `env.spec.partitions` whose parts are compared; "" compares the
                groups.
        """
        if any(name not in e.nulls for e in self.evaluations):
            return None
        sides = zip(*(e.beside_null(name, partition) for e in self.evaluations), strict=True)
        values, permuted = map(np.concatenate, sides)
        return null_of(values, permuted)

    @property
    def ended_early(self) -> tuple[int, int]:
        """Number of episodes that terminated before the horizon, and of all episodes."""
        flags = np.concatenate([np.asarray(e.terminated).reshape(-1) for e in self.evaluations])
        return int(flags.sum()), len(flags)


def who(result: Result) -> str:
    """Return the name of a policy as it stands within a sentence."""
    if not result.learned:
        return f"the baseline “{result.name}”"
    return "the learned policy" if result.name == "learned policy" else f"“{result.name}”"


def best(results: Sequence[Result]) -> Result | None:
    """Return the policy with the highest mean objective; None if no policy has one.

    A policy that failed is returned only if all failed.
    """
    scores = [(not r.ended_early[0], float(r.estimate(OBJECTIVE).mean), r) for r in results]
    scores = [score for score in scores if np.isfinite(score[1])]
    return max(scores, key=lambda score: score[:2])[2] if scores else None


# One evaluation; several of one policy; policy name -> one or several; or results.
Evaluations = (
    Evaluation
    | Sequence[Evaluation]
    | Sequence[Result]
    | Mapping[str, Evaluation | Sequence[Evaluation]]
)


def named_evaluations(evaluations: Evaluations) -> Mapping[str, Sequence[Evaluation]]:
    """Return evaluations by policy name."""
    if isinstance(evaluations, Evaluation):
        return {"": [evaluations]}
    if isinstance(evaluations, Mapping):
        return {k: [v] if isinstance(v, Evaluation) else v for k, v in evaluations.items()}
    if evaluations and isinstance(evaluations[0], Result):
        return {one.name: one.evaluations for one in cast(Sequence[Result], evaluations)}
    return {"": cast(Sequence[Evaluation], evaluations)}


def cumulative_rates(trace: PyTree, rate: Rate, discount: float = 1.0) -> np.ndarray:
    """Return each group's rate over all steps so far, shape (episodes, steps, groups).

    It is NaN as long as the denominator is 0.

    Args:
        trace: Components per episode and step; 0 after the end of an episode, so that the rate
            no longer changes.
        rate: Rate to compute.
        discount: Discount factor gamma of the metric; the last column then agrees with it.
    """
    above, below = (
        np.asarray(getattr(trace, name), np.float64) for name in (rate.numerator, rate.denominator)
    )
    weights = discount ** np.arange(above.shape[1], dtype=np.float64)[None, :, None]
    above, below = np.cumsum(weights * above, axis=1), np.cumsum(weights * below, axis=1)
    return ratio(above, below + rate.offset)


def rate_values(result: Result, rate: Rate, code: int) -> list[np.ndarray]:
    """Return one group's rate over whole episodes, per evaluation; NaN where undefined."""
    return [cumulative_rates(e.trace, rate, e.discount)[:, -1, code] for e in result.evaluations]


def group_rates_of(result: Result, rate: Rate, parts: Sequence[str]) -> list[Estimate]:
    """Return each part's rate over whole episodes with its CI; of many parts three (`few`)."""
    every = [cumulative_rates(e.trace, rate, e.discount)[:, -1] for e in result.evaluations]
    columns = [few(rates, parts)[0] for rates in every]
    return [estimate([column[:, i] for column in columns]) for i in range(columns[0].shape[1])]


def courses_of(result: Result, env: Environment) -> dict[str, list[Course]]:
    """Return scores and status over the steps for every scheme, one course per evaluation.

    Args:
        result: Evaluations made with `trace=True`.
        env: Environment with the schemes.
    """
    several = [courses(evaluation, env.spec.schemes) for evaluation in result.evaluations]
    return {name: [one[name] for one in several] for name in env.spec.schemes}


def wait_courses(result: Result, stage: str) -> dict[str, list[np.ndarray]]:
    """Return the share of people who wait and their median wait so far.

    Args:
        result: Evaluations made with `trace=True`.
        stage: Key of `env.spec.waits`.

    Returns:
        "share" and "median": per evaluation an array (episodes, steps + 1, groups + 1) whose last
        column is all people. NaN after the end of an episode; medians are NaN where nobody waits.
    """
    found: dict[str, list[np.ndarray]] = {"share": [], "median": []}
    for evaluation in result.evaluations:
        share, median = (np.asarray(evaluation.waits[stage][name], np.float64) for name in found)
        ended = np.arange(share.shape[1]) > np.asarray(evaluation.lengths)[:, None]
        found["share"].append(np.where(ended[:, :, None], np.nan, share))
        found["median"].append(np.where(share > 0.0, median, np.nan))
    return found


def waits_of(evaluations: Sequence[Evaluation], stage: str, groups: Sequence[int]) -> WaitCourse:
    """Return the share of waits that last longer than a time (`still_waiting`).

    Args:
        evaluations: Evaluations made with `trace=True`; their episodes are pooled.
        stage: Key of `env.spec.waits`.
        groups: Indices of the groups that count.
    """
    own = list(groups)
    return still_waiting(
        (np.asarray(e.waits[stage]["reached"], np.float64)[..., own, :].sum(axis=2), e.lengths)
        for e in evaluations
    )


def core_values(
    env: Environment, people: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the core attribute and the group of every person, two arrays (episodes, people)."""
    attribute = np.asarray(people[env.spec.core_attribute], np.float64)
    group = np.asarray(people["group"]).astype(int)
    return np.atleast_2d(attribute), np.atleast_2d(group)


def group_gap(attribute: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """Return the standardised mean difference of each episode, shape (episodes,).

    With two groups: mean of the first minus mean of the second, in pooled standard deviations.
    With more: the largest absolute value over all pairs of groups.
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
