"""Scenarios: fixed policies and parameters, compared without training in the same episodes."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fairgym.config.differences import words
from fairgym.config.parameters import with_params
from fairgym.config.settings import checked, environment_settings
from fairgym.core import AnyPolicy, Environment, FairgymError, Params, check_shape
from fairgym.policies import fixed_policies, with_fixed
from fairgym.statistics.intervals import paired_interval
from fairgym.training.comparison import baselines_of
from fairgym.training.evaluation import Evaluation, evaluate
from fairgym.utils import make
from fairgym.utils.changes import unknown

Changes = Mapping[str, object] | Sequence[tuple[str, object]]


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A baseline of an environment, with changes of policies, parameters and arguments.

    Changes are a mapping, or pairs that are applied in order.

    Attributes:
        name: Label, unique within a simulation.
        fixed: Changed policies: "agent", "agent.element" or "agent.group" -> "random",
            the name of a rule or option, "module:function", a number, or one number per element.
        params: Changed parameters: "name" or "name.region" -> number, or a text such as "+30%",
            relative to the value before the change.
        environment_args: Constructor arguments of the environment that differ from its defaults.
        baseline: Name of the baseline to change; "" for `default_baseline`.

    Raises:
        FairgymError: If the name is empty.
    """

    name: str
    fixed: Changes = ()
    params: Changes = ()
    environment_args: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    baseline: str = ""

    def __post_init__(self) -> None:
        """Check the name."""
        if not self.name.strip():
            raise FairgymError(f"the name of a scenario must be a text, got {self.name!r}")

    def build(self, environment: str) -> "Built":
        """Build the environment, its parameters and all policies.

        Args:
            environment: Name of the environment.

        Raises:
            FairgymError: If a baseline, agent, element, parameter or argument is unknown, or a
                value is invalid. The message names the scenario.
        """
        try:
            return _build(self, environment)
        except FairgymError as error:
            raise FairgymError(f"scenario {self.name!r}: {error}") from error


@dataclasses.dataclass(frozen=True)
class Built:
    """The objects described by a scenario.

    Attributes:
        scenario: The scenario.
        env: The environment.
        params: Its parameters.
        baseline: Name of the baseline.
        specification: Agent -> specification of its policy, as for `fixed_policies`.
        policies: Agent -> policy.
    """

    scenario: Scenario
    env: Environment
    params: Params
    baseline: str
    specification: Mapping[str, object]
    policies: Mapping[str, AnyPolicy]

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return self.scenario.name


@dataclasses.dataclass(frozen=True)
class Simulation:
    """Scenarios measured in the same episodes.

    Attributes:
        environment: Name of the environment.
        built: The scenarios, including the reference.
        evaluations: Name of a scenario -> its evaluation, with `Evaluation.ends`.
        reference: Name of the scenario with which the others are compared.
        seed: Seed of the episodes.
    """

    environment: str
    built: tuple[Built, ...]
    evaluations: Mapping[str, Evaluation]
    reference: str
    seed: int

    @property
    def base(self) -> Built:
        """The reference."""
        return next(one for one in self.built if one.name == self.reference)

    @property
    def others(self) -> tuple[Built, ...]:
        """The scenarios without the reference."""
        return tuple(one for one in self.built if one.name != self.reference)

    @property
    def episodes(self) -> int:
        """Number of episodes of each scenario."""
        return self.evaluations[self.reference].episodes

    def difference(
        self, name: str, values: Callable[[Evaluation], np.ndarray]
    ) -> tuple[float, float, float]:
        """Return the mean paired difference of a scenario from the reference, with its 95% CI.

        Args:
            name: Name of a scenario.
            values: Returns the value of every episode, NaN if undefined. Episodes that are
                undefined in either scenario are dropped.

        Returns:
            `(mean, low, high)`. With a single difference the limits are NaN; with none, all are.
        """
        ours, theirs = (values(self.evaluations[which]) for which in (name, self.reference))
        return paired_interval(ours, theirs)

    def same_people(self, name: str) -> bool:
        """Return whether a scenario begins with the people of the reference, by groups.

        Group sizes and sums of the core attribute are compared (to float32 accuracy).
        """
        ours, theirs = self.evaluations[name].ends, self.evaluations[self.reference].ends
        return all(
            np.allclose(ours[key][:, 0], theirs[key][:, 0], rtol=1e-5, atol=0.0) for key in theirs
        )


