"""Comparison of pytrees of arrays, with words for the place where two of them differ."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

RELATIVE, ABSOLUTE = 1e-4, 1e-4


class ConformanceError(AssertionError):
    """A property that does not hold, with its agent or field and the figures."""


def require(holds: Any, message: str) -> None:
    """Raise a ConformanceError with this message unless `holds`."""
    if not bool(holds):
        raise ConformanceError(message)


def require_names(what: str, names: Any) -> None:
    """Raise unless this is a tuple of different names, at least one."""
    require(
        isinstance(names, tuple) and names and len(set(names)) == len(names),
        f"{what} is {names!r}; it takes a tuple of different names",
    )


def label(path: Any) -> str:
    """A path in a pytree in words: "state.stage", "observations.clinic.mask"."""
    words = [getattr(key, "name", getattr(key, "key", getattr(key, "idx", key))) for key in path]
    return ".".join(str(word) for word in words) or "the value"


def named(result: tuple[Any, ...]) -> dict[str, Any]:
    """Results of `reset` or `step` by name, for messages."""
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
        what: the thing compared, for the message.
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
