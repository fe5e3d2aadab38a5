"""Study of the audit's intervals: simulated tables, the bootstrap, checks and page."""

import math

import numpy as np
import pytest
from scipy import stats

from fairgym.audit.concentration import gini, theil, top_share
from fairgym.audit.gaps import gaps
from fairgym.audit.profiles import with_profile
from fairgym.audit.rates import rates
from fairgym.audit.roles import Roles
from fairgym.experiments import Size, experiments
from fairgym.experiments import _audit_others as others
from fairgym.experiments import _audit_study as study
from fairgym.experiments import audit_coverage as coverage
from fairgym.experiments._audit_tables import Case, Course, Units, design, table_of, tables
from fairgym.experiments._markdown import Making, page_text
from fairgym.statistics.pairs import pair_gaps
from fairgym.statistics.proportions import difference_interval, rate_interval, ratio_interval

BRANCHES = Units(12, 0.2, mixed=True, uneven=True)


# ---------------------------------------------------------------- simulation


@pytest.mark.parametrize("units", [Units(), Units(40, 0.3), BRANCHES])
def test_tables_have_their_rates_and_correlation(units):
    case = Case((80, 120), (0.3, 0.6), units)
    made = tables(np.random.default_rng(0), case, 800)
    for group, rate in enumerate(case.rates):
        own = made.values[:, made.groups == group]
        assert own.mean() == pytest.approx(rate, abs=0.02)
    if made.units is None:
        return
    ours = made.groups == 1
    values, unit = made.values[:, ours] - 0.6, made.units[:, ours]
    same = np.triu(unit[:, :, None] == unit[:, None, :], 1)[:, :60, :60]
    products = (values[:, :, None] * values[:, None, :])[:, :60, :60]
    assert products[same].mean() / 0.24 == pytest.approx(units.icc, abs=0.03)
    assert products[np.triu(~same, 1)].mean() == pytest.approx(0.0, abs=0.01)
    across = np.intersect1d(made.units[0][made.groups == 0], unit[0])
    assert (len(across) > 0) == units.mixed
    sizes = np.bincount(unit.ravel())
    sizes = sizes[sizes > 0]
    assert (sizes.max() > 10 * sizes.min()) == units.uneven


def test_persons_over_time_repeat_a_share_of_their_decisions():
    case = Course(6, (50, 60), (0.3, 0.5), (0.6, 0.5), Units(60, 0.7))
    rng = np.random.default_rng(1)
    rows = design(rng, case)
    assert rows.units is not None
    assert np.bincount(rows.periods * 2 + rows.groups).tolist() == [50, 60] * 6
    pairs = np.stack([rows.periods, rows.units])
    assert np.unique(pairs, axis=1).shape == pairs.shape, "at most once in a period"
    drawn = np.array([table_of(rng, case, rows).favourable for _ in range(800)])
    np.testing.assert_allclose(
        [drawn[:, (rows.periods == t) & (rows.groups == 0)].mean() for t in range(6)],
        np.linspace(0.3, 0.6, 6),
        atol=0.02,
    )
    theirs = rows.groups == 1
    first, second = (
        {
            u: place
            for place, u in enumerate(rows.units)
            if theirs[place] and rows.periods[place] == t
        }
        for t in (2, 3)
    )
    both = [(first[u], second[u]) for u in first if u in second]
    ours = np.mean([np.mean((drawn[:, a] - 0.5) * (drawn[:, b] - 0.5)) for a, b in both])
    assert ours / 0.25 == pytest.approx(0.7, abs=0.03)
    assert table_of(rng, case, rows).units is not None
    hidden = Course(6, (50, 60), (0.3, 0.5), (0.6, 0.5), Units(60, 0.7), told=False)
    assert table_of(rng, hidden, rows).units is None


# ---------------------------------------------------------------- the audit's own intervals


