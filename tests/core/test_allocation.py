"""Whole units divided over places."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairgym.core import ActionSpace, Allocation, FairgymError, apportion
from fairgym.core.spaces import check_action
from fairgym.policies import Constant
from fairgym.policies.named import named_action

SPACE = Allocation(6, ("a", "b", "c", "d", "e"))
CLIP, CONTAINS = jax.jit(SPACE.clip), jax.jit(SPACE.contains)
HALF = Allocation(6, ("a", "b", "c"))


def one_by_one(shares, units):
    """The published loop: a unit to the largest share, from which 1 / N is removed."""
    shares, given = np.array(shares, np.float64), np.zeros(len(shares), int)
    for _ in range(units):
        place = int(np.argmax(shares))
        given[place] += 1
        shares[place] -= 1 / units
    return given.tolist()


@settings(max_examples=200)
@given(st.lists(st.integers(0, 1000), min_size=5, max_size=5).filter(any))
def test_units_go_one_by_one_to_the_largest_share(weights):
    shares = np.array(weights, np.float32) / np.float32(sum(weights))
    left = np.subtract.outer(shares.astype(np.float64), np.arange(6) / 6).ravel()
    # where the loop's choice hangs on the last bit of a float there is no right answer
    ordered = np.sort(left)[::-1]
    if ordered[5] - ordered[6] > 1e-6:
        assert jax.jit(apportion, static_argnums=1)(shares, 6).tolist() == one_by_one(shares, 6)


def test_of_equal_shares_the_first_is_served_first():
    assert apportion(jnp.full(4, 0.25), 6).tolist() == [2, 2, 1, 1] == one_by_one([0.25] * 4, 6)


def test_moving_one_nth_of_the_mass_moves_one_unit():
    """What massaging of an allocation does (Hu, Lear and Zhang 2023, section 5.2)."""
    shares = np.random.default_rng(0).dirichlet(np.ones(5), 200).astype(np.float32)
    units = np.asarray(jax.vmap(lambda s: apportion(s, 6))(shares))
    for share, before in zip(shares, units, strict=True):
        giver, taker = int(np.argmax(before)), int(np.argmin(share))
        if giver == taker:
            continue
        moved = share.copy()
        moved[giver] -= 1 / 6
        moved[taker] += 1 / 6
        expected = before.copy()
        expected[giver] -= 1
        expected[taker] += 1
        assert one_by_one(moved, 6) == expected.tolist()


def test_is_an_action_space_of_whole_numbers():
    assert isinstance(SPACE, ActionSpace)
    assert (SPACE.shape, SPACE.dtype, SPACE.outputs) == ((5,), jnp.int32, 5)
    assert not (SPACE.discrete or SPACE.per_entity or SPACE.independent or SPACE.chooses_row)
    assert hash(SPACE) == hash(Allocation(6, ("a", "b", "c", "d", "e")))
    with pytest.raises(
        FairgymError, match=r"shape \(5,\) \(5 whole .* sum to 6: a, .*, got \(4,\)"
    ):
        check_action(SPACE, "x", jnp.zeros(4))


def test_samples_are_uniform_over_all_allocations():
    """Three units in three places: ten ways."""
    space = Allocation(3, ("a", "b", "c"))
    draws = jax.jit(jax.vmap(space.sample))(jax.random.split(jax.random.key(0), 5000))
    assert draws.dtype == jnp.int32 and bool(jnp.all(jax.vmap(space.contains)(draws)))
    shares = np.array(list(Counter(map(tuple, draws.tolist())).values())) / 5000
    np.testing.assert_allclose(shares, np.full(10, 0.1), atol=0.02)


@given(arrays(np.float32, 5, elements=st.floats(width=32, allow_subnormal=True)))
def test_clip_makes_an_allocation_of_anything(numbers):
    clipped = CLIP(numbers)
    assert clipped.dtype == jnp.int32 and CONTAINS(clipped), clipped


@pytest.mark.full
def test_every_allocation_is_left_as_it_is():
    for units, places in ((6, 3), (30, 2), (1, 4)):
        space = Allocation(units, tuple("abcd"[:places]))
        draws = jax.vmap(space.sample)(jax.random.split(jax.random.key(1), 200))
        assert jnp.array_equal(jax.vmap(space.clip)(draws), draws)


@pytest.mark.parametrize(
    "wrong", [[6, 0, 0, 0, 1], [7, -1, 0, 0, 0], [5.5, 0.5, 0, 0, 0], [jnp.nan, 6, 0, 0, 0]]
)
def test_outside(wrong):
    assert not SPACE.contains(jnp.asarray(wrong))
    assert not SPACE.contains(jnp.array([6]))


def test_logits_stand_for_a_softmax():
    logits = jnp.log(jnp.array([0.5, 0.3, 0.2]))
    assert HALF.from_logits(logits, jnp.ones(1, bool)).tolist() == [3, 2, 1]
    assert HALF.from_logits(logits + 7.0, jnp.ones(1, bool)).tolist() == [3, 2, 1]


def test_the_mean_is_of_units():
    total, count = HALF.counted(jnp.array([3, 2, 1]), jnp.ones(1, bool))
    assert total.tolist() == [3.0, 2.0, 1.0] and total.dtype == jnp.float32 and count == 1.0


def test_units_by_name():
    """Those named hold, and the others divide what is left as before, or evenly."""
    assert named_action(HALF, "x", [("a", 4)]).tolist() == [4, 1, 1]
    base = np.array([1.0, 2.0, 3.0])
    assert named_action(HALF, "x", [("b", 3)], base).tolist() == [1, 3, 2]
    assert named_action(HALF, "x", [("a", 0), ("b", 0), ("c", 6)]).tolist() == [0, 0, 6]
    assert named_action(HALF, "x", [("a", 6), ("b", 6)]).tolist() == [3, 3, 0]
    with pytest.raises(FairgymError, match=r"x.a must be a number from 0 to 6, got 7"):
        named_action(HALF, "x", [("a", 7)])


def test_a_constant_allocation():
    action = Constant(HALF, (3, 2, 1)).action
    assert action.tolist() == [3, 2, 1] and action.dtype == jnp.int32
    with pytest.raises(FairgymError, match="must be 3 whole numbers from 0 that sum to 6"):
        Constant(HALF, (3, 2, 2))


@pytest.mark.parametrize(
    ("units", "places", "message"),
    [
        (0, ("a",), "units must be a whole number from 1 to 100000, got 0"),
        (True, ("a",), "units must be a whole number from 1 to 100000, got True"),
        (3, (), r"elements must have at least one place, got \(\)"),
        (3, ("a", "a"), "element 'a' is declared twice"),
    ],
)
def test_what_cannot_be_is_refused(units, places, message):
    with pytest.raises(FairgymError, match=message):
        Allocation(units, places)
