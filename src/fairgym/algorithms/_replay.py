"""Replay buffers: ring buffers of the last rows of experience, as pytrees."""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree

from fairgym.algorithms._rollouts import spread_over_devices
from fairgym.core import Struct


class Ring(Struct):
    """Base of ring buffers, which overwrite the oldest rows.

    Attributes:
        rows: A pytree whose leaves have an axis over places.
        added: Number of rows added so far (per env, if there are several).
    """

    PLACES: ClassVar[int] = 0  # the axis over places

    rows: PyTree
    added: Int[Array, ""]

    @property
    def places(self) -> int:
        """Capacity in rows (per env, if there are several)."""
        return jax.tree.leaves(self.rows)[0].shape[self.PLACES]

    @property
    def held(self) -> Int[Array, ""]:
        """Number of rows held (per env, if there are several)."""
        return jnp.minimum(self.added, self.places)


class ReplayBuffer(Ring):
    """The last rows of every env; leaves of `rows` have the axes (envs, places, ...)."""

    PLACES: ClassVar[int] = 1

    @classmethod
    def empty(cls, like: PyTree, envs: int, places: int) -> "ReplayBuffer":
        """Return an empty buffer.

        Args:
            like: A pytree of the shapes and dtypes of one row (`jax.eval_shape`).
            envs: Number of environments.
            places: Capacity in rows per env.
        """
        rows = jax.tree.map(lambda x: jnp.zeros((envs, places, *x.shape), x.dtype), like)
        return cls(rows=rows, added=jnp.int32(0))

    @property
    def envs(self) -> int:
        """Number of environments."""
        return jax.tree.leaves(self.rows)[0].shape[0]

    @property
    def filled(self) -> Bool[Array, " places"]:
        """Mask of the places that hold a row."""
        return jnp.arange(self.places) < self.added

    def add(self, rows: PyTree) -> "ReplayBuffer":
        """Return the buffer with new rows in place of the oldest ones.

        Args:
            rows: Rows with axes (envs, steps, ...), in the order of time; `steps` divides `places`.
        """
        steps = jax.tree.leaves(rows)[0].shape[1]
        place = self.added % self.places
        return ReplayBuffer(
            rows=jax.tree.map(
                lambda x, new: lax.dynamic_update_slice_in_dim(x, new, place, axis=1),
                spread_over_devices(self.rows, self.envs),
                rows,
            ),
            added=self.added + steps,
        )

    def sample(self, key: PRNGKeyArray, size: int) -> tuple[PyTree, PyTree]:
        """Sample rows uniformly, with the rows that follow them in the same env.

        Args:
            key: A JAX key.
            size: Number of sampled rows per env. The buffer must hold at least two rows per env.

        Returns:
            `(rows, next_rows)` with axes (envs, size, ...).
        """
        # counted back from the newest row, which has no next row yet
        back = jax.random.randint(key, (self.envs, size), 2, self.held + 1)
        places = (self.added - back) % self.places

        def at(places: Array) -> PyTree:
            return jax.tree.map(
                lambda x: jax.vmap(lambda row, place: row[place])(x, places), self.rows
            )

        return at(places), at((places + 1) % self.places)


class ExperienceBuffer(Ring):
    """The last experiences, each complete in one row; leaves have a first axis over places."""

    @classmethod
    def empty(cls, like: PyTree, places: int) -> "ExperienceBuffer":
        """Return an empty buffer.

        Args:
            like: A pytree of the shapes and dtypes of one row (`jax.eval_shape`).
            places: Capacity in rows.
        """
        rows = jax.tree.map(lambda x: jnp.zeros((places, *x.shape), x.dtype), like)
        return cls(rows=rows, added=jnp.int32(0))

    def add(self, rows: PyTree, kept: Bool[Array, " rows"]) -> "ExperienceBuffer":
        """Return the buffer with some of these rows in place of the oldest ones.

        Args:
            rows: Leaves with a first axis over rows; at most as many rows as places.
            kept: Mask of the rows to add; their order is kept.
        """
        count = kept.astype(jnp.int32)
        # out of range for rows that are not kept, so they are dropped
        place = jnp.where(kept, (self.added + jnp.cumsum(count) - 1) % self.places, self.places)
        return ExperienceBuffer(
            rows=jax.tree.map(
                lambda x, new: x.at[place].set(new, mode="drop", unique_indices=True),
                self.rows,
                rows,
            ),
            added=self.added + jnp.sum(count),
        )

    def sample(self, key: PRNGKeyArray, size: int) -> PyTree:
        """Sample rows uniformly with replacement; the buffer must hold at least one."""
        places = jax.random.randint(key, (size,), 0, jnp.maximum(self.held, 1))
        return jax.tree.map(lambda x: x[places], self.rows)
