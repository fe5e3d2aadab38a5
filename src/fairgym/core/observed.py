"""Observations and their spaces: rows of people, a shared context, declared features."""

import dataclasses
from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core.errors import FairgymError
from fairgym.core.struct import Struct


class Entities(Struct):
    """An observation: one row per person the agent sees, in arbitrary order.

    Attributes:
        features: One row per place, zero where no person is; units are the space's.
        mask: True where a row holds a person.
        context: Numbers that are the same for everybody (time, budget, beds).

    Examples:
        >>> import jax.numpy as jnp
        >>> from fairgym import Entities
        >>> age, income = jnp.array([30.0, 50.0, 0.0]), jnp.array([2.0, 3.0, 0.0])
        >>> seen = Entities.from_columns([age, income], jnp.array([True, True, False]), [])
        >>> seen.features.tolist()
        [[30.0, 2.0], [50.0, 3.0], [0.0, 0.0]]
        >>> seen.permuted(jnp.array([1, 0, 2])).mask.tolist()
        [True, True, False]
    """

    features: Float[Array, "capacity features"]
    mask: Bool[Array, " capacity"]
    context: Float[Array, " context"]

    @classmethod
    def from_columns(
        cls,
        columns: list[Float[Array, " capacity"]],
        mask: Bool[Array, " capacity"],
        context: list[Float[Array, ""]],
    ) -> "Entities":
        """Build an observation from one array per feature, with masked rows set to zero.

        The columns are stacked as rows and then transposed: the compiler stores a population
        feature by feature, which is the layout that the networks read fastest.
        """
        stacked = jnp.where(mask, jnp.stack([jnp.asarray(c, jnp.float32) for c in columns]), 0.0)
        return cls(
            features=stacked.T,
            mask=mask,
            context=jnp.stack([jnp.asarray(c, jnp.float32) for c in context])
            if context
            else jnp.zeros((0,), jnp.float32),
        )

    def permuted(self, order: jax.Array) -> "Entities":
        """The same people in another order; `order` is a permutation of the rows."""
        return Entities(self.features[order], self.mask[order], self.context)


@dataclasses.dataclass(frozen=True)
class Feature:
    """One observed number.

    The range says where values normally lie; it scales the inputs of networks when the
    population itself does not vary in that feature. Values may lie outside.

    Attributes:
        name: Slug, unique among the features (or the context) of an agent.
        low: Lower end of the range.
        high: Upper end of the range.
        unit: "months", "dollars", ...; "" for a plain number.
        source: The source's name for it, in words.
        of: The categorical variable of which this column marks one value, such as "region".
        levels: Number of values, evenly spaced from `low` to `high`; 0 for a continuous feature.
            Tables and networks with inputs in bits code a feature by it.
        fixed: True if it never changes and depends on the row alone, such as the group of person i;
            tables and networks that know the rows apart leave it out.
        tells_group: True if it (nearly) determines a person's group, the group itself or a proxy;
            agents that are not to see groups read 0.
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    unit: str = ""
    source: str = ""
    of: str = ""
    levels: int = 0
    fixed: bool = False
    tells_group: bool = False

    def __post_init__(self) -> None:
        """Check the number of values.

        Raises:
            FairgymError: It is negative, or 1.
        """
        if self.levels < 0 or self.levels == 1:
            raise FairgymError(
                f"levels of the feature {self.name!r} is {self.levels}; it takes 0 for a"
                " continuous feature, or a whole number from 2"
            )


@dataclasses.dataclass(frozen=True)
class EntitySpace:
    """Observations of one agent: up to `capacity` people, and a context.

    Attributes:
        capacity: The smallest number of rows that is always enough.
        features: Columns of `Entities.features`.
        context: Elements of `Entities.context`.

    Examples:
        >>> import jax.numpy as jnp
        >>> from fairgym.core import EntitySpace, Feature
        >>> space = EntitySpace(2, (Feature("age", 18, 90, "years"),), (Feature("beds"),))
        >>> columns, mask = {"age": jnp.array([30.0, 0.0])}, jnp.array([True, False])
        >>> seen = space.view(columns, mask, {"beds": 0.5})
        >>> bool(space.contains(seen)), seen.context.tolist()
        (True, [0.5])
    """

    capacity: int
    features: tuple[Feature, ...]
    context: tuple[Feature, ...] = ()

    def view(
        self,
        columns: Mapping[str, Array],
        mask: Bool[Array, " capacity"],
        context: Mapping[str, ArrayLike] | None = None,
        rows: Int[Array, " capacity"] | None = None,
    ) -> Entities:
        """Build the observation from named arrays; this space puts them in order.

        Args:
            columns: Feature name -> one number per row; features that the agent does not see are
                left out.
            mask: True where a row holds a person.
            context: Context name -> number, exactly those declared.
            rows: Entries of the columns that are the rows; all of them in order by default.

        Raises:
            FairgymError: A declared feature is missing, or the context has other names than those
                declared.
        """
        shared = {name: jnp.asarray(x, jnp.float32) for name, x in (context or {}).items()}
        for what, declared, given in (
            ("feature", self.features, columns),
            ("context", self.context, shared),
        ):
            missing = [feature.name for feature in declared if feature.name not in given]
            if missing:
                raise FairgymError(
                    f"{what} {missing[0]!r} is declared but not given; given: {', '.join(given)}"
                )
        unknown = [name for name in shared if name not in {f.name for f in self.context}]
        if unknown:
            raise FairgymError(
                f"context {unknown[0]!r} is given but not declared; declared:"
                f" {', '.join(f.name for f in self.context)}"
            )
        seen = [columns[feature.name] for feature in self.features]
        if rows is not None:
            seen = [column[rows] for column in seen]
        return Entities.from_columns(seen, mask, [shared[feature.name] for feature in self.context])

    def sample(self, key: PRNGKeyArray) -> Entities:
        """Sample an observation: each feature uniform within its range, each row taken or not."""
        k_features, k_mask, k_context = jax.random.split(key, 3)

        def uniform(
            key: PRNGKeyArray, rows: Sequence[int], specs: tuple[Feature, ...]
        ) -> jax.Array:
            low = jnp.array([f.low for f in specs], jnp.float32)
            high = jnp.array([f.high for f in specs], jnp.float32)
            return jax.random.uniform(key, (*rows, len(specs))) * (high - low) + low

        mask = jax.random.bernoulli(k_mask, 0.5, (self.capacity,))
        features = uniform(k_features, (self.capacity,), self.features)
        return Entities(
            features=jnp.where(mask[:, None], features, 0.0),
            mask=mask,
            context=uniform(k_context, (), self.context),
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
