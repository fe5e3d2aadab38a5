"""The base class of environments of people."""

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fairgym.core.environment import ComponentsT, Environment, ParamsT, StateT


class PopulationEnvironment(Environment[StateT, ParamsT, ComponentsT]):
    """A society of people in which several agents act.

    Its state is a `PopulationState`: every person has a group and a stage.

    Attributes:
        stages: names of the stages that a person can be in, by stage code.
        core_attribute: the key of `people` whose distribution shows the groups' starting points.
        exchangeable: False if a person's number means something, such as a place in a network, so
            that numbering the people differently is another world.
        population: number of people.
    """

    stages: ClassVar[tuple[str, ...]]
    core_attribute: ClassVar[str]
    exchangeable: ClassVar[bool] = True

    population: int

    @abc.abstractmethod
    def people(self, state: StateT) -> dict[str, Float[Array, " population"]]:
        """Every feature of every person by name, for reports, tests and plots."""

    @property
    def partitions(self) -> Mapping[str, tuple[str, ...]]:
        """Further partitions of the people, besides the groups, that reports have a table for.

        The name of a feature in `people` -> the names of its codes 0, 1, 2, ...
        """
        return {}

    @property
    def axes(self) -> Mapping[str, tuple[str, ...]]:
        """Kinds of parts: the groups, and the partitions."""
        return {**super().axes, **self.partitions}

    @property
    def size_text(self) -> str:
        """Number of people, in words."""
        return f"{self.population:,} people"

    def census(self, state: Any) -> dict[str, Int[Array, " groups"]]:
        """Number of people per stage (key) and group (entry)."""
        group = jnp.arange(len(self.groups))[:, None] == state.group[None, :]
        return {
            stage: jnp.sum(group & (state.stage == code)[None, :], axis=1, dtype=jnp.int32)
            for code, stage in enumerate(self.stages)
        }
