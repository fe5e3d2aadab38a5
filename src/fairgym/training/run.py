"""Runs read back from their folders: configuration, policies, and measuring them."""

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
from fairgym.fairness.welfare import is_welfare, welfare_scheme
from fairgym.training.evaluation import Evaluation, evaluate
from fairgym.training.folder import RunFolder, run_folders, seed_of


@dataclasses.dataclass(frozen=True)
class Run:
    """A run folder, read back; its parts are made when they are first asked for.

    Attributes:
        folder: the run folder.
        config: the complete configuration.
        environment_version: version of the environment that it began in.
        provenance: versions, device, commit and data that it was made with.
        further_metrics: metrics to measure it by, beside those of its environment and objective.
        further_schemes: schemes to measure it by, likewise.
    """

    folder: Path
    config: RunConfig
    environment_version: int
    provenance: Mapping[str, Any]
    further_metrics: Mapping[str, Metric] = dataclasses.field(default_factory=dict)
    further_schemes: Mapping[str, Scheme] = dataclasses.field(default_factory=dict)

    @cached_property
    def job(self) -> Job:
        """The objects that the configuration describes."""
        return self.config.build()

    @cached_property
    def env(self) -> Environment:
        """The environment, with the metrics and schemes that objectives brought along."""
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
        """Discount factor of the component sums that the objective acts on."""
        return float(self.job.algorithm.score_discount)

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl: "epoch", "objective", "metrics/NAME", ..."""
        return RunFolder(self.folder).read_metrics()

    @property
    def summary(self) -> dict[str, Any]:
        """The content of summary.json; empty while the run is not finished."""
        return RunFolder(self.folder).read_summary()

    @cached_property
    def policies(self) -> dict[str, AnyPolicy]:
        """Agent -> learned or fixed policy; of an unfinished run those of the last checkpoint.

        Raises:
            FairgymError: there is none yet, policy.eqx is damaged, or it was made with another
                configuration than that of config.json.
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
                    f"{self.folder} has no policy yet; it takes a run with a checkpoint"
                )
            found = self.job.algorithm.policies(latest[0])
        return {agent: found[agent] for agent in self.env.agents}

    def massaged(
        self,
        env: Environment | None = None,
        policies: Mapping[str, AnyPolicy] | None = None,
    ) -> tuple[Environment, dict[str, AnyPolicy]]:
        """Its policies with action massaging, as at the end of its training, where it is F-PPO.

        Tau is that of the last round, and the measure that of the training; what comes of an action
        is what can be expected of it (`fairgym.policies.massaged`), whatever the option `oracle`.

        Args:
            env: the environment to act in, of another horizon, say; its own by default.
            policies: agent -> policy, such as sampled ones, instead of its own.

        Returns:
            `(env, policies)`: the environment with what massaging looks at in its state, and agent
            -> policy; `evaluate` and `fairgym.rollout` take both.

        Raises:
            FairgymError: it is a run of another algorithm, one without massaging, or one that ended
                before massaging began; agents see something else in the environment.
        """
        env = env or self.env
        for agent in env.agents:
            if env.observation_space(agent) != self.env.observation_space(agent):
                raise FairgymError(
                    f"env shows {agent!r} something else than it learned from; it takes"
                    f" {self.env.name} with the observations of the training"
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
        """Measurements of its policies, as `fairgym evaluate` makes them.

        Args:
            episodes: number of episodes.
            seed: seed of the episodes: the same people and the same luck for all policies.
            env: environment to act in instead of its own, such as that of `massaged`.
            policies: agent -> policy; others to compare with, instead of its own.
            **options: further arguments of `fairgym.evaluate` (trace, people_episodes, ...).

        Raises:
            FairgymError: as `policies`; episodes below 1 or a seed outside 0 to 2^32 - 1.
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
    """Read a run back, and import the modules that registered its environment and algorithm.

    Args:
        folder: a run folder, finished or not; or the folder of several seeds.
        seed: seed of the run; needed where the folder holds the runs of several.

    Raises:
        FairgymError: it is not the folder of a run, cannot be read, or needs a module that cannot
            be imported here; there is no run of this seed, or there are several and none is chosen.
    """
    folder = Path(folder)
    found = RunFolder(folder).seeds
    if not found:
        stored = RunFolder(folder).read_config()
        run = Run(folder, stored.config, stored.environment_version, stored.provenance)
        if seed not in (None, run.config.seed):
            raise FairgymError(f"seed is {seed!r}, but the run in {folder} has {run.config.seed}")
        return run
    seeds = {seed_of(path): path for path in found}
    if seed is None and len(seeds) == 1:
        return load(found[0])
    if seed not in seeds:
        takes = ", ".join(map(str, seeds))
        every = "; fairgym.load_runs gives all of them" if seed is None else ""
        given = "is not given" if seed is None else f"is {seed!r}"
        raise FairgymError(f"seed {given}; of the runs in {folder} it takes {takes}{every}")
    return load(seeds[seed])


def load_runs(*folders: str | Path, schemes: Sequence[str] = ()) -> list[Run]:
    """Read several runs back.

    A metric or scheme that the objective of one of them brought along measures all in that
    environment.

    Args:
        *folders: run folders; a folder of several seeds stands for the runs in it, by seed.
        schemes: names of welfare to measure them all by as well, such as "nash" or "gini:COMPONENT"
            (`fairgym.fairness.welfare`).

    Raises:
        FairgymError: no folder is given, or one that is no run; two runs in one environment have
            different metrics of one name; an unknown scheme.
    """
    if not folders:
        raise FairgymError("no run folder is given; it takes one or more, such as runs/x")
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
    """Metrics that the objectives of runs in the same environment brought along."""
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
                    f"the metric {name!r} of {other.folder} is another one than that of the other"
                    " runs; runs side by side take one meaning of a name"
                )
    return further


def _schemes_of(run: Run, runs: Sequence[Run], more: Sequence[str]) -> dict[str, Scheme]:
    """Schemes that the objectives of runs in the same environment named, and more by name."""
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
    """The training state before the first update."""
    return job.algorithm.init(
        jax.random.key(job.config.seed),
        job.env,
        job.objective,
        params=job.params,
        fixed=job.fixed,
    )
