"""Base class of environments whose people are sampled from data."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fairgym.core import (
    Components,
    PopulationEnvironment,
    PopulationState,
    param,
)
from fairgym.data import Population, load_population
from fairgym.data.sampling import resample_people, whole_groups
from fairgym.environments._common.base import PublishedProfit, SampledParams, SpacesByAgent

LARGEST_POPULATION = 1_000_000
LARGEST_NUMBER_OF_STEPS = 100_000


# Subgroups of race and sex, in the order of their codes.
RACE_AND_SEX = tuple(
    f"{race}_{sex}" for race in ("white", "Black", "Asian", "other") for sex in ("men", "women")
)


def race_and_sex(columns: Mapping[str, Float[Array, " people"]]) -> Float[Array, " people"]:
    """Return each person's code in `RACE_AND_SEX`.

    Disparities by race or sex alone can hide disparities between these subgroups.
    """
    race = columns["race_black"] + 2.0 * columns["race_asian"] + 3.0 * columns["race_other"]
    return 2.0 * race + columns["female"]


def number_of_people(default: int) -> Any:
    """Declare the constructor argument for the number of people."""
    return param(default, "Number of people N.", low=2, high=LARGEST_POPULATION)


def people_per_step(description: str) -> Any:
    """Declare a number of people per step; its default follows the population."""
    return param(None, description, low=1, high="population")


def number_of_steps(default: int, description: str) -> Any:
    """Declare a constructor argument that counts steps."""
    return param(default, description, low=1, high=LARGEST_NUMBER_OF_STEPS)


StateT = TypeVar("StateT", bound=PopulationState)
ParamsT = TypeVar("ParamsT", bound=SampledParams)
ComponentsT = TypeVar("ComponentsT", bound=Components)


class SampledEnvironment(SpacesByAgent, PopulationEnvironment[StateT, ParamsT, ComponentsT]):
    """An environment whose people are sampled from a population of `fairgym.data`.

    Attributes:
        dataset: Name of the data, as `fairgym data describe` takes it.
        published_profit: Normaliser of the profit, and the size that it is taken to be for.
        population_source: "built-in", or the name of imported data.
        observe_group: Whether agents observe each person's group (table 8). If not, the features
            that reveal it are 0.
    """

    dataset: ClassVar[str]
    published_profit: ClassVar[PublishedProfit]

    population_source: str
    observe_group: bool

    def __post_init__(self) -> None:
        """Check the arguments and load the data, so that errors arise here and not inside jit."""
        super().__post_init__()
        self._data  # noqa: B018

    def _fill_in(self, field: str, default: float) -> None:
        """Set a missing argument to its default, rounded and at least 1."""
        if getattr(self, field) is None:
            object.__setattr__(self, field, max(1, round(default)))

    # ---------------------------------------------------------------- data

    @cached_property
    def _data(self) -> Population:
        return load_population(self.dataset, self.population_source)

    def _sample_people(
        self,
        key: PRNGKeyArray,
        columns: Iterable[str],
        shares: Float[Array, " groups"],
        params: ParamsT,
        residual_share: float | Array = 0.0,
    ) -> tuple[Int[Array, " people"], dict[str, Float[Array, " people"]]]:
        """Sample each person's group (sizes by share) and columns (rows with replacement)."""
        group, strength = whole_groups(shares, self.population), params.bias_strength
        return group, resample_people(key, self._data, columns, group, strength, residual_share)

    # ---------------------------------------------------------------- people and counts

    def _seen(self, state: StateT) -> dict[str, Float[Array, " people"]]:
        """Return all people's features as agents observe them; the group may be hidden."""
        people = self.people(state)
        if self.observe_group:
            return people
        return {**people, **{name: jnp.zeros_like(people[name]) for name in self._revealing}}

    @cached_property
    def _revealing(self) -> tuple[str, ...]:
        """Names of all features that reveal a person's group, each once.

        Their order is fixed, so that every process compiles the same program.
        """
        spaces = self._observation_spaces.values()
        features = (feature for space in spaces for feature in space.features)
        return tuple(dict.fromkeys(f.name for f in features if f.tells_group))

    @property
    def _profit_scale(self) -> float:
        """Normaliser of the profit for this population and horizon."""
        return self.published_profit.at(self.population, self.horizon)


def filled(value: int | None) -> int:
    """Return an argument that `__post_init__` has filled in."""
    assert value is not None
    return value
