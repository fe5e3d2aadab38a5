"""Comparisons of trees, and adapters as they are beside optional packages."""

import importlib
import importlib.util
import sys
import types
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest


def as_numbers(leaf: Any) -> np.ndarray:
    """An array of a tree; keys as their data."""
    key = jnp.issubdtype(jnp.asarray(leaf).dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if key else leaf)


def assert_close(one: Any, other: Any) -> None:
    """Fail unless two trees have the same shapes and nearly the same numbers."""
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert as_numbers(x).shape == as_numbers(y).shape
        np.testing.assert_allclose(as_numbers(x), as_numbers(y), rtol=1e-5, atol=1e-6)


def one_of(tree: Any, place: int) -> Any:
    """One of several episodes side by side."""
    return jax.tree.map(lambda x: x[place], tree)


class OtherBox:
    """Another package's space of numbers."""

    def __init__(self, low: Any, high: Any, shape: tuple[int, ...], dtype: Any = jnp.float32):
        self.low, self.high, self.shape, self.dtype = low, high, shape, dtype


class OtherDiscrete:
    """Another package's space of options."""

    def __init__(self, num_categories: int, dtype: Any = jnp.int32):
        self.n, self.shape, self.dtype = num_categories, (), dtype


def adapter_beside(
    monkeypatch: pytest.MonkeyPatch,
    modules: Mapping[str, Mapping[str, Any] | None],
    adapter: types.ModuleType,
) -> Any:
    """An adapter's module as it is where other modules are installed.

    Args:
        monkeypatch: Pytest's.
        modules: Names in each module; None for a module that fails as it is imported.
        adapter: The module.
    """
    imported = importlib.import_module

    def fake(path: str, package: str | None = None) -> Any:
        if path not in modules:
            return imported(path, package)
        names = modules[path]
        if names is None:
            raise AttributeError(f"{path} was written for another version of jax")
        found = types.ModuleType(path)
        vars(found).update(names)
        return found

    monkeypatch.setattr(importlib, "import_module", fake)
    spec = importlib.util.spec_from_file_location("adapter_beside_packages", str(adapter.__file__))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module
