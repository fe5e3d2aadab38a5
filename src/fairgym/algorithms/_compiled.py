"""Updates that are compiled once for all values of the hyperparameters that are only numbers."""

import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

StateT = TypeVar("StateT")
Update = Callable[[Any, StateT], tuple[StateT, dict[str, Array]]]


def compiled(update: Update[StateT]) -> Update[StateT]:
    """Compile a method of an algorithm, once for all values of its real hyperparameters.

    They are arguments of the program, so runs that differ in learning rates or weights share it.
    All other hyperparameters are constants of the program: sizes, numbers of steps, options, and
    the real ones of `Algorithm.constants`. The one that only sets the number of updates
    (`Algorithm.extended_by`) is left out.

    Args:
        update: The method, `(algorithm, state) -> (state, log)`. It may use its algorithm's real
            hyperparameters as JAX scalars only.
    """

    @eqx.filter_jit
    def program(
        outline: Any, numbers: Float[Array, " numbers"], state: StateT
    ) -> tuple[StateT, dict[str, Array]]:
        return update(_with(outline, _real(outline), numbers), state)

    @functools.wraps(update)
    def call(algorithm: Any, state: StateT) -> tuple[StateT, dict[str, Array]]:
        names = _real(algorithm)
        numbers = np.array([getattr(algorithm, name) for name in names], np.float32)
        outline = _with(algorithm, names, [0.0] * len(names))
        if algorithm.extended_by:
            outline = _with(outline, [algorithm.extended_by], [1])
        return program(outline, jnp.asarray(numbers), state)

    return call


def _real(algorithm: Any) -> list[str]:
    """Return the names of the hyperparameters that are arguments of the program."""
    return [
        field.name
        for field in dataclasses.fields(algorithm)
        if field.type in (float, "float") and field.name not in algorithm.constants
    ]


def _with(algorithm: Any, names: Iterable[str], values: Iterable[Any]) -> Any:
    """Return an algorithm with other hyperparameters, whose ranges are not checked."""
    new = object.__new__(type(algorithm))
    for field in dataclasses.fields(algorithm):
        object.__setattr__(new, field.name, getattr(algorithm, field.name))
    for name, value in zip(names, values, strict=True):
        object.__setattr__(new, name, value)
    return new
