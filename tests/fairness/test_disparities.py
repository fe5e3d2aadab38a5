"""The largest gap and equalised odds, against counts of single decisions."""

import dataclasses
import itertools
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, recall_score

from fairgym.core import ComponentInfo, FairgymError
from fairgym.fairness import (
    Direct,
    Disparity,
    EqualisedOdds,
    LargestGap,
    Objective,
    Rate,
    Windowed,
    component_rows,
)
from fairgym.fairness.metrics import components_of, rates_of

GOOD, BAD = Rate("good_approved", "good"), Rate("bad_approved", "bad")
ODDS, MEAN = EqualisedOdds(GOOD, BAD), EqualisedOdds(GOOD, BAD, agg="mean")

# (group, approved, outcome); groups and outcomes occur in every combination
BASE = [(group, False, outcome) for group in range(3) for outcome in (False, True)]
DECISIONS = st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.booleans()), max_size=60)


def counted(decisions):
    """Components of a log of decisions, summed over its steps."""
    group, approved, outcome = (np.array(column) for column in zip(*decisions, strict=True))
    log = {
        "time": np.arange(len(group)),
        "group": group,
        "good": outcome,
        "bad": ~outcome,
        "good_approved": outcome & approved,
        "bad_approved": ~outcome & approved,
    }
    rows = component_rows(log, ["good", "bad", "good_approved", "bad_approved"])
    return jax.tree.map(lambda x: jnp.sum(x, axis=0), rows)


def of_groups(score, decisions):
    """A score of truth and prediction for each group."""
    columns = np.array(decisions)
    parts = [columns[columns[:, 0] == group] for group in sorted(set(columns[:, 0].tolist()))]
    return [score(part[:, 2], part[:, 1]) for part in parts]


def false_positive_rate(truth, predicted):
    (negative, positive), _ = confusion_matrix(truth, predicted, labels=[0, 1])
    return positive / (negative + positive)


class TestEqualisedOdds:
    @settings(max_examples=60)
    @given(DECISIONS)
    def test_it_is_fairlearns_by_scikit_learns_rates(self, decisions):
        """Fairlearn takes the largest difference of each rate over groups, and the larger of both:
        the true positive rate is the recall.
        """
        decisions = BASE + decisions
        scores = (recall_score, false_positive_rate)
        gaps = [np.ptp(of_groups(score, decisions)) for score in scores]
        assert -float(ODDS.value(counted(decisions))) == pytest.approx(max(gaps), abs=1e-6)
        assert -float(MEAN.value(counted(decisions))) == pytest.approx(np.mean(gaps), abs=1e-6)
        assert bool(ODDS.defined(counted(decisions)))

    @settings(max_examples=40)
    @given(DECISIONS, st.permutations(range(3)))
    def test_properties(self, decisions, order):
        decisions = BASE + decisions
        value = float(ODDS.value(counted(decisions)))
        renamed = [(order[group], *rest) for group, *rest in decisions]
        assert float(ODDS.value(counted(renamed))) == pytest.approx(value)
        assert float(ODDS.value(counted(decisions * 3))) == pytest.approx(value)
        assert -1.0 <= value <= float(MEAN.value(counted(decisions))) <= 0.0
        # errors of the other kind are as far apart: the rates of refusals are 1 less these
        refused = [(group, not approved, outcome) for group, approved, outcome in decisions]
        assert float(ODDS.value(counted(refused))) == pytest.approx(value, abs=1e-6)

    def test_it_is_0_for_the_right_decision_about_everybody(self):
        """Whatever the shares of good outcomes, which demographic parity would mind."""
        perfect = [(group, outcome, outcome) for group, _, outcome in BASE + BASE[:1] * 5]
        assert float(ODDS.value(counted(perfect))) == 0.0
        approved = SimpleNamespace(approved=jnp.array([1.0, 1, 1]), all=jnp.array([7.0, 2, 2]))
        assert float(LargestGap(Rate("approved", "all")).value(approved)) < -0.3

    def test_it_is_defined_where_every_group_has_either_outcome(self):
        for row in BASE:
            counts = counted([one for one in BASE * 2 if one != row])
            assert not ODDS.defined(counts), row
        assert ODDS.defined(counted(BASE))

    def test_units_and_what_it_is_made_of(self):
        info = {n: ComponentInfo(n, unit="people") for n in components_of(ODDS)}
        assert ODDS.unit_in(info) == "share"
        assert dataclasses.replace(ODDS, unit="points").unit_in(info) == "points"
        months = EqualisedOdds(GOOD, dataclasses.replace(BAD, unit="months"))
        with pytest.raises(FairgymError, match="same unit, got 'share' and 'months'"):
            months.unit_in(info)
        assert (ODDS.kind, ODDS.sign, ODDS.title) == ("fair", -1, "")
        with pytest.raises(FairgymError, match="agg must be worst_case or mean, got 'sum'"):
            EqualisedOdds(GOOD, BAD, "sum")

    def test_gradients_are_finite_and_compiled_numbers_the_same(self):
        def value(approved, metric):
            counts = counted(BASE * 4)
            return metric.value(SimpleNamespace(**(vars(counts) | {"good_approved": approved})))

        for metric, approved in itertools.product(
            (ODDS, MEAN), ([0.0, 0, 0], [4.0, 4, 4], [1.0, 2, 4])
        ):
            hits = jnp.array(approved)
            assert jnp.all(jnp.isfinite(jax.grad(value)(hits, metric)))
            compiled = jax.jit(value, static_argnums=1)(hits, metric)
            np.testing.assert_allclose(compiled, value(hits, metric), rtol=1e-6, atol=1e-6)

    def test_it_weighs_in_objectives_and_is_bounded(self):
        objective = Objective({"odds": ODDS}, {"odds": 2.0})
        counts = counted([(0, True, True), *BASE])
        assert float(objective.score(counts)) == -1.0  # twice the gap of 1/2 and 0
        assert list(objective.bounded(0.1).bounds) == ["odds"]

    def test_a_window_keeps_all_of_its_components(self):
        lately = Windowed(ODDS, steps=2)
        rows = component_rows(
            {"time": [0], "group": [0]} | {name: [1] for name in components_of(ODDS)},
            [*components_of(ODDS)],
        )
        memory = lately.initial(jax.tree.map(lambda x: x[0], rows))
        assert set(memory[0]) == {"good", "good_approved", "bad", "bad_approved"}


