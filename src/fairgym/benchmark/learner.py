"""Learners of the benchmark: how each trades reward for fairness, and what is tuned."""

import dataclasses
import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairgym.algorithms import algorithms
from fairgym.benchmark.reading import fingerprint_of, read_definition
from fairgym.benchmark.store import Row
from fairgym.benchmark.task import Task
from fairgym.config.run_config import RunConfig
from fairgym.config.settings import algorithm_settings
from fairgym.core import FairgymError
from fairgym.training.run import initial_state
from fairgym.utils.changes import unknown
from fairgym.utils.plugins import load_object

FOLDER = Path(__file__).parent / "learners"
WEIGHTS = (0.1, 0.5, 0.9)  # of the reward in the objective, unless a learner says otherwise
_SPACE = ("values", "low", "high", "log", "whole", "factor")


@dataclasses.dataclass(frozen=True)
class Learner:
    """A learner.

    Attributes:
        name: Name in tables.
        title: Name in figures and text.
        algorithm: Name of the algorithm, or "module:Class" of one that the module registers.
        levels: Trade-offs to train, in order from fair to rewarding. A level is the weight of the
            reward in the objective; or, with `scales`, a factor of these hyperparameters.
        scales: Hyperparameters that a level multiplies. The objective is then the reward alone,
            since the algorithm has fairness terms of its own.
        family: Family whose hyperparameters a task may set (`Task.family`).
        sampled: Whether its policies are action distributions, whose options are sampled as in
            training, instead of the most likely ones.
        memory: Memory to observe instead of the task's; "none" for none.
        timed: Hyperparameters that count updates; a run on a share of the budget has that share of
            them.
        settings: Hyperparameters on all tasks.
        published: Published hyperparameters by environment, where it does not declare them itself,
            and by task, where a variant has its own; the algorithm's defaults elsewhere.
        space: Hyperparameters that are tuned: name -> `values`; or `low` and `high` with `log` and
            `whole`; or `factor`, the smallest and largest multiple of the published value.
    """

    name: str
    title: str
    algorithm: str
    levels: tuple[float, ...] = WEIGHTS
    scales: tuple[str, ...] = ()
    family: str = ""
    sampled: bool = False
    memory: str = ""
    timed: tuple[str, ...] = ()
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    published: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    space: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check levels and space."""
        if not self.levels or min(self.levels) < 0.0:
            raise FairgymError(f"levels must be numbers from 0, got {list(self.levels)}")
        if not self.scales and max(self.levels) > 1.0:
            raise FairgymError(
                f"levels must be weights from 0 to 1 without scales, got {list(self.levels)}"
            )
        for name, span in self.space.items():
            for key in span:
                if key not in _SPACE:
                    raise unknown("key", key, _SPACE, "a space takes", f" of {name!r}")

    @property
    def middle(self) -> float:
        """The level at which settings are tuned."""
        return self.levels[len(self.levels) // 2]

    def hyperparameters(
        self, task: Task, setting: Mapping[str, Any] | None = None, level: float = 1.0
    ) -> dict[str, Any]:
        """Return the hyperparameters in a task that differ from the algorithm's defaults.

        Later ones win: the task's, those of the family, the learner's own, the published ones, the
        setting that is tried. Those that the environment declares
        (`EnvironmentSpec.hyperparameters`) are defaults.

        Args:
            task: The task.
            setting: Tuned hyperparameters; None for the published ones.
            level: The level.
        """
        known = self._defaults(task)
        published = {
            **self.published.get(task.environment, {}),
            **self.published.get(task.name, {}),
        }
        for source in (self.settings, published, setting or {}):
            for name in source:
                if name not in known:
                    raise unknown("hyperparameter", name, known, "it has", f" of {self.algorithm}")
        general = {**task.settings, **task.family.get(self.family, {})}
        found = {name: value for name, value in general.items() if name in known}
        found |= {**self.settings, **published, **(setting or {})}
        for name in self.scales:
            found[name] = level * found.get(name, known[name])
        return found

    def fingerprint_in(self, task: Task) -> str:
        """Hash of how it is tuned and trained in a task; results of others do not count.

        "" for a learner of which only results are known: its algorithm is not registered here.
        """
        if self.algorithm not in algorithms:
            return ""
        own = ("algorithm", "levels", "scales", "sampled", "memory", "timed", "space")
        content = {name: getattr(self, name) for name in own}
        complete = {**self._defaults(task), **self.hyperparameters(task)}
        return fingerprint_of({**content, "hyperparameters": complete})

    def rows_in(self, task: Task, rows: Sequence[Row]) -> list[Row]:
        """Return its rows in a task, with the present definitions of both."""
        wanted = (task.name, task.fingerprint, self.name)
        found = [
            row for row in rows if (row["task"], row["fingerprint"], row["algorithm"]) == wanted
        ]
        own = self.fingerprint_in(task)
        if not own and found:  # the newest definition counts
            own = max(found, key=lambda row: row["finished"])["learner_fingerprint"]
        return [row for row in found if row["learner_fingerprint"] == own]

    def _defaults(self, task: Task) -> dict[str, Any]:
        """Return the defaults of the hyperparameters in a task's environment."""
        env, _ = task.world
        return {one.name: one.default for one in algorithm_settings(self.algorithm, env)}

    def config(
        self, task: Task, setting: Mapping[str, Any] | None, level: float, share: float
    ) -> RunConfig:
        """Return the configuration of a run, as long as the task's budget allows.

        Args:
            task: The task.
            setting: Tuned hyperparameters; None for the published ones.
            level: The level.
            share: Share of the budget of environment steps.

        Raises:
            FairgymError: The algorithm does not fit, or its length cannot be set.
        """
        base, known = task.base, self._defaults(task) if self.timed else {}
        found = self.hyperparameters(task, setting, level)
        found |= {name: round(share * found.get(name, known[name])) for name in self.timed}
        config = dataclasses.replace(
            base,
            algorithm=self.algorithm,
            algorithm_args=found,
            objective={"weights": task.objective(1.0 if self.scales else level)},
            memory=base.memory if not self.memory else self.memory.removesuffix("none"),
        )
        return self._long_enough(config, share * task.steps)

    def _long_enough(self, config: RunConfig, steps: float) -> RunConfig:
        """Return the configuration with the number of epochs that is nearest to so many steps."""
        job = config.build()
        name = job.algorithm.extended_by or "epochs"
        if name not in {one.name for one in algorithm_settings(self.algorithm)}:
            return config  # such as a search of fixed length
        each = steps_per_update(job.algorithm, job.env)
        if not each:
            raise FairgymError(
                f"{self.algorithm} must have a method steps_per_update(env), the environment steps"
                f" of an update, so that its {name} can follow from a task's budget"
            )
        now = int(getattr(job.algorithm, name))
        longer = max(1, round(steps / each * now / job.algorithm.num_updates))
        return dataclasses.replace(config, algorithm_args={**config.algorithm_args, name: longer})

    def refusal(self, task: Task) -> str:
        """Return why the algorithm cannot train in a task, as `train` says it; "" if it can."""
        try:
            initial_state(self.config(task, None, self.middle, 0.0).build())
        except FairgymError as error:
            return str(error)
        return ""

    def tried(self, task: Task, number: int) -> list[dict[str, Any]]:
        """Return the settings to try: the published one (empty), and random ones.

        They depend on the names of task and learner and on nothing else, so more settings begin
        with fewer.

        Args:
            task: The task.
            number: Number of settings; 1 if there is nothing to tune.
        """
        if not self.space:
            return [{}]
        digest = hashlib.sha256(f"{task.name} {self.name}".encode()).digest()
        rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
        known = self._defaults(task) | self.hyperparameters(task)
        return [{}] + [
            {name: _drawn(rng, span, known.get(name)) for name, span in self.space.items()}
            for _ in range(number - 1)
        ]


