"""Operations in the form that takes XLA's compiler the fewest loops.

Values are those of the plain operations. A program that is compiled in other parts may round in
another way.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar, cast

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.random import define_prng_impl
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

P = ParamSpec("P")
ResultT = TypeVar("ResultT")


def computed_once(
    function: Callable[P, ResultT], static: Sequence[str] = ()
) -> Callable[P, ResultT]:
    """Have the results of a function of arrays stored instead of computed again for each use.

    On a CPU the compiler makes one loop for each array of a step and repeats in it all the cheap
    operations that lead there: what ten arrays depend on is computed ten times. It removes
    `lax.optimization_barrier` before that, but does not look into a call that is not inlined. On a
    GPU the function is called as it is: the compiler there would launch each operation of such a
    call on its own.

    Args:
        function: A function of arrays and of trees of arrays.
        static: Names of its arguments that are neither.
    """
    part = jax.jit(function, static_argnames=static)

    @functools.partial(jax.jit, static_argnames=static)
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> ResultT:
        found = part(*args, **kwargs)
        if jax.default_backend() != "cpu":
            return found
        return cast(ResultT, set_xla_metadata(found, inlineable="false"))

    return call


def gather(column: Shaped[Array, "n *rest"], rows: Int[Array, "*rows"]) -> Shaped[Array, "..."]:
    """Return `column[rows]` for row numbers between 0 and n - 1.

    Saves the operations that give negative numbers their meaning.
    """
    return column.at[rows].get(mode="promise_in_bounds", wrap_negative_indices=False)


def replace_rows(
    column: Shaped[Array, " n"],
    rows: Int[Array, " rows"],
    where: Bool[Array, " rows"],
    value: ArrayLike,
) -> Shaped[Array, " n"]:
    """Return the column with a new value in some of these rows.

    Args:
        column: One entry per person.
        rows: Row numbers between 0 and n - 1, without duplicates.
        where: Which of the rows get the new value.
        value: One value for all, or one for each row.
    """
    return column.at[rows].set(
        jnp.where(where, value, gather(column, rows)),
        unique_indices=True,
        mode="promise_in_bounds",
        wrap_negative_indices=False,
    )


def uniform(
    key: PRNGKeyArray, shape: tuple[int, ...], low: float = 0.0, high: float = 1.0
) -> Float[Array, "..."]:
    """Draw from [low, high), bit-identical to `jax.random.uniform`, for many numbers in a step.

    On a CPU, JAX computes the rounds of its generator in a loop over stored arrays. Here they are
    one chain of operations, a single pass over the people. JAX itself draws if the key belongs to
    another generator than Threefry.
    """
    partitionable = jax.config.jax_threefry_partitionable  # pyright: ignore[reportAttributeAccessIssue]
    threefry = jax.random.key_impl(key) == "threefry2x32" and partitionable
    if not threefry or math.prod(shape) >= 2**32:
        return jax.random.uniform(key, shape, minval=low, maxval=high)
    return _uniform(key, shape, low, high)


def _in_one_pass(
    key: PRNGKeyArray, shape: tuple[int, ...], low: float, high: float
) -> Float[Array, "..."]:
    unrolled = jax.random.wrap_key_data(jax.random.key_data(key), impl=_UNROLLED)
    return jax.random.uniform(unrolled, shape, minval=low, maxval=high)


_uniform = computed_once(_in_one_pass, static=("shape", "low", "high"))


def _random_bits(key: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
    """Return 32 random bits for each entry: Threefry-2x32 with 20 rounds (Salmon et al., 2011).

    The counter of an entry is its number; the two words of its block are combined.
    """
    keys = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(0x1BD11BDA))
    first = jnp.broadcast_to(keys[0], shape)
    second = lax.iota(jnp.uint32, math.prod(shape)).reshape(shape) + keys[1]
    for turn in range(5):
        for rotation in (17, 29, 16, 24) if turn % 2 else (13, 15, 26, 6):
            first = first + second
            second = first ^ ((second << rotation) | (second >> (32 - rotation)))
        first = first + keys[(turn + 1) % 3]
        second = second + keys[(turn + 2) % 3] + jnp.uint32(turn + 1)
    return first ^ second


def _only_bits(*_: object) -> Array:
    raise NotImplementedError("a key of this generator only draws")


_UNROLLED = define_prng_impl(
    key_shape=(2,),
    seed=_only_bits,
    split=_only_bits,
    random_bits=_random_bits,
    fold_in=_only_bits,
    name="threefry2x32_unrolled",
    tag="fryu",
)
