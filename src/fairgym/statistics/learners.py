"""Comparisons of learners over tasks, and fronts of two measures with their uncertainty.

Scores are lists with one array per task, one number per run (seed). Interquartile means with their
intervals are in `fairgym.statistics.intervals`. The formulas are those of Agarwal et al., "Deep
Reinforcement Learning at the Edge of the Statistical Precipice" (2021),
https://arxiv.org/abs/2108.13264, as in their library rliable.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fairgym.core import FairgymError
from fairgym.statistics.comparisons import hypervolume, non_dominated
from fairgym.statistics.intervals import bootstrap_interval, interquartile_mean

RESAMPLES = 2000

Scores = Sequence[np.ndarray | Sequence[float]]


def improvement_probability(
    ours: Scores,
    theirs: Scores,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, float, float]:
    """Return the probability that a run of ours scores above a run of theirs in the same task.

    In each task it is the Mann-Whitney statistic U / (m n): a pair of runs counts 1 if ours is
    above, and 1/2 if both are equal. The result is the mean over tasks. The interval is that of the
    stratified bootstrap: the runs of either side are resampled within each task.

    Args:
        ours: Scores of a learner, one array per task.
        theirs: Scores of another learner in the same tasks, in the same order.
        level: Share of resamples inside the interval.
        resamples: Number of resamples.
        seed: Seed of the resampling.

    Returns:
        `(probability, low, high)`. The limits are NaN if no task has two runs on either side.

    Raises:
        FairgymError: The numbers of tasks differ, there is no task, or a task has no run.

    Examples:
        >>> from fairgym.statistics.learners import improvement_probability
        >>> improvement_probability([[3.0, 4.0]], [[1.0, 3.0]])[0]
        0.875
    """
    pairs = [
        (np.asarray(x, np.float64), np.asarray(y, np.float64)) for x, y in _paired(ours, theirs)
    ]
    rng = np.random.default_rng(seed)
    found, drawn = [], np.zeros(resamples)
    for x, y in pairs:
        above = (x[:, None] > y) + 0.5 * (x[:, None] == y)
        found.append(above.mean())
        rows = rng.integers(len(x), size=(resamples, len(x), 1))
        columns = rng.integers(len(y), size=(resamples, 1, len(y)))
        drawn += above[rows, columns].mean(axis=(1, 2)) / len(pairs)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    if all(len(x) < 2 and len(y) < 2 for x, y in pairs):
        low = high = np.nan
    return float(np.mean(found)), float(low), float(high)


def _paired(ours: Scores, theirs: Scores) -> list[tuple[Any, Any]]:
    if len(ours) != len(theirs) or not len(ours):
        raise FairgymError(
            f"both learners need scores in the same tasks, at least one; got {len(ours)} and"
            f" {len(theirs)}"
        )
    if empty := [
        k for k, pair in enumerate(zip(ours, theirs, strict=True)) if not all(map(len, pair))
    ]:
        raise FairgymError(f"every task needs a run of both learners; task {empty[0]} has none")
    return list(zip(ours, theirs, strict=True))


def performance_profile(
    scores: Scores,
    thresholds: np.ndarray,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the share of runs of all tasks that score above each threshold.

    Args:
        scores: Normalised scores of a learner, one array per task.
        thresholds: Thresholds tau, shape (thresholds,).
        level: Share of resamples inside the pointwise intervals of the stratified bootstrap.
        resamples: Number of resamples.
        seed: Seed of the resampling.

    Returns:
        `(share, low, high)`, each of shape (thresholds,).

    Examples:
        >>> import numpy as np
        >>> from fairgym.statistics.learners import performance_profile
        >>> performance_profile([[0.2, 0.6], [0.9, 1.2]], np.array([0.0, 0.5, 1.0]))[0].tolist()
        [1.0, 0.75, 0.25]
    """

    def share(values: np.ndarray, axis: int) -> np.ndarray:
        return np.mean(values[..., None] > thresholds, axis=axis)

    return bootstrap_interval(list(map(np.asarray, scores)), share, level, resamples, seed)


class Front(NamedTuple):
    """The Pareto front of settings in two measures, higher is better in both.

    Attributes:
        means: Interquartile means of the settings, shape (settings, 2).
        optimal: Whether each setting is on the front of these means.
        probability: Bootstrap probability that each setting is on the front.
        hypervolume: Area between the reference and the front of the means.
        low: Lower limit of its bootstrap percentile interval.
        high: Upper limit of its interval.
    """

    means: np.ndarray
    optimal: np.ndarray
    probability: np.ndarray
    hypervolume: float
    low: float
    high: float


def front_of(
    settings: Sequence[np.ndarray],
    reference: tuple[float, float] | None = None,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Front:
    """Return the front of settings that were measured with several seeds.

    The bootstrap resamples the runs of each setting with replacement, both measures of a run
    together, and finds the front of the interquartile means of each resample.

    Args:
        settings: Measures of each setting's runs, arrays (runs, 2).
        reference: Reference point of the hypervolume; by default the worst of the means in each
            measure.
        level: Share of resamples inside the interval.
        resamples: Number of resamples.
        seed: Seed of the resampling.

    Raises:
        FairgymError: There is no setting, or one has no run.

    Examples:
        >>> import numpy as np
        >>> from fairgym.statistics.learners import front_of
        >>> found = front_of([np.array([[2.0, 1.0]]), np.array([[1.0, 2.0]])], (0.0, 0.0))
        >>> found.hypervolume, found.optimal.tolist()
        (3.0, [True, True])
    """
    if not settings or not all(len(table) for table in settings):
        raise FairgymError("a front needs at least one setting, and a run of each")
    means = np.array([interquartile_mean(table, axis=0) for table in settings])
    rng = np.random.default_rng(seed)
    drawn = np.empty((resamples, len(settings), 2))
    for place, table in enumerate(settings):
        picked = table[rng.integers(len(table), size=(resamples, len(table)))]
        drawn[:, place] = interquartile_mean(picked, axis=1)
    worst_x, worst_y = means.min(axis=0).tolist()
    start = (worst_x, worst_y) if reference is None else reference
    volumes = [hypervolume(one, start) for one in drawn]
    low, high = np.quantile(volumes, [(1 - level) / 2, (1 + level) / 2])
    return Front(
        means,
        non_dominated(means),
        np.mean([non_dominated(one) for one in drawn], axis=0),
        hypervolume(means, start),
        float(low),
        float(high),
    )