def simulate(
    environment: str,
    scenarios: Iterable[Scenario] | None = None,
    *,
    episodes: int = 32,
    seed: int = 0,
    reference: str | None = None,
    permutations: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Simulation:
    """Run scenarios with fixed policies, without training.

    All scenarios have the same keys, hence the same people and random numbers. Differences are
    paired by episode.

    Args:
        environment: Name of the environment.
        scenarios: The scenarios; by default each baseline of the environment, unchanged.
        episodes: Number of episodes of each scenario.
        seed: Seed of the episodes.
        reference: Name of the scenario with which the others are compared; the first by default.
        permutations: Number of permutations of the people's groups per episode, as for
            `fairgym.training.evaluate`.
        progress: Called with a short text before each scenario.

    Raises:
        FairgymError: If a name is unknown, a value out of its range, two scenarios have the same
            name, or scenarios have different numbers of people, which cannot be paired. It is
            raised before the first episode.

    Examples:
        >>> from fairgym.training import Scenario, simulate
        >>> small = {"population": 60, "horizon": 5}
        >>> found = simulate(
        ...     "loan_simple",
        ...     [
        ...         Scenario("today", environment_args=small),
        ...         Scenario("relief", {"debt_management": 0.2}, environment_args=small),
        ...     ],
        ...     episodes=4,
        ... )
        >>> mean, low, high = found.difference("relief", lambda e: e.metrics["profit"])
        >>> low < mean < high
        True
    """
    check_shape("episodes", episodes, 1, 1_000_000)
    check_shape("seed", seed, 0, 2**32 - 1)
    if scenarios is None:
        scenarios = baseline_scenarios(environment)
    built = build_all(environment, scenarios, reference)
    reference = built[0].name if reference is None else reference
    key, found = jax.random.key(seed), {}
    for number, one in enumerate(built, 1):
        if progress is not None:
            progress(f"{number} of {len(built)}: {one.name}")
        found[one.name] = evaluate(
            one.env, one.params, one.policies, key, episodes, ends=True, permutations=permutations
        )
    return Simulation(environment, built, found, reference, seed)


def build_all(
    environment: str, scenarios: Iterable[Scenario], reference: str | None = None
) -> tuple[Built, ...]:
    """Build scenarios and check that they can be compared.

    Args:
        environment: Name of the environment.
        scenarios: The scenarios.
        reference: Name of one of them; the first by default.

    Raises:
        FairgymError: See `simulate`.
    """
    several = tuple(scenarios)
    names = [one.name for one in several]
    if not names:
        raise FairgymError("there are no scenarios; give at least one")
    for name in names:
        if names.count(name) > 1:
            raise FairgymError(f"two scenarios are named {name!r}; names must be unique")
    if reference is not None and reference not in names:
        raise unknown("reference", reference, names)
    built = tuple(one.build(environment) for one in several)
    base = built[0 if reference is None else names.index(reference)]
    for one in built:
        if (
            one.env.spec.size_text != base.env.spec.size_text
            or one.env.spec.groups != base.env.spec.groups
        ):
            raise FairgymError(
                f"scenario {one.name!r} has {one.env.spec.size_text} and {base.name!r} has"
                f" {base.env.spec.size_text}; scenarios must have the same people to be compared"
            )
    return _of_equal_shapes(built)


def _of_equal_shapes(built: Sequence[Built]) -> tuple[Built, ...]:
    """Return the scenarios with parameters of equal shapes, so that they share one program.

    A parameter that one scenario has per group is broadcast in all.
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

    return tuple(map(spread, built))


def baseline_scenarios(
    environment: str, environment_args: Mapping[str, Any] | None = None
) -> list[Scenario]:
    """Return every baseline as a scenario without changes, the default one first.

    Args:
        environment: Name of the environment.
        environment_args: Constructor arguments of the environment.
    """
    arguments = environment_args or {}
    env = make_checked(environment, arguments)
    first = default_baseline(env)
    names = [first, *(name for name in env.spec.baselines if name != first)]
    return [Scenario(words(name), (), (), arguments, name) for name in names]


def default_baseline(env: Environment) -> str:
    """Return the name of the first baseline that is not all random."""
    chosen = [
        name
        for name, agents in env.spec.baselines.items()
        if any(not isinstance(value, str) or value != "random" for value in agents.values())
    ]
    return next(iter(chosen or env.spec.baselines))


def baseline_of(env: Environment, name: str) -> Mapping[str, object]:
    """Return the specification of a baseline: agent -> policy.

    Raises:
        FairgymError: If there is no baseline of this name.
    """
    baselines = baselines_of(env, random=True)
    if name not in baselines:
        raise unknown("baseline", name, baselines)
    return baselines[name]


def make_checked(environment: str, arguments: Mapping[str, Any]) -> Environment:
    """Make an environment with arguments from a file.

    Raises:
        FairgymError: If the name or an argument is unknown, or a value has the wrong type or range.
    """
    return make(environment, **checked(environment_settings(environment), arguments))


def pairs_of(changes: Changes) -> tuple[tuple[str, object], ...]:
    """Return changes in the order in which they are applied."""
    return tuple(changes.items() if isinstance(changes, Mapping) else changes)


def _build(scenario: Scenario, environment: str) -> Built:
    env = make_checked(environment, scenario.environment_args)
    name = scenario.baseline or default_baseline(env)
    specification = with_fixed(env, baseline_of(env, name), pairs_of(scenario.fixed))
    missing = [agent for agent in env.agents if agent not in specification]
    if missing:
        raise FairgymError(
            f"no policy for {missing[0]!r}; baseline {name!r} needs one for each of:"
            f" {', '.join(env.agents)}"
        )
    params = with_params(env, env.default_params, pairs_of(scenario.params))
    policies = fixed_policies(env, specification)
    return Built(scenario, env, params, name, specification, policies)
