"""Observations and their spaces: rows of people, a shared context, declared features."""

import dataclasses
from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core.compiled import gather
from fairgym.core.errors import FairgymError
from fairgym.core.struct import Struct


class Entities(Struct):
    """An observation: one row per observed person, in arbitrary order.

    Attributes:
        features: One row per place, zero if it holds no person; the space declares the units.
        mask: True where a row holds a person.
        context: Numbers shared by all people (time, budget, beds).

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

        The columns are stacked as rows and then transposed. So the compiler stores a population
        feature by feature, the layout that networks read fastest.
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
        """Return the same people in another order; `order` is a permutation of the rows."""
        return Entities(self.features[order], self.mask[order], self.context)


@dataclasses.dataclass(frozen=True)
class Feature:
    """One observed number.

    The range is where values normally lie; values outside are allowed. It scales the inputs of
    networks if the feature does not vary in the population.

    Attributes:
        name: Slug, unique among the features (or the context) of an agent.
        low: Lower end of the range.
        high: Upper end of the range.
        unit: Unit: "months", "dollars", ...; "" for a plain number.
        source: Name in the source, in words.
        of: Categorical variable of which this column indicates one value, such as "region".
        levels: Number of values, evenly spaced from `low` to `high`; 0 for a continuous feature.
            Tables and networks with binary inputs encode the feature with it.
        fixed: Whether it is constant and depends only on the row, such as the group of person i.
            Tables and networks that distinguish rows leave it out.
        tells_group: Whether it (nearly) determines a person's group: the group itself or a proxy.
            It is 0 for agents that must not observe groups.
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
                f"levels of the feature {self.name!r} must be 0 for a continuous feature, or a"
                f" whole number from 2, got {self.levels}"
            )


@dataclasses.dataclass(frozen=True)
class EntitySpace:
    """Observations of one agent: up to `capacity` people, and a context.

    Attributes:
        capacity: Smallest number of rows that is always sufficient.
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
        """Build an observation from named arrays, in the order of this space.

        Args:
            columns: Feature name -> one number per person; undeclared features are ignored.
            mask: True where a row holds a person.
            context: Context name -> number, exactly the declared names.
            rows: Indices into the columns for each row, from 0; all entries in order by default.

        Raises:
            FairgymError: A declared feature is missing, or the names of the context are not those
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
            seen = [gather(column, rows) for column in seen]
        return Entities.from_columns(seen, mask, [shared[feature.name] for feature in self.context])

    def sample(self, key: PRNGKeyArray) -> Entities:
        """Sample an observation: features uniform within their ranges, rows masked at random."""
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
        """Return True if shapes match, all numbers are finite and masked rows are zero."""
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
