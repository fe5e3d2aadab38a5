"""Measures against NumPy."""

import dataclasses
import functools
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import Toy

import fairgym
from fairgym.core import ComponentInfo, FairgymError
from fairgym.fairness import (
    Direct,
    Disparity,
    Gini,
    GroupRatio,
    Metric,
    Objective,
    Rate,
    WorstGroup,
)

TOY = Toy()
RATE = Rate("hits", "tries")


def totals(hits, tries, profit=0.0):
    return SimpleNamespace(
        hits=jnp.array(hits, jnp.float32),
        tries=jnp.array(tries, jnp.float32),
        profit=jnp.asarray(profit, jnp.float32),
    )


class TestDirect:
    def test_it_is_a_sum_over_a_normaliser(self):
        seen = totals([1, 2], [3, 4], profit=-50.0)
        assert Direct("profit").value(seen) == -50.0
        assert Direct("profit", normaliser=100.0).normalised(seen) == -0.5
        assert Direct("tries", sign=-1, normaliser=7.0).value(seen) == -7.0
        assert Direct("tries", sign=-1, normaliser=7.0).normalised(seen) == -1.0
        assert bool(Direct("profit").defined(seen))


class TestRate:
    def test_it_is_pooled_over_groups_and_not_a_mean_of_rates(self):
        seen = totals([1, 9], [10, 10])
        assert RATE.value(seen) == RATE.normalised(seen) == 0.5
        unequal = totals([1, 9], [1, 99])
        assert RATE.value(unequal) == pytest.approx(0.1)
        np.testing.assert_allclose(RATE.per_group(unequal), [1.0, 1 / 11], rtol=1e-6)

    def test_less_is_better(self):
        worse = Rate("hits", "tries", sign=-1)
        seen = totals([1, 3], [4, 4])
        assert worse.value(seen) == -0.5
        assert worse.per_group(seen).tolist() == [0.25, 0.75]

    def test_nothing_over_nothing_is_nothing_and_undefined(self):
        none = totals([0, 0], [0, 0])
        assert RATE.value(none) == 0.0 and not RATE.defined(none)
        half = totals([0, 1], [0, 4])
        assert RATE.per_group(half).tolist() == [0.0, 0.25] and bool(RATE.defined(half))

    def test_gradients_are_finite_where_nothing_was_counted(self):
        slope = jax.grad(lambda t: RATE.value(totals([0.0, 0.0], t)))(jnp.zeros(2))
        assert jnp.all(jnp.isfinite(slope))


class TestDisparity:
    def test_two_groups_differ_by_minus_the_absolute_difference(self):
        for hits in ([1, 3], [3, 1]):
            assert Disparity(RATE).value(totals(hits, [4, 4])) == -0.5
        assert Disparity(RATE).value(totals([2, 4], [4, 8])) == 0.0

    @settings(max_examples=60)
    @given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 60)), min_size=3, max_size=6))
    def test_more_groups_differ_by_the_population_standard_deviation(self, counts):
        hits, tries = np.array(counts, np.float32).T
        rates = hits / tries
        by_hand = -np.sqrt(np.sum((rates - rates.sum() / len(rates)) ** 2) / len(rates))
        found = Disparity(RATE).value(totals(hits, tries))
        np.testing.assert_allclose(found, by_hand, rtol=1e-5, atol=1e-6)

    def test_three_groups_by_hand(self):
        """Rates 0, 0.5, 1: variance 1/6 (the sample variance would be 1/4)."""
        found = Disparity(RATE).value(totals([0, 1, 2], [2, 2, 2]))
        assert found == pytest.approx(-np.sqrt(1 / 6))

    def test_the_sign_of_the_rate_does_not_matter(self):
        seen = totals([1, 3], [4, 4])
        assert Disparity(Rate("hits", "tries", sign=-1)).value(seen) == Disparity(RATE).value(seen)

    def test_normalised_by_the_sum_of_the_rates(self):
        waits = totals([10, 30], [2, 2])  # mean waits 5 and 15
        assert Disparity(RATE).normalised(waits) == Disparity(RATE).value(waits) == -10.0
        assert Disparity(RATE, normalise_by_sum=True).value(waits) == -10.0
        assert Disparity(RATE, normalise_by_sum=True).normalised(waits) == -0.5
        assert Disparity(RATE, normalise_by_sum=True).normalised(totals([0, 0], [2, 2])) == 0.0

    def test_undefined_if_any_group_is_empty(self):
        seen = totals([0, 3], [0, 4])
        assert not Disparity(RATE).defined(seen)
        assert Disparity(RATE).value(seen) == -0.75
        assert Disparity(RATE).defined(totals([0, 3], [1, 4]))


COUNTS = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 60)), min_size=2, max_size=6)


def per_group(counts):
    hits, tries = zip(*counts, strict=True)
    return totals(hits, tries)


