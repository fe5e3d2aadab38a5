"""Intervals and tests of rates, against independent calculations."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.stats.contingency import odds_ratio as exact_odds_ratio

from fairgym.statistics import pairs, share_difference
from fairgym.statistics import proportions as own
from fairgym.statistics.proportions import Shares

# favourable and all decisions of two groups: plain, small, none or all favourable, very unequal
CASES = [
    ((56, 70), (48, 80)),
    ((9, 10), (3, 10)),
    ((0, 20), (4, 30)),
    ((20, 20), (15, 30)),
    ((3, 5000), (40, 60)),
    ((5, 10), (500, 1000)),
    ((700, 1000), (1, 12)),
]
SEVERAL = tuple(Shares.of(*np.array(side).T) for side in zip(*CASES, strict=True))
ONE, OTHER = SEVERAL


def score_ratio(x, n, y, m, ratio):
    """Squared score statistic of p = ratio q, with the likelihood maximised numerically."""

    def minus(q):
        p = min(ratio * q, 1 - 1e-15)
        return -(stats.binom.logpmf(x, n, p) + stats.binom.logpmf(y, m, q))

    top = min(1.0, 1.0 / ratio)
    q = optimize.minimize_scalar(
        minus, bounds=(1e-13, top - 1e-13), method="bounded", options={"xatol": 1e-13}
    ).x
    p = ratio * q
    return (x / n - ratio * y / m) ** 2 / (p * (1 - p) / n + ratio**2 * q * (1 - q) / m)


def score_odds(x, n, y, m, ratio):
    """Squared score statistic of an odds ratio, likewise."""

    def of(q):
        return ratio * q / (1 - q + ratio * q)

    def minus(q):
        return -(stats.binom.logpmf(x, n, of(q)) + stats.binom.logpmf(y, m, q))

    q = optimize.minimize_scalar(
        minus, bounds=(1e-13, 1 - 1e-13), method="bounded", options={"xatol": 1e-13}
    ).x
    p = of(q)
    return (x - n * p) ** 2 * (1 / (n * p * (1 - p)) + 1 / (m * q * (1 - q)))


def test_the_interval_of_a_rate_is_that_of_statsmodels_and_contains_wilsons():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    count, n = np.array([0, 1, 7, 30, 99]), np.array([20, 30, 60, 30, 100])
    low, high = own.rate_interval(Shares.of(count, n), 0.9)
    theirs = proportion.proportion_confint(count, n, 0.1, "agresti_coull")
    np.testing.assert_allclose(low, np.maximum(theirs[0], 0.0), atol=1e-12)
    np.testing.assert_allclose(high, np.minimum(theirs[1], 1.0), atol=1e-12)
    inner = own.wilson_interval(Shares.of(count, n), 0.9)
    assert (low <= inner[0] + 1e-12).all() and (inner[1] - 1e-12 <= high).all()
    nothing = own.rate_interval(Shares(np.array([0.5, np.nan]), np.zeros(2)))
    assert (nothing[0][0], nothing[1][0]) == (0.0, 1.0) and np.isnan(nothing[0][1])


@pytest.mark.parametrize("level", [0.9, 0.95, 0.995])
def test_wilson_is_that_of_scipy(level):
    for side in SEVERAL:
        low, high = own.wilson_interval(side, level)
        for place, (rate, n) in enumerate(zip(side.rate, side.n, strict=True)):
            found = stats.binomtest(round(rate * n), int(n)).proportion_ci(level, "wilson")
            assert [low[place], high[place]] == pytest.approx(list(found), abs=1e-12)


def test_newcombe_is_the_published_one():
    """Newcombe 1998, Statistics in Medicine 17:873, table II, method 10."""
    published = {
        ((56, 70), (48, 80)): (0.0524, 0.3339),
        ((9, 10), (3, 10)): (0.1705, 0.8090),
        ((6, 7), (2, 7)): (0.0582, 0.8062),
        ((5, 56), (0, 29)): (-0.0381, 0.1926),
        ((0, 10), (0, 10)): (-0.2775, 0.2775),
        ((10, 10), (0, 10)): (0.6075, 1.0),
    }
    for (one, other), limits in published.items():
        _, low, high = own.difference_interval(Shares.of(*one), Shares.of(*other))
        assert (float(low), float(high)) == pytest.approx(limits, abs=6e-5)


def test_newcombe_of_pairs_is_that_of_paired_shares():
    rng = np.random.default_rng(0)
    ours = rng.random(50) < 0.6
    theirs = np.where(rng.random(50) < 0.7, ours, rng.random(50) < 0.4)
    sides = [Shares.of(one.sum(), 50) for one in (ours, theirs)]
    covariance = np.mean(ours * theirs) - ours.mean() * theirs.mean() - 0.5 / 50
    rho = covariance / math.sqrt(np.var(ours) * np.var(theirs))
    found = own.difference_interval(sides[0], sides[1], correlation=rho)
    assert [float(x) for x in found] == pytest.approx(share_difference(ours, theirs), abs=1e-12)


def test_ratios_end_where_the_score_test_does():
    ratio, low, high = own.ratio_interval(ONE, OTHER)
    for place, ((x, n), (y, m)) in enumerate(CASES):
        assert ratio[place] == pytest.approx(x / n * m / y)
        for limit in (low[place], high[place]):
            if 0.0 < limit < math.inf:
                found = score_ratio(x, n, y, m, limit)
                assert found == pytest.approx(stats.chi2.ppf(0.95, 1), rel=1e-3)
    assert ratio[2] == low[2] == 0.0 < high[2] < 5.0


def test_ratios_are_the_published_ones():
    """Koopman 1984, Biometrics 40:513: 36 of 40 against 16 of 80."""
    _, low, high = own.ratio_interval(Shares.of(36, 40), Shares.of(16, 80))
    assert (float(low), float(high)) == pytest.approx((2.94, 7.15), abs=0.005)


def test_odds_ratios_end_where_the_score_test_does():
    ratio, low, high = own.odds_ratio_interval(ONE, OTHER)
    for place, ((x, n), (y, m)) in enumerate(CASES):
        table = np.array([[x, n - x], [y, m - y]])
        assert ratio[place] == pytest.approx(exact_odds_ratio(table, kind="sample").statistic)
        for limit in (low[place], high[place]):
            if 0.0 < limit < math.inf:
                found = score_odds(x, n, y, m, limit)
                assert found == pytest.approx(stats.chi2.ppf(0.95, 1), rel=1e-3)
    assert ratio[2] == low[2] == 0.0 and math.isinf(ratio[3]) and math.isinf(high[3])
    assert 1.0 < low[3] < math.inf


def test_intervals_are_those_of_statsmodels():
    of = pytest.importorskip("statsmodels.stats.proportion")
    functions = {
        ("diff", "newcomb"): own.difference_interval,
        ("ratio", "score"): own.ratio_interval,
        ("odds-ratio", "score"): own.odds_ratio_interval,
    }
    for (x, n), (y, m) in CASES[:2] + CASES[5:]:
        for (compare, method), function in functions.items():
            theirs = of.confint_proportions_2indep(
                x, n, y, m, method=method, compare=compare, correction=False
            )
            _, low, high = function(Shares.of(x, n), Shares.of(y, m))
            assert (float(low), float(high)) == pytest.approx(theirs, rel=1e-3), compare


def test_with_a_correlation_ratios_have_the_interval_of_their_logarithm():
    """The delta method by hand; without correlation it is Katz's interval, as in scipy."""
    ours, theirs = Shares.of(56, 70), Shares.of(48, 80)
    tiny = 1e-12
    _, low, high = own.ratio_interval(ours, theirs, correlation=tiny)
    katz = stats.contingency.relative_risk(56, 70, 48, 80).confidence_interval(0.95)
    assert (float(low), float(high)) == pytest.approx(tuple(katz), rel=1e-9)
    _, low, high = own.odds_ratio_interval(ours, theirs, correlation=tiny)
    spread = math.sqrt(1 / 56 + 1 / 14 + 1 / 48 + 1 / 32)
    middle = math.log(56 * 32 / (14 * 48))
    z = stats.norm.ppf(0.975)
    assert math.log(low) == pytest.approx(middle - z * spread)
    assert math.log(high) == pytest.approx(middle + z * spread)
    plain = own.difference_interval(ours, theirs)
    tied = own.difference_interval(ours, theirs, correlation=0.5)
    assert tied[2] - tied[1] < plain[2] - plain[1]


