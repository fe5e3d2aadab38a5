"""Updates that are compiled once for all values of what is only a number in them."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fairgym.fairness import Objective

StateT = TypeVar("StateT")
Update = Callable[[Any, StateT], tuple[StateT, dict[str, Array]]]


def compiled(update: Update[StateT]) -> Update[StateT]:
    """Compile a method of an algorithm, once for all values of what is only a number in it.

    Real hyperparameters, and the weights and bounds of objectives, are arguments of the program:
    runs that differ in learning rates or in weights share it. All other hyperparameters are
    constants of the program: sizes, numbers of steps, options, and the real ones of
    `Algorithm.constants`. The one that only sets the number of updates (`Algorithm.extended_by`) is
    left out.

    Args:
        update: The method, `(algorithm, state) -> (state, log)`, of a dataclass and a `TrainState`.
            Hyperparameters, weights and bounds are JAX scalars in it, which `if` cannot compare.
    """

    @eqx.filter_jit
    def program(
        outline: Any, numbers: Float[Array, " numbers"], state: Any
    ) -> tuple[Any, dict[str, Array]]:
        given = iter(numbers)
        algorithm = _with(outline, {name: next(given) for name in _real(outline)})
        filled = {own: _weighing(own, given) for own in _distinct(state)}
        objectives = tuple((agent, filled[own]) for agent, own in state.objectives)
        after: Any
        after, log = update(algorithm, state.replace(objectives=objectives))
        return after.replace(objectives=state.objectives), log

    @functools.wraps(update)
    def call(algorithm: Any, state: Any) -> tuple[Any, dict[str, Array]]:
        names, distinct = _real(algorithm), _distinct(state)
        numbers = [getattr(algorithm, name) for name in names]
        for own in distinct:
            numbers += [*own.weights.values(), *own.bounds.values()]
        alike: dict[str, Any] = dict.fromkeys(names, 0.0)
        if algorithm.extended_by:
            alike[algorithm.extended_by] = 1
        # a number for each, since the log of a program depends on which agents share one
        outlines = {
            own: _weighing(own, itertools.repeat(float(place)))
            for place, own in enumerate(distinct)
        }
        after, log = program(
            _with(algorithm, alike),
            jnp.asarray(np.array(numbers, np.float32)),
            state.replace(objectives=tuple((a, outlines[own]) for a, own in state.objectives)),
        )
        return after.replace(objectives=state.objectives), log

    return call


def _real(algorithm: Any) -> list[str]:
    """Return the names of the hyperparameters that are arguments of the program."""
    return [
        field.name
        for field in dataclasses.fields(algorithm)
        if field.type in (float, "float") and field.name not in algorithm.constants
    ]


def _distinct(state: Any) -> list[Objective]:
    """Return the objectives of a state without repetitions."""
    return list(dict.fromkeys(objective for _, objective in state.objectives))


def _weighing(objective: Objective, numbers: Iterator[Any]) -> Objective:
    """Return an objective with the next of these numbers as its weights and bounds."""
    weights, bounds = (
        {name: next(numbers) for name in names} for names in (objective.weights, objective.bounds)
    )
    return _with(objective, {"weights": weights, "bounds": bounds})


def _with(thing: Any, values: Mapping[str, Any]) -> Any:
    """Return a copy of a dataclass with other values, which are not checked."""
    new = object.__new__(type(thing))
    for field in dataclasses.fields(thing):
        object.__setattr__(new, field.name, values.get(field.name, getattr(thing, field.name)))
    return new
