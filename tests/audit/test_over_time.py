"""Series of rates and gaps, schemes and waits, against plain loops of NumPy."""

from typing import Any

import jax
import numpy as np
import pytest

from fairgym.audit import Roles, read_decisions
from fairgym.audit.examples import example_config
from fairgym.audit.groups import sides_of
from fairgym.audit.over_time import course_of, over_time, series_by
from fairgym.audit.parts import number_of
from fairgym.audit.schemes import computed, trace_of
from fairgym.audit.scored import RATE
from fairgym.audit.trends import change_point, trend
from fairgym.audit.waits import first_waits, waits
from fairgym.audit.write import read_config
from fairgym.fairness.aggregations import RelaxedParity
from fairgym.fairness.schemes import Scheme
from fairgym.statistics.proportions import (
    Shares,
    difference_interval,
    rate_interval,
    ratio_interval,
)
from fairgym.statistics.series import spread_of
from fairgym.statistics.survival import survival


def made(rows=4000, periods=6, groups=3, gap=0.0, seed=0, persons=0):
    rng = np.random.default_rng(seed)
    who = rng.integers(0, persons or rows, rows)
    group, period = rng.integers(0, groups, persons or rows)[who], rng.integers(0, periods, rows)
    ok = rng.random(rows) < 0.5 - gap * group
    return {"ok": ok.astype(int), "g": np.array(list("abcdef"))[group], "t": period, "id": who}


def parts_of(table, **roles) -> Any:
    given = Roles(**{"decision": "ok", "groups": ("g",), "time": "t", "resamples": 200} | roles)
    decisions = read_decisions(table, given)
    return decisions, given, {part.name: part for part in over_time(decisions, given)}


@pytest.fixture(scope="module")
def arrests() -> Any:
    given, _, _ = read_config(example_config("arrests"))
    roles = Roles(**given, resamples=200)
    return {part.name: part for part in over_time(read_decisions("example:arrests", roles), roles)}


@pytest.fixture
def no_schemes(monkeypatch):
    """Leave out the schemes, which are compiled anew for every shape."""
    monkeypatch.setattr("fairgym.audit.over_time.schemes", lambda *_: [])


@pytest.fixture(scope="module")
def repeated() -> Any:
    table = made(gap=0.08, persons=500)
    return table, *parts_of(table, person="id")


def test_arrests_over_the_years(arrests):
    rows = {
        row["period"]: row for row in arrests["gaps_over_time"].rows if row["grouping"] == "colour"
    }
    assert list(rows) == ["1997", "1998", "1999", "2000", "2001", "2002"]
    assert rows["1998"]["ratio"] == pytest.approx(0.77, abs=0.005)
    assert rows["2002"]["ratio"] == pytest.approx(0.98, abs=0.005)
    assert rows["1998"]["high"] < 0.0 < rows["2002"]["high"]
    (row,) = [row for row in arrests["trends"].rows if row["grouping"] == "colour"]
    assert row["worst"] == "1998" and row["change"] == "2001" and row["change_p"] < 0.05
    assert row["trend_low"] > 0.0 and row["run"] == 6
    findings = arrests["trends"].findings
    assert any("from 2001 on the mean gap is 12.3 points above" in text for text in findings)
    assert not any("Male: the worst period" in text for text in findings), "unclear"


def test_periods_and_sums_are_those_of_a_loop(repeated):
    table, _, _, parts = repeated
    ok, group, period = table["ok"], table["g"], table["t"]
    for row in parts["periods"].rows:
        own = (group == row["group"]) & (period == int(row["period"]))
        so_far = (group == row["group"]) & (period <= int(row["period"]))
        assert row["n"] == own.sum() and row["rate"] == pytest.approx(ok[own].mean())
        assert row["cumulative"] == pytest.approx(ok[so_far].mean())
    for row in parts["gaps_over_time"].rows:
        t = int(row["period"])
        for key, first in (("difference", t), ("cumulative", 0), ("window", t - 2)):
            if first < 0:
                assert row[key] is None
                continue
            within = (period <= t) & (period >= first)
            sides = [ok[within & (group == row[name])].mean() for name in ("group", "reference")]
            assert row[key] == pytest.approx(sides[0] - sides[1])
        assert row["band_low"] < row["low"] < row["difference"] < row["high"] < row["band_high"]


