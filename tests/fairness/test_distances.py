"""Distances of distributions against scipy and plain NumPy."""

import itertools
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fairgym.core import ComponentInfo, FairgymError
from fairgym.fairness import Distance, LargestDeviation, Metric, Rate

START = [[0, 0.1, 0.1, 0.2, 0.3, 0.3, 0], [0.1, 0.1, 0.2, 0.3, 0.3, 0, 0]]
INFO = {
    "scores": ComponentInfo("scores", "people", per=("group", "score")),
    "found": ComponentInfo("incidents found", "incidents", per="site"),
    "profit": ComponentInfo("profit", "dollars"),
}


def seen(**components):
    return SimpleNamespace(**{k: jnp.asarray(v, jnp.float32) for k, v in components.items()})


def rows(groups, bins):
    row = st.lists(st.integers(0, 30), min_size=bins, max_size=bins).filter(any)
    return st.lists(row, min_size=groups, max_size=groups)


class TestDistance:
    @settings(max_examples=40)
    @given(rows(2, 7))
    def test_of_ordered_bins_it_is_scipys(self, counts):
        scores = np.arange(7)
        expected = stats.wasserstein_distance(scores, scores, *counts)
        found = Distance("scores").value(seen(scores=counts))
        assert -found == pytest.approx(expected, abs=1e-5)

    @settings(max_examples=40)
    @given(rows(3, 4))
    def test_of_three_groups_it_is_that_of_the_pair_furthest_apart(self, counts):
        shares = np.array(counts) / np.sum(counts, axis=1, keepdims=True)
        pairs = [0.5 * np.abs(a - b).sum() for a, b in itertools.combinations(shares, 2)]
        found = Distance("scores", "nominal").value(seen(scores=counts))
        assert -found == pytest.approx(max(pairs), abs=1e-5)

    def test_one_bucket_apart(self):
        """The groups at the start of the published bank (Hu, Lear and Zhang 2023)."""
        assert -Distance("scores").value(seen(scores=START)) == pytest.approx(1.0, abs=1e-6)

    def test_the_order_of_bins_without_an_order_does_not_matter(self):
        turned = [row[::-1] for row in START]
        shuffled = [[row[i] for i in (0, 5, 1, 6, 2, 3, 4)] for row in START]
        nominal = [
            -float(Distance("scores", "nominal").value(seen(scores=s)))
            for s in (START, turned, shuffled)
        ]
        np.testing.assert_allclose(nominal, nominal[0], atol=1e-6)
        apart = Distance("scores").value(seen(scores=shuffled))
        assert abs(float(apart) + 1.0) > 0.1

    def test_a_group_without_anybody(self):
        empty = seen(scores=[[0, 0], [1, 1]])
        assert not Distance("scores").defined(empty)
        assert jnp.isfinite(Distance("scores").value(empty))
        assert Distance("scores").defined(seen(scores=START))

    def test_what_cannot_be_is_refused(self):
        with pytest.raises(TypeError, match="unexpected keyword argument 'kind'"):
            Distance("scores", kind="reward")  # type: ignore[call-arg]
        with pytest.raises(FairgymError, match="order is 'up'; it takes ordered or nominal"):
            Distance("scores", "up")
        with pytest.raises(FairgymError, match="it takes one with an entry per group and bin: sco"):
            Distance("found").unit_in(INFO)
        assert Distance("scores").unit_in(INFO) == ""
        assert Distance("scores", "nominal").unit_in(INFO) == "share"


class TestLargestDeviation:
    @settings(max_examples=40)
    @given(st.lists(st.integers(0, 50), min_size=2, max_size=6).filter(any))
    def test_against_numpy(self, counts):
        x = np.array(counts, np.float64)
        from_mean = np.abs(x - x.mean()).max()
        for scale, expected in (
            ("sum", np.abs(x / x.sum() - 1 / len(x)).max()),
            ("largest", from_mean / x.max()),
            ("none", from_mean),
        ):
            measure = LargestDeviation("found", scale)
            assert -measure.value(seen(found=counts)) == pytest.approx(expected, abs=1e-5)
            assert measure.defined(seen(found=counts))

    def test_the_published_rates_at_the_start(self):
        """Rates (8, 6, 4, 3, 1.5): 3.5 above their mean (figure 3b)."""
        rates = seen(found=[8, 6, 4, 3, 1.5])
        assert LargestDeviation("found", "none").value(rates) == pytest.approx(-3.5)

    def test_nothing_is_even_and_undefined(self):
        nothing = seen(found=[0, 0, 0])
        assert LargestDeviation("found").value(nothing) == 0.0
        assert not LargestDeviation("found").defined(nothing)
        assert LargestDeviation("found", "none").defined(nothing)

    def test_units_and_refusals(self):
        assert LargestDeviation("found").unit_in(INFO) == "share"
        assert LargestDeviation("found", "none").unit_in(INFO) == "incidents"
        with pytest.raises(FairgymError, match="relative_to is 'all'; it takes sum, largest, none"):
            LargestDeviation("found", "all")
        with pytest.raises(FairgymError, match="it takes one with an entry per place: found"):
            LargestDeviation("profit").unit_in(INFO)


def test_both_are_metrics():
    assert isinstance(Distance("scores"), Metric) and isinstance(LargestDeviation("found"), Metric)


def test_an_offset_is_added_to_each_denominator():
    """Vaccines per new infection and one more (equation 10)."""
    rate, now = Rate("given", "ill", offset=1.0), seen(given=[3.0, 1.0], ill=[0.0, 3.0])
    assert rate.per_group(now).tolist() == [3.0, 0.25]
    assert rate.value(now) == 1.0 and rate.defined(seen(given=[0, 0], ill=[0, 0]))
