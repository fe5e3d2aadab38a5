"""Spaces: what they draw, what they accept, and what clipping makes of anything else."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from fairgym.core import (
    ActionSpace,
    Entities,
    EntitySpace,
    FairgymError,
    Feature,
    PerEntity,
    Shares,
    Unit,
    per_group,
)
from fairgym.core.spaces import check_action

SPACES = [
    PerEntity(5),
    Unit(("a", "b", "c", "d", "e")),
    Shares((("a", "b"), ("c", "d", "e"))),
]
ANYTHING = st.floats(width=32, allow_nan=True, allow_infinity=True, allow_subnormal=True)
CLIP = {space: jax.jit(space.clip) for space in SPACES}
CONTAINS = {space: jax.jit(space.contains) for space in SPACES}


@pytest.mark.parametrize("space", SPACES, ids=lambda s: type(s).__name__)
class TestEveryActionSpace:
    def test_samples_lie_inside_and_differ(self, space):
        keys = jax.random.split(jax.random.key(0), 200)
        samples = jax.jit(jax.vmap(space.sample))(keys)
        assert samples.shape == (200, *space.shape)
        assert jnp.all(jax.vmap(space.contains)(samples))
        assert jnp.std(samples, axis=0).min() > 0.05
        assert isinstance(space, ActionSpace)

    def test_one_key_draws_one_action(self, space):
        draws = [space.sample(jax.random.key(s)) for s in (1, 1, 2)]
        assert jnp.array_equal(draws[0], draws[1]) and not jnp.array_equal(draws[0], draws[2])

    @given(action=arrays(np.float32, 5, elements=ANYTHING))
    def test_clip_makes_an_action_of_anything(self, space, action):
        clipped = CLIP[space](action)
        assert CONTAINS[space](clipped), clipped
        again = CLIP[space](clipped)
        np.testing.assert_allclose(again, clipped, rtol=1e-6)

    def test_clip_leaves_actions_alone(self, space):
        action = space.sample(jax.random.key(3))
        np.testing.assert_allclose(space.clip(action), action, rtol=1e-6)

    @pytest.mark.parametrize("shape", [(4,), (5, 1), (), (6,)])
    def test_another_shape_is_outside(self, space, shape):
        assert not space.contains(jnp.full(shape, 0.2))
        with pytest.raises(FairgymError, match=r"agent 'x' must have shape \(5,\) .*, got "):
            check_action(space, "x", jnp.zeros(shape))

    def test_equal_spaces_are_one_static_argument(self, space):
        assert hash(space) == hash(type(space)(**vars(space)))


@pytest.mark.parametrize("space", SPACES[:2], ids=lambda s: type(s).__name__)
def test_unit_numbers_are_clipped_to_the_nearest(space):
    action = jnp.array([-0.5, 1.5, jnp.nan, jnp.inf, -jnp.inf])
    np.testing.assert_array_equal(space.clip(action), [0.0, 1.0, 0.0, 1.0, 0.0])
    for wrong in (-1e-6, 1.0001, jnp.nan):
        assert not space.contains(jnp.full(5, 0.5).at[3].set(wrong))
    assert space.contains(jnp.array([0.0, 1.0, 0.5, 1.0, 0.0]))


class TestShares:
    def test_samples_are_uniform_on_each_simplex(self):
        """A share of k has the density of Beta(1, k - 1), and pairs that of Beta(2, k - 2)."""
        space = Shares((("a", "b"), ("c", "d", "e", "f")))
        keys = jax.random.split(jax.random.key(0), 5_000)
        found = np.asarray(jax.vmap(space.sample)(keys), np.float64)
        for place, parts in ((0, 2), (2, 4), (5, 4)):
            assert stats.kstest(found[:, place], stats.beta(1, parts - 1).cdf).pvalue > 0.01
        both = found[:, 2] + found[:, 3]
        assert stats.kstest(both, stats.beta(2, 2).cdf).pvalue > 0.01
        assert abs(np.corrcoef(found[:, 0], found[:, 2])[0, 1]) < 0.05  # blocks are independent

    space = SPACES[2]

    def test_blocks(self):
        assert self.space.names == ("a", "b", "c", "d", "e")
        parts = self.space.split(jnp.arange(5.0))
        assert [p.tolist() for p in parts] == [[0.0, 1.0], [2.0, 3.0, 4.0]]

    def test_each_block_sums_to_one(self):
        clipped = self.space.clip(jnp.array([1.0, 3.0, 0.0, 5.0, -2.0]))
        np.testing.assert_allclose(clipped, [0.25, 0.75, 0.0, 1.0, 0.0])

    def test_an_empty_block_is_uniform(self):
        clipped = self.space.clip(jnp.array([0.0, -1.0, jnp.nan, 0.0, 0.0]))
        np.testing.assert_allclose(clipped, [0.5, 0.5, 1 / 3, 1 / 3, 1 / 3], rtol=1e-6)

    def test_huge_shares_do_not_overflow(self):
        clipped = self.space.clip(jnp.array([3e38, 3e38, jnp.inf, 1.0, jnp.inf]))
        np.testing.assert_allclose(clipped, [0.5, 0.5, 0.5, 0.0, 0.5], atol=1e-6)

    def test_outside(self):
        inside = jnp.array([0.25, 0.75, 0.2, 0.3, 0.5])
        assert self.space.contains(inside)
        assert not self.space.contains(inside.at[0].set(0.3))  # one block sums to 1.05
        assert not self.space.contains(jnp.array([0.5, 0.6, 0.2, 0.2, 0.5]))  # the whole to 2
        assert not self.space.contains(jnp.array([1.2, -0.2, 0.2, 0.3, 0.5]))

    def test_samples_are_uniform_on_the_simplex(self):
        """A flat Dirichlet over three shares: mean 1/3, variance 1/18."""
        keys = jax.random.split(jax.random.key(0), 4000)
        three = np.asarray(jax.vmap(self.space.sample)(keys))[:, 2:]
        np.testing.assert_allclose(three.mean(0), 1 / 3, atol=0.02)
        np.testing.assert_allclose(three.var(0), 1 / 18, atol=0.005)

    def test_a_block_splits_a_share_of_an_earlier_one(self):
        split = per_group("x", ("north", "south"), of="beds")
        assert Shares((("beds", "rest"), split)).names[2:] == ("x_north", "x_south")
        for blocks, known in (
            ((("a", "b"), split), "a, b"),
            ((split, ("beds", "rest")), "there is none"),
        ):
            with pytest.raises(FairgymError, match=rf"an earlier block \({known}\), got 'beds'"):
                Shares(blocks)


class TestEntitySpace:
    space = EntitySpace(6, (Feature("age", 20, 60), Feature("skill", -1, 1)), (Feature("t", 0, 9),))

    def test_samples_lie_inside_and_within_the_ranges(self):
        drawn = jax.jit(jax.vmap(self.space.sample))(jax.random.split(jax.random.key(0), 50))
        assert jnp.all(jax.vmap(self.space.contains)(drawn))
        age = drawn.features[..., 0][drawn.mask]
        assert 20 <= age.min() < 25 and 55 < age.max() <= 60
        assert 0.3 < drawn.mask.mean() < 0.7
        assert jnp.all(drawn.features[~drawn.mask] == 0.0)

    def test_what_is_outside(self):
        good = self.space.sample(jax.random.key(1)).replace(mask=jnp.arange(6) < 3)
        good = good.replace(features=jnp.ones((6, 2)) * good.mask[:, None])
        assert self.space.contains(good)
        assert not self.space.contains(good.replace(mask=jnp.arange(6) < 2))  # row 2 is not zero
        assert not self.space.contains(good.replace(features=good.features.at[0, 0].set(jnp.nan)))
        assert not self.space.contains(good.replace(context=jnp.array([jnp.inf])))
        assert not self.space.contains(good.replace(context=jnp.zeros(2)))
        short = Entities(good.features[:5], good.mask[:5], good.context)
        assert not self.space.contains(short)


def test_entities_from_columns_zeroes_masked_rows():
    columns = [jnp.array([1.0, 2.0, jnp.nan]), jnp.array([4.0, 5.0, 6.0])]
    seen = Entities.from_columns(columns, jnp.array([True, True, False]), [jnp.float32(7)])
    np.testing.assert_array_equal(seen.features, [[1, 4], [2, 5], [0, 0]])
    assert seen.features.dtype == seen.context.dtype == jnp.float32
    assert seen.context.tolist() == [7.0]
    assert Entities.from_columns(columns, seen.mask, []).context.shape == (0,)
    other = seen.permuted(jnp.array([2, 0, 1]))
    np.testing.assert_array_equal(other.features, [[0, 0], [1, 4], [2, 5]])
    assert other.mask.tolist() == [False, True, True]
