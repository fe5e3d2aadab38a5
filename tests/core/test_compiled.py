"""Operations in the form that suits the compiler: the same values as the plain ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from fairgym.core import computed_once, gather, replace_rows, uniform


@pytest.mark.parametrize("shape", [(), (3,), (2, 1000), (5, 7, 3)])
@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_uniform_numbers_are_those_of_jax(shape, impl):
    key = jax.random.key(7, impl=impl)
    expected = jax.random.uniform(key, shape, minval=-0.5, maxval=1.5)
    np.testing.assert_array_equal(uniform(key, shape, -0.5, 1.5), expected)
    np.testing.assert_array_equal(jax.jit(lambda k: uniform(k, shape, -0.5, 1.5))(key), expected)


def test_uniform_numbers_of_several_keys():
    keys = jax.random.split(jax.random.key(3), 5)
    found = jax.vmap(lambda key: uniform(key, (4, 6)))(keys)
    np.testing.assert_array_equal(found, [jax.random.uniform(key, (4, 6)) for key in keys])


def test_other_ways_to_count_draw_other_numbers_and_are_left_to_jax():
    key = jax.random.key(1)
    before = jax.config.jax_threefry_partitionable  # pyright: ignore[reportAttributeAccessIssue]
    jax.config.update("jax_threefry_partitionable", not before)
    try:
        np.testing.assert_array_equal(uniform(key, (5,)), jax.random.uniform(key, (5,)))
    finally:
        jax.config.update("jax_threefry_partitionable", before)


def test_rows_are_gathered_and_replaced():
    column = jnp.arange(10.0) ** 2
    rows, where = jnp.array([7, 0, 3]), jnp.array([True, False, True])
    np.testing.assert_array_equal(gather(column, rows), [49.0, 0.0, 9.0])
    expected = np.arange(10.0) ** 2
    expected[[7, 3]] = -1.0
    np.testing.assert_array_equal(replace_rows(column, rows, where, -1.0), expected)
    expected[[7, 3]] = [4.0, 6.0]
    values = jnp.array([4.0, 5.0, 6.0])
    np.testing.assert_array_equal(replace_rows(column, rows, where, values), expected)


def polynomial(x, power):
    """Return two arrays, each of which is used several times."""
    return x**power + 1.0, jnp.clip(x, 0.0, 1.0)


def used_twice(function):
    def program(x):
        first, second = function(x, 3)
        return first * second, first - second

    return program


stored = used_twice(computed_once(polynomial, static=("power",)))


def test_what_is_computed_once_has_the_same_values():
    x = jnp.linspace(-2.0, 2.0, 50)
    expected = used_twice(polynomial)(x)
    for found in (stored(x), jax.jit(stored)(x)):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
    rows = x.reshape(5, 10)
    for one, other in zip(jax.vmap(stored)(rows), expected, strict=True):
        np.testing.assert_allclose(one.reshape(-1), other, rtol=1e-6, atol=1e-7)


def test_what_is_computed_once_is_a_call_of_its_own_also_in_a_loop():
    def loop(x):
        return lax.fori_loop(0, 5, lambda _, x: sum(stored(x)), x)

    for program in (stored, loop):
        for function in (program, jax.vmap(program)):
            shape = (4, 50) if function is not program else (50,)
            text = jax.jit(function).lower(jnp.ones(shape)).compile().as_text() or ""
            # the calls inside, such as that of `jnp.clip`, are inlined; newer compilers put the
            # loop into a call too
            calls = [line for line in text.splitlines() if " call(" in line]
            assert sum('inlineable="false"' in line for line in calls) == 1
            assert not any("clip" in line for line in calls)


def test_what_is_computed_once_is_no_call_of_its_own_on_a_gpu(monkeypatch):
    x = jnp.ones(50)
    texts = []
    for backend in ("cpu", "gpu"):
        monkeypatch.setattr(jax, "default_backend", lambda backend=backend: backend)
        function = used_twice(computed_once(polynomial, static=("power",)))
        texts.append(jax.jit(function).lower(x).as_text())
    assert ["inlineable" in text for text in texts] == [True, False]