def test_tests_are_those_of_scipy():
    p = own.equality_test(ONE, OTHER)
    for place, ((x, n), (y, m)) in enumerate(CASES):
        table = np.array([[x, n - x], [y, m - y]])
        small = stats.contingency.expected_freq(table).min() < 5.0
        found = (
            stats.fisher_exact(table)[1]
            if small
            else stats.chi2_contingency(table, correction=False)[1]
        )
        assert p[place] == pytest.approx(found, rel=1e-9), (place, small)
    assert own.equality_test(Shares.of(0, 40), Shares.of(0, 50)) == 1.0


def test_few_degrees_of_freedom_widen_every_interval():
    """One share with 4 degrees of freedom: n times (z / t)^2."""
    few = Shares(np.array(0.3), np.array(200.0), 4.0)
    n = 200.0 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 4)) ** 2
    low, high = own.wilson_interval(few)
    same = own.wilson_interval(Shares(np.array(0.3), np.array(n)))
    assert (float(low), float(high)) == pytest.approx(tuple(map(float, same)))
    other = Shares(np.array(0.4), np.array(200.0))
    plain = own.equality_test(Shares(few.rate, few.n), other)
    assert own.equality_test(few, other) > plain


def test_holm_by_hand():
    rng = np.random.default_rng(1)
    for _ in range(20):
        p = rng.random(6) ** 3
        order = np.argsort(p)
        found, largest = np.zeros(6), 0.0
        for step, place in enumerate(order):
            largest = max(largest, min((6 - step) * p[place], 1.0))
            found[place] = largest
        assert pairs.holm(p) == pytest.approx(found)
    assert np.isnan(pairs.holm([0.01, np.nan, 0.04])[1])
    assert pairs.holm([0.01, np.nan, 0.04])[0] == 0.02