class TestLargestGap:
    @settings(max_examples=60)
    @given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 60)), min_size=2, max_size=6))
    def test_it_is_the_largest_difference_of_two(self, counts):
        hits, tries = np.array(counts, np.float32).T
        rates = [h / t for h, t in counts]
        pairs = [abs(a - b) for a, b in itertools.combinations(rates, 2)]
        seen = SimpleNamespace(hits=jnp.array(hits), tries=jnp.array(tries))
        found = float(LargestGap(Rate("hits", "tries")).value(seen))
        assert -found == pytest.approx(max(pairs), rel=1e-5, abs=1e-6)
        spread = -float(Disparity(Rate("hits", "tries")).value(seen))
        if len(counts) == 2:
            assert -found == pytest.approx(spread)
        else:  # bounds of a standard deviation: T. Popoviciu (1935), J. von Szokefalvi Nagy (1918)
            assert -found / np.sqrt(2 * len(counts)) - 1e-5 <= spread <= -found / 2 + 1e-5

    def test_it_is_a_disparity_in_the_unit_of_its_rate(self):
        waits = Rate("waited", "served", sign=-1, unit="months")
        gap = LargestGap(waits)
        info = {"waited": ComponentInfo("w", "months"), "served": ComponentInfo("s", "people")}
        assert (gap.unit_in(info), gap.sign, gap.kind) == ("months", -1, "fair")
        seen = SimpleNamespace(waited=jnp.array([10.0, 30, 4]), served=jnp.array([2.0, 2, 2]))
        assert float(gap.value(seen)) == float(gap.normalised(seen)) == -13.0
        assert not gap.defined(SimpleNamespace(waited=jnp.ones(2), served=jnp.array([1.0, 0.0])))


def test_what_metrics_are_made_of():
    assert rates_of(GOOD) == (GOOD,) and rates_of(LargestGap(GOOD)) == (GOOD,)
    assert rates_of(ODDS) == (GOOD, BAD) and rates_of(Direct("profit")) == ()
    assert components_of(ODDS) == ("good_approved", "good", "bad_approved", "bad")
    assert components_of(Direct("profit")) == ("profit",)
