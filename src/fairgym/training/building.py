"""Scenarios as users describe them, and the objects that they describe."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from fairgym.core import AnyPolicy, Environment, FairgymError, Params
from fairgym.policies import fixed_policies
from fairgym.training.baselines import baseline_of, default_baseline, make_checked
from fairgym.training.reforms import World, reform_of
from fairgym.training.run import Run
from fairgym.training.schedules import (
    During,
    Pair,
    Scheduled,
    ScheduledParams,
    params_over_time,
    timed,
)
from fairgym.training.stepwise import LEARNED, aligned, policies_over_time

Changes = Mapping[str, object] | Sequence[tuple[str, object]]
Source = str | Run  # name of an environment, or a run whose policies are the baseline


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A baseline of an environment, with changes of policies, parameters and arguments.

    Changes are a mapping, or pairs that are applied in order. Each of them may hold in some steps
    only: a value `During(0.2, start=60, end=120, over=12)`, or the same as a text, "0.2 from 60
    until 120 over 12".

    Attributes:
        name: Label, unique within a simulation.
        fixed: Changed policies: "agent", "agent.element" or "agent.group" -> "random",
            the name of a rule or option, "module:function", a number, or one number per element.
        params: Changed parameters: "name" or "name.region" -> number, or a text such as "+30%",
            relative to the value before the change.
        environment_args: Constructor arguments of the environment that differ from its defaults.
        baseline: Name of the baseline to change; "" for `default_baseline`, or for the learned
            policies of a run.
        reforms: Ready-made reforms of the environment by name, made before the other changes;
            "relief from 60" limits one to some steps.

    Raises:
        FairgymError: If the name is empty.
    """

    name: str
    fixed: Changes = ()
    params: Changes = ()
    environment_args: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    baseline: str = ""
    reforms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the name."""
        if not self.name.strip():
            raise FairgymError(f"the name of a scenario must be a text, got {self.name!r}")

    def build(self, source: Source, world: World | None = None) -> "Built":
        """Build the environment, its parameters and all policies.

        Args:
            source: Name of the environment, or a run.
            world: Parameters that hold before the scenario's own changes.

        Raises:
            FairgymError: If a baseline, agent, element, parameter or argument is unknown, or a
                value is invalid. The message names the scenario.
        """
        try:
            return _build(self, source, world)
        except FairgymError as error:
            raise FairgymError(f"scenario {self.name!r}: {error}") from error

    def changes(self, env: Environment) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
        """Return the changes of policies and of parameters in order, those of reforms first.

        Raises:
            FairgymError: If a reform is unknown, or times cannot be read.
        """
        reforms = [reform_of(env, name) for name in self.reforms]
        fixed = [pair for one in reforms for pair in pairs_of(one.fixed)]
        params = [pair for one in reforms for pair in pairs_of(one.params)]
        return (
            timed((*fixed, *pairs_of(self.fixed)), env),
            timed((*params, *pairs_of(self.params)), env),
        )


@dataclasses.dataclass(frozen=True)
class Built:
    """The objects described by a scenario.

    Attributes:
        scenario: The scenario.
        env: The environment.
        params: Its parameters, in the first step.
        baseline: Name of the baseline; "learned" for the policies of a run.
        specification: Agent -> specification of its policy, as for `fixed_policies`.
        policies: Agent -> policy.
        tables: Name of a parameter that changes within an episode -> its value in every step.
        timed: Changes of parameters that hold in some steps only.
        before: The parameters without the scenario's changes; None if unknown.
    """

    scenario: Scenario
    env: Environment
    params: Params
    baseline: str
    specification: Mapping[str, object]
    policies: Mapping[str, AnyPolicy]
    tables: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    timed: tuple[Pair, ...] = ()
    before: Params | None = None

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return self.scenario.name

    @property
    def running(self) -> tuple[Environment, Params]:
        """Environment and parameters for rollouts, with the changes of parameters over time."""
        if not self.tables:
            return self.env, self.params
        tables = {name: jnp.asarray(table) for name, table in self.tables.items()}
        return Scheduled(self.env), ScheduledParams(start=self.params, tables=tables)


def alike(built: Sequence[Built]) -> tuple[Built, ...]:
    """Return the scenarios with parameters and policies of equal shapes, to share one program.

    A parameter that one scenario has per group, or that changes within an episode, is broadcast in
    all.
    """
    shapes = {
        name: np.broadcast_shapes(*(np.shape(getattr(one.params, name)) for one in built))
        for name in built[0].params.info()
    }

    def spread(one: Built) -> Built:
        values = {name: getattr(one.params, name) for name in shapes}
        changed = {
            name: jnp.broadcast_to(jnp.asarray(value, jnp.float32), shapes[name])
            for name, value in values.items()
            if np.shape(value) != shapes[name]
        }
        return dataclasses.replace(one, params=one.params.replace(**changed))

    several = [spread(one) for one in built]
    changing = {name for one in several for name in one.tables}
    tables = [
        {
            name: np.broadcast_to(
                in_steps(one.tables.get(name), getattr(one.params, name), len(shapes[name])),
                (one.env.horizon, *shapes[name]),
            )
            for name in sorted(changing)
        }
        for one in several
    ]
    policies = [dict(one.policies) for one in several]
    for agent in several[0].env.agents:
        columns = aligned(several[0].env, agent, [one[agent] for one in policies])
        for one, policy in zip(policies, columns, strict=True):
            one[agent] = policy
    return tuple(
        dataclasses.replace(one, tables=table, policies=own)
        for one, table, own in zip(several, tables, policies, strict=True)
    )


def in_steps(table: np.ndarray | None, value: object, axes: int) -> np.ndarray:
    """Return values in every step, or one for all steps, with so many further axes."""
    found = np.asarray(value, np.float32)[None] if table is None else table
    return found.reshape(len(found), *(1,) * (axes - found.ndim + 1), *found.shape[1:])


def pairs_of(changes: Changes) -> tuple[Pair, ...]:
    """Return changes in the order in which they are applied."""
    return tuple(changes.items() if isinstance(changes, Mapping) else changes)


def _build(scenario: Scenario, source: Source, world: World | None) -> Built:
    env, before, name, specification, policies = _baseline(scenario, source)
    fixed, changes = scenario.changes(env)
    specification, policies = policies_over_time(env, specification, policies, fixed)
    missing = [agent for agent in env.agents if agent not in specification]
    if missing:
        raise FairgymError(
            f"no policy for {missing[0]!r}; baseline {name!r} needs one for each of:"
            f" {', '.join(env.agents)}"
        )
    rival = () if world is None else pairs_of(world.params)
    params, tables = params_over_time(env, before, (*rival, *changes))
    during = tuple(pair for pair in changes if isinstance(pair[1], During))
    return Built(scenario, env, params, name, specification, policies, tables, during, before)


def _baseline(
    scenario: Scenario, source: Source
) -> tuple[Environment, Params, str, dict[str, Any], dict[str, AnyPolicy]]:
    """Return environment, parameters, and name, specification and policies of the baseline."""
    if isinstance(source, str):
        env = make_checked(source, scenario.environment_args)
        params, name = env.default_params, scenario.baseline or default_baseline(env)
    else:
        env, params, name = source.env, source.params, scenario.baseline
        for argument in scenario.environment_args:
            raise FairgymError(
                f"{argument} must be that of {source.folder}, whose policies have learned with it"
            )
        if not name:
            specification = {a: source.config.fixed.get(a, LEARNED) for a in env.agents}
            return env, params, LEARNED, specification, dict(source.policies)
    specification = dict(baseline_of(env, name))
    return env, params, name, specification, fixed_policies(env, specification)
