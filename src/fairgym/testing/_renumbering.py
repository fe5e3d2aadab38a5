"""Numbering people differently: by the axis names that structs declare."""

import dataclasses
from collections.abc import Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from fairgym.core import Entities
from fairgym.testing._compare import (
    ABSOLUTE,
    RELATIVE,
    ConformanceError,
    as_numpy,
    require,
    require_close,
)
from fairgym.wrappers import AugmentedState

PEOPLE = "people"  # name of the axis that has one entry per person


def renumbered(tree: PyTree, order: Any) -> PyTree:
    """A state or noise in which the people are numbered differently.

    Arrays are reordered along the axis that their struct declares as "people", as in
    `Float[Array, " people"]` or `dict[str, Float[Array, " people"]]`, and no others, however long.
    The values of `fairgym.core.person_index` fields become the new numbers of the same people. In
    an augmented environment the world is renumbered; a memory of nothing yet is the same for all.

    Args:
        tree: a struct, such as the state at the start, or a dict, tuple or list of structs.
        order: `order[i]` is the old number of the person whose new number is i.

    Raises:
        ConformanceError: an array whose axes are not declared.
    """
    order = np.asarray(order)
    if isinstance(tree, AugmentedState):
        return tree.replace(world=renumbered(tree.world, order))
    return _walk(tree, None, order, type(tree).__name__)


def _walk(value: Any, declared: PyTree, order: np.ndarray, where: str) -> Any:
    """The value in the new order; `declared` is its annotation, None where there is none."""
    if dataclasses.is_dataclass(value):
        return _struct(value, order)
    options = get_args(declared) if get_origin(declared) in (Union, UnionType) else (declared,)
    inner = next((get_args(option) for option in options if get_args(option)), ())
    if isinstance(value, Mapping):
        kind = inner[1] if len(inner) == 2 else None
        return {k: _walk(v, kind, order, f"{where}[{k!r}]") for k, v in value.items()}
    if isinstance(value, tuple | list):
        one_kind = len(inner) == 1 or ... in inner
        kinds = inner if len(inner) == len(value) and not one_kind else inner[:1] * len(value)
        kinds = kinds or (None,) * len(value)
        entries = [
            _walk(entry, kind, order, f"{where}[{place}]")
            for place, (entry, kind) in enumerate(zip(value, kinds, strict=True))
        ]
        return tuple(entries) if isinstance(value, tuple) else entries
    if value is None or jnp.ndim(value) == 0:
        return value
    for option in options:
        if hasattr(option, "dim_str"):
            axis = _people_axis(option.dim_str)
            return value if axis is None else taken(value, order, axis)
    raise ConformanceError(
        f"{where} is an array without declared axes; declare it as a field of a Struct, such as"
        ' Float[Array, " people"] for one number per person'
    )


def _struct(struct: Any, order: np.ndarray) -> Any:
    hints = get_type_hints(type(struct))
    inverse, people = np.argsort(order), order.size

    def new_numbers(leaf: jax.Array) -> jax.Array:
        old = np.asarray(leaf)
        known = (old >= 0) & (old < people)
        return jnp.asarray(np.where(known, inverse[np.where(known, old, 0)], old).astype(old.dtype))

    changes = {}
    for field in dataclasses.fields(struct):
        if field.metadata.get("static"):
            continue
        value = getattr(struct, field.name)
        if field.metadata.get("person_index"):
            value = jax.tree.map(new_numbers, value)
        where = f"{type(struct).__name__}.{field.name}"
        changes[field.name] = _walk(value, hints[field.name], order, where)
    return dataclasses.replace(struct, **changes)


def taken(value: jax.Array, order: Any, axis: int) -> jax.Array:
    """The entries in this order; by NumPy, which compiles nothing."""
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return jnp.take(value, jnp.asarray(order), axis=axis)
    return jnp.asarray(np.take(np.asarray(value), order, axis=axis))


def _people_axis(dimensions: str) -> int | None:
    """Place of the axis in a jaxtyping annotation; counted from the end behind a "..."."""
    names = dimensions.split()
    if PEOPLE not in names:
        return None
    place = names.index(PEOPLE)
    variadic = any(name == "..." or name.startswith("*") for name in names[:place])
    return place - len(names) if variadic else place


def require_same_people(expected: Entities, found: Entities, what: str) -> None:
    """Raise unless two observations show the same people, in whatever order."""
    require_close(expected.context, found.context, f"{what}, context")
    a = as_numpy(expected.features)[as_numpy(expected.mask)]
    b = as_numpy(found.features)[as_numpy(found.mask)]
    require(len(a) == len(b), f"{what}: shows {len(a)} people here and {len(b)} there")
    if not len(a):
        return
    allowed = ABSOLUTE + RELATIVE * np.max(np.abs(a), axis=0)
    free = np.ones(len(b), bool)
    for row in a:
        gaps = np.where(free, np.max(np.abs(b - row) / allowed, axis=1, initial=0.0), np.inf)
        nearest = int(np.argmin(gaps))
        require(
            gaps[nearest] <= 1.0,
            f"{what}: the person {row.tolist()} is not there; the nearest is {b[nearest].tolist()}",
        )
        free[nearest] = False
