"""Scenarios: fixed policies and parameters, compared without training, on the same people."""

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
    """A world and what everybody in it decides: a baseline of an environment, with changes.

    Changes are a mapping, or pairs that are made one after another.

    Attributes:
        name: label, unique within a simulation.
        fixed: changed decisions: "agent", "agent.element" or "agent.group" -> "random",
            the name of a rule or option, "module:function", a number, or one number per element.
        params: changed parameters: "name" or "name.region" -> number, or a text such as "+30%",
            relative to the value before the change.
        environment_args: constructor arguments of the environment that differ from its defaults.
        baseline: name of the baseline that the changes are made to; "" for `default_baseline`.

    Raises:
        FairgymError: the name is empty.
    """

    name: str
    fixed: Changes = ()
    params: Changes = ()
    environment_args: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    baseline: str = ""

    def __post_init__(self) -> None:
        """Check the name."""
        if not self.name.strip():
            raise FairgymError(f"the name of a scenario is {self.name!r}; it takes a text")

    def build(self, environment: str) -> "Built":
        """Make the environment, its parameters and everybody's policies.

        Args:
            environment: name of the environment.

        Raises:
            FairgymError: an unknown baseline, agent, element, parameter or argument, or a value
                that it does not take; the sentence names the scenario.
        """
        try:
            return _build(self, environment)
        except FairgymError as error:
            raise FairgymError(f"scenario {self.name!r}: {error}") from error


@dataclasses.dataclass(frozen=True)
class Built:
    """The objects that a scenario describes.

    Attributes:
        scenario: the scenario.
        env: the environment.
        params: its parameters.
        baseline: name of the baseline.
        specification: agent -> plain description of its policy, as `fixed_policies` takes it.
        policies: agent -> policy.
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
    """Scenarios, measured in the same episodes.

    Attributes:
        environment: name of the environment.
        built: the scenarios, the reference among them.
        evaluations: name of a scenario -> its episodes, with `Evaluation.ends`.
        reference: name of the scenario that the others are compared with.
        seed: seed of the episodes.
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
        """Mean paired difference of a scenario from the reference, with its 95% interval.

        Args:
            name: name of a scenario.
            values: value of every episode, NaN where it is undefined. Episodes in which it is so
                in either scenario are left out.

        Returns:
            `(mean, low, high)`; the limits of a single difference are NaN, as everything is for
            none at all.
        """
        ours, theirs = (values(self.evaluations[which]) for which in (name, self.reference))
        return paired_interval(ours, theirs)

    def same_people(self, name: str) -> bool:
        """True if a scenario begins with the people of the reference, as far as groups show it.

        The groups' numbers are compared, and their mean core attributes (to float32 accuracy).
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
    """Run fixed policies, without training: several scenarios, side by side.

    All scenarios have the same keys: the same people and the same luck, so that differences are
    paired, episode by episode.

    Args:
        environment: name of the environment.
        scenarios: the scenarios; by default each baseline of the environment as it is.
        episodes: number of episodes of each scenario.
        seed: seed of the episodes.
        reference: name of the scenario that the others are compared with; the first by default.
        permutations: number of permutations of the people's groups in each episode; as in
            `fairgym.training.evaluate`.
        progress: called with a short text before each scenario is run.

    Raises:
        FairgymError: anything unknown or out of its range, two scenarios of the same name, or
            scenarios with different numbers of people, of which no pairs can be made; all of it
            before the first episode.

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
    """Build scenarios, and check that they can be compared.

    Args:
        environment: name of the environment.
        scenarios: the scenarios.
        reference: name of one of them; the first by default.

    Raises:
        FairgymError: as `simulate`.
    """
    several = tuple(scenarios)
    names = [one.name for one in several]
    if not names:
        raise FairgymError("there are no scenarios; simulate takes one at least")
    for name in names:
        if names.count(name) > 1:
            raise FairgymError(f"two scenarios are named {name!r}; names differ")
    if reference is not None and reference not in names:
        raise FairgymError(f"reference is {reference!r}; there are: {', '.join(names)}")
    built = tuple(one.build(environment) for one in several)
    base = built[0 if reference is None else names.index(reference)]
    for one in built:
        if (
            one.env.spec.size_text != base.env.spec.size_text
            or one.env.spec.groups != base.env.spec.groups
        ):
            raise FairgymError(
                f"scenario {one.name!r} has {one.env.spec.size_text} and {base.name!r} has"
                f" {base.env.spec.size_text}; people are compared with themselves, so that every"
                " scenario takes as many"
            )
    return _of_equal_shapes(built)


def _of_equal_shapes(built: Sequence[Built]) -> tuple[Built, ...]:
    """The same scenarios, where a parameter that one of them has per part has so in all.

    They then share one compiled program.
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
    """Every baseline of an environment as a scenario without changes, the default one first.

    Args:
        environment: name of the environment.
        environment_args: its constructor arguments.
    """
    arguments = environment_args or {}
    env = make_checked(environment, arguments)
    first = default_baseline(env)
    names = [first, *(name for name in env.spec.baselines if name != first)]
    return [Scenario(words(name), (), (), arguments, name) for name in names]


def default_baseline(env: Environment) -> str:
    """Name of the first baseline in which somebody decides: the first that is not all random."""
    chosen = [
        name
        for name, agents in env.spec.baselines.items()
        if any(not isinstance(value, str) or value != "random" for value in agents.values())
    ]
    return next(iter(chosen or env.spec.baselines))


def baseline_of(env: Environment, name: str) -> Mapping[str, object]:
    """The specification of a baseline: agent -> policy.

    Raises:
        FairgymError: there is none of this name.
    """
    baselines = baselines_of(env, random=True)
    if name not in baselines:
        raise unknown("baseline", name, baselines)
    return baselines[name]


def make_checked(environment: str, arguments: Mapping[str, Any]) -> Environment:
    """Make an environment of arguments from a file.

    Raises:
        FairgymError: an unknown name or argument, or a value of the wrong type or range.
    """
    return make(environment, **checked(environment_settings(environment), arguments))


def pairs_of(changes: Changes) -> tuple[tuple[str, object], ...]:
    """Changes in the order in which they are made."""
    return tuple(changes.items() if isinstance(changes, Mapping) else changes)


def _build(scenario: Scenario, environment: str) -> Built:
    env = make_checked(environment, scenario.environment_args)
    name = scenario.baseline or default_baseline(env)
    specification = with_fixed(env, baseline_of(env, name), pairs_of(scenario.fixed))
    missing = [agent for agent in env.agents if agent not in specification]
    if missing:
        raise FairgymError(
            f"no policy for {missing[0]!r}; baseline {name!r} takes one for each of:"
            f" {', '.join(env.agents)}"
        )
    params = with_params(env, env.default_params, pairs_of(scenario.params))
    policies = fixed_policies(env, specification)
    return Built(scenario, env, params, name, specification, policies)
