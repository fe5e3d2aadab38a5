"""Memories against plain NumPy: what they hold, show, and could have held."""

import dataclasses
import itertools
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import fairgym
from fairgym.core import Components, EnvironmentSpec, FairgymError, Memory, component
from fairgym.core.sums import CompensatedSum
from fairgym.fairness import Counter, Filter, Full, Min, Recent, Reset, Status
from fairgym.wrappers import Wrapper, augmented


class Counts(Components):
    """Loans of two groups."""

    loans: jax.Array = component("loans granted", unit="loans", per="group")
    profit: jax.Array = component("profit", unit="dollars")


RNG = np.random.default_rng(0)
LOANS = RNG.integers(0, 3, (30, 2)).astype(np.float32)
LOANS[:2] = [[1, 0], [0, 1]]  # all are equal after the second step
MEMORIES = {
    "full": Full("loans"),
    "past-discounted": Full("loans", discount=0.5),
    "min": Min("loans"),
    "reset": Reset("loans"),
    "recent": Recent("loans", 3),
    "counter": Counter(4),
}


@pytest.fixture(scope="module")
def held():
    """Memory after each step, by name."""
    trace = Counts(loans=jnp.asarray(LOANS), profit=jnp.zeros(30))

    def fold(memory):
        def step(m, row):
            m = memory.update(m, row)
            return m, m

        first = memory.initial(jax.tree.map(lambda x: x[0], trace))
        return lax.scan(step, first, trace)[1]

    return jax.jit(lambda: {name: fold(memory) for name, memory in MEMORIES.items()})()


class TestWhatTheyHold:
    def test_sums(self, held):
        sums = np.cumsum(LOANS, axis=0)
        np.testing.assert_array_equal(held["full"].value, sums)
        np.testing.assert_array_equal(held["min"].value, sums - sums.min(1, keepdims=True))

    def test_sums_of_a_discounted_past(self, held):
        expected = np.zeros(2)
        for row, found in zip(LOANS, held["past-discounted"].value, strict=True):
            expected = 0.5 * expected + row
            np.testing.assert_allclose(found, expected, rtol=1e-6)

    def test_sums_that_begin_anew_when_all_are_equal(self, held):
        expected, anew = np.zeros(2), 0
        for row, found in zip(LOANS, held["reset"].value, strict=True):
            expected = expected + row
            if expected[0] == expected[1]:
                expected, anew = np.zeros(2), anew + 1
            np.testing.assert_array_equal(found, expected)
        assert anew >= 2

    def test_sums_of_the_last_steps(self, held):
        rows, places = held["recent"]
        found = jax.vmap(MEMORIES["recent"].status)((rows, places))
        expected = [LOANS[max(0, t - 2) : t + 1].sum(0) for t in range(30)]
        np.testing.assert_array_equal(found, expected)

    def test_steps_modulo_a_period(self, held):
        assert held["counter"].tolist() == [(t + 1) % 4 for t in range(30)]
        assert int(jnp.sum(jax.vmap(Counter(4).passes)(held["counter"]))) == 30 // 4

    def test_they_are_what_they_say(self):
        kinds = {name: (Memory, Status, Filter) for name in MEMORIES}
        found = {
            name: tuple(isinstance(memory, kind) for kind in kinds[name])
            for name, memory in MEMORIES.items()
        }
        assert found == {
            "full": (True, True, False),
            "past-discounted": (True, True, False),
            "min": (True, True, False),
            "reset": (True, False, False),
            "recent": (True, True, False),
            "counter": (True, False, True),
        }


