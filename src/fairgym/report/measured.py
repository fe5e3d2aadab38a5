"""What a report shows: runs by configuration, and their policies measured beside baselines."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from fairgym.core import Environment, FairgymError, check_shape
from fairgym.report.grouping import RunGroup, group_runs
from fairgym.results.estimates import Result, best
from fairgym.results.labels import disparities, has_population, metric_labels
from fairgym.training.comparison import Compared, Comparison, compare
from fairgym.training.evaluation import ENOUGH
from fairgym.training.run import load_runs

PEOPLE_EPISODES = 4  # episodes whose people are shown at the start and the end
# What is measured of policies in a system of many people, as options of `compare`.
MEASURED: dict[str, Any] = {
    "trace": True,
    "permutations": ENOUGH,
    "people_episodes": PEOPLE_EPISODES,
}


@dataclasses.dataclass(frozen=True)
class Measured:
    """Runs by configuration, and the results of their policies and of the baselines.

    Attributes:
        groups: The configurations, with their runs.
        learned: Results of their policies, in the same order.
        baselines: For each configuration, the fixed policies in its environment, scored by its
            objective.
        fixed: Each baseline once, as tables and figures list them; without a score if
            configurations have different objectives.
        turned: Conclusions that turn around in rival worlds, a sentence each.
        worlds: Which rival worlds there are, a sentence per configuration; none if they were left
            out.
    """

    groups: list[RunGroup]
    learned: list[Result]
    baselines: list[list[Result]]
    fixed: list[Result]
    turned: tuple[str, ...] = ()
    worlds: tuple[str, ...] = ()

    @property
    def env(self) -> Environment:
        """The environment, for names and units."""
        return self.groups[0].env

    @property
    def shown(self) -> list[Result]:
        """Learned policies, then each baseline once."""
        return [*self.learned, *self.fixed]

    @property
    def pairs(self) -> list[tuple[Result, Result | None]]:
        """Every learned policy with the best baseline by its objective."""
        return [
            (own, best(several)) for own, several in zip(self.learned, self.baselines, strict=True)
        ]

    @cached_property
    def named(self) -> dict[str, Result]:
        """Learned policies, then their best baselines, each once; equal names are made distinct.

        A baseline that is scored by several objectives is one evaluation.
        """
        found = {own.name: own for own, _ in self.pairs}
        for own, rule in self.pairs:
            if rule is None:
                continue
            known = found.setdefault(rule.name, rule)
            if known.evaluations[0].trace is not rule.evaluations[0].trace:
                found[f"{rule.name} ({own.name})"] = rule
        return found

    @property
    def beside(self) -> list[Result]:
        """Policies of `named`, under these names."""
        return [dataclasses.replace(one, name=name) for name, one in self.named.items()]

    @property
    def references(self) -> Mapping[str, Mapping[str, float]]:
        """Baselines' metrics in raw units, if all configurations share an environment."""
        if len({group.environment for group in self.groups}) > 1:
            return {}
        labels = metric_labels(self.env)
        return {  # `shown` turns a value round and back
            one.name: {m.name: float(m.shown(one.estimate(m).mean)) for m in labels}
            for one in self.fixed
        }

    @property
    def nulls(self) -> Mapping[str, float]:
        """95% quantile of the null of each disparity under the learned policy, if there is one."""
        if len(self.learned) > 1:
            return {}
        found = {name: self.learned[0].null(name) for name in disparities(self.env)}
        return {name: null.bound for name, null in found.items() if null is not None}


def measure(
    folders: Sequence[str | Path],
    *,
    episodes: int = 16,
    seed: int = 1,
    schemes: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Measured:
    """Measure the policies of runs, and the fixed baselines, as a report shows them.

    Args:
        folders: Run folders, or folders that hold `seed-N` folders.
        episodes: Number of episodes that each policy is measured in.
        seed: Seed of these episodes.
        schemes: Further schemes to score all policies by, as `fairgym.load_runs` takes them.
        progress: Called with the title of each policy before it is measured.

    Raises:
        FairgymError: No folder, a folder without a run, runs in different environments, or an
            unknown scheme.
    """
    return measure_all(grouped(folders, episodes, seed, schemes), episodes, seed, progress)


def grouped(
    folders: Sequence[str | Path], episodes: int, seed: int, schemes: Sequence[str]
) -> list[RunGroup]:
    """Return the runs of `measure` by configuration; raise its errors before measuring."""
    check_shape("episodes", episodes, 1, 1_000_000)
    check_shape("seed", seed, 0, 2**32 - 1)
    groups = group_runs(load_runs(*folders, schemes=schemes))
    env = groups[0].env
    for group in groups:
        if group.env.name != env.name or group.env.spec.groups != env.spec.groups:
            raise FairgymError(
                f"the runs are in the environments {env.name!r} and {group.env.name!r}; a report"
                " needs runs in one environment"
            )
    return groups


def measure_all(
    groups: Sequence[RunGroup],
    episodes: int,
    seed: int,
    progress: Callable[[str], None] | None = None,
    comparisons: Sequence[Comparison] = (),
) -> Measured:
    """Measure every configuration, and the baselines of each of their environments.

    Args:
        groups: The configurations, whose names differ.
        episodes: Number of episodes per policy.
        seed: Seed of the episodes.
        progress: Called with the title of each policy before it is measured.
        comparisons: Comparisons of the groups, by name, if they have been measured already.
    """
    of_many = any(has_population(group.env) for group in groups)
    shown_people = min(PEOPLE_EPISODES, episodes) if of_many else 0
    comparisons = comparisons or compare(
        [(group.name, group.runs) for group in groups],
        episodes,
        seed,
        progress=progress,
        **{**MEASURED, "people_episodes": shown_people},
    )
    learned, baselines = {}, {}
    for comparison in comparisons:
        environment = comparison.environment
        rules = [_result(rule, environment) for rule in comparison.baselines]
        for one in comparison.learned:
            learned[one.name], baselines[one.name] = _result(one, environment), rules
    one_aim = len({group.aim for group in groups}) == 1
    shown: dict[str, Result] = {}
    for group in groups:
        where = f" ({group.environment})" if group.environment else ""  # of several environments
        named = [dataclasses.replace(r, name=r.name + where) for r in baselines[group.name]]
        baselines[group.name] = named
        for rule in named:
            scored = rule.evaluations if one_aim else [e.scored_by(None) for e in rule.evaluations]
            shown.setdefault(rule.name, dataclasses.replace(rule, evaluations=tuple(scored)))
    ordered = [learned[group.name] for group in groups]
    rules = [baselines[group.name] for group in groups]
    return Measured(list(groups), ordered, rules, list(shown.values()))


def _result(one: Compared, environment: str) -> Result:
    return Result(one.title, one.learned, one.evaluations, environment)
