"""Comparison of policies: runs and fixed baselines in the same episodes."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray, PyTree

from fairgym.core import AnyPolicy, Entities, Environment, Policy, RecurrentPolicy
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies, sampled
from fairgym.training.baselines import baselines_of
from fairgym.training.evaluation import Evaluation
from fairgym.training.run import Run
from fairgym.utils.changes import unknown

# Fields of a configuration that determine a baseline's episodes, and those that only determine its
# score.
_ENVIRONMENT = ("environment", "environment_args", "params")
_AIM = ("objective", "objectives", "bounds")
LEARNED = "learned"  # name of the policy of a run


@dataclasses.dataclass(frozen=True)
class Compared:
    """One policy of a comparison.

    Attributes:
        name: Label of the configuration, or key of the baseline.
        runs: The training runs, one per seed; empty for a baseline.
        evaluations: One evaluation per run; one for a baseline.
    """

    name: str
    runs: tuple[Run, ...]
    evaluations: tuple[Evaluation, ...]

    @property
    def learned(self) -> bool:
        """Whether the policy is learned; False for a baseline."""
        return bool(self.runs)

    @property
    def title(self) -> str:
        """The displayed name: a baseline's key in words, or the label."""
        return self.name if self.learned else self.name.replace("_", " ")


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Policies measured in one setting: one environment, discount and objective.

    Attributes:
        environment: Text that identifies environment and discount. Comparisons with the same text
            have the same baselines, scored by different objectives.
        learned: Learned policies, one entry per configuration.
        baselines: The environment's fixed policies.
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
        """One run in this setting, for its environment, parameters and objective."""
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
    """Measure the policies of runs and the fixed baselines of each of their settings.

    All policies are measured in the same episodes: the same people and random numbers. The
    baselines of an environment are run once and scored by each objective.

    Args:
        configurations: Label and runs of each configuration, one run per seed.
        episodes: Number of episodes per policy.
        seed: Seed of the episodes.
        random: Whether to add the random policy to the environment's baselines.
        sample: Whether the runs' policies sample their actions (`fairgym.policies.exploration`).
        massage: Whether to massage the actions of the runs' policies (`Run.massaged`).
        progress: Called with the title of each policy before measuring it.
        **options: Further arguments of `fairgym.training.evaluate`.

    Returns:
        One comparison per setting, in the order of the configurations.

    Raises:
        FairgymError: If a run has no policy, or cannot be sampled or massaged.
    """
    show = progress or (lambda title: None)

    def measured(run: Run, env: Environment, policies: Mapping[str, AnyPolicy]) -> Evaluation:
        return run.evaluate(episodes, seed, env=env, policies=policies, **options)

    settings: dict[tuple[str, str], list[tuple[str, Sequence[Run], list[Any]]]] = {}
    for name, runs in configurations:
        # errors are raised before anything is measured
        acting = [_acting(run, sample, massage) for run in runs]
        title = name + ", sampled" * sample + ", massaged" * massage
        settings.setdefault(_setting(runs[0]), []).append((title, runs, acting))
    shared: dict[str, tuple[Compared, ...]] = {}
    comparisons = []
    for (environment, _), named in settings.items():
        learned, first, fixed = [], named[0][1][0], {}
        if environment not in shared:
            several = baselines_of(first.env, random=random).items()
            fixed = {name: fixed_policies(first.env, given) for name, given in several}
        env, policies = named[0][2][0]
        pair = (policies, next(iter(fixed.values()), {}) if env is first.env else {})
        for name, runs, acting in named:
            show(name)
            found = tuple(
                measured(run, env, _sharing(policies, *pair))
                for run, (env, policies) in zip(runs, acting, strict=True)
            )
            learned.append(Compared(name, tuple(runs), found))
        if environment in shared:
            baselines = tuple(_rescored(one, first.objective) for one in shared[environment])
        else:
            baselines = ()
            for name, policies in fixed.items():
                show(Compared(name, (), ()).title)
                found = measured(first, first.env, _sharing(policies, *pair))
                baselines += (Compared(name, (), (found,)),)
            shared[environment] = baselines
        comparisons.append(Comparison(environment, tuple(learned), baselines))
    return comparisons


def policies_of(
    run: Run, name: str = LEARNED, *, sample: bool = False, massage: bool = False
) -> tuple[Environment, Mapping[str, AnyPolicy]]:
    """Return one of the policies that `compare` measures, and the environment that it acts in.

    Args:
        run: The run.
        name: "learned", or a baseline of the environment: the keys of `baselines_of`, "random"
            among them.
        sample: As in `compare`; baselines do not change.
        massage: As in `compare`; baselines do not change.

    Raises:
        FairgymError: There is no such policy, or the run has none or cannot be sampled or massaged.
    """
    if name == LEARNED:
        return _acting(run, sample, massage)
    found = baselines_of(run.env, random=True)
    if name not in found:
        raise unknown("policy", name, [LEARNED, *found], "there are", f" of {run.env.name}")
    return run.env, fixed_policies(run.env, found[name])


class _Choice(eqx.Module):
    """A learned and a fixed policy of one agent, of which one acts."""

    learned: Policy
    fixed: Policy
    learned_acts: Bool[Array, ""]

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Array:
        """Return the action of the policy that acts."""
        ours, theirs = (lambda *seen, own=own: own(*seen) for own in (self.learned, self.fixed))
        return jax.lax.cond(self.learned_acts, ours, theirs, observation, key)


def _sharing(
    policies: Mapping[str, AnyPolicy],
    learned: Mapping[str, AnyPolicy],
    fixed: Mapping[str, AnyPolicy],
) -> Mapping[str, AnyPolicy]:
    """Return the policies for the program that measures both `learned` and `fixed`.

    One compiled program for both saves more time than their choice costs. Policies that differ from
    both in more than numbers stay as they are, and so do those with a hidden state.
    """
    is_learned = _alike(policies, learned)
    if not fixed or not (is_learned or _alike(policies, fixed)):
        return policies
    ours, theirs = (policies, fixed) if is_learned else (learned, policies)
    found, acts = {}, jnp.asarray(is_learned)
    for agent in policies:
        one, other = ours[agent], theirs[agent]
        if isinstance(one, RecurrentPolicy) or isinstance(other, RecurrentPolicy):
            return policies
        found[agent] = _Choice(one, other, acts)
    return found


def _alike(ours: PyTree, theirs: PyTree) -> bool:
    """Return whether pytrees differ at most in the numbers of their arrays."""
    return eqx.tree_equal(*(eqx.filter_eval_shape(lambda x: x, x) for x in (ours, theirs))) is True


def _acting(run: Run, sample: bool, massage: bool) -> tuple[Environment, Mapping[str, AnyPolicy]]:
    """Return the environment and policies of a run, sampled or massaged if requested."""
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
