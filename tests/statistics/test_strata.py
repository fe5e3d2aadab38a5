"""Gaps pooled over strata, against statsmodels and closed forms."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from fairgym.statistics.clusters import few_units
from fairgym.statistics.strata import (
    Rows,
    Strata,
    decomposition,
    partial_f,
    pooled_difference,
    pooled_odds_ratio,
    robustness_value,
)

# Admitted and refused of women and men in six departments: Berkeley 1973.
WOMEN = np.array([[89, 17, 202, 131, 94, 24], [19, 8, 391, 244, 299, 317]])
MEN = np.array([[512, 353, 120, 138, 53, 22], [313, 207, 205, 279, 138, 351]])


def berkeley():
    """One row per application."""
    values, side, strata = [], [], []
    for ours, table in ((1, WOMEN), (0, MEN)):
        for refused in (0, 1):
            for department, count in enumerate(table[refused]):
                values += [1 - refused] * count
                side += [ours] * count
                strata += [department] * count
    return Rows(np.array(values, float), np.array(side), np.array(strata))


def test_the_odds_ratio_is_that_of_statsmodels():
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    stacked: Any = np.array([[WOMEN[:, k], MEN[:, k]] for k in range(6)], float).transpose(1, 2, 0)
    theirs = tables.StratifiedTable(stacked)
    found = pooled_odds_ratio(berkeley())
    assert found.value == pytest.approx(theirs.oddsratio_pooled)
    limits = theirs.oddsratio_pooled_confint()
    assert (found.low, found.high) == pytest.approx(tuple(limits))


def test_the_difference_is_that_of_the_formula_within_strata():
    found = pooled_difference(berkeley())
    above = below = p = q = 0.0
    for k in range(6):
        (a, b), (c, d) = WOMEN[:, k], MEN[:, k]
        n, m = a + b, c + d
        above += (a * m - c * n) / (n + m)
        below += n * m / (n + m)
        p += (n**2 * c - m**2 * a + n * m * (m - n) / 2) / (n + m) ** 2
        q += (a * d + c * b) / (2 * (n + m))
    value = above / below
    assert found.value == pytest.approx(value)
    half = 1.959964 * np.sqrt(value * p + q) / below
    assert (found.low, found.high) == pytest.approx((value - half, value + half), abs=1e-6)


def clustered():
    rng = np.random.default_rng(1)
    units = rng.integers(0, 40, 600)
    strata = rng.integers(0, 5, 600)
    side = (rng.random(600) < 0.3 + 0.08 * strata).astype(int)
    rate = 0.3 + 0.1 * side + 0.06 * strata + rng.normal(0, 0.15, 40)[units]
    return (rng.random(600) < rate).astype(float), side, strata, rng.random(600) + 0.5, units


def test_with_clusters_it_is_a_regression_with_an_intercept_per_stratum():
    api: Any = pytest.importorskip("statsmodels.api")
    values, side, strata, weight, units = clustered()
    design = np.column_stack([side, np.eye(5)[strata]])
    for w in (None, weight):
        counted = np.ones(600) if w is None else w
        fit = api.WLS(values, design, weights=counted).fit()
        found = pooled_difference(Rows(values, side, strata, w, units))
        assert found.value == pytest.approx(fit.params[0])
        # a sandwich of the units' sums, each lengthened for its share of the rows
        sums = np.zeros((40, 6))
        np.add.at(sums, units, design * (counted * fit.resid)[:, None])
        factor, (degrees,) = few_units(np.bincount(units, counted))
        meat = (sums * factor[:, None]).T @ sums
        error = np.sqrt((fit.normalized_cov_params @ meat @ fit.normalized_cov_params)[0, 0])
        t = stats.t.ppf(0.975, degrees)
        assert (found.high - found.low) / 2 == pytest.approx(t * error, rel=1e-5)


def test_the_odds_ratio_with_clusters_is_that_of_a_jackknife():
    values, side, strata, _, units = clustered()
    found = pooled_odds_ratio(Rows(values, side, strata, None, units))
    assert found.value == pytest.approx(pooled_odds_ratio(Rows(values, side, strata)).value)
    left = []
    for unit in range(40):
        own = units != unit
        left.append(np.log(pooled_odds_ratio(Rows(values[own], side[own], strata[own])).value))
    error = np.sqrt(39 / 40 * np.sum((np.array(left) - np.mean(left)) ** 2))
    half = 0.5 * np.log(found.high / found.low)
    assert half == pytest.approx(2.022691 * error, rel=0.08)


def test_the_parts_of_a_gap_add_up():
    rows = berkeley()
    found = decomposition(Strata.of(rows.values, rows.side, rows.strata))
    raw = WOMEN[0].sum() / WOMEN.sum() - MEN[0].sum() / MEN.sum()
    assert found.raw == pytest.approx(raw) and found.alone == pytest.approx(0.0)
    ours, theirs = WOMEN.sum(axis=0) / WOMEN.sum(), MEN.sum(axis=0) / MEN.sum()
    p, q = WOMEN[0] / WOMEN.sum(axis=0), MEN[0] / MEN.sum(axis=0)
    assert found.composition == pytest.approx(float((ours - theirs) @ (p + q) / 2))
    assert found.within == pytest.approx(float((ours + theirs) @ (p - q) / 2))
    assert raw < -0.1 < 0.0 < found.within, "Simpson's paradox"
    alone = Strata(np.array([[5.0, 2.0], [0.0, 6.0]]), np.array([[10.0, 10.0], [0.0, 10.0]]))
    found = decomposition(alone)
    assert (found.composition, found.within) == pytest.approx((0.0, 0.4))
    assert found.alone == pytest.approx(0.6 - 0.35 - 0.4)
    apart = decomposition(Strata(np.array([[5.0, 0.0], [0.0, 6.0]]), np.array([[9.0, 0], [0, 9]])))
    assert apart.alone == apart.raw == pytest.approx(1 / 9)


def test_the_partial_f_is_that_of_least_squares():
    api: Any = pytest.importorskip("statsmodels.api")
    values, side, strata, weight, _ = clustered()
    fit = api.WLS(values, np.column_stack([side, np.eye(5)[strata]]), weights=weight).fit()
    found = partial_f(Rows(values, side, strata, weight))
    assert found == pytest.approx(abs(fit.tvalues[0]) / np.sqrt(fit.df_resid))
    assert robustness_value(0.0) == 0.0 and robustness_value(np.inf) == 1.0


def test_strata_without_both_groups_have_no_gap():
    rows = Rows(np.array([1.0, 0, 1, 0]), np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1]))
    assert np.isnan(pooled_difference(rows).value) and np.isnan(pooled_odds_ratio(rows).value)
    assert np.isnan(partial_f(rows))