def test_independent_rows_have_newcombes_intervals(no_schemes):
    table = made(groups=2)
    _, _, parts = parts_of(table)
    row = parts["gaps_over_time"].rows[3]

    def side(name, first):
        own = (table["g"] == row[name]) & (table["t"] <= 3) & (table["t"] >= first)
        return Shares.of(table["ok"][own].sum(), own.sum())

    for prefix, first in (("", 3), ("cumulative_", 0), ("window_", 1)):
        sides = side("group", first), side("reference", first)
        expected = difference_interval(*sides)[1:]
        assert (row[f"{prefix}low"], row[f"{prefix}high"]) == pytest.approx(tuple(expected))
    assert row["ratio_low"] == pytest.approx(float(ratio_interval(*sides)[1]), abs=1.0)
    band = difference_interval(side("group", 3), side("reference", 3), 0.95 ** (1 / 6))
    assert row["band_low"] == pytest.approx(float(band[1]))


def test_sums_over_periods_allow_for_persons(no_schemes):
    """Every decision twice, in two periods: as wide as one of them."""
    once = made(1500, periods=1, groups=2)
    twice = {name: np.concatenate([values] * 2) for name, values in once.items()}
    twice["t"] = np.repeat([0, 1], 1500)
    twice["id"] = np.tile(np.arange(1500), 2)
    _, _, parts = parts_of(twice, person="id", resamples=1500)
    row = parts["gaps_over_time"].rows[1]
    width = row["cumulative_high"] - row["cumulative_low"]
    assert width == pytest.approx(row["high"] - row["low"], rel=0.07)
    _, _, plain = parts_of(twice)
    row = plain["gaps_over_time"].rows[1]
    assert row["cumulative_high"] - row["cumulative_low"] < 0.8 * width


def test_the_trend_is_a_weighted_line(repeated):
    _, decisions, roles, _ = repeated
    series = series_by(decisions, "g", roles)
    side = next(iter(sides_of(decisions, "g", roles)))
    assert series
    course = course_of(decisions, series, side, roles, 3)
    row = trend(course, tuple("012345"), roles)
    weights = 1 / spread_of(course.ours, course.theirs)
    slope = np.polyfit(np.arange(6), course.gap, 1, w=weights)[0]
    assert row["trend"] == pytest.approx(slope)
    lines = [np.polyfit(np.arange(6), noise, 1, w=weights)[0] for noise in course.noise]
    assert series.stretch > 1.0, "persons are not equally many times in the table"
    half = series.stretch * 1.959964 * np.sqrt(np.mean(np.square(lines)))
    assert row["trend_high"] == pytest.approx(slope + half, rel=1e-5)


def test_a_change_is_found_where_it_is():
    rng = np.random.default_rng(0)
    spread = rng.uniform(0.5, 2.0, 30)
    noise = rng.normal(size=(999, 30)) * spread
    gap = noise[0] + 4.0 * (np.arange(30) >= 17)
    place, size, p = change_point(gap, spread**-2, noise)
    assert abs(place - 17) <= 1 and size == pytest.approx(4.0, abs=0.8) and p < 0.01
    after, before = gap[place:], gap[:place]
    weights = spread**-2
    expected = np.average(after, weights=weights[place:]) - np.average(
        before, weights=weights[:place]
    )
    assert size == pytest.approx(expected)
    p_values = [change_point(one, spread**-2, noise[200:])[2] for one in noise[:200]]
    assert 0.02 < np.mean(np.array(p_values) < 0.1) < 0.2, "without a change p is uniform"


def test_schemes_are_those_of_a_loop(repeated):
    table, _, _, parts = repeated
    groups = sorted(set(table["g"]))
    n = np.array(
        [[((table["g"] == g) & (table["t"] == t)).sum() for g in groups] for t in range(6)]
    )
    above = np.array(
        [
            [table["ok"][(table["g"] == g) & (table["t"] == t)].sum() for g in groups]
            for t in range(6)
        ]
    )
    rates = above.cumsum(0) / n.cumsum(0)
    gaps = np.ptp(rates, axis=1)
    a, b, past = np.zeros(3), np.zeros(3), []
    for t in range(6):
        a, b = 0.8 * a + n[t], 0.8 * b + above[t]
        past.append(np.ptp(b / a))
    tenth = np.diff(np.floor(np.r_[0, n.sum(1).cumsum()] / (n.sum() / 10) + 1e-6)) > 0
    last = rates[-1]
    weights = (2 * (3 - np.arange(3)) - 1) / 9
    overall = (rates - rates.mean(1, keepdims=True)).sum(0)
    expected = {
        "long_term_parity": -gaps[-1],
        "periodic_parity": -gaps[1::2].max(),
        "anytime_parity": -gaps.mean(),
        "bounded_parity": -gaps[tenth].mean(),
        "past_discounted_parity": -np.mean(past),
        "rawlsian": last.min(),
        "gini": np.sort(last) @ weights,
        "nash": np.log(1 + last).sum(),
        "rawlsian_total": above.sum(0).min(),
        "utilitarian_total": above.sum(),
        "stakeholder_first": -(overall**2).sum(),
    }
    rows = {row["scheme"]: row for row in parts["schemes"].rows if row["grouping"] == "g"}
    assert set(rows) == set(expected)
    for name, value in expected.items():
        assert rows[name]["score"] == pytest.approx(value, rel=1e-4), name
        assert rows[name]["low"] <= rows[name]["score"] <= rows[name]["high"], name
    balances = [row["balance"] for row in parts["balances"].rows]
    assert balances == pytest.approx(list(overall / 6), abs=1e-6)


