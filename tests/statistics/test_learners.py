"""Comparisons of learners over tasks, by the formulas of Agarwal et al. 2021 and by scipy."""

import itertools

import numpy as np
import pytest
from scipy import stats

from fairgym.core import FairgymError
from fairgym.statistics.intervals import bootstrap_interval
from fairgym.statistics.learners import front_of, improvement_probability, performance_profile


def tasks(seed, sizes, shift=0.0):
    rng = np.random.default_rng(seed)
    return [np.round(rng.normal(shift, 1.0, size), 1) for size in sizes]


def test_the_probability_of_improvement_is_the_mann_whitney_statistic():
    """Mean over tasks of U / (m n), ties one half; tasks count alike, whatever their runs."""
    ours, theirs = tasks(0, (5, 3, 8), 0.4), tasks(1, (4, 3, 6))
    expected = [
        stats.mannwhitneyu(x, y).statistic / (len(x) * len(y))
        for x, y in zip(ours, theirs, strict=True)
    ]
    found, low, high = improvement_probability(ours, theirs)
    assert found == pytest.approx(np.mean(expected))
    assert low < found < high
    assert improvement_probability(theirs, ours)[0] == pytest.approx(1.0 - found)


def test_its_interval_is_that_of_a_plain_stratified_bootstrap():
    ours, theirs = tasks(2, (6, 6), 0.5), tasks(3, (5, 7))
    rng, drawn = np.random.default_rng(9), []
    for _ in range(4000):
        each = []
        for x, y in zip(ours, theirs, strict=True):
            x, y = rng.choice(x, len(x)), rng.choice(y, len(y))
            each.append(np.mean([(a > b) + 0.5 * (a == b) for a in x for b in y]))
        drawn.append(np.mean(each))
    _, low, high = improvement_probability(ours, theirs, resamples=8000)
    assert (low, high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.02)


def test_the_extremes_of_improvement_and_what_cannot_be_compared():
    assert improvement_probability([[2.0, 3.0]], [[0.0, 1.0]]) == (1.0, 1.0, 1.0)
    same, *limits = improvement_probability([[1.0]], [[1.0]])
    assert same == 0.5 and np.isnan(limits).all()
    with pytest.raises(FairgymError, match="same tasks, at least one; got 1 and 2"):
        improvement_probability([[1.0]], [[1.0], [2.0]])
    with pytest.raises(FairgymError, match="task 1 has none"):
        improvement_probability([[1.0], [1.0]], [[1.0], []])


def test_the_profile_is_the_share_of_runs_above_each_threshold():
    """One minus the empirical distribution of all runs, as in equation 2 of the paper."""
    scores, thresholds = tasks(4, (5, 9)), np.linspace(-2.0, 2.0, 7)
    share, low, high = performance_profile(scores, thresholds)
    every = np.sort(np.concatenate(scores))
    expected = 1.0 - np.searchsorted(every, thresholds, side="right") / every.size
    np.testing.assert_allclose(share, expected)
    assert (low <= share + 1e-12).all() and (share <= high + 1e-12).all()
    for place, threshold in enumerate(thresholds):

        def above(values, axis, threshold=threshold):
            return np.mean(values > threshold, axis=axis)

        one = bootstrap_interval(scores, above)
        assert (share[place], low[place], high[place]) == pytest.approx(one)


def test_the_interquartile_mean_over_tasks_is_that_of_all_runs():
    """As rliable's aggregate_iqm: scipy's trimmed mean of all runs of all tasks."""
    scores = tasks(5, (5, 5, 5, 5))
    assert bootstrap_interval(scores)[0] == pytest.approx(stats.trim_mean(np.ravel(scores), 0.25))


def test_a_front_of_single_runs_is_its_area_by_inclusion_and_exclusion():
    points = np.array([[3.0, 1.0], [2.0, 2.5], [1.0, 3.0], [0.5, 0.5]])
    expected = 0.0
    for count in range(1, len(points) + 1):
        for several in itertools.combinations(points, count):
            expected -= (-1) ** count * np.prod(np.min(several, axis=0))
    found = front_of([point[None] for point in points], (0.0, 0.0))
    assert found.hypervolume == pytest.approx(expected)
    assert (found.low, found.high) == (found.hypervolume, found.hypervolume)
    assert found.optimal.tolist() == [True, True, True, False]
    assert found.probability.tolist() == [1.0, 1.0, 1.0, 0.0]


def test_the_interval_of_a_front_is_that_of_resampled_runs():
    """Of one setting the area is x y; its two runs are drawn in four ways."""
    runs = np.array([[1.0, 2.0], [3.0, 4.0]])
    found = front_of([runs], (0.0, 0.0), level=0.4, resamples=8000)
    assert found.hypervolume == 2.0 * 3.0
    assert (found.low, found.high) == (6.0, 6.0)  # half of all draws have both runs
    wide = front_of([runs], (0.0, 0.0), level=0.9, resamples=8000)
    assert (wide.low, wide.high) == (2.0, 12.0)
    with pytest.raises(FairgymError, match="at least one setting, and a run of each"):
        front_of([runs, np.zeros((0, 2))])