def test_pairs_are_newcombe_intervals_at_the_shared_level():
    counts, n = np.array([[40, 50, 45], [10, 3, 9]]), np.array([[100, 90, 80], [20, 20, 20]])
    found = pairs.pair_gaps(Shares.of(counts, n))
    for period, (place, (i, j)) in itertools.product(range(2), enumerate([(0, 1), (0, 2), (1, 2)])):
        one, other = (Shares.of(counts[period, g], n[period, g]) for g in (i, j))
        expected = own.difference_interval(one, other, 1.0 - 0.05 / 3)
        got = (found.gap[period, place], found.low[period, place], found.high[period, place])
        assert got == pytest.approx(tuple(map(float, expected)))
        assert found.largest_low[period] <= found.largest[period] <= found.largest_high[period]
    rates = counts / n
    assert found.largest == pytest.approx(rates.max(axis=1) - rates.min(axis=1))
    assert found.largest_high == pytest.approx(np.maximum(-found.low, found.high).max(axis=1))


def test_unknown_and_single_groups_have_no_gap():
    found = pairs.pair_gaps(Shares.of([[4, 0, 5], [0, 0, 3]], [[10, 0, 10], [0, 0, 10]]))
    assert found.largest[0] == pytest.approx(0.1) and found.widest[0] == 1
    assert np.isnan([found.largest[1], found.largest_low[1], found.largest_high[1]]).all()
    alone = pairs.pair_gaps(Shares.of([3], [10]))
    assert np.isnan(alone.largest) and alone.gap.shape == (0,)


def largest_gaps(sizes, rates, repetitions, seed):
    rng = np.random.default_rng(seed)
    n = np.tile(sizes, (repetitions, 1))
    return Shares.of(rng.binomial(n, np.broadcast_to(rates, n.shape)), n)


@pytest.mark.parametrize(
    "sizes, rates",
    [
        ([100, 100], 0.5),
        ([100, 100, 100], 0.5),
        ([2000, 1000, 500, 200, 60], 0.3),
        ([100, 100, 100], np.array([0.4, 0.5, 0.6])),
        ([2000, 1000, 500, 200, 60], np.array([0.3, 0.3, 0.3, 0.3, 0.2])),
        ([400, 60], np.array([0.02, 0.05])),
    ],
)
def test_the_largest_gap_is_covered(sizes, rates):
    """In 2,000 audits, of equal groups too: a bootstrap covers a gap of 0 of three in none."""
    found = pairs.pair_gaps(largest_gaps(sizes, rates, 2000, 3))
    true = np.ptp(np.broadcast_to(rates, len(sizes)))
    covered = (found.largest_low <= true) & (true <= found.largest_high)
    assert covered.mean() >= 0.93
    if len(sizes) == 3 and true == 0.0:
        rng = np.random.default_rng(4)
        few = largest_gaps(sizes, rates, 100, 3)
        again = (
            rng.binomial(few.n[:, None].astype(int), few.rate[:, None], (100, 500, 3))
            / few.n[:, None]
        )
        low = np.quantile(np.ptp(again, axis=-1), 0.025, axis=1)
        assert (low <= true).mean() < 0.05


@pytest.mark.parametrize(
    "function, true", [(own.ratio_interval, 0.8), (own.odds_ratio_interval, 2 / 3)]
)
def test_ratios_are_covered(function, true):
    few = largest_gaps([120, 300], np.array([0.4, 0.5]), 3000, 5)
    _, low, high = function(few[:, 0], few[:, 1])
    assert 0.93 <= ((low <= true) & (true <= high)).mean() <= 0.97


def test_the_test_has_its_size():
    few = largest_gaps([150, 400], 0.4, 3000, 6)
    assert 0.03 <= (own.equality_test(few[:, 0], few[:, 1]) < 0.05).mean() <= 0.07