class TestOfGroups:
    """Worst group, ratio and Gini against plain loops over the groups."""

    @settings(max_examples=60)
    @given(COUNTS)
    def test_the_worst_group_has_the_lowest_rate(self, counts):
        rates = [h / t for h, t in counts]
        seen = per_group(counts)
        assert float(WorstGroup(RATE).value(seen)) == pytest.approx(sorted(rates)[0], rel=1e-5)

    @settings(max_examples=60)
    @given(COUNTS)
    def test_the_worst_group_has_the_highest_rate_where_less_is_better(self, counts):
        worst = WorstGroup(Rate("hits", "tries", sign=-1))
        highest = sorted(h / t for h, t in counts)[-1]
        found = float(worst.value(per_group(counts)))
        assert found == pytest.approx(-highest, rel=1e-5)
        assert worst.sign == -1 and WorstGroup(RATE).sign == 1

    @settings(max_examples=60)
    @given(COUNTS)
    def test_the_ratio_is_that_of_the_lowest_to_the_highest(self, counts):
        rates = sorted(h / t for h, t in counts)
        by_hand = rates[0] / rates[-1] if rates[-1] else 0.0
        for rate in (RATE, Rate("hits", "tries", sign=-1)):
            found = float(GroupRatio(rate).value(per_group(counts)))
            assert found == pytest.approx(by_hand, rel=1e-5)

    @settings(max_examples=60)
    @given(COUNTS)
    def test_gini_is_the_area_beside_the_lorenz_curve(self, counts):
        """Twice the area between the diagonal and the curve of cumulated shares: another formula
        than the one in use.
        """
        rates = np.sort([h / t for h, t in counts])
        by_hand = 0.0
        if rates.sum():
            curve = np.concatenate([[0.0], np.cumsum(rates) / rates.sum()])
            by_hand = 1.0 - np.sum(curve[1:] + curve[:-1]) / len(rates)
        found = -float(Gini(RATE).value(per_group(counts)))
        assert found == pytest.approx(by_hand, abs=1e-5)

    def test_parity_and_its_opposite(self):
        same, apart = totals([1, 2, 4], [2, 4, 8]), totals([3, 0, 0], [4, 4, 4])
        assert GroupRatio(RATE).value(same) == 1.0 and Gini(RATE).value(same) == 0.0
        assert GroupRatio(RATE).value(apart) == 0.0
        assert float(Gini(RATE).value(apart)) == pytest.approx(-2 / 3)

    def test_gini_of_two_groups_is_half_of_the_difference_by_the_sum(self):
        seen = totals([10, 30], [2, 2])
        assert Gini(RATE).value(seen) == Disparity(RATE, True).normalised(seen) / 2 == -0.25

    def test_what_is_undefined(self):
        empty, nobody = totals([0, 3], [0, 4]), totals([0, 0], [4, 4])
        for metric in (WorstGroup(RATE), GroupRatio(RATE), Gini(RATE)):
            assert not metric.defined(empty)
            assert metric.value(nobody) == 0.0
            assert bool(metric.defined(nobody)) == isinstance(metric, WorstGroup)
            assert bool(metric.defined(totals([0, 3], [1, 4])))

    @pytest.mark.parametrize("cls", [WorstGroup, GroupRatio, Gini])
    def test_gradients_are_finite(self, cls):
        for hits in ([0.0, 0.0], [1.0, 1.0], [1.0, 3.0]):
            slope = jax.grad(lambda h: cls(RATE).value(totals(h, [4, 4])))(jnp.array(hits))
            assert jnp.all(jnp.isfinite(slope)), hits

    def test_units_titles_and_kinds(self):
        hours = Rate("hours", "tries", unit="hours")
        assert WorstGroup(hours).unit_in(INFO) == "hours"
        assert WorstGroup(RATE).unit_in(INFO) == "share"
        assert WorstGroup(RATE, title="Lowest", unit="points").unit_in(INFO) == "points"
        for cls in (GroupRatio, Gini):
            assert cls(hours).unit_in(INFO) == "" and cls(RATE, unit="x").unit_in(INFO) == "x"
            assert cls(RATE, title="Parity").title == "Parity" and cls(RATE).title == ""
        kinds = {cls: cls(RATE).kind for cls in (WorstGroup, GroupRatio, Gini)}
        assert kinds == {WorstGroup: "rate", GroupRatio: "rate", Gini: "fair"}
        assert Gini(RATE).sign == -1 and GroupRatio(Rate("hits", "tries", sign=-1)).sign == 1

    def test_they_weigh_in_objectives(self):
        metrics = {"worst": WorstGroup(RATE), "ratio": GroupRatio(RATE), "gini": Gini(RATE)}
        objective = Objective(metrics, {"worst": 2.0, "ratio": 0.5, "gini": 4.0})
        seen = totals([1, 3], [4, 4])
        assert float(objective.score(seen)) == pytest.approx(2 / 4 + 0.5 / 3 - 4 * 0.25)
        assert float(objective.step_reward(seen)) == pytest.approx(float(objective.score(seen)))
        assert float(objective.step_reward(totals([0, 3], [0, 4]))) == 0.0
        assert list(objective.bounded(0.1).bounds) == ["gini"]

    def test_a_ratio_takes_no_bound(self):
        """A bound holds the size of a value down, and a ratio is 1 at parity."""
        with pytest.raises(FairgymError, match=r"bound must be on a disparity, .*, got 'ratio'"):
            Objective({"ratio": GroupRatio(RATE)}, {}, {"ratio": 0.2})


