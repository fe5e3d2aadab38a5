"""The base class of environments of people."""

import abc
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fairgym.core.environment import ComponentsT, Environment, ParamsT, StateT, by_group
from fairgym.core.struct import PopulationState


class PopulationEnvironment(Environment[StateT, ParamsT, ComponentsT]):
    """A society of people in which several agents act.

    Its state is a `PopulationState`: every person has a group and a stage.

    Its `spec` names the stages and the core attribute.

    Attributes:
        population: Number of people.
    """

    population: int

    @abc.abstractmethod
    def people(self, state: StateT) -> dict[str, Float[Array, " population"]]:
        """Every feature of every person by name, for reports, tests and plots."""

    def counting_people(self, state: Any) -> Any:
        """The state from which on components are counted person by person, at an episode's start.

        For environments whose spec `counts_people`; one whose state keeps counts per group for
        later makes room for those of every person.
        """
        return state.replace(by_person=True)

    def census(self, state: Any) -> dict[str, Int[Array, " groups"]]:
        """Number of people per stage (key) and group (entry)."""
        group = jnp.arange(len(self.spec.groups))[:, None] == state.group[None, :]
        return {
            stage: jnp.sum(group & (state.stage == code)[None, :], axis=1, dtype=jnp.int32)
            for code, stage in enumerate(self.spec.stages)
        }


def count_people(
    who: Array, state: PopulationState, groups: int, rows: Int[Array, " n"] | None = None
) -> Float[Array, " groups"]:
    """Number of people (or sum of a number of theirs) in each group, for the components.

    One number per person where the state says so (`PopulationState.by_person`).

    Args:
        who: one entry per person.
        state: the state, for the groups.
        groups: number of groups.
        rows: the people of the entries, if these are not everybody; nobody twice.
    """
    values = who.astype(jnp.float32)
    if not state.by_person:
        return by_group(values, state.group if rows is None else state.group[rows], groups)
    if rows is None:
        return values
    return jnp.zeros(state.group.shape, jnp.float32).at[rows].add(values)


def counts_people(env: Environment) -> bool:
    """True if the system inside all wrappers can count its components person by person."""
    system = env.unwrapped
    return isinstance(system, PopulationEnvironment) and system.spec.counts_people


def group_counts(env: Environment) -> tuple[str, ...]:
    """Names of the components that have one number per group."""
    words = (("group",), (env.spec.group_word,))
    return tuple(name for name, info in env.spec.component_info.items() if info.axes in words)


def in_groups(
    env: Environment, counts: ComponentsT, group: Int[Array, " people"], groups: int | None = None
) -> ComponentsT:
    """Components that were counted person by person, summed up within groups.

    Args:
        env: the environment.
        counts: components, or sums of them, with one number per person in place of each group's.
        group: group of each person, theirs or any other.
        groups: number of groups; that of the environment's if None.
    """
    groups = len(env.spec.groups) if groups is None else groups
    sums = {name: by_group(getattr(counts, name), group, groups) for name in group_counts(env)}
    return counts.replace(**sums)


def in_parts(env: Any, counts: ComponentsT, state: Any) -> dict[str, ComponentsT]:
    """Such components, summed up within the parts of each partition, as they are in this state."""
    people = env.people(state) if env.spec.partitions else {}
    return {
        name: in_groups(env, counts, people[name].astype(jnp.int32), len(parts))
        for name, parts in env.spec.partitions.items()
    }
