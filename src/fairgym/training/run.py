"""Runs loaded from their folders: configuration, policies and evaluation."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import jax

from fairgym.config.plain import read_metrics, read_schemes
from fairgym.config.run_config import Job, RunConfig
from fairgym.core import AnyPolicy, Environment, FairgymError, Params, check_shape
from fairgym.fairness import Metric, Objective
from fairgym.fairness.measuring import with_measures
from fairgym.fairness.schemes import Scheme
from fairgym.fairness.welfare import welfare_scheme
from fairgym.fairness.welfare_names import is_welfare
from fairgym.training.evaluation import Evaluation, evaluate
from fairgym.training.folder import RunFolder, run_folders, seed_of


@dataclasses.dataclass(frozen=True)
class Run:
    """A run loaded from its folder; objects are built on first access.

    Attributes:
        folder: The run folder.
        config: The complete configuration.
        environment_version: Version of the environment with which the run began.
        provenance: Versions, device, commit and data with which the run was made.
        further_metrics: Metrics to measure in addition to those of environment and objective.
        further_schemes: Schemes to measure in addition.
    """

    folder: Path
    config: RunConfig
    environment_version: int
    provenance: Mapping[str, Any]
    further_metrics: Mapping[str, Metric] = dataclasses.field(default_factory=dict)
    further_schemes: Mapping[str, Scheme] = dataclasses.field(default_factory=dict)

    @cached_property
    def job(self) -> Job:
        """The objects described by the configuration."""
        return self.config.build()

    @cached_property
    def env(self) -> Environment:
        """The environment, with the metrics and schemes of the objectives."""
        return with_measures(self.job.env, self.further_metrics, self.further_schemes)

    @property
    def params(self) -> Params:
        """The environment's parameters."""
        return self.job.params

    @property
    def objective(self) -> Objective | dict[str, Objective]:
        """One objective for all agents, or one per trained agent."""
        return self.job.objective

    @property
    def discount(self) -> float:
        """Discount factor of the component sums in the objective."""
        return float(self.job.algorithm.score_discount)

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl: "epoch", "objective", "metrics/NAME", ..."""
        return RunFolder(self.folder).read_metrics()

    @property
    def summary(self) -> dict[str, Any]:
        """The content of summary.json; empty for an unfinished run."""
        return RunFolder(self.folder).read_summary()

    @cached_property
    def policies(self) -> dict[str, AnyPolicy]:
        """Agent -> learned or fixed policy; for an unfinished run those of the last checkpoint.

        Raises:
            FairgymError: If there is no policy yet, or policy.eqx is damaged or does not belong to
                config.json.
        """
        folder = RunFolder(self.folder)
        state = initial_state(self.job)
        if folder.policy.exists():
            like = self.job.algorithm.policies(state)
            found = folder.read_policy(like, self.config)
        else:
            latest = folder.checkpoints.latest(state, len(self.metrics), self.config.as_json())
            if latest is None:
                raise FairgymError(
                    f"{self.folder} has no policy yet; wait for its first checkpoint"
                )
            found = self.job.algorithm.policies(latest[0])
        return {agent: found[agent] for agent in self.env.agents}

    def massaged(
        self,
        env: Environment | None = None,
        policies: Mapping[str, AnyPolicy] | None = None,
    ) -> tuple[Environment, dict[str, AnyPolicy]]:
        """Return the policies of an F-PPO run with action massaging, as at the end of training.

        Tau is that of the last round, and the measure that of the training. The effect of an action
        is its expectation (`fairgym.policies.massaged`), whatever the option `oracle`.

        Args:
            env: Environment to act in, for example with another horizon; the run's by default.
            policies: Agent -> policy to use instead of the run's, such as sampled ones.

        Returns:
            `(env, policies)`: the environment, whose state holds what massaging needs, and agent ->
            policy. `evaluate` and `fairgym.rollout` take both.

        Raises:
            FairgymError: If the run has another algorithm or no massaging, ended before massaging
                began, or agents observe something else in `env`.
        """
        env = env or self.env
        for agent in env.agents:
            if env.observation_space(agent) != self.env.observation_space(agent):
                raise FairgymError(
                    f"env must be {self.env.name} with the observations of the training; {agent!r}"
                    " observes something else"
                )
        acting = self.policies if policies is None else policies
        updates = len(self.metrics)
        try:
            return self.job.algorithm.massaged(env, self.params, acting, self.env, updates)
        except FairgymError as error:
            what = f"{self.folder} is a run of {self.config.algorithm}"
            raise FairgymError(f"{what}; {error}") from error

    def evaluate(
        self,
        episodes: int = 32,
        seed: int = 0,
        *,
        env: Environment | None = None,
        policies: Mapping[str, AnyPolicy] | None = None,
        **options: Any,
    ) -> Evaluation:
        """Evaluate the run's policies, as `fairgym evaluate` does.

        Args:
            episodes: Number of episodes.
            seed: Seed of the episodes; all policies meet the same people and random numbers.
            env: Environment to act in instead of the run's, such as that of `massaged`.
            policies: Agent -> policy to evaluate instead of the run's.
            **options: Further arguments of `fairgym.evaluate` (trace, people_episodes, ...).

        Raises:
            FairgymError: If `policies` raises one, episodes are below 1, or the seed is outside
                0 to 2^32 - 1.
        """
        check_shape("seed", seed, 0, 2**32 - 1)
        return evaluate(
            env or self.env,
            self.params,
            self.policies if policies is None else policies,
            jax.random.key(seed),
            episodes,
            objective=self.objective,
            discount=self.discount,
            **options,
        )


def load(folder: str | Path, seed: int | None = None) -> Run:
    """Load a run, and import the modules that registered its environment and algorithm.

    Args:
        folder: A run folder, finished or not; or the folder of several seeds.
        seed: Seed of the run; required if the folder holds several.

    Raises:
        FairgymError: If the folder is not a run, cannot be read or needs a module that cannot be
            imported; or if there is no run of this seed, or several without a seed given.
    """
    folder = Path(folder)
    found = RunFolder(folder).seeds
    if not found:
        stored = RunFolder(folder).read_config()
        run = Run(folder, stored.config, stored.environment_version, stored.provenance)
        if seed not in (None, run.config.seed):
            raise FairgymError(
                f"seed is {seed!r}, but the run in {folder} has seed {run.config.seed}"
            )
        return run
    seeds = {seed_of(path): path for path in found}
    if seed is None and len(seeds) == 1:
        return load(found[0])
    if seed not in seeds:
        known = ", ".join(map(str, seeds))
        every = "; fairgym.load_runs loads all of them" if seed is None else ""
        given = "is not given" if seed is None else f"is {seed!r}"
        raise FairgymError(f"seed {given}; the runs in {folder} have the seeds {known}{every}")
    return load(seeds[seed])


def load_runs(*folders: str | Path, schemes: Sequence[str] = ()) -> list[Run]:
    """Load several runs.

    Custom metrics and schemes in the objective of one run are measured for all runs in that
    environment.

    Args:
        *folders: Run folders; a folder of several seeds stands for all its runs, by seed.
        schemes: Names of welfare to measure in addition, such as "nash" or "gini:COMPONENT"
            (`fairgym.fairness.welfare`).

    Raises:
        FairgymError: If no folder is given, a folder is not a run, two runs in one environment have
            different metrics of the same name, or a scheme is unknown.
    """
    if not folders:
        raise FairgymError("no run folder is given; give one or more, such as runs/x")
    runs = [load(path) for folder in folders for path in run_folders(folder)]
    return [
        dataclasses.replace(
            run,
            further_metrics=_metrics_of(run, runs),
            further_schemes=_schemes_of(run, runs, schemes),
        )
        for run in runs
    ]


def _metrics_of(run: Run, runs: Sequence[Run]) -> dict[str, Metric]:
    """Return the custom metrics in the objectives of runs in the same environment."""
    further: dict[str, Metric] = {}
    for other in runs:
        given = [other.config.objective, *other.config.objectives.values()]
        if other.config.environment != run.config.environment or all(
            isinstance(objective, str) for objective in given
        ):
            continue
        for name, metric in read_metrics(other.job.env.unwrapped, given).items():
            if further.setdefault(name, metric) != metric:
                raise FairgymError(
                    f"the metric {name!r} of {other.folder} differs from that of the other runs; a"
                    " name must have one meaning in a comparison"
                )
    return further


def _schemes_of(run: Run, runs: Sequence[Run], more: Sequence[str]) -> dict[str, Scheme]:
    """Return the schemes in the objectives of runs in the same environment, and more by name."""
    env = run.job.env
    further = {n: welfare_scheme(env, n, "scheme") for n in more if n not in env.spec.schemes}
    given = [
        objective
        for other in runs
        if other.config.environment == run.config.environment
        for objective in (other.config.objective, *other.config.objectives.values())
        if not isinstance(objective, str) or is_welfare(objective)
    ]
    return {**(read_schemes(env.unwrapped, given) if given else {}), **further}


def initial_state(job: Job) -> Any:
    """Return the training state before the first update."""
    return job.algorithm.init(
        jax.random.key(job.config.seed),
        job.env,
        job.objective,
        params=job.params,
        fixed=job.fixed,
    )