@pytest.mark.parametrize("units", [Units(), BRANCHES])
def test_the_intervals_are_those_that_the_audit_prints(units):
    case = Case((60, 90, 150), (0.3, 0.5, 0.4), units, weighted=bool(units.number))
    made = tables(np.random.default_rng(2), case, 3)
    shares, rho = study.shares_of(made, 3)
    roles = with_profile(Roles(decision="favourable", groups=("group",)))
    for place in range(3):
        table = made.decisions(place)
        parts = {part.name: part for part in [*rates(table, roles), *gaps(table, roles)]}
        low, high = rate_interval(shares[place])
        for group, row in enumerate(parts["rates"].rows):
            assert (row["low"], row["high"]) == pytest.approx((low[group], high[group]))
        for row in parts["gaps"].rows:
            group = int(str(row["group"]))
            given = shares[place, [group]], shares[place, [2]], 0.95, rho[place, group, 2]
            for key, function in (("difference", difference_interval), ("ratio", ratio_interval)):
                expected = [float(one[0]) for one in function(*given)]
                found = [row[f"{key}{end}"] for end in ("", "_low", "_high")]
                assert found == pytest.approx(expected)
        every = pair_gaps(shares, correlations=rho)
        (largest,) = parts["largest_gap"].rows
        assert largest["low"] == pytest.approx(every.largest_low[place])
        assert largest["high"] == pytest.approx(every.largest_high[place])


@pytest.mark.full
def test_the_bootstrap_is_that_of_fairlearn():
    metrics = pytest.importorskip("fairlearn.metrics")
    above, n = np.array([40, 55, 30]), np.array([90, 100, 60])
    group = np.repeat([0, 1, 2], n)
    chosen = np.concatenate([np.arange(size) < k for k, size in zip(above, n, strict=True)])
    frame = metrics.MetricFrame(
        metrics=metrics.selection_rate,
        y_true=chosen,
        y_pred=chosen.astype(int),
        sensitive_features=group,
        n_boot=200,
        ci_quantiles=[0.025, 0.975],
        random_state=0,
    )
    theirs = frame.difference_ci(method="between_groups")
    rng = np.random.default_rng(0)
    low, high = study.bootstrap_largest(rng, above[None], n[None], 4000)
    assert [low[0], high[0]] == pytest.approx(theirs, abs=0.025)


def test_a_bootstrap_of_the_largest_gap_never_contains_0_and_our_intervals_do():
    found = study.table_covered(np.random.default_rng(3), Case((100,) * 3, (0.5,) * 3), 150)
    assert found["bootstrap"].mean() == 0.0 and found["largest"].mean() > 0.88
    assert found["bias"].mean() == pytest.approx(0.085, abs=0.015)


def test_exact_coverages_are_sums_over_all_outcomes():
    (found,) = study.rate_coverage(12, np.array([0.2]))
    expected = 0.0
    for count in range(13):
        low, high = rate_interval(study.Shares.of(count, 12))
        expected += stats.binom.pmf(count, 12, 0.2) * (low <= 0.2 <= high)
    assert found == pytest.approx(expected)
    pairs = study.pair_coverage(4, 6, np.array([0.3, 0.6]))
    expected = 0.0
    for x in range(5):
        for y in range(7):
            given = study.Shares.of(x, 4), study.Shares.of(y, 6)
            _, low, high = difference_interval(*given)
            chance = stats.binom.pmf(x, 4, 0.3) * stats.binom.pmf(y, 6, 0.6)
            expected += chance * (low <= -0.3 <= high)
    assert pairs["differences"][0, 1] == pytest.approx(expected)


def test_true_concentrations_are_those_of_a_large_sample():
    rng = np.random.default_rng(5)
    for spread in (0.0, 0.8):
        x = rng.binomial(6, 0.5, 400_000).astype(float)
        if spread:
            x = rng.lognormal(0.0, spread, 400_000) * (rng.random(400_000) < 0.5)
        truth = others.true_concentration(spread)
        for name, function in (
            ("gini", gini),
            ("theil", theil),
            ("top", top_share),
        ):
            assert function(x)[0] == pytest.approx(truth[name], rel=0.01), name


