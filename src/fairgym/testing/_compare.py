"""Comparing pytrees of arrays, and saying in words where two of them differ."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fairgym.core import Entities, Struct

RELATIVE, ABSOLUTE = 1e-4, 1e-4


class ConformanceError(AssertionError):
    """A property that does not hold: which one, of which agent or field, with figures."""


def require(holds: Any, message: str) -> None:
    """Raise a ConformanceError with this message unless `holds`."""
    if not bool(holds):
        raise ConformanceError(message)


def label(path: Any) -> str:
    """A path in a pytree as one reads it: "state.stage", "observations.clinic.mask"."""
    words = [getattr(key, "name", getattr(key, "key", getattr(key, "idx", key))) for key in path]
    return ".".join(str(word) for word in words) or "the value"


def named(result: tuple[Any, ...]) -> dict[str, Any]:
    """What `reset` or `step` returned, by name, for messages."""
    names = ("observations", "state", "components", "terminated", "truncated", "info")
    return dict(zip(names, result, strict=False))


def described(tree: Any) -> dict[str, str]:
    """Path -> dtype and shape of each leaf."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {label(path): f"{x.dtype}{list(x.shape)}" for path, x in leaves}


def require_same_structure(expected: Any, found: Any, what: str) -> None:
    """Raise unless both trees have the same structure, shapes and dtypes."""
    before, after = described(expected), described(found)
    for path in [*before, *after]:
        require(
            before.get(path) == after.get(path),
            f"{what}: {path} is {before.get(path, 'missing')} first"
            f" and {after.get(path, 'missing')} later",
        )
    same = jax.tree.structure(expected) == jax.tree.structure(found)
    require(same, f"{what}: the trees differ in a type or in a static field")


def as_numpy(leaf: Any) -> np.ndarray:
    """The leaf as a NumPy array; typed JAX keys as their bits."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)


def close(expected: np.ndarray, found: np.ndarray) -> bool:
    """Equal; for floats up to rounding, measured against the largest number of the array."""
    if expected.shape != found.shape:
        return False
    if not np.issubdtype(expected.dtype, np.inexact):
        return bool(np.array_equal(expected, found))
    finite = expected[np.isfinite(expected)]
    scale = float(np.max(np.abs(finite))) if finite.size else 0.0
    return np.allclose(expected, found, rtol=0, atol=ABSOLUTE + RELATIVE * scale, equal_nan=True)


def require_close(expected: Any, found: Any, what: str, *, exact: bool = False) -> None:
    """Raise unless two trees of equal structure hold the same numbers.

    Args:
        expected: a pytree.
        found: another.
        what: what is compared, for the message.
        exact: bit for bit; otherwise floats may differ by rounding (a ten-thousandth of the
            largest number of the array, plus 1e-4), and integers and truth values not at all.
    """
    require_same_structure(expected, found, what)
    leaves = jax.tree_util.tree_flatten_with_path(expected)[0]
    for (path, a), b in zip(leaves, jax.tree.leaves(found), strict=True):
        a, b = as_numpy(a), as_numpy(b)
        same = a.tobytes() == b.tobytes() if exact else close(a, b)
        if not same:
            raise ConformanceError(f"{what}: {label(path)} {difference(a, b)}")


def difference(a: np.ndarray, b: np.ndarray) -> str:
    """The first entry in which two arrays differ, in words."""
    if a.shape != b.shape:
        return f"has shape {list(a.shape)} here and {list(b.shape)} there"
    apart = np.abs(a.astype(float) - b.astype(float))
    worst = int(np.argmax(np.where(np.isnan(apart), np.inf, apart)))
    place = f" at {[int(i) for i in np.unravel_index(worst, a.shape)]}" if a.ndim else ""
    return f"is {a.reshape(-1)[worst]} here and {b.reshape(-1)[worst]} there{place}"


def differ(a: Any, b: Any) -> bool:
    """True if any leaf differs in any bit."""
    return any(
        as_numpy(x).tobytes() != as_numpy(y).tobytes()
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )


def renumbered(tree: Any, order: Any) -> Any:
    """A state or noise in which the people are numbered differently.

    Leaves whose first axis is as long as the population are reordered along it; the values of
    fields declared with `fairgym.core.person_index` are the new numbers of the same people.

    Args:
        tree: a pytree; `person_index` fields are looked for in structs, dicts, tuples and lists.
        order: `order[i]` is the old number of the person whose new number is i.
    """
    order = jnp.asarray(order)
    inverse, people = jnp.argsort(order), order.size

    def rows(leaf: Any) -> Any:
        per_person = leaf.ndim > 0 and leaf.shape[0] == people
        return leaf[order] if per_person else leaf

    def names(leaf: Any) -> Any:
        known = (leaf >= 0) & (leaf < people)
        return rows(jnp.where(known, inverse[jnp.where(known, leaf, 0)].astype(leaf.dtype), leaf))

    def walk(node: Any) -> Any:
        if isinstance(node, Struct):
            changes = {}
            for field in dataclasses.fields(node):
                value = getattr(node, field.name)
                if field.metadata.get("person_index"):
                    changes[field.name] = jax.tree.map(names, value)
                elif not field.metadata.get("static"):
                    changes[field.name] = walk(value)
            return node.replace(**changes)
        inner = jax.tree.flatten(node, is_leaf=lambda x: isinstance(x, Struct) and x is not node)
        return jax.tree.unflatten(
            inner[1], [walk(x) if isinstance(x, Struct) else rows(x) for x in inner[0]]
        )

    return walk(tree)


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