def _drawn(rng: np.random.Generator, span: Mapping[str, Any], published: Any) -> Any:
    """Return a random value of a hyperparameter, numbers to three digits."""
    if "values" in span:
        return span["values"][rng.integers(len(span["values"]))]
    low, high = span["factor"] if "factor" in span else (span["low"], span["high"])
    if span.get("log") or "factor" in span:
        value = math.exp(rng.uniform(math.log(low), math.log(high)))
    else:
        value = rng.uniform(low, high)
    if "factor" in span:
        value *= published
    return round(value) if span.get("whole") else float(f"{value:.3g}")


def steps_per_update(algorithm: Any, env: Any) -> int:
    """Return the environment steps of an update; 0 if the algorithm does not say."""
    method = getattr(algorithm, "steps_per_update", None)
    return 0 if method is None else int(method(env))


def learner_names() -> list[str]:
    """Return the names of the built-in learners."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def learner_of(name: str) -> Learner:
    """Return a built-in learner by its name, or one from outside.

    Args:
        name: Name of a built-in learner or of a registered algorithm; "module:Class"; or the path
            of a file that describes a learner.

    Raises:
        FairgymError: There is no such learner, or the class is not registered as an algorithm.
    """
    if name in learner_names():
        return read_definition(FOLDER / f"{name}.toml", Learner, "learner")
    if Path(name).suffix in (".toml", ".yaml", ".yml", ".json"):
        found = read_definition(Path(name), Learner, "learner")
        return dataclasses.replace(found, algorithm=_registered(found.algorithm))
    if ":" in name or name in algorithms:
        algorithm = _registered(name)
        known = algorithm in learner_names()  # such as "fairgym.algorithms.ppo:Ppo"
        return learner_of(algorithm) if known else Learner(algorithm, algorithm, algorithm)
    raise unknown("algorithm", name, learner_names())


def _registered(name: str) -> str:
    """Return the name under which an algorithm is registered."""
    if ":" not in name:
        algorithms.get(name)
        return name
    cls = load_object(name)
    found = algorithms.name_of(cls)
    if found is None:
        raise FairgymError(
            f"{name} must be registered as an algorithm, by the decorator"
            " fairgym.algorithms.algorithms.register(NAME)"
        )
    return found
