"""Structs, parameters and components."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import Toy, ToyComponents, ToyParams

from fairgym.core import FairgymError, Params, Struct, param
from fairgym.core.components import add_compensated


class Pair(Struct):
    left: jax.Array
    right: jax.Array


class TestStruct:
    pair = Pair(jnp.ones(2), jnp.zeros(()))

    def test_replace_gives_a_copy(self):
        other = self.pair.replace(right=jnp.float32(5.0))
        assert other.right == 5.0 and self.pair.right == 0.0 and other.left is self.pair.left

    def test_replace_names_what_it_does_not_know(self):
        with pytest.raises(FairgymError, match=r"Pair has no field 'middle'.*left, right"):
            self.pair.replace(middle=1.0)

    def test_it_is_frozen(self):
        with pytest.raises(dataclasses.FrozenInstanceError):
            self.pair.left = jnp.zeros(2)

    def test_it_is_a_pytree(self):
        doubled = jax.jit(lambda p: jax.tree.map(lambda x: 2 * x, p))(self.pair)
        assert isinstance(doubled, Pair) and doubled.left.tolist() == [2.0, 2.0]


class Prices(Params):
    rate: float = param(0.1, "a rate", unit="per year", low=0.0, high=1.0)
    free: float = param(-5.0, "anything")


class TestParams:
    def test_defaults_and_what_they_mean(self):
        assert Prices().rate == 0.1
        info = Prices.info()
        assert list(info) == ["rate", "free"]
        assert (info["rate"].unit, info["rate"].low, info["rate"].high) == ("per year", 0.0, 1.0)

    @pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.5), np.array([0.0, 1.0])])
    def test_accepted(self, value):
        assert np.all(Prices(rate=value).rate == value)
        Prices().replace(rate=jnp.asarray(value))

    @pytest.mark.parametrize(
        "value",
        [
            -0.1,
            1.1,
            float("nan"),
            "0.5",
            None,
            np.array([0.5, 2.0]),
            np.float32(2.0),
            jnp.array(2.0),
        ],
    )
    def test_refused_with_the_field_the_value_and_the_range(self, value):
        given = "the entry 2" if isinstance(value, np.ndarray) and value.ndim else ".*"
        message = f"Prices.rate must be a number from 0 to 1, got {given}"
        with pytest.raises(FairgymError, match=message):
            unchecked(rate=value)
        with pytest.raises(FairgymError, match=message):
            Prices().replace(rate=value)

    def test_traced_values_are_not_checked(self):
        assert jax.jit(lambda r: Prices().replace(rate=r).rate)(2.0) == 2.0
        rates = jax.vmap(lambda r: Prices(rate=r).rate)(jnp.array([0.0, 3.0]))
        assert np.asarray(rates).tolist() == [0.0, 3.0]

    def test_arrays_beside_traced_values_are_checked_and_stay(self):
        """Under jit even arrays that are known are compared in a traced program."""
        known = unchecked(free=jnp.float32(2.0))
        assert jax.jit(lambda r: known.replace(rate=r).free)(0.5) == 2.0
        wrong = jnp.float32(2.0)
        with pytest.raises(FairgymError, match=r"Prices.rate must be .* from 0 to 1, got .*2\."):
            jax.jit(lambda f: unchecked(rate=wrong, free=f).free)(0.5)

    def test_unbounded(self):
        assert Prices(free=1e30).free == 1e30


def unchecked(**values):
    """Past the type check of the tests, which would refuse a string before the library does."""
    return Prices(**values)


def test_component_info():
    info = Toy().spec.component_info
    assert list(info) == [f.name for f in dataclasses.fields(ToyComponents)]
    assert info["served"].used_by == ("rank",) and info["served"].per == "group"
    assert not info["gain"].nonnegative and info["gain"].per == ""
    assert ToyParams.info()["luck"].low == 0.0


def accumulate(values):
    """Sum by `add_compensated` under `lax.scan`, as in a rollout."""

    def body(carry, x):
        return add_compensated(carry[0], carry[1], {"x": x}), None

    zero = {"x": jnp.zeros(values.shape[1:])}
    (total, lost), _ = jax.lax.scan(body, (zero, zero), values)
    return total["x"] + lost["x"]


ACCUMULATE = jax.jit(accumulate)


class TestCompensatedSums:
    def test_counts_beyond_two_to_the_24(self):
        """Plain float32 sums stop counting at 2^24."""
        values = np.full((3000,), 10_001.0, np.float32)
        assert float(ACCUMULATE(jnp.asarray(values))) == np.float32(3000 * 10_001)
        ones = jnp.concatenate([jnp.array([2.0**24]), jnp.ones(1000)])
        assert float(ACCUMULATE(ones)) == 2**24 + 1000
        assert float(jax.lax.scan(lambda s, x: (s + x, None), 0.0, ones)[0]) == 2**24

    def test_a_large_number_that_comes_and_goes(self):
        values = jnp.array([1.0, 1e10, 1.0, -1e10])
        assert float(ACCUMULATE(values)) == 2.0

    @settings(max_examples=40)
    @given(
        st.lists(st.floats(-1e9, 1e9, width=32, allow_subnormal=False), min_size=64, max_size=64),
    )
    def test_agrees_with_float64(self, values):
        values = np.array(values, np.float32)
        exact = values.astype(np.float64).sum()
        bound = 1e-12 * np.abs(values.astype(np.float64)).sum() + 2.0**-23 * abs(exact)
        assert abs(float(ACCUMULATE(jnp.asarray(values))) - exact) <= bound

    def test_leaves_are_summed_one_by_one(self):
        values = jnp.stack([jnp.arange(5.0), 10 * jnp.arange(5.0)], axis=1)
        assert ACCUMULATE(values).tolist() == [10.0, 100.0]