def test_schemes_by_person(repeated):
    table, _, _, parts = repeated
    total = np.bincount(table["id"], table["ok"])
    total = total[np.unique(table["id"])]
    rows = {row["scheme"]: row["score"] for row in parts["schemes"].rows if row["grouping"] != "g"}
    assert rows["rawlsian_total"] == total.min()
    assert rows["nash_total"] == pytest.approx(np.log(1 + total).sum(), rel=1e-5)
    gini = np.abs(total[:, None] - total).mean() / (2 * total.mean())
    assert rows["gini_total"] == pytest.approx(total.mean() * (1 - gini), rel=1e-5)


def test_a_share_of_waits_of_0_or_1_has_an_interval():
    """As that of independent persons, if none is censored before."""
    wait, ended = np.array([2, 2, 3, 3, 3]), np.ones(5, bool)
    share, low, high = survival(wait, ended, 0.95)
    assert share.tolist() == [1.0, 1.0, 0.6, 0.0]
    for place, count in ((0, 5), (1, 5), (3, 0)):
        expected = rate_interval(Shares.of(count, 5))
        assert (low[place], high[place]) == pytest.approx(tuple(map(float, expected)))


def test_few_clusters_and_blocks_lengthen_resampled_errors():
    """Student's t of 9 equal clusters, with the factor 10/9 of the variance; none for rows."""
    table = made(1000, groups=2) | {"branch": np.arange(1000) % 10}
    given = Roles(decision="ok", groups=("g",), time="t", resamples=200, cluster="branch")
    series = series_by(read_decisions(table, given), "g", given)
    assert series and series.stretch == pytest.approx(np.sqrt(10 / 9) * 2.262157 / 1.959964)
    for periods, expected in ((6, 1.0), (24, np.sqrt(8 / 7) * 2.364624 / 1.959964)):
        roles = Roles(decision="ok", groups=("g",), time="t", resamples=200)
        rows = read_decisions(made(2000, periods=periods, groups=2), roles)
        series = series_by(rows, "g", roles)
        assert series and series.stretch == pytest.approx(expected)
        (side,) = sides_of(rows, "g", roles)
        course = course_of(rows, series, side, roles, 3)
        row = trend(course, tuple(map(str, range(periods))), roles)
        weight = spread_of(course.ours, course.theirs) ** -2.0
        time = np.arange(periods) - np.average(np.arange(periods), weights=weight)
        line = weight * time / (weight @ time**2)
        error = np.sqrt(np.mean((course.noise @ line) ** 2))
        half = number_of(row, "trend_high") - number_of(row, "trend")
        assert half == pytest.approx(expected * 1.959964 * error, rel=1e-6)


def test_equal_groups_are_not_told_to_have_a_gap(repeated):
    """A percentile bootstrap of parity excludes 0 for groups that are treated equally."""
    scheme = Scheme.long_term(RATE, RelaxedParity())
    zero = trap = 0
    for seed in range(12):
        decisions, roles, parts = parts_of(made(seed=seed))
        rows = {row["scheme"]: row for row in parts["schemes"].rows}
        zero += rows["long_term_parity"]["high"] == 0.0
        series = series_by(decisions, "g", roles)
        assert series and series.drawn is not None
        drawn = trace_of(series.drawn[:, 0], series.drawn[:, 1])
        scores, _ = jax.vmap(scheme.of_trace)(drawn)
        trap += np.quantile(scores, 0.975) < -0.001
    assert zero >= 11 and trap == 12


def test_resampled_traces_have_the_status_of_single_ones():
    rng = np.random.default_rng(0)
    n = rng.integers(0, 3, (3, 6, 3)).astype(float)
    above = np.floor(n * rng.random(n.shape))
    scheme = Scheme.long_term(RATE, RelaxedParity())
    _, found = computed((scheme,), trace_of(n[1], above[1]), trace_of(n, above))
    one, all_of_them = found[0]
    np.testing.assert_allclose(all_of_them[1], one)
    for t in range(6):
        total, good = n[1, : t + 1].sum(0), above[1, : t + 1].sum(0)
        known = total > 0
        expected = np.where(known, good / np.maximum(total, 1), 0.0)
        expected[~known] = expected[known].mean() if known.any() else 0.0
        np.testing.assert_allclose(one[t], expected, rtol=1e-6)


