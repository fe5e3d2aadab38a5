"""Declared meaning: elements of actions, views by name, keys of the log, what a space answers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fairgym.algorithms import log_keys
from fairgym.core import (
    Element,
    EntitySpace,
    Environment,
    FairgymError,
    Feature,
    PerEntity,
    PopulationEnvironment,
    Shares,
    Unit,
    per_group,
)
from fairgym.utils import make

MASK = jnp.array([True, False, True, True])
SPLIT = Shares(
    (
        ("roads", "beds"),
        per_group("roads", ("north", "south"), of="roads"),
        per_group("beds", ("north", "south", "New East"), of="beds"),
    )
)


class TestElements:
    def test_one_for_each_group(self):
        found = per_group("threshold", ("rich", "poor"))
        assert [e.name for e in found] == ["threshold_rich", "threshold_poor"]
        assert [e.title for e in found] == ["threshold, rich", "threshold, poor"]
        assert {e.label for e in found} == {"threshold"}

    def test_names_are_slugs_whatever_the_group_is_called(self):
        assert SPLIT.names[-1] == "beds_new_east"
        assert SPLIT.elements[-1].title == "beds, New East"

    def test_without_groups_one_for_all(self):
        (only,) = per_group("relief", (), unit="share")
        assert only == Element("relief", "relief", "", "", "share") and only.title == "relief"

    def test_a_label_is_the_words_of_the_name_unless_given(self):
        assert Element("public_health").label == "public health"
        assert Element("public_health", label="care").label == "care"

    @pytest.mark.parametrize(
        "wrong", [lambda: Unit(("a", "a")), lambda: Shares((("a", "b"), ("b", "c")))]
    )
    def test_a_name_twice_is_refused(self, wrong):
        with pytest.raises(FairgymError, match="is declared twice"):
            wrong()


class TestWhatASpaceAnswers:
    logits = jnp.array([0.3, -2.0, 5.0, 0.0])

    def test_actions_of_a_row_are_sigmoids_of_those_present(self):
        found = PerEntity(4).from_logits(self.logits, MASK)
        expected = 1 / (1 + np.exp(-np.array(self.logits)))
        np.testing.assert_allclose(found, np.where(MASK, expected, 0.0), rtol=1e-6)

    def test_shares_are_a_softmax_for_each_block(self):
        logits = np.random.default_rng(0).normal(size=7).astype(np.float32)
        found = SPLIT.from_logits(jnp.asarray(logits), MASK)
        parts = [np.exp(p) / np.exp(p).sum() for p in np.split(logits, [2, 4])]
        np.testing.assert_allclose(found, np.concatenate(parts), rtol=1e-5)
        assert SPLIT.contains(found)

    @pytest.mark.parametrize("space", [PerEntity(4), Unit(("a", "b")), SPLIT])
    def test_logits_make_an_action_of_the_space(self, space):
        logits = jax.random.normal(jax.random.key(1), space.shape)
        assert space.contains(space.from_logits(logits, MASK))

    def test_mean_actions(self):
        action = jnp.array([0.2, 9.0, 0.4, 0.9])
        total, count = PerEntity(4).counted(action, MASK)
        assert float(total) == pytest.approx(1.5) and float(count) == 3.0
        total, count = Unit(("a", "b")).counted(action[:2], MASK)
        np.testing.assert_array_equal(total, action[:2])
        assert float(count) == 1.0

    def test_sums_and_means_over_elements(self):
        values = jnp.array([1.0, 100.0, 2.0, 6.0])
        assert float(PerEntity(4).sum_over_elements(values, MASK)) == 3.0
        assert float(PerEntity(4).mean_over_elements(values, MASK)) == 3.0
        assert float(PerEntity(4).mean_over_elements(values, ~MASK & MASK)) == 0.0
        unit = Unit(("a", "b", "c", "d"))
        assert float(unit.sum_over_elements(values, MASK)) == 109.0
        assert float(unit.mean_over_elements(values, MASK)) == 27.25

    def test_rows_of_a_sample(self):
        action, rows = jnp.arange(4.0), jnp.array([3, 0])
        np.testing.assert_array_equal(PerEntity(4).at_rows(action, rows), [3.0, 0.0])
        unit = Unit(("a", "b", "c", "d"))
        np.testing.assert_array_equal(unit.at_rows(action, rows), action)

    def test_numbers_by_name(self):
        action = jnp.arange(7.0)
        assert {n: float(x) for n, x in SPLIT.by_name(action).items()} == dict(
            zip(SPLIT.names, range(7), strict=True)
        )
        splits = SPLIT.splits(action)
        assert list(splits) == ["roads", "beds"]
        np.testing.assert_array_equal(splits["roads"], [2.0, 3.0])
        np.testing.assert_array_equal(splits["beds"], [4.0, 5.0, 6.0])


COLUMNS = {"a": jnp.array([1.0, 2.0, 3.0]), "b": jnp.array([4.0, 5.0, 6.0]), "c": jnp.ones(3)}


class TestViewByName:
    space = EntitySpace(3, (Feature("b"), Feature("a")), (Feature("time"), Feature("beds")))
    mask = jnp.array([True, True, False])

    def test_the_space_puts_names_in_order(self):
        seen = self.space.view(COLUMNS, self.mask, {"beds": 7.0, "time": 8.0})
        np.testing.assert_array_equal(seen.features, [[4.0, 1.0], [5.0, 2.0], [0.0, 0.0]])
        np.testing.assert_array_equal(seen.context, [8.0, 7.0])

    def test_rows_are_looked_up(self):
        rows = jnp.array([2, 0, 1])
        seen = self.space.view(COLUMNS, self.mask, {"beds": 7.0, "time": 8.0}, rows)
        np.testing.assert_array_equal(seen.features[:2], [[6.0, 3.0], [4.0, 1.0]])

    @pytest.mark.parametrize(
        "columns, context, words",
        [
            ({"a": jnp.ones(3)}, {"beds": 1.0, "time": 0.0}, "feature 'b' is declared"),
            (COLUMNS, {"beds": 1.0}, "context 'time' is declared"),
            (COLUMNS, {"beds": 1.0, "time": 0.0, "bedz": 1.0}, "context 'bedz' is given"),
        ],
    )
    def test_other_names_are_refused(self, columns, context, words):
        with pytest.raises(FairgymError, match=words):
            self.space.view(columns, self.mask, context)


class TestLogKeys:
    def test_what_is_written_is_read_back(self):
        line = {
            log_keys.OBJECTIVE: 1.0,
            log_keys.metric("wait"): 2.0,
            log_keys.candidates(log_keys.metric("wait")): 3.0,
            log_keys.action("planner", "roads_north"): 4.0,
            log_keys.action("clinic", "roads"): 5.0,
        }
        assert len(line) == 5
        assert log_keys.metrics_in(line) == {"wait": 2.0}
        found = {("planner", "roads_north"): 4.0, ("clinic", "roads"): 5.0}
        assert log_keys.actions_in(line) == found

    def test_every_kind_of_key_is_its_own(self):
        keys = [
            log_keys.objective("a"),
            log_keys.metric("a"),
            log_keys.term("a"),
            log_keys.action("a", "a"),
            log_keys.exploration("a"),
            log_keys.multiplier("a", "a"),
            log_keys.candidates("a"),
        ]
        assert len(set(keys)) == len(keys)


def test_systems_of_people_are_known_from_others():
    env = make("loan_simple", population=20)
    assert isinstance(env, PopulationEnvironment) and env.spec.size_text == "20 people"
    assert not issubclass(Environment, PopulationEnvironment)
    assert not hasattr(Environment, "people") and not hasattr(Environment, "census")


@pytest.mark.parametrize("levels", [-1, 1])
def test_a_feature_has_no_values_several_or_any(levels):
    assert Feature("age").levels == 0
    with pytest.raises(FairgymError, match=f"feature 'age' must be 0 .*, got {levels}"):
        Feature("age", levels=levels)
