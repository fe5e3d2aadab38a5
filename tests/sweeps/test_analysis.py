"""Settings over seeds, fronts and shares of variance, by calculations of their own."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairgym.core import FairgymError
from fairgym.statistics.comparisons import explained, hypervolume, non_dominated
from fairgym.statistics.intervals import bootstrap_interval
from fairgym.sweeps import by_setting, effects, measure_named, measures_of, pareto

NAMES = ["a", "b"]


def row(a, b, seed, x, y=0.0, status="finished"):
    found = {"a": a, "b": b, "seed": seed, "status": status, "score": x, "metrics/y": y}
    return found if status == "finished" else found | {"score": None, "metrics/y": None}


def test_settings_are_summed_up_over_their_finished_runs():
    rows = [row(1, "u", s, x) for s, x in enumerate([1.0, 2.0, 3.0, 4.0, 100.0])]
    rows += [
        row(2, "u", 0, 7.0),
        row(2, "u", 1, 0.0, status="begun"),
        row(3, "u", 0, 0, 0, "begun"),
    ]
    first, second, third = by_setting(rows, NAMES)
    assert (first["a"], first["b"], first["seeds"]) == (1, "u", 5)
    assert first["score"] == stats.trim_mean([1.0, 2.0, 3.0, 4.0, 100.0], 0.25) == 3.0
    _, low, high = bootstrap_interval(np.array([1.0, 2.0, 3.0, 4.0, 100.0]))
    assert (first["score/low"], first["score/high"]) == (low, high)
    assert first["score/values"] is None
    assert (second["seeds"], second["score"], second["score/low"]) == (1, 7.0, None)
    assert (third["seeds"], third["score"], third["score/values"]) == (0, None, None)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_two_or_three_seeds_are_told_one_by_one(count):
    values = [3.0, 1.0, 2.0, 5.0][:count]
    rows = [row(1, "u", s, x) for s, x in enumerate(values)]
    (found,) = by_setting(rows, NAMES)
    assert found["score/values"] == (values if count in (2, 3) else None)


def test_measures_go_by_their_names_in_short():
    rows = [row(1, "u", 0, 1.0)]
    assert measures_of(rows) == ["score", "metrics/y"]
    assert measure_named(rows, "y", "x") == measure_named(rows, "metrics/y", "x") == "metrics/y"
    with pytest.raises(
        FairgymError, match=r"x must be a measure of these runs .score, y.*, got 'a'"
    ):
        measure_named(rows, "a", "x")


FEW = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12)


@given(FEW)
def test_a_point_is_on_the_front_if_none_is_better(points):
    def beats(one, other):
        return one[0] >= other[0] and one[1] >= other[1] and one != other

    expected = [not any(beats(other, one) for other in points) for one in points]
    assert non_dominated(np.array(points, float)).tolist() == expected


@given(FEW)
def test_the_hypervolume_is_the_number_of_unit_squares_below_the_front(points):
    """On a grid of whole numbers, counted square by square."""
    squares = itertools.product(range(1, 5), range(1, 5))  # the square below (i, j)
    expected = sum(any(x >= i and y >= j for x, y in points) for i, j in squares)
    assert hypervolume(np.array(points, float), (0.0, 0.0)) == expected


def test_probabilities_are_those_of_resampled_seeds():
    """Two settings with two seeds each: the four resamples of each can be counted."""
    rows = [row(1, "u", 0, 0.0, 1.0), row(1, "u", 1, 4.0, 1.0)]
    rows += [row(2, "u", 0, 1.0, 1.0), row(2, "u", 1, 3.0, 1.0)]
    # y is equal, so that the larger mean of x is alone on the front, and equal ones both are.
    # Means of the first: 0, 2, 2, 4; of the second: 1, 2, 2, 3.
    first = sum(a >= b for a in (0, 2, 2, 4) for b in (1, 2, 2, 3)) / 16
    second = sum(b >= a for a in (0, 2, 2, 4) for b in (1, 2, 2, 3)) / 16
    front = pareto(rows, NAMES, "score", "metrics/y")
    found = {point.settings["a"]: point for point in front.points}
    assert found[1].optimal and found[2].optimal
    # 2,000 resamples: a standard error of .011
    assert abs(found[1].probability - first) < 0.045
    assert abs(found[2].probability - second) < 0.045
    assert front.reference == (2.0, 1.0) and front.hypervolume == 0.0
    assert pareto(rows, NAMES, "score", "metrics/y", (0.0, 0.0)).hypervolume == 2.0


def test_what_is_surely_better_is_on_the_front_for_sure():
    rows = [row(1, "u", s, 1.0 + s / 10, 5.0) for s in range(5)]
    rows += [row(2, "u", s, 9.0 + s / 10, 6.0) for s in range(5)]
    rows += [row(3, "u", 0, None, 9.0), row(4, "u", 0, 9.0, 9.0, "begun")]
    front = pareto(rows, NAMES, "score", "metrics/y", (0.0, 0.0))
    assert [(p.settings["a"], p.optimal, p.probability) for p in front.points] == [
        (2, True, 1.0),
        (1, False, 0.0),
    ]
    assert front.hypervolume == pytest.approx(9.2 * 6.0)
    assert front.low <= front.hypervolume <= front.high
    with pytest.raises(FairgymError, match="no finished run has both score and metrics/y"):
        pareto(rows[-1:], NAMES, "score", "metrics/y")


def planted(noise, seeds=4):
    """y = 3 a + 2 b + a b in codes of -1 and 1, and some noise."""
    rng = np.random.default_rng(3)
    return [
        row(a, b, s, 3 * a + 2 * b + a * b + noise * rng.normal())
        for a, b, s in itertools.product((-1, 1), (-1, 1), range(seeds))
    ]


def test_shares_are_those_of_an_analysis_of_variance():
    """Without noise the three orthogonal parts have shares 9, 4 and 1 of 14."""
    found = effects(planted(0.0), NAMES, ["score"])
    shares = {one.factor: one for one in found.shares}
    assert found.crossed and found.constant == []
    assert [shares[n].share for n in ("a", "b", "a x b", "seeds")] == pytest.approx(
        [9 / 14, 4 / 14, 1 / 14, 0.0]
    )
    rows = planted(1.5)
    y = np.array([one["score"] for one in rows]).reshape(2, 2, -1)
    total = np.sum((y - y.mean()) ** 2)
    by_a, by_b, cells = y.mean((1, 2)), y.mean((0, 2)), y.mean(2)
    parts = {
        "a": 8 * np.sum((by_a - y.mean()) ** 2),
        "b": 8 * np.sum((by_b - y.mean()) ** 2),
        "a x b": 4 * np.sum((cells - by_a[:, None] - by_b + y.mean()) ** 2),
        "seeds": np.sum((y - cells[..., None]) ** 2),
    }
    shares = {one.factor: one.share for one in effects(rows, NAMES, ["score"]).shares}
    assert shares == pytest.approx({name: part / total for name, part in parts.items()})
    assert sum(shares.values()) == pytest.approx(1.0)


def of_means(values, codes):
    """Sum of squares of the means by a setting, in plain Python."""
    groups = [[v for v, c in zip(values, codes, strict=True) if c == code] for code in set(codes)]
    mean = sum(values) / len(values)
    return sum(len(group) * (sum(group) / len(group) - mean) ** 2 for group in groups)


def exact_p(statistic, values):
    """Share of all arrangements of values with a statistic at least as large."""
    every = [statistic(one) for one in itertools.permutations(values)]
    return sum(one >= statistic(values) * (1 - 1e-9) - 1e-9 for one in every) / len(every)


def runs(codes, values):
    return [row(code, 0, s, x) for s, (code, x) in enumerate(zip(codes, values, strict=True))]


@pytest.mark.parametrize("codes", [(0, 0, 0, 1, 1, 1), (0, 1, 1, 2, 2), (0, 0, 0, 0, 1), (0, 1, 2)])
def test_p_of_a_setting_is_that_of_all_arrangements(codes):
    rng = np.random.default_rng(2)
    for values in rng.normal(size=(4, len(codes))).tolist():
        (one, _) = effects(runs(codes, values), NAMES, ["score"]).shares
        assert one.p == pytest.approx(exact_p(lambda y: of_means(y, codes), values), abs=1e-12)
        assert one.clear == (one.p <= 0.05)


def test_p_of_a_pair_is_that_of_all_arrangements_of_what_is_left():
    """By the contrast of two settings with two values, of the residuals of an additive model."""
    cells = [(a, b) for a, b in itertools.product((-1.0, 1.0), repeat=2)] + [
        (-1.0, 1.0),
        (1.0, -1.0),
    ]
    for values in np.random.default_rng(4).normal(size=(3, 6)):
        rows = [row(a, b, s, x) for s, ((a, b), x) in enumerate(zip(cells, values, strict=True))]
        found = {one.factor: one for one in effects(rows, NAMES, ["score"]).shares}
        by = {name: [cell[k] for cell in cells] for k, name in enumerate(("a", "b"))}
        mean = values.mean()
        at = {
            n: {c: np.mean(values[np.array(codes) == c]) for c in codes} for n, codes in by.items()
        }
        left = [x - at["a"][a] - at["b"][b] + mean for (a, b), x in zip(cells, values, strict=True)]

        def joint(y, by=by):
            return of_means(y, cells) - of_means(y, by["a"]) - of_means(y, by["b"])

        assert found["a x b"].p == pytest.approx(exact_p(joint, left), abs=1e-12)


@pytest.mark.parametrize("scale", [1e-9, 0.1, 1.0, 3.0, 1e9])
@pytest.mark.parametrize("offset", [0.0, 0.3, 1e3])
def test_six_runs_have_a_p_of_a_tenth_at_least_and_rounding_decides_nothing(scale, offset):
    """Three and three: ten ways to part six runs, of which these are the furthest apart."""
    values = [scale * (offset + x) for x in (0.1, 0.2, 0.3, 0.7, 0.8, 1.1)]
    for codes in ((0, 0, 0, 1, 1, 1), (1, 1, 1, 0, 0, 0)):
        (one, seeds) = effects(runs(codes, values), NAMES, ["score"]).shares
        assert one.p == one.least_p == pytest.approx(0.1)
        assert not one.clear and one.undecidable
        assert math.isnan(seeds.p) and not seeds.clear and not seeds.undecidable


@pytest.mark.parametrize(("codes", "least"), [((0,) * 7 + (1,), 1 / 8), ((0, 1) * 4, 1 / 35)])
def test_p_of_many_runs_is_that_of_random_permutations(codes, least):
    """Eight runs, furthest apart: seven and one can be parted in 8 ways, four and four in 35."""
    values = [1.0 + 0.1 * s**2 for s in range(8)]
    if least < 0.05:
        values = [values[4 * (s % 2) + s // 2] for s in range(8)]
    (one, _) = effects(runs(codes, values), NAMES, ["score"]).shares
    assert one.p == one.least_p == pytest.approx(least, abs=4 * math.sqrt(least / 500))
    assert one.p * 501 == pytest.approx(round(one.p * 501)) and one.p > 0
    assert (one.undecidable, one.clear) == (least > 0.05, least < 0.05)


def test_values_that_are_too_alike_tell_nothing():
    """A single run of twenty differs, and belongs to one of two settings of ten."""
    (one, _) = effects(runs([0] * 10 + [1] * 10, [1.0] + [0.0] * 19), NAMES, ["score"]).shares
    assert one.p == one.least_p == 1.0 and one.undecidable


def test_luck_is_what_permutations_make():
    """Their mean is (k - 1) / (n - 1) exactly, for k values among n runs."""
    rows = [row(a, 0, s, float(np.sin(7 * a + 3 * s))) for a in range(4) for s in range(5)]
    (one, seeds) = effects(rows, NAMES, ["score"]).shares
    assert one.factor == "a" and seeds.factor == "seeds"
    assert one.null_mean == pytest.approx(3 / 19, abs=0.02)
    assert one.bound > one.null_mean and math.isnan(seeds.bound)
    (few, _) = effects(runs((0, 0, 1, 1, 2), [3.0, 1.0, 4.0, 1.5, 9.0]), NAMES, ["score"]).shares
    assert few.null_mean == pytest.approx(2 / 4)
    clear = sum(
        effects(runs([a for a in range(4) for _ in range(5)], y), NAMES, ["score"]).shares[0].clear
        for y in np.random.default_rng(5).normal(size=(200, 20)).tolist()
    )
    assert 3 <= clear <= 18, "5% of 200 measures that are nothing but luck"


def test_settings_that_change_together_are_one_and_what_is_missing_is_told():
    rows = [row(a, -a, s, a + 0.1 * s) for a in (1, 2, 3) for s in range(3)]
    found = effects(rows, NAMES, ["score", "metrics/y"])
    assert [one.factor for one in found.shares] == ["a and b", "seeds"]
    assert found.constant == ["metrics/y"] and found.crossed
    assert not effects(planted(1.0)[1:], NAMES, ["score"]).crossed
    with pytest.raises(FairgymError, match="2 runs are finished; effects needs at least three"):
        effects(rows[:2], NAMES, ["score"])


def test_three_settings_leave_a_rest():
    """What all three do together is neither of one nor of a pair."""
    rows = [
        {"a": a, "b": b, "c": c, "seed": s, "status": "finished", "score": a * b * c + 0.0}
        for a, b, c, s in itertools.product((-1, 1), (-1, 1), (-1, 1), (0, 1))
    ]
    shares = {one.factor: one.share for one in effects(rows, ["a", "b", "c"], ["score"]).shares}
    assert shares.pop("all others together") == pytest.approx(1.0)
    assert len(shares) == 7 and max(shares.values()) == pytest.approx(0.0)


@given(st.lists(st.tuples(st.floats(-9, 9), st.integers(0, 3)), min_size=3, max_size=30))
def test_the_explained_share_is_the_squared_correlation_ratio(pairs):
    values, codes = (np.array(column) for column in zip(*pairs, strict=True))
    groups = [values[codes == code] for code in sorted(set(codes.tolist()))]
    total = float(np.var(values)) * len(values)
    within = sum(float(np.var(group)) * len(group) for group in groups)
    if total < 1e-9:
        return
    assert explained(values, codes) == pytest.approx(1 - within / total, abs=1e-6)
