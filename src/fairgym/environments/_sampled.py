"""What the environments have in common whose people are drawn from data."""

import abc
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from jaxtyping import Array, Float

from fairgym.core import ActionSpace, Entities, EntitySpace, Feature, PopulationEnvironment
from fairgym.data import Population, load_population


class SampledEnvironment(PopulationEnvironment):
    """An environment whose people are drawn from a population of `fairgym.data`.

    Subclasses call `self._data` in `__post_init__`, so that a missing or damaged file is told
    there and not inside a compiled program.

    Class attributes:
        dataset: the name of the data, as `fairgym data describe` takes it.
        features: agent -> what it sees of each person, keys of `people`.

    Attributes:
        population_source: "built-in", or the name of imported data.
    """

    dataset: ClassVar[str]
    features: ClassVar[Mapping[str, Sequence[Feature]]]

    population_source: str

    @cached_property
    def _data(self) -> Population:
        return load_population(self.dataset, self.population_source)

    @property
    def data_checksum(self) -> str:
        """sha256 of the population's file."""
        return self._data.checksum

    @cached_property
    @abc.abstractmethod
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        """By agent; cached, for a space must be the same object at every call."""

    @cached_property
    @abc.abstractmethod
    def _action_spaces(self) -> dict[str, ActionSpace]:
        """By agent."""

    def observation_space(self, agent: str) -> EntitySpace:
        """What this agent sees: its features of the people present, and the shared context."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> ActionSpace:
        """What this agent does."""
        return self._action_spaces[agent]

    def _view(
        self,
        people: Mapping[str, Float[Array, " people"]],
        context: list[Any],
        agent: str,
        mask: Array,
        rows: Array | None = None,
    ) -> Entities:
        """The observation of an agent that sees those of `mask` (or of these rows only)."""
        columns = [people[feature.name] for feature in self.features[agent]]
        if rows is not None:
            columns = [column[rows] for column in columns]
        return Entities.from_columns(columns, mask, context)
