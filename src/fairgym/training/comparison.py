"""Comparison of policies: runs beside fixed baselines, on the same episodes."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fairgym.core import AnyPolicy, Environment
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies, sampled
from fairgym.training.evaluation import Evaluation
from fairgym.training.run import Run

# Parts of a configuration that the episodes of a baseline depend on, and those that only its
# score does.
_ENVIRONMENT = ("environment", "environment_args", "params")
_AIM = ("objective", "objectives", "bounds")


@dataclasses.dataclass(frozen=True)
class Compared:
    """One policy of a comparison.

    Attributes:
        name: label of the configuration, or key of the baseline.
        runs: the runs that it was learned in, one per seed; empty for a baseline.
        evaluations: one evaluation per run; one for a baseline.
    """

    name: str
    runs: tuple[Run, ...]
    evaluations: tuple[Evaluation, ...]

    @property
    def learned(self) -> bool:
        """False for a baseline."""
        return bool(self.runs)

    @property
    def title(self) -> str:
        """The name as shown: a baseline's key in words, a label as it is."""
        return self.name if self.learned else self.name.replace("_", " ")


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Policies measured in one setting: one environment, discount and objective.

    Attributes:
        environment: text that is equal for equal environments and discounts; comparisons that share
            it have the same baselines, scored by different objectives.
        learned: learned policies, one entry per configuration.
        baselines: the environment's fixed policies.
    """

    environment: str
    learned: tuple[Compared, ...]
    baselines: tuple[Compared, ...]

    @property
    def policies(self) -> tuple[Compared, ...]:
        """The learned policies, then the baselines."""
        return self.learned + self.baselines

    @property
    def run(self) -> Run:
        """A run in this setting, for its environment, parameters and objective."""
        return self.learned[0].runs[0]


def compare(
    configurations: Iterable[tuple[str, Sequence[Run]]],
    episodes: int,
    seed: int,
    *,
    random: bool = False,
    sample: bool = False,
    massage: bool = False,
    progress: Callable[[str], None] | None = None,
    **options: object,
) -> list[Comparison]:
    """Measure the policies of runs, and the fixed baselines of each setting that they are in.

    All policies act on the same people with the same luck. The baselines of an environment are
    run once, and scored by each objective.

    Args:
        configurations: label and runs of each configuration, one run per seed.
        episodes: number of episodes per policy.
        seed: seed of the episodes.
        random: True to add the random policy to the environment's baselines.
        sample: True for runs' policies that draw their choices (`fairgym.policies.exploration`).
        massage: True to massage the actions of the runs' policies (`Run.massaged`).
        progress: called with the title of each policy before it is measured.
        **options: further arguments of `fairgym.training.evaluate`.

    Returns:
        One comparison per setting, in the order in which the configurations first name it.

    Raises:
        FairgymError: a run without policy, or one that cannot be sampled or massaged.
    """
    say = progress or (lambda title: None)

    def measured(run: Run, env: Environment, policies: Mapping[str, AnyPolicy]) -> Evaluation:
        return run.evaluate(episodes, seed, env=env, policies=policies, **options)

    settings: dict[tuple[str, str], list[tuple[str, Sequence[Run], list[Any]]]] = {}
    for name, runs in configurations:
        # what cannot be measured is told before anything is
        acting = [_acting(run, sample, massage) for run in runs]
        title = name + ", sampled" * sample + ", massaged" * massage
        settings.setdefault(_setting(runs[0]), []).append((title, runs, acting))
    shared: dict[str, tuple[Compared, ...]] = {}
    comparisons = []
    for (environment, _), named in settings.items():
        learned = []
        for name, runs, acting in named:
            say(name)
            found = tuple(measured(run, *one) for run, one in zip(runs, acting, strict=True))
            learned.append(Compared(name, tuple(runs), found))
        first = named[0][1][0]
        if environment in shared:
            baselines = tuple(_rescored(one, first.objective) for one in shared[environment])
        else:
            baselines = ()
            for name, specification in baselines_of(first.env, random=random).items():
                say(Compared(name, (), ()).title)
                found = measured(first, first.env, fixed_policies(first.env, specification))
                baselines += (Compared(name, (), (found,)),)
            shared[environment] = baselines
        comparisons.append(Comparison(environment, tuple(learned), baselines))
    return comparisons


def baselines_of(env: Environment, *, random: bool = False) -> dict[str, Mapping[str, object]]:
    """Specifications of an environment's fixed policies, and of the random one if asked for."""
    extra = {"random": dict.fromkeys(env.agents, "random")} if random else {}
    return {**env.spec.baselines, **extra}


def _acting(run: Run, sample: bool, massage: bool) -> tuple[Environment, Mapping[str, AnyPolicy]]:
    """Environment and policies of a run, with both as asked for."""
    policies = sampled(run.env, run.policies) if sample else run.policies
    return run.massaged(policies=policies) if massage else (run.env, policies)


def _setting(run: Run) -> tuple[str, str]:
    config = run.config.as_json()
    environment = {name: config[name] for name in _ENVIRONMENT} | {"discount": run.discount}
    environment["metrics"] = [*run.env.metrics, *run.env.spec.schemes]
    aim = {name: config[name] for name in _AIM}
    return json.dumps(environment, sort_keys=True), json.dumps(aim, sort_keys=True)


def _rescored(one: Compared, objective: Objective | dict[str, Objective]) -> Compared:
    scored = tuple(evaluation.scored_by(objective) for evaluation in one.evaluations)
    return dataclasses.replace(one, evaluations=scored)