@pytest.mark.parametrize("name", ["adjusted", "waits", "scores", "even", "series"])
def test_most_intervals_of_a_few_tables_are_right(name):
    if name == "adjusted":
        pytest.importorskip("statsmodels")
    cases, function, claimed = coverage.STUDIES[name]
    found = function(np.random.default_rng(6), cases[0], 12)
    shown = [key for key in claimed if key in found]
    assert shown and all(found[key].shape == (12,) for key in shown)
    assert all(np.nanmean(found[key]) > 0.7 for key in shown)


@pytest.mark.full
def test_the_quick_page_is_made():
    pytest.importorskip("statsmodels")
    experiment = experiments.get("audit-coverage")()
    outcome = experiment.conclude(experiment.measure(Size(replicates=3, seeds=0), {}, ()))
    assert len(outcome.checks) == len(made_up_checks(True).checks)


# ---------------------------------------------------------------- checks


def made_up(good: bool) -> dict:
    share = 0.95 if good else 0.9

    def rows(name):
        cases, _, claimed = coverage.STUDIES[name]
        names = dict.fromkeys([*claimed, "alone", "told"], share)
        more = {"bootstrap": 0.0 if good else 0.5, "bias": 0.05}
        return [{"case": case, "replicates": 1_000, **names, **more} for case in cases]

    grid = np.full((len(coverage.GRID),) * 2, share)
    return {
        **{name: rows(name) for name in coverage.STUDIES},
        "exact rates": {n: np.full(len(coverage.FINE), share) for n in coverage.EXACT_RATES},
        "exact pairs": {
            sizes: dict.fromkeys(("differences", "ratios", "odds"), grid)
            for sizes in coverage.EXACT_PAIRS
        },
    }


def made_up_checks(good: bool):
    return experiments.get("audit-coverage")().conclude(made_up(good))


def test_the_claim_holds_where_every_case_is_within_the_limits():
    outcome = made_up_checks(True)
    assert outcome.verdict == "holds"
    assert all(len(row) == len(table.head) for table in outcome.tables for row in table.rows)
    assert {check.outcome for check in made_up_checks(False).checks} == {"contradicted"}


@pytest.mark.parametrize(
    ("name", "key"),
    [("rare", "rates"), ("rates", "odds"), ("clusters", "pairs"), ("series", "trend")],
)
def test_one_case_beyond_a_limit_is_enough(name, key):
    data = made_up(True)
    data[name][-1][key] = 0.929
    checks = experiments.get("audit-coverage")().conclude(data).checks
    (failed,) = [check for check in checks if check.outcome != "holds"]
    assert failed.estimate == 0.929 and data[name][-1]["case"].words in failed.detail


def test_exact_checks_leave_out_rates_with_a_limit():
    data = made_up(True)
    sizes = coverage.EXACT_PAIRS[0]
    where = coverage.enough(sizes)
    assert where.any() and not where.all()
    values = np.where(where, 0.95, 0.8)
    data["exact pairs"][sizes] = dict.fromkeys(("differences", "ratios", "odds"), values)
    assert experiments.get("audit-coverage")().conclude(data).verdict == "holds"


def test_the_cases_are_those_of_the_claim():
    cases = [*coverage.TABLE_CASES, *coverage.RATE_CASES, *coverage.CLUSTER_CASES]
    assert {len(case.sizes) for case in cases} == {2, 3, 5}
    sizes = [size for case in cases for size in case.sizes]
    assert (min(sizes), max(sizes)) == (60, 2000)
    for case in (*coverage.TABLE_CASES, *coverage.RATE_CASES):
        for size, rate in zip(case.sizes, case.rates, strict=True):
            assert size * min(rate, 1 - rate) >= coverage.ENOUGH - 1e-9
    assert len({case.units.icc for case in coverage.CLUSTER_CASES}) >= 5
    assert math.isclose(coverage.GRID[0] + coverage.GRID[-1], 1.0)


def test_the_page_states_its_criterion():
    experiment = experiments.get("audit-coverage")()
    making = Making("audit-coverage", "quick", experiment.size("quick"), False, 0.0, 0, 1.0)
    page = page_text(experiment, experiment.conclude(made_up(True)), making, {})
    assert experiment.criterion in page and "20 replicates of every case instead of 1,000" in page
