"""Simulations: scenarios, compared without training in the same episodes."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from fairgym.config.differences import words
from fairgym.core import FairgymError, check_shape
from fairgym.statistics.intervals import paired_interval
from fairgym.training.baselines import baseline_of, default_baseline, make_checked
from fairgym.training.building import Built, Changes, Scenario, Source, alike, pairs_of
from fairgym.training.evaluation import Evaluation, evaluate
from fairgym.training.reforms import World
from fairgym.training.stepwise import LEARNED
from fairgym.utils.changes import unknown

__all__ = [
    "Built",
    "Changes",
    "Scenario",
    "Simulation",
    "baseline_of",
    "baseline_scenarios",
    "build_all",
    "default_baseline",
    "make_checked",
    "pairs_of",
    "simulate",
]


@dataclasses.dataclass(frozen=True)
class Simulation:
    """Scenarios measured in the same episodes.

    Attributes:
        environment: Name of the environment.
        built: The scenarios, including the reference.
        evaluations: Name of a scenario -> its evaluation, with `Evaluation.ends`.
        reference: Name of the scenario with which the others are compared.
        seed: Seed of the episodes.
        source: The name of the environment, or the run that the scenarios begin from.
        worlds: The same scenarios in rival worlds, by the name of the world.
        world: The world of all scenarios; None for the environment's default parameters.
    """

    environment: str
    built: tuple[Built, ...]
    evaluations: Mapping[str, Evaluation]
    reference: str
    seed: int
    source: Source
    worlds: Mapping[str, "Simulation"] = dataclasses.field(default_factory=dict)
    world: World | None = None

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
    environment: Source,
    scenarios: Iterable[Scenario] | None = None,
    *,
    episodes: int = 32,
    seed: int = 0,
    reference: str | None = None,
    permutations: int = 0,
    trace: bool = False,
    world: World | None = None,
    worlds: Sequence[World] = (),
    progress: Callable[[str], None] | None = None,
) -> Simulation:
    """Run scenarios with fixed policies, without training.

    All scenarios have the same keys, hence the same people and random numbers. Differences are
    paired by episode.

    Args:
        environment: Name of the environment, or a run: its environment and parameters, with its
            learned policies as the baseline.
        scenarios: The scenarios; by default each baseline of the environment, unchanged.
        episodes: Number of episodes of each scenario.
        seed: Seed of the episodes.
        reference: Name of the scenario with which the others are compared; the first by default.
        permutations: Number of permutations of the people's groups per episode, as for
            `fairgym.training.evaluate`.
        trace: Whether to keep the components of every step, as for `fairgym.training.evaluate`.
        world: Parameters of all scenarios, before their own changes
            (`fairgym.training.reforms.world_of`).
        worlds: Rival worlds in which the same scenarios are run as well.
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
    several, names = tuple(scenarios), {one.name for one in worlds}
    if len(names) < len(worlds):
        raise FairgymError("two worlds have the same name; names must be unique")
    built = [build_all(environment, several, reference, one) for one in (world, *worlds)]
    reference = built[0][0].name if reference is None else reference
    found = []
    for one, where in zip(built, (world, *worlds), strict=True):
        evaluations = _evaluated(
            one,
            jax.random.key(seed),
            episodes,
            {"trace": trace, "permutations": 0 if found else permutations},
            f", in the world {where.name}" if where is not None and found else "",
            progress or (lambda text: None),
        )
        name = environment if isinstance(environment, str) else environment.config.environment
        found.append(Simulation(name, one, evaluations, reference, seed, environment, world=where))
    rivals = {one.name: rival for one, rival in zip(worlds, found[1:], strict=True)}
    return dataclasses.replace(found[0], worlds=rivals)


def _evaluated(
    built: Sequence[Built],
    key: PRNGKeyArray,
    episodes: int,
    options: Mapping[str, Any],
    where: str,
    progress: Callable[[str], None],
) -> dict[str, Evaluation]:
    """Measure scenarios in the same episodes."""
    found = {}
    for number, one in enumerate(built, 1):
        progress(f"{number} of {len(built)}: {one.name}{where}")
        env, params = one.running
        found[one.name] = evaluate(env, params, one.policies, key, episodes, ends=True, **options)
    return found


def build_all(
    environment: Source,
    scenarios: Iterable[Scenario],
    reference: str | None = None,
    world: World | None = None,
) -> tuple[Built, ...]:
    """Build scenarios and check that they can be compared.

    Args:
        environment: Name of the environment, or a run.
        scenarios: The scenarios.
        reference: Name of one of them; the first by default.
        world: Parameters of all scenarios, before their own changes.

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
    built = tuple(one.build(environment, world) for one in several)
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
    return alike(built)


def baseline_scenarios(
    environment: Source, environment_args: Mapping[str, Any] | None = None
) -> list[Scenario]:
    """Return every baseline as a scenario without changes, the default one first.

    Args:
        environment: Name of the environment, or a run: its learned policies come first.
        environment_args: Constructor arguments of the environment.
    """
    arguments = environment_args or {}
    if isinstance(environment, str):
        env = make_checked(environment, arguments)
        first = default_baseline(env)
        names = [first, *(name for name in env.spec.baselines if name != first)]
    else:
        names = ["", *environment.env.spec.baselines]
    return [Scenario(words(name) or LEARNED, (), (), arguments, name) for name in names]