@pytest.mark.parametrize(
    "metric",
    [Direct("profit"), RATE, Disparity(RATE), WorstGroup(RATE), GroupRatio(RATE), Gini(RATE)],
)
def test_metrics_are_small_values(metric):
    assert len({metric, dataclasses.replace(metric)}) == 1
    assert isinstance(metric, Metric)
    kinds = {"Direct": "direct", "Disparity": "fair", "Gini": "fair"}
    assert metric.kind == kinds.get(type(metric).__name__, "rate")
    seen = totals([1, 3], [4, 4], 2.0)
    compiled = jax.jit(lambda h, t, p: metric.value(totals(h, t, p)))
    found = compiled(seen.hits, seen.tries, seen.profit)  # a program may round in another way
    np.testing.assert_allclose(found, metric.value(seen), rtol=1e-6)
    assert jnp.shape(metric.value(seen)) == ()


INFO = {
    "hits": ComponentInfo("hits", unit="people"),
    "tries": ComponentInfo("tries", unit="people"),
    "hours": ComponentInfo("hours waited", unit="people x hours"),
    "profit": ComponentInfo("profit", unit="dollars"),
}


class TestLabels:
    def test_units_follow_from_the_components(self):
        assert Direct("profit").unit_in(INFO) == "dollars"
        assert RATE.unit_in(INFO) == Disparity(RATE).unit_in(INFO) == "share"

    def test_what_is_declared_counts(self):
        hours = Rate("hours", "tries", unit="hours", title="Waiting time")
        assert Direct("profit", unit="euros").unit_in(INFO) == "euros"
        assert hours.unit_in(INFO) == Disparity(hours).unit_in(INFO) == "hours"
        assert Disparity(hours, unit="days").unit_in(INFO) == "days"
        assert (hours.title, Disparity(hours).title) == ("Waiting time", "")

    def test_a_rate_of_different_units_declares_its_own(self):
        for metric in (Rate("hours", "tries"), Disparity(Rate("hours", "tries"))):
            with pytest.raises(FairgymError, match=r"'hours' \('people x hours'\).*declare a unit"):
                metric.unit_in(INFO)

    @pytest.mark.parametrize("environment", ["loan", "loan_simple", "health", "education", "toy"])
    def test_the_environments_declare_what_does_not_follow(self, environment):
        env = TOY if environment == "toy" else fairgym.make(environment)
        units = {name: m.unit_in(env.spec.component_info) for name, m in env.metrics.items()}
        assert set(units) == set(env.metrics)
        if environment == "loan":
            assert units == {
                "profit": "thousand dollars",
                "admission_rate": "share",
                "default_rate": "share",
                "admission_disparity": "share",
                "wait_disparity": "months",
                "default_disparity": "share",
                "queue_time": "months",
                "payout_rate": "share",
                "waiting_rate": "share",
                "served_rate": "share",
                "queue_disparity": "months",
                "served_disparity": "share",
            }
            assert getattr(env.metrics["wait_disparity"], "rate").title == "Wait of those paid out"  # noqa: B009

    def test_labels_do_not_tell_metrics_apart(self):
        """Else the same computation would be compiled once per label."""
        compiled = []

        @functools.partial(jax.jit, static_argnums=0)
        def value(metric, hits):
            compiled.append(metric.title)
            return metric.value(totals(hits, [4, 4]))

        for metric in (RATE, Rate("hits", "tries", title="Success", unit="percent")):
            assert value(metric, jnp.ones(2)) == 0.25
        assert compiled == [""]
        assert RATE != Rate("hits", "tries", sign=-1, title="Success")

    def test_disparities_are_better_the_smaller_they_are(self):
        assert (Direct("profit").sign, RATE.sign, Disparity(RATE).sign) == (1, 1, -1)


@pytest.mark.parametrize("name", ["loan", "loan_simple"])
def test_waits_are_better_the_shorter_and_compared_as_they_are(name):
    """The sign tells readers which side is better; a disparity stays the same to the bit."""
    disparity = fairgym.make(name, population=50).metrics["wait_disparity"]
    assert disparity.rate.sign == -1
    plain = dataclasses.replace(disparity, rate=dataclasses.replace(disparity.rate, sign=1))
    waited = jax.random.uniform(jax.random.key(0), (100, 2), maxval=300.0)
    disbursed = jnp.floor(jax.random.uniform(jax.random.key(1), (100, 2), maxval=40.0))
    for of in ("value", "normalised", "defined"):
        here, there = (
            jax.vmap(
                lambda w, d, m=m, of=of: getattr(m, of)(SimpleNamespace(waited=w, disbursed=d))
            )(waited, disbursed)
            for m in (disparity, plain)
        )
        np.testing.assert_array_equal(here, there)