class TestNeighbours:
    @pytest.mark.parametrize("offsets", [(1, 2), (0, 1), (-1, 0, 1)])
    def test_of_full_are_all_combinations(self, offsets):
        """Not m itself, and none in which somebody has less than nothing."""
        m = np.array([0.0, 3.0, 1.0], np.float32)
        others, legal = Full("loans").neighbours(CompensatedSum.of(jnp.asarray(m)), offsets)
        expected = {tuple(m + np.array(o)) for o in itertools.product(offsets, repeat=3)}
        assert {tuple(x) for x in others.value.tolist()} == expected
        assert len(others.value) == len(offsets) ** 3
        for other, is_legal in zip(np.asarray(others.value), legal, strict=True):
            assert bool(is_legal) == (bool(min(other) >= 0) and bool(np.any(other != m)))

    def test_of_min_keep_the_side(self):
        """<0, x> has <0, x - 5> to <0, x + 5> less those below 0: at most ten (A.4.2)."""
        offsets = (*range(-5, 0), *range(1, 6))
        for x in range(8):
            others, legal = Min("loans").neighbours(
                CompensatedSum.of(jnp.array([0.0, float(x)])), offsets
            )
            there = {tuple(m) for m in np.asarray(others.value)[np.asarray(legal)].tolist()}
            kept = {(0.0, float(x + o)) for o in offsets if x + o >= 0}
            assert there == (kept if x else {(y, 0.0) for _, y in kept})
            assert len(others.value) == 10

    def test_too_many_are_refused(self):
        with pytest.raises(FairgymError, match=r"4,096 memories, got 59,049 \(3 offsets for 10 "):
            Full("loans").neighbours(CompensatedSum.of(jnp.zeros(10)), (0, 1, 2))
        others, _ = Full("loans").neighbours(CompensatedSum.of(jnp.zeros(6)), (0, 1, 2, 3))
        assert len(others.value) == 4_096


class Got(Components):
    """Doughnuts of each person."""

    got: jax.Array = component("doughnuts handed out", unit="doughnuts", per="person")


class Shop(Wrapper):
    """An environment with a component per person."""

    @cached_property
    def spec(self) -> EnvironmentSpec:
        return dataclasses.replace(
            super().spec,
            components=Got,
            parts={"person": ("0", "1", "2")},
        )


class TestShown:
    ENV = fairgym.make("loan_simple", population=60, horizon=20)

    def test_groups_are_shown_in_the_context(self):
        axis, features = Full("disbursed", most=3).features(self.ENV)
        assert axis == "" and [f.name for f in features] == [
            "remembered_disbursed_0",
            "remembered_disbursed_1",
        ]
        assert all(f.high == 60.0 and f.levels == 61 and f.unit == "people" for f in features)
        assert all(g in f.source for g, f in zip(self.ENV.spec.groups, features, strict=True))
        shown = Full("disbursed").shown(CompensatedSum.of(jnp.array([1.0, 2.0])))
        assert shown["remembered_disbursed"].tolist() == [1.0, 2.0]

    def test_people_are_shown_in_their_rows(self):
        axis, features = Min("got").features(Shop(self.ENV))
        assert axis == "person" and [f.name for f in features] == ["remembered_got"]
        assert (features[0].high, features[0].levels) == (20.0, 21)

    def test_a_discounted_past_is_bounded_and_continuous(self):
        _, features = Full("disbursed", discount=0.5).features(self.ENV)
        assert {(f.high, f.levels) for f in features} == {(2.0, 0)}

    def test_a_counter_is_one_number(self):
        axis, (feature,) = Counter(4).features(self.ENV)
        assert (axis, feature.high, feature.levels) == ("", 3.0, 4)
        assert Counter(4).shown(jnp.int32(3))["steps_in_period"] == 3.0

    def test_a_status_and_the_memory_of_a_filter_go_together(self):
        """Both U and B are functions of such a state (section 5.3)."""
        both = augmented(augmented(self.ENV, Counter(5)), Full("disbursed"))
        seen = [f.name for f in both.observation_space("admissions").context]
        assert seen[-3:] == [
            "steps_in_period",
            "remembered_disbursed_0",
            "remembered_disbursed_1",
        ]

    def test_a_component_of_nobody_is_refused(self):
        with pytest.raises(FairgymError, match=r"per stakeholder of loan_simple .*, got 'profit'"):
            Full("profit").features(self.ENV)
        nothing = Counts(loans=jnp.zeros(2), profit=jnp.zeros(()))
        with pytest.raises(FairgymError, match="'profit', which has no entry per stakeh"):
            Full("profit").initial(nothing)
