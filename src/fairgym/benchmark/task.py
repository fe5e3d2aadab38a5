"""Tasks of the benchmark: frozen data with a version, one file each.

A task is an environment with its shapes and parameters, what counts as reward and as unfairness, a
budget of environment steps, the corners of the box in which fronts are measured, and the learners
that fit. Its name ends with a version: "loan-300-v0". Results count only with its fingerprint.
"""

import dataclasses
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np

from fairgym.benchmark.reading import fingerprint_of, read_definition
from fairgym.config.plain import read_objective
from fairgym.config.run_config import RunConfig
from fairgym.core import Environment, FairgymError, Params, rollout
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies
from fairgym.training.baselines import baseline_of, default_baseline
from fairgym.utils.changes import unknown

FOLDER = Path(__file__).parent / "tasks"
SUITES = ("institutions", "decisions", "memory")
GOLDEN_KEY = 0  # of the default episode
CLOSE = 1e-4  # of a sum's size; another processor is within 1e-6


@dataclasses.dataclass(frozen=True)
class Task:
    """A task. Weights are by name of a metric or scheme of the environment.

    Attributes:
        name: Name with the version, such as "loan-300-v0".
        title: Title in words.
        suite: Tasks that most learners share: "institutions" (several agents, populations),
            "decisions" (one agent, groups) or "memory" (few people, fairness schemes).
        environment: Name of the environment.
        reward: Weights of the reward, as reported; higher is better.
        fairness: Weights of the fairness, as reported; higher is better. Unfairness is `parity`
            minus this score.
        disparity: Published disparity, reported beside its null mean; "" if there is none.
        steps: Environment steps of a training run at the full tier.
        reference: Reference point (reward, unfairness) of the hypervolume, worse than all policies
            of interest.
        ideal: Reward and unfairness at the opposite corner of the box, whose area is 1.
        learners: Names of the learners that fit.
        environment_args: Arguments of the environment's constructor.
        params: Values of parameters that differ from the defaults.
        memory: Name of a memory that agents observe; "" for none.
        parity: Score of the fairness part at parity.
        trained_reward: Weights of the reward that learners maximise; `reward` if empty.
        trained_fairness: Weights of the fairness that learners maximise; `fairness` if empty.
        settings: Hyperparameters of all learners that have them.
        family: Further hyperparameters of the learners of a family: family -> hyperparameters.
        left_out: Learners that would run but do not take part: name -> reason.
        golden: Sums of the default episode, by component; checked by `changes`.
    """

    name: str
    title: str
    suite: str
    environment: str
    reward: Mapping[str, float]
    fairness: Mapping[str, float]
    steps: int
    reference: tuple[float, float]
    ideal: tuple[float, float]
    learners: tuple[str, ...]
    disparity: str = ""
    environment_args: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    memory: str = ""
    parity: float = 0.0
    trained_reward: Mapping[str, float] = dataclasses.field(default_factory=dict)
    trained_fairness: Mapping[str, float] = dataclasses.field(default_factory=dict)
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    family: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    left_out: Mapping[str, str] = dataclasses.field(default_factory=dict)
    golden: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check what the types of the fields do not."""
        if not re.fullmatch(r"[a-z0-9-]+-v\d+", self.name):
            raise FairgymError(
                f"the name of a task must be words and a version, such as loan-300-v0, got"
                f" {self.name!r}"
            )
        if self.steps < 1:
            raise FairgymError(f"steps must be a whole number from 1, got {self.steps}")
        (reward, unfair), (more, less) = self.reference, self.ideal
        if not (reward < more and less < unfair):
            raise FairgymError(
                "reference must have less reward and more unfairness than ideal, got"
                f" {list(self.reference)} and {list(self.ideal)}"
            )
        for part in ("reward", "fairness"):
            if not getattr(self, part):
                raise FairgymError(f"{part} must have at least one weight, got none")

    @property
    def fingerprint(self) -> str:
        """Hash of everything that gives results their meaning; results of others do not count."""
        content = dataclasses.asdict(self)
        others = ("title", "suite", "learners", "left_out", "golden", "settings", "family")
        for name in others:  # hyperparameters are in the fingerprint of a learner
            del content[name]
        return fingerprint_of(content)

    @cached_property
    def base(self) -> RunConfig:
        """Configuration without a learner."""
        return RunConfig(
            self.environment,
            environment_args=dict(self.environment_args),
            params=dict(self.params),
            memory=self.memory,
        )

    @cached_property
    def world(self) -> tuple[Environment, Params]:
        """Environment and parameters."""
        job = self.base.build()
        return job.env, job.params

    @property
    def parts(self) -> tuple[Objective, Objective]:
        """Reward and fairness, as reported."""
        env = self.world[0].unwrapped
        return read_objective(env, self.reward, {}), read_objective(env, self.fairness, {})

    def objective(self, weight: float) -> dict[str, float]:
        """Return weights to train with: `weight` on the reward, the rest on fairness."""
        found: dict[str, float] = {}
        for share, own, reported in (
            (weight, self.trained_reward, self.reward),
            (1.0 - weight, self.trained_fairness, self.fairness),
        ):
            for name, value in (own or reported).items():
                if share:
                    found[name] = found.get(name, 0.0) + share * value
        return found

    def in_box(self, reward: Any, unfairness: Any, terminated: Any = 0.0) -> np.ndarray:
        """Return points in the box: the reference is (0, 0) and the ideal (1, 1).

        An episode that terminates counts as the reference, so that an early end, after which there
        is no unfairness, does not pay.

        Args:
            reward: Mean reward of the episodes that do not terminate; NaN if all do.
            unfairness: Their mean unfairness.
            terminated: Share of episodes that terminate.

        Returns:
            Shape (..., 2).
        """
        (worst, most), (best, least) = self.reference, self.ideal
        x = (np.asarray(reward, np.float64) - worst) / (best - worst)
        y = (most - np.asarray(unfairness, np.float64)) / (most - least)
        ended = np.asarray(terminated, np.float64)[..., None]
        return np.where(ended == 1.0, 0.0, np.stack([x, y], axis=-1) * (1.0 - ended))

    def episode_sums(self) -> dict[str, float]:
        """Return the sums over groups of all components in the default episode, to 6 digits.

        The default episode has the key 0 and the environment's first fixed policy.
        """
        env, params = self.world
        chosen = baseline_of(env, default_baseline(env)) if env.spec.baselines else {}
        policies = fixed_policies(env, chosen or dict.fromkeys(env.agents, "random"))
        episode = jax.jit(lambda key: rollout(env, params, policies, key))(
            jax.random.key(GOLDEN_KEY)
        )
        found = {"length": float(episode.length)}
        for path, leaf in jax.tree_util.tree_leaves_with_path(episode.totals):
            name = jax.tree_util.keystr(path).lstrip(".")
            found[name] = float(f"{float(np.sum(np.asarray(leaf, np.float64))):.6g}")
        return found

    def changes(self) -> list[str]:
        """Return how the default episode differs from the golden one, in words; none if equal."""
        now, then = self.episode_sums(), self.golden
        different = [
            f"{name} is {now.get(name)}, was {then.get(name)}"
            for name in dict.fromkeys([*then, *now])
            if name not in now
            or name not in then
            or abs(now[name] - then[name]) > CLOSE * max(1.0, abs(then[name]))
        ]
        return different


def read_task(path: str | Path) -> Task:
    """Read a task from a file.

    Raises:
        FairgymError: The file cannot be read, or describes no task.
    """
    task = read_definition(Path(path), Task, "task")
    if not FOLDER.samefile(Path(path).parent):
        _check_built(task, path)
    return task


def _check_built(task: Task, path: str | Path) -> None:
    """Raise a FairgymError unless environment, weights and disparity exist."""
    try:
        env, _ = task.world
        for weights in (task.reward, task.fairness, task.objective(0.5)):
            read_objective(env.unwrapped, weights, {})
    except FairgymError as error:
        raise FairgymError(f"{path}: {error}") from error
    if task.disparity and task.disparity not in env.metrics:
        raise FairgymError(f"{path}: {unknown('metric', task.disparity, env.metrics)}")


def task_names() -> list[str]:
    """Return the names of the built-in tasks."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def task_of(name: str) -> Task:
    """Return a built-in task by its name, or the task of a file by its path.

    Raises:
        FairgymError: There is no such task, or the file describes none.
    """
    name = name.removeprefix("fairgym/")
    if Path(name).suffix:
        return read_task(name)
    if name not in task_names():
        raise unknown("task", name, task_names())
    return read_task(FOLDER / f"{name}.toml")
