"""Spaces: what observations and actions look like, and how to draw and check one.

`sample` and `contains` are pure JAX functions. `clip` brings any array of the right shape
into the space; environments call it inside `step`, so that no policy can break the dynamics.
"""

import dataclasses
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fairgym.core.entities import Entities
from fairgym.core.errors import FairgymError


@runtime_checkable
class ActionSpace(Protocol):
    """What every action space offers."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one action."""
        ...

    def sample(self, key: PRNGKeyArray) -> Float[Array, "..."]:
        """Draw one action uniformly."""
        ...

    def contains(self, action: Float[Array, "..."]) -> Bool[Array, ""]:
        """Is this array, of the right shape and finite, inside the space?"""
        ...

    def clip(self, action: Float[Array, "..."]) -> Float[Array, "..."]:
        """The nearest action of the space; not-a-number counts as 0."""
        ...


def _clip_unit(action: jax.Array) -> jax.Array:
    return jnp.clip(jnp.nan_to_num(action, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)


def _inside_unit(action: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    if jnp.shape(action) != shape:
        return jnp.array(False)
    return jnp.all((action >= 0.0) & (action <= 1.0))


@dataclasses.dataclass(frozen=True)
class PerEntity:
    """One number in [0, 1] for each row of the agent's observation.

    Attributes:
        capacity: number of rows, people and empty places alike.
        name: what the number means, for reports.
    """

    capacity: int
    name: str = "score"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one action: `(capacity,)`."""
        return (self.capacity,)

    def sample(self, key: PRNGKeyArray) -> Float[Array, " capacity"]:
        """Draw each row's number uniformly from [0, 1)."""
        return jax.random.uniform(key, self.shape)

    def contains(self, action: Float[Array, "..."]) -> Bool[Array, ""]:
        """True if the shape fits and every number lies in [0, 1]."""
        return _inside_unit(action, self.shape)

    def clip(self, action: Float[Array, "..."]) -> Float[Array, "..."]:
        """Clip to [0, 1]; not-a-number becomes 0."""
        return _clip_unit(action)


@dataclasses.dataclass(frozen=True)
class Unit:
    """A short vector of numbers in [0, 1].

    Attributes:
        names: what each element means, in order ("threshold, advantaged", ...).
    """

    names: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one action: `(len(names),)`."""
        return (len(self.names),)

    def sample(self, key: PRNGKeyArray) -> Float[Array, " size"]:
        """Draw each element uniformly from [0, 1)."""
        return jax.random.uniform(key, self.shape)

    def contains(self, action: Float[Array, "..."]) -> Bool[Array, ""]:
        """True if the shape fits and every element lies in [0, 1]."""
        return _inside_unit(action, self.shape)

    def clip(self, action: Float[Array, "..."]) -> Float[Array, "..."]:
        """Clip to [0, 1]; not-a-number becomes 0."""
        return _clip_unit(action)


@dataclasses.dataclass(frozen=True)
class Shares:
    """One or more simplexes laid end to end: each block is non-negative and sums to 1.

    Attributes:
        blocks: the names of the shares of each simplex, in order.
    """

    blocks: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all elements, block after block."""
        return tuple(name for block in self.blocks for name in block)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one action: `(sum of the block sizes,)`."""
        return (len(self.names),)

    def split(self, action: Float[Array, " size"]) -> list[Float[Array, " block"]]:
        """Cut an action into its blocks."""
        parts, start = [], 0
        for block in self.blocks:
            parts.append(action[start : start + len(block)])
            start += len(block)
        return parts

    def sample(self, key: PRNGKeyArray) -> Float[Array, " size"]:
        """Draw each block uniformly from its simplex (a flat Dirichlet)."""
        keys = jax.random.split(key, len(self.blocks))
        return jnp.concatenate(
            [
                jax.random.dirichlet(k, jnp.ones(len(block)))
                for k, block in zip(keys, self.blocks, strict=True)
            ]
        )

    def contains(self, action: Float[Array, "..."]) -> Bool[Array, ""]:
        """True if the shape fits, no share is negative and every block sums to 1 (to 1e-4)."""
        if jnp.shape(action) != self.shape:
            return jnp.array(False)
        sums = jnp.stack([jnp.sum(part) for part in self.split(action)])
        return jnp.all(action >= 0.0) & jnp.all(jnp.abs(sums - 1.0) < 1e-4)

    def clip(self, action: Float[Array, "..."]) -> Float[Array, "..."]:
        """Set negative shares to 0 and divide each block by its sum; an empty block is uniform."""
        parts = []
        for part in self.split(jnp.nan_to_num(action, nan=0.0)):
            # bounded and divided by the largest first: a sum of huge shares would overflow
            part = jnp.clip(part, 0.0, 1e30)
            largest = jnp.max(part)
            part = jnp.where(largest > 0.0, part / jnp.where(largest > 0.0, largest, 1.0), 1.0)
            parts.append(part / jnp.sum(part))
        return jnp.concatenate(parts)


@dataclasses.dataclass(frozen=True)
class Feature:
    """The name, unit and range of one observed number.

    The range says where values normally lie; it scales the inputs of networks when the
    population itself does not vary in that feature. Values may lie outside.
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    unit: str = ""
    source: str = ""


@dataclasses.dataclass(frozen=True)
class EntitySpace:
    """The observations of one agent: up to `capacity` people, and a context.

    Attributes:
        capacity: the smallest number of rows that is always enough.
        features: what each column of `Entities.features` holds.
        context: what each element of `Entities.context` holds.
    """

    capacity: int
    features: tuple[Feature, ...]
    context: tuple[Feature, ...] = ()

    def sample(self, key: PRNGKeyArray) -> Entities:
        """Draw an observation: each feature uniform within its range, each place taken or not."""
        k_features, k_mask, k_context = jax.random.split(key, 3)

        def draw(key: PRNGKeyArray, rows: Sequence[int], specs: tuple[Feature, ...]) -> jax.Array:
            low = jnp.array([f.low for f in specs], jnp.float32)
            high = jnp.array([f.high for f in specs], jnp.float32)
            return jax.random.uniform(key, (*rows, len(specs))) * (high - low) + low

        mask = jax.random.bernoulli(k_mask, 0.5, (self.capacity,))
        features = draw(k_features, (self.capacity,), self.features)
        return Entities(
            features=jnp.where(mask[:, None], features, 0.0),
            mask=mask,
            context=draw(k_context, (), self.context),
        )

    def contains(self, observation: Entities) -> Bool[Array, ""]:
        """True if shapes fit, everything is finite and masked rows are zero."""
        expected = ((self.capacity, len(self.features)), (self.capacity,), (len(self.context),))
        found = tuple(
            jnp.shape(x) for x in (observation.features, observation.mask, observation.context)
        )
        if found != expected:
            return jnp.array(False)
        empty = jnp.where(observation.mask[:, None], 0.0, observation.features)
        return (
            jnp.all(jnp.isfinite(observation.features))
            & jnp.all(jnp.isfinite(observation.context))
            & jnp.all(empty == 0.0)
        )


def check_action(space: ActionSpace, agent: str, action: jax.Array) -> None:
    """Raise a FairgymError unless the action has the shape that the space takes."""
    if jnp.shape(action) != space.shape:
        raise FairgymError(
            f"the action of agent {agent!r} has shape {jnp.shape(action)}; "
            f"it takes {space.shape} numbers in [0, 1]"
        )