def test_long_series_without_ids_are_drawn_in_blocks():
    table = made(3000, periods=24, groups=2, gap=0.1)
    decisions, roles, parts = parts_of(table)
    assert any("blocks of 3 periods" in text for text in parts["gaps_over_time"].limits)
    series = series_by(decisions, "g", roles)
    assert series and series.kind == "blocks" and series.drawn is not None
    pairs = {tuple(pair) for pair in np.stack([series.n, series.favourable]).reshape(2, -1).T}
    drawn = {tuple(pair) for pair in series.drawn[0].reshape(2, -1).T}
    assert drawn <= pairs
    rows = {row["scheme"]: row for row in parts["schemes"].rows}
    assert rows["long_term_parity"]["high"] < 0.0


def test_a_group_is_compared_with_all_others(no_schemes):
    table = made(3000, gap=0.1)
    _, _, parts = parts_of(table, reference="pooled")
    row = parts["gaps_over_time"].rows[0]
    assert row["reference"] == "all others" and row["group"] == "a"
    ok, first = table["ok"], table["t"] == 0
    others = ok[first & (table["g"] != "a")].mean()
    assert row["difference"] == pytest.approx(ok[first & (table["g"] == "a")].mean() - others)
    assert row["cumulative"] == pytest.approx(row["difference"])


def test_small_cells_are_not_shown_and_other_tables_have_no_series(no_schemes):
    table = made(120, groups=2)
    _, _, parts = parts_of(table, suppress=15)
    rows = parts["periods"].rows
    hidden = [row for row in rows if "rate" not in row]
    assert hidden and {row["note"] for row in hidden} == {"fewer than 15 decisions"}
    shown = {(row["group"], row["period"]) for row in rows if "rate" in row}
    for row in parts["gaps_over_time"].rows:
        both = all((row[name], row["period"]) in shown for name in ("group", "reference"))
        assert (row["difference"] is not None) == both
    roles = Roles(decision="ok", groups=("g",))
    assert over_time(read_decisions(table, roles), roles) == []
    one = parts_of(table | {"t": np.zeros(120, int)})[2]
    assert one == {}


def test_waits_are_those_of_a_loop(repeated):
    table, decisions, roles, _ = repeated
    row, wait, ended = first_waits(decisions.person, decisions.periods.codes, decisions.favourable)
    order = np.lexsort((np.arange(4000), table["t"]))
    expected = {}
    for person in np.unique(table["id"]):
        own = [place for place in order if table["id"][place] == person]
        refused = next((place for place in own if not table["ok"][place]), None)
        if refused is None:
            continue
        later = own[own.index(refused) + 1 :]
        good = next((place for place in later if table["ok"][place]), None)
        until = 5 if good is None else table["t"][good]
        expected[refused] = (until - table["t"][refused], good is not None)
    assert dict(zip(row, zip(wait, ended, strict=True), strict=True)) == expected
    part, course = waits(decisions, roles)
    assert len(part.rows) == 3
    for one in part.rows:
        own = table["g"][row] == one["group"]
        assert one["refused"] == own.sum() and one["later_favourable"] == ended[own].sum()
        rows = [row for row in course.rows if row["group"] == one["group"]]
        assert [row["after"] for row in rows] == list(range(len(rows)))
        share = 1.0
        for step in rows:  # Kaplan-Meier by hand
            at_risk = (wait[own] >= step["after"]).sum()
            share *= 1.0 - (ended[own] & (wait[own] == step["after"])).sum() / at_risk
            assert number_of(step, "share") == pytest.approx(share)
        assert one["after_1"] == rows[1]["share"]


def test_survival_is_that_of_statsmodels():
    survfunc = pytest.importorskip("statsmodels.duration.survfunc")
    rng = np.random.default_rng(0)
    wait, ended = rng.integers(0, 9, 300), rng.random(300) < 0.6
    share, low, high = survival(wait, ended, 0.95)
    theirs = survfunc.SurvfuncRight(wait, ended)
    np.testing.assert_allclose(share[theirs.surv_times], theirs.surv_prob)
    inner = theirs.surv_prob > 0.0
    p, error = theirs.surv_prob[inner], theirs.surv_prob_se[inner]
    expected = rate_interval(Shares(p, p * (1 - p) / error**2))
    for limits, own in zip((low, high), expected, strict=True):
        np.testing.assert_allclose(limits[theirs.surv_times][inner], own, rtol=1e-6)
    assert (low <= share).all() and (share <= high).all()
    assert number_of({"x": share[0]}, "x") <= 1.0
