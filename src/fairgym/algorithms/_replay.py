"""Replay buffers: the last rows of experience, any pytree, in a ring."""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree

from fairgym.algorithms._rollouts import spread_over_devices
from fairgym.core import Struct


class Ring(Struct):
    """The last rows, in places that are filled in turns.

    Attributes:
        rows: a pytree whose leaves have an axis over places.
        added: number of rows added so far; of several worlds, of each.
    """

    PLACES: ClassVar[int] = 0  # the axis over places

    rows: PyTree
    added: Int[Array, ""]

    @property
    def places(self) -> int:
        """Number of rows that it can hold; of several worlds, of each."""
        return jax.tree.leaves(self.rows)[0].shape[self.PLACES]

    @property
    def held(self) -> Int[Array, ""]:
        """Number of rows that it holds; of several worlds, of each."""
        return jnp.minimum(self.added, self.places)


class ReplayBuffer(Ring):
    """The last rows of every world: `rows` have the axes (worlds, places, ...)."""

    PLACES: ClassVar[int] = 1

    @classmethod
    def empty(cls, like: PyTree, envs: int, places: int) -> "ReplayBuffer":
        """A buffer without rows.

        Args:
            like: a pytree of shapes and dtypes, as of one row (`jax.eval_shape`).
            envs: number of environments.
            places: number of rows of each that it can hold.
        """
        rows = jax.tree.map(lambda x: jnp.zeros((envs, places, *x.shape), x.dtype), like)
        return cls(rows=rows, added=jnp.int32(0))

    @property
    def envs(self) -> int:
        """Number of worlds."""
        return jax.tree.leaves(self.rows)[0].shape[0]

    @property
    def filled(self) -> Bool[Array, " places"]:
        """Mask of the places that hold a row."""
        return jnp.arange(self.places) < self.added

    def add(self, rows: PyTree) -> "ReplayBuffer":
        """The buffer with new rows in place of the oldest ones.

        Args:
            rows: with axes (worlds, steps, ...), in the order of time; `steps` divides `places`.
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
        """Sample rows uniformly, and the rows that followed them in the same worlds.

        Args:
            key: a JAX key.
            size: number of rows of each world; it holds at least two of each.

        Returns:
            `(rows, following)` with axes (worlds, size, ...).
        """
        # counted back from the newest row, which nothing has followed yet
        back = jax.random.randint(key, (self.envs, size), 2, self.held + 1)
        places = (self.added - back) % self.places

        def at(places: Array) -> PyTree:
            return jax.tree.map(
                lambda x: jax.vmap(lambda row, place: row[place])(x, places), self.rows
            )

        return at(places), at((places + 1) % self.places)


class ExperienceBuffer(Ring):
    """The last experiences, each whole by itself: `rows` have a first axis over places."""

    @classmethod
    def empty(cls, like: PyTree, places: int) -> "ExperienceBuffer":
        """A buffer without rows.

        Args:
            like: a pytree of shapes and dtypes, as of one row (`jax.eval_shape`).
            places: number of rows that it can hold.
        """
        rows = jax.tree.map(lambda x: jnp.zeros((places, *x.shape), x.dtype), like)
        return cls(rows=rows, added=jnp.int32(0))

    def add(self, rows: PyTree, kept: Bool[Array, " rows"]) -> "ExperienceBuffer":
        """The buffer with some of these rows in place of the oldest ones.

        Args:
            rows: leaves with a first axis over rows, of which there are no more than places.
            kept: mask of the rows to add; they keep their order.
        """
        count = kept.astype(jnp.int32)
        # out of range, and so dropped, where a row is not kept
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
        """Sample rows uniformly, with replacement; it holds at least one."""
        places = jax.random.randint(key, (size,), 0, jnp.maximum(self.held, 1))
        return jax.tree.map(lambda x: x[places], self.rows)
