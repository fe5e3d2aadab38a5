"""Effective numbers of decisions that are weighted or repeat within persons."""

import numpy as np
import pytest

from fairgym.statistics.clusters import correlations, effective_shares, few_units
from fairgym.statistics.proportions import (
    Shares,
    difference_interval,
    rate_interval,
    wilson_interval,
)


def test_independent_rows_are_counted():
    values, cells = np.array([1, 0, 1, 1, 0]), np.array([0, 0, 1, 1, -1])
    found = effective_shares(values, cells, 3)
    assert found.rate[:2].tolist() == [0.5, 1.0] and np.isnan(found.rate[2])
    assert found.n.tolist() == [2.0, 2.0, 0.0] and found.degrees == np.inf


def test_the_variance_is_that_of_the_jackknife():
    """The linearised variance over units, against leaving out one unit at a time."""
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(80), rng.integers(1, 6, 80))
    values = rng.random(len(unit)) < np.repeat(rng.beta(2, 2, 80), np.bincount(unit))
    weight = rng.uniform(0.5, 2.0, len(unit))
    found = effective_shares(values, np.zeros(len(unit), int), 1, weight, unit)
    left = [np.average(values[unit != u], weights=weight[unit != u]) for u in range(80)]
    jackknife = 79 / 80 * np.sum((np.array(left) - np.mean(left)) ** 2)
    rate = found.rate[0]
    assert rate == pytest.approx(np.average(values, weights=weight))
    assert rate * (1 - rate) / found.n[0] == pytest.approx(jackknife, rel=0.03)
    assert 40 < found.degrees[0] < 79 and found.n[0] < len(unit)


def test_few_units_are_those_of_bell_and_mccaffrey():
    """Matrices of the regression on a constant; and chi squares of units whose rows are alike."""
    sizes = np.array([2, 3, 4, 7])
    factor, (degrees,) = few_units(sizes.astype(float))
    unit, n = np.repeat(np.arange(4), sizes), sizes.sum()
    left = np.eye(n) - 1.0 / n
    columns = []
    for place in range(4):
        own = unit == place
        values, vectors = np.linalg.eigh(left[np.ix_(own, own)])
        adjusted = vectors @ np.diag(values**-0.5) @ vectors.T @ np.ones(own.sum())
        columns.append(left[:, own] @ adjusted)
        assert adjusted == pytest.approx(np.sqrt(factor[place]))
    gram = np.array(columns) @ np.array(columns).T
    independent = np.trace(gram) ** 2 / np.sum(gram**2)
    alike = np.sum(sizes**2) ** 2 / np.sum(sizes**4)
    assert alike < independent and degrees == pytest.approx(alike)
    factor, (degrees,) = few_units(np.full(8, 5.0))
    assert degrees == pytest.approx(7.0) and factor == pytest.approx(8 / 7)
    assert few_units(np.array([0.0, 4.0]))[1][0] == 0.0


def test_few_uneven_clusters_are_covered():
    """Ten clusters, of which the largest is 20 times the smallest, in 500 tables at once."""
    rng = np.random.default_rng(3)
    share = np.geomspace(1, 20, 10)
    own = rng.choice(10, (500, 200), p=share / share.sum())
    rate = rng.beta(4.5, 4.5, (500, 10))
    values = rng.random((500, 200)) < np.take_along_axis(rate, own, 1)
    table = np.repeat(np.arange(500), 200)
    found = effective_shares(values.ravel(), table, 500, None, (own.ravel() + 10 * table))
    low, high = rate_interval(found)
    assert np.mean((low <= 0.5) & (high >= 0.5)) > 0.93
    low, high = rate_interval(effective_shares(values.ravel(), table, 500))
    assert np.mean((low <= 0.5) & (high >= 0.5)) < 0.8


def test_units_without_variation_count_once():
    ones = np.ones(20)
    found = effective_shares(ones, np.zeros(20, int), 1, None, np.repeat(np.arange(5), 4))
    assert found.rate[0] == 1.0 and found.n[0] == pytest.approx(5.0)
    weight = np.array([10.0, 1.0, 1.0, 1.0])
    alone = effective_shares(np.zeros(4), np.zeros(4, int), 1, weight)
    assert alone.n[0] == pytest.approx(weight.sum() ** 2 / (weight @ weight))


def test_a_single_unit_says_nothing():
    found = effective_shares(np.array([1, 0, 1]), np.zeros(3, int), 1, None, np.zeros(3, int))
    low, high = wilson_interval(found)
    assert (low[0], high[0]) == (0.0, 1.0) and found.rate[0] == pytest.approx(2 / 3)


def test_weights_of_zero_are_no_decisions():
    weight = np.array([1.0, 1.0, 0.0, 1.0])
    found = effective_shares(np.array([1, 0, 1, 0]), np.zeros(4, int), 1, weight)
    assert found.rate[0] == pytest.approx(1 / 3) and found.degrees[0] == pytest.approx(2.0)


def test_correlations_by_hand():
    """Groups that rise and fall together from branch to branch; persons have one group each."""
    values = np.array([1, 1, 0, 0, 1, 1, 0, 0])
    groups = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    branch = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    found = correlations(values, groups, 2, None, branch)
    assert found is not None and found == pytest.approx(np.ones((2, 2)))
    opposed = correlations(np.where(groups == 1, 1 - values, values), groups, 2, None, branch)
    assert opposed is not None and opposed[0, 1] == pytest.approx(-1.0)
    assert correlations(values, groups, 2, None, np.arange(8)) is None
    assert correlations(values, groups, 2, None, None) is None


def clustered(rng, clusters, size, spread, rates):
    """Decisions of groups in clusters that shift the rates of all: values, groups, clusters."""
    cluster = np.repeat(np.arange(clusters), size)
    group = rng.integers(0, len(rates), len(cluster))
    shift = rng.normal(0.0, spread, clusters)
    rate = np.clip(np.array(rates)[group] + shift[cluster], 0.0, 1.0)
    return rng.random(len(cluster)) < rate, group, cluster


def test_rates_and_gaps_of_clusters_are_covered():
    """Clusters of both groups: the rates vary with them, the gap does not."""
    rng = np.random.default_rng(7)
    rate_covered, gap_covered, naive, width, wide = [], [], [], [], []
    for _ in range(500):
        values, group, cluster = clustered(rng, 25, 30, 0.12, (0.45, 0.55))
        found = effective_shares(values, group, 2, None, cluster)
        low, high = wilson_interval(found)
        rate_covered.append(low[0] <= 0.45 <= high[0])
        plain = wilson_interval(effective_shares(values, group, 2))
        naive.append(plain[0][0] <= 0.45 <= plain[1][0])
        between = correlations(values, group, 2, None, cluster)
        assert between is not None
        _, low, high = difference_interval(found[0], found[1], correlation=between[0, 1])
        gap_covered.append(low <= -0.1 <= high)
        width.append(high - low)
        _, low, high = difference_interval(found[0], found[1])
        wide.append(high - low)
    assert 0.93 <= np.mean(rate_covered) and np.mean(naive) < 0.85
    assert 0.92 <= np.mean(gap_covered) <= 0.99
    assert np.mean(width) < 0.8 * np.mean(wide)


def test_many_units_need_no_loop():
    rng = np.random.default_rng(8)
    rows = 200_000
    person = rng.integers(0, 60_000, rows)
    cells = rng.integers(-1, 120, rows)
    found = effective_shares(rng.random(rows) < 0.4, cells, 120, None, person)
    assert isinstance(found, Shares) and (found.n > 1000).all()
