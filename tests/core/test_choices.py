"""Choices: one option of several, or one row of an observation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toys import Toy

from fairgym.core import ActionSpace, Discrete, Element, FairgymError, OneEntity
from fairgym.core.spaces import check_action
from fairgym.policies import Constant, fixed_policies, with_fixed

SPACES = [Discrete(("deny", "wait", "approve")), OneEntity(3), OneEntity(2, none=True)]
ALL = jnp.ones(3, bool)


@pytest.mark.parametrize("space", SPACES, ids=["discrete", "row", "row or none"])
class TestEveryChoice:
    def test_is_an_action_space_of_whole_numbers(self, space):
        assert isinstance(space, ActionSpace)
        assert (space.shape, space.dtype, len(space.elements)) == ((), jnp.int32, 3)
        assert len(space.names) == 3 and space.discrete and not space.per_entity
        assert hash(space) == hash(type(space)(**vars(space)))

    def test_samples_are_uniform_over_all_options(self, space):
        keys = jax.random.split(jax.random.key(0), 3000)
        samples = jax.vmap(space.sample)(keys)
        assert samples.dtype == jnp.int32 and samples.shape == (3000,)
        np.testing.assert_allclose(np.bincount(samples, minlength=3) / 3000, 1 / 3, atol=0.03)

    @pytest.mark.parametrize(
        ("given", "option"),
        [
            (0.4, 0),
            (0.6, 1),
            (-3.0, 0),
            (7.0, 2),
            (jnp.nan, 0),
            (jnp.inf, 2),
            (-jnp.inf, 0),
            (1e30, 2),
            (-0.0, 0),
            (-4, 0),
            (9, 2),
            (1, 1),
        ],
    )
    def test_clip_is_the_nearest_option(self, space, given, option):
        clipped = space.clip(jnp.asarray(given))
        assert clipped.dtype == jnp.int32 and clipped == option
        assert space.contains(clipped) and space.clip(clipped) == clipped

    def test_outside(self, space):
        for wrong in (-1, 3, 0.5, jnp.nan, jnp.inf):
            assert not space.contains(jnp.asarray(wrong))
        assert not space.contains(jnp.zeros(1, jnp.int32))
        with pytest.raises(FairgymError, match=r"'x' must have shape \(\) \(a whole .*got \(3,\)"):
            check_action(space, "x", jnp.zeros(3))

    def test_the_mean_is_the_share_of_each_option(self, space):
        total, count = space.counted(jnp.int32(1), ALL)
        assert total.tolist() == [0.0, 1.0, 0.0] and float(count) == 1.0
        assert total.dtype == jnp.float32

    def test_the_option_with_the_highest_logit_is_taken(self, space):
        rows = ALL[: 2 if "none" in space.names else 3]
        for logits, option in (([0.1, 3.0, -1.0], 1), ([2.0, 2.0, 2.5], 2), ([4.0, 4.0, 1.0], 0)):
            action = space.from_logits(jnp.array(logits), rows)
            assert action == option and action.dtype == jnp.int32


def test_masked_rows_are_never_chosen_and_do_not_move_none():
    space = OneEntity(2, none=True)
    mask = jnp.array([True, False, False, False])  # as in an observation with two more empty rows
    assert space.from_logits(jnp.array([1.0, 9.0, 9.0, 9.0, 0.0]), mask) == 0
    assert space.from_logits(jnp.array([1.0, 9.0, 9.0, 9.0, 2.0]), mask) == 2


def test_outputs_of_a_network_that_treats_rows_alike():
    assert [space.outputs for space in SPACES] == [3, 1, 2]


def test_names_and_words():
    assert OneEntity(2, none=True).names == ("person_0", "person_1", "none")
    assert SPACES[0].takes == "a whole number from 0 to 2: deny, wait, approve"
    many = OneEntity(34, none=True)
    assert many.takes == "a whole number from 0 to 34: person_0, person_1, ..., none"
    assert Discrete((Element("yes", "approval"), "no")).elements[0].label == "approval"


def test_bad_declarations():
    for make, message in (
        (lambda: Discrete(()), r"options must have at least one option, got \(\)"),
        (lambda: Discrete(("a", "a")), "element 'a' is declared twice"),
        (lambda: OneEntity(0), "capacity must be a whole number from 1 to 2147483647, got 0"),
        (lambda: OneEntity(True), "capacity must be a whole number from 1 to 2147483647, got True"),
    ):
        with pytest.raises(FairgymError, match=message):
            make()


class Shop(Toy):
    """An environment whose agents choose one of three people."""

    def action_space(self, agent):
        return OneEntity(3)


SHOP = Shop()


class TestFixed:
    def test_a_number_or_a_name(self):
        for value in (1, 1.0, "person_1", "Person_1"):
            action = fixed_policies(SHOP, {"level": value})["level"].action
            assert action.dtype == jnp.int32 and action.shape == () and action == 1

    def test_a_traced_number_is_the_nearest_option(self):
        actions = jax.vmap(lambda x: Constant(OneEntity(3), x).action)(jnp.array([0.6, 1.7, 9.0]))
        assert actions.dtype == jnp.int32 and actions.tolist() == [1, 2, 2]

    @pytest.mark.parametrize("value", [3, -1, 0.5, [0, 1], [0.2, 0.3, 0.5], float("nan")])
    def test_what_is_no_option_is_refused(self, value):
        with pytest.raises(FairgymError, match="must be a whole number from 0 to 2: person_0,"):
            fixed_policies(SHOP, {"level": value})

    def test_an_unknown_word_is_refused(self):
        with pytest.raises(FairgymError, match=r"must be .* name of an option, .*, got 'person_7'"):
            fixed_policies(SHOP, {"level": "person_7"})

    def test_changes_by_name(self):
        changed = with_fixed(SHOP, {"level": "random"}, [("level", "person_2")])
        assert fixed_policies(SHOP, changed)["level"].action == 2
        changed = with_fixed(SHOP, {"level": "random"}, [("level", "1")])
        assert fixed_policies(SHOP, changed)["level"].action == 1
        message = "'level' chooses one option and has no numbers to change one by one"
        for change in ([("level.person_2", "1")], [("level", {"person_2": 1.0})]):
            with pytest.raises(FairgymError, match=message):
                fixed_policies(SHOP, with_fixed(SHOP, {"level": 0}, change))
