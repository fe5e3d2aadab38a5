"""Statistics over seeds, against scipy, closed forms and enumeration."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fairgym.statistics.comparisons import EXACT_PAIRS, paired_test, welch_test
from fairgym.statistics.intervals import (
    bootstrap_interval,
    interquartile_mean,
)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 100])
def test_interquartile_mean_is_the_trimmed_mean_of_scipy(count):
    values = np.random.default_rng(count).normal(size=(count, 3))
    assert interquartile_mean(values[:, 0]) == pytest.approx(stats.trim_mean(values[:, 0], 0.25))
    assert interquartile_mean(values) == pytest.approx(stats.trim_mean(values.ravel(), 0.25))
    np.testing.assert_allclose(
        interquartile_mean(values, axis=0), stats.trim_mean(values, 0.25, axis=0)
    )


def test_interquartile_mean_ignores_outliers_and_knows_no_values():
    assert interquartile_mean([1e9, 1.0, 2.0, 3.0, -1e9]) == 2.0
    assert math.isnan(interquartile_mean([]))
    assert np.isnan(interquartile_mean(np.zeros((0, 2)), axis=0)).all()


def test_bootstrap_of_a_mean_has_its_known_spread():
    """A resampled mean has standard deviation sd / sqrt(n): exact, by enumeration's limit."""
    values = np.random.default_rng(0).normal(5.0, 2.0, 200)
    estimate, low, high = bootstrap_interval(values, np.mean, resamples=8000)
    half = 1.96 * values.std() / math.sqrt(200)
    assert estimate == pytest.approx(values.mean())
    assert low == pytest.approx(values.mean() - half, abs=0.04)
    assert high == pytest.approx(values.mean() + half, abs=0.04)


def test_bootstrap_agrees_with_that_of_scipy():
    values = np.random.default_rng(1).normal(size=15)
    ours = bootstrap_interval(values, np.mean, 0.9, resamples=20_000)
    theirs = stats.bootstrap(
        (values,), np.mean, confidence_level=0.9, n_resamples=20_000, method="percentile", rng=0
    ).confidence_interval
    assert ours[1:] == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_bootstrap_of_two_values_by_enumeration():
    """The mean of two draws of {0, 1} is 0, 1/2, 1 with chances 1/4, 1/2, 1/4."""
    _, low, high = bootstrap_interval([0.0, 1.0], np.mean, level=0.4, resamples=20_000)
    assert (low, high) == (0.5, 0.5)
    assert bootstrap_interval([0.0, 1.0], np.mean, level=0.95)[1:] == (0.0, 1.0)


def test_bootstrap_resamples_within_each_task():
    """Tasks without spread have an interval without width, however far apart they are."""
    assert bootstrap_interval([np.zeros(4), np.full(4, 10.0)], np.mean) == (5.0, 5.0, 5.0)
    mixed = bootstrap_interval(np.array([0.0] * 4 + [10.0] * 4), np.mean)
    assert mixed[1] < 4.0 and mixed[2] > 6.0


def test_bootstrap_keeps_further_axes_and_its_seed():
    curves = np.random.default_rng(2).normal(size=(5, 7))
    estimate, low, high = bootstrap_interval(curves)
    assert estimate.shape == low.shape == high.shape == (7,)
    assert (low <= estimate).all() and (estimate <= high).all()
    column = bootstrap_interval(curves[:, 3])
    assert column == pytest.approx((estimate[3], low[3], high[3]))  # the same draws
    assert column == bootstrap_interval(curves[:, 3])


def test_one_seed_has_no_bootstrap_interval():
    estimate, low, high = bootstrap_interval([3.0])
    assert estimate == 3.0 and math.isnan(low) and math.isnan(high)
    assert np.isnan(bootstrap_interval(np.zeros((1, 4)))[1]).all()


@pytest.mark.parametrize("count", [2, 5, 8])
def test_paired_test_is_that_of_scipy(count):
    rng = np.random.default_rng(count)
    a, b = rng.normal(0.4, 1.0, count), rng.normal(0.0, 1.0, count)
    theirs = stats.permutation_test(
        (a, b),
        lambda x, y: np.mean(x) - np.mean(y),
        permutation_type="samples",
        alternative="two-sided",
        n_resamples=2**count,  # all of them
    )
    interval = stats.ttest_rel(a, b).confidence_interval(0.95)
    ours = paired_test(a, b)
    assert ours.p == pytest.approx(theirs.pvalue)
    assert ours.difference == pytest.approx(np.mean(a - b))
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize(("ours", "theirs"), [(2, 5), (20, 10), (5, 5)])
def test_welch_test_is_that_of_scipy(ours, theirs):
    rng = np.random.default_rng(ours)
    a, b = rng.normal(0.4, 1.0, ours), rng.normal(0.0, 3.0, theirs)
    expected: Any = stats.ttest_ind(a, b, equal_var=False)
    interval = expected.confidence_interval(0.95)
    found = welch_test(a, b)
    assert found.p == pytest.approx(expected.pvalue)
    assert found.difference == pytest.approx(a.mean() - b.mean())
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


def test_welch_test_without_spread_or_seeds():
    assert welch_test([2.0, 2.0], [1.0, 1.0]) == (1.0, 1.0, 1.0, 0.0)
    assert welch_test([2.0, 2.0], [2.0, 2.0]).p == 1.0
    assert welch_test([2.0], [1.0, 3.0]).difference == 0.0
    assert math.isnan(welch_test([2.0], [1.0, 3.0]).low)
    assert math.isnan(welch_test([], [1.0]).difference)


def test_paired_test_by_enumeration():
    difference = np.array([1.0, 2.0, -0.5, 3.0])
    means = [np.dot(signs, difference) for signs in itertools.product((-1, 1), repeat=4)]
    share = np.mean(np.abs(means) >= abs(difference.sum()) - 1e-9)
    assert paired_test(difference, 0.0).p == share
    assert paired_test([1.0, 1.0, 1.0, 1.0, 1.0], 0.0).p == 2 / 2**5
    assert paired_test([0.1] * 3, [0.1] * 3).p == 1.0
    assert math.isnan(paired_test([], []).p)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_p_does_not_depend_on_the_unit(scale):
    difference = np.array([1.0, 2.0, -0.5, 3.0])
    assert paired_test(scale * difference, 0.0).p == paired_test(difference, 0.0).p


def test_beyond_twelve_pairs_patterns_are_sampled():
    rng = np.random.default_rng(0)
    a = rng.normal(0.3, 1.0, EXACT_PAIRS + 2)
    sampled = paired_test(a, 0.0).p
    signs = 1 - 2 * ((np.arange(2**14)[:, None] >> np.arange(14)) & 1)
    exact = np.mean(np.abs(signs @ a) >= abs(a.sum()) - 1e-9)
    assert sampled == pytest.approx(exact, abs=0.02)
    assert paired_test(a + 100.0, 0.0).p > 0.0


def test_what_is_undefined_is_not_cut_off():
    assert math.isnan(interquartile_mean([math.nan, 1.0, 2.0, 3.0, 4.0]))
    columns = interquartile_mean(np.array([[1.0, math.nan], [2.0, 1.0], [3.0, 1.0]]), axis=0)
    assert columns[0] == 2.0 and math.isnan(columns[1])
    assert math.isnan(paired_test([1.0, math.nan], [0.0, 0.0]).p)
