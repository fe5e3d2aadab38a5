"""Training: from a configuration to a finished run folder, whatever happens in between."""

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import jax

from fairgym.core import Environment, FairgymError, Params, Policy, interrupts, log_keys
from fairgym.core.files import write_whole
from fairgym.fairness import Metric, Objective
from fairgym.fairness.plain import objective_text, read_metrics, with_metrics
from fairgym.training.checkpoint import decode, encode
from fairgym.training.config import Job, RunConfig
from fairgym.training.devices import keep_programs
from fairgym.training.folder import RunFolder, run_folders, seed_folder
from fairgym.training.provenance import needed_modules, now, provenance
from fairgym.training.stored import Stored

# Called before the first update and after each one, with the updates done, the updates in all, and
# the log of this one (None before the first).
Progress = Callable[[int, int, Mapping[str, Any] | None], None]


@dataclasses.dataclass(frozen=True)
class Run:
    """A run folder, read back; its parts are made when they are first asked for.

    Attributes:
        folder: the run folder.
        config: the complete configuration.
        environment_version: version of the environment that it began in.
        provenance: versions, device, commit and data that it was made with.
        further_metrics: metrics to measure it by, beside those of its environment and objective.
    """

    folder: Path
    config: RunConfig
    environment_version: int
    provenance: Mapping[str, Any]
    further_metrics: Mapping[str, Metric] = dataclasses.field(default_factory=dict)

    @cached_property
    def job(self) -> Job:
        """The objects that the configuration describes."""
        return self.config.build()

    @cached_property
    def env(self) -> Environment:
        """The environment, with the metrics that the objective brought along."""
        return with_metrics(self.job.env, self.further_metrics)

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
    def policies(self) -> dict[str, Policy]:
        """Agent -> learned or fixed policy; of an unfinished run those of the last checkpoint.

        Raises:
            FairgymError: there is none yet, policy.eqx is damaged, or it was made with another
                configuration than that of config.json.
        """
        folder = RunFolder(self.folder)
        state = _initial_state(self.job)
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


def load(folder: str | Path) -> Run:
    """Read a run back, and import the modules that registered its environment and algorithm.

    Args:
        folder: a run folder, finished or not.

    Raises:
        FairgymError: it is not the folder of a run, cannot be read, or needs a module that cannot
            be imported here.
    """
    stored = RunFolder(folder).read_config()
    return Run(Path(folder), stored.config, stored.environment_version, stored.provenance)


def load_runs(folders: Sequence[str | Path]) -> list[Run]:
    """Read several runs back; a folder of seeds stands for the runs in it.

    A metric that the objective of one of them brought along measures all in that environment.

    Raises:
        FairgymError: no folder is given, or one that is no run; two runs in one environment have
            different metrics of one name.
    """
    if not folders:
        raise FairgymError("no run folder is given; it takes one or more, such as runs/x")
    runs = [load(path) for folder in folders for path in run_folders(folder)]
    return [dataclasses.replace(run, further_metrics=_metrics_of(run, runs)) for run in runs]


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


def train(
    config: RunConfig,
    out: str | Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
    checkpoint_seconds: float = 5.0,
) -> Run:
    """Train, and leave a complete run folder.

    A run that was cut off at any moment ends with the same bits when it is resumed as one that
    was not, on the same machine with the same versions. Compiled programs are kept for other
    processes (`fairgym.configure`).

    Args:
        config: configuration of the run.
        out: the run folder; made if absent.
        resume: continue the run in `out` (or begin it, if there is none yet).
        overwrite: replace the run in `out`, which stays as it is until the new one is finished; a
            new one that is cut off is continued by `resume`.
        progress: called before the first update and after each one.
        checkpoint_seconds: a checkpoint is written after the first update that ends this
            long after the last one, at the end, and when interrupted by Ctrl-C.

    Raises:
        FairgymError: bad configuration, a folder that may not be written to, a full disk. What
            was there before is as it was.
    """
    job = config.build()
    keep_programs()
    folder = RunFolder(out)
    folder.admit(job.config, job.env, resume=resume, overwrite=overwrite)
    if resume and folder.finished:
        folder.check_policy(job.config)
        return load(out)
    start = _initial_state(job)
    with folder.held():
        folder.settle()
        folder.admit(job.config, job.env, resume=resume, overwrite=overwrite)
        replaced = overwrite and folder.config.exists()
        target = folder.replacement if replaced else folder.current
        if not (resume and target.read_summary()):
            with contextlib.nullcontext() if target is folder else target.held():
                if overwrite:
                    target.clear()
                if overwrite or not target.config.exists():
                    origin, imports = provenance(job), needed_modules(job.config)
                    target.write_config(Stored(job.config, job.env.version, origin, imports))
                _train(job, target, start, progress, checkpoint_seconds)
            folder.settle()
    return load(out)


def train_seeds(
    config: RunConfig,
    out: str | Path,
    seeds: Sequence[int],
    *,
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[int], contextlib.AbstractContextManager[Progress]] | None = None,
    checkpoint_seconds: float = 5.0,
) -> list[Run]:
    """Train the same configuration with several seeds, in `out`/seed-N; compiled once.

    Args:
        config: configuration of the runs; its own seed does not count.
        out: the folder that holds the run folders.
        seeds: the seeds.
        resume: as for `train`; finished seeds are passed over.
        overwrite: as for `train`.
        progress: seed -> context that yields what `train` takes.
        checkpoint_seconds: as for `train`.

    Raises:
        FairgymError: as `train`; nothing is trained if one of the folders may not be written to.
    """
    if RunFolder(out).kind() == "run":
        raise FairgymError(f"{out} is itself the folder of a run; several seeds take another one")
    configs = [dataclasses.replace(config, seed=seed) for seed in seeds]
    folders = [seed_folder(out, seed) for seed in seeds]
    for one, folder in zip(configs, folders, strict=True):
        job = one.build()
        RunFolder(folder).admit(job.config, job.env, resume=resume, overwrite=overwrite)
    runs = []
    for one, folder in zip(configs, folders, strict=True):
        with contextlib.nullcontext() if progress is None else progress(one.seed) as shown:
            runs.append(
                train(
                    one,
                    folder,
                    resume=resume,
                    overwrite=overwrite,
                    progress=shown,
                    checkpoint_seconds=checkpoint_seconds,
                )
            )
    return runs


def _initial_state(job: Job) -> Any:
    """The state before the first update."""
    return job.algorithm.init(
        jax.random.key(job.config.seed),
        job.env,
        job.objective,
        params=job.params,
        fixed=job.fixed,
    )


@interrupts.patiently("stopping after this epoch; Ctrl-C again ends it at once")
def _train(
    job: Job, folder: RunFolder, start: Any, progress: Progress | None, checkpoint_seconds: float
) -> None:
    """From the last checkpoint to the end."""
    folder.clean()
    algorithm, epochs = job.algorithm, job.algorithm.num_updates
    checkpoints = folder.checkpoints
    config = job.config.as_json()
    latest = checkpoints.latest(start, len(folder.read_metrics()), config)
    if latest is None:
        # Read back too: a resumed run must not differ in anything, not even in weak types.
        latest = decode(encode(start), start, folder.path)[0], 0
    state, epoch = latest
    lines = folder.cut_metrics(epoch)
    before = lines[-1]["wall_time_s"] if lines else 0.0
    began = saved = time.perf_counter()
    if progress is not None:
        progress(epoch, epochs, None)
    kept = epoch
    try:
        while epoch < epochs:
            after, log = algorithm.update(state)
            line = {"epoch": epoch + 1, **_numbers(job.env, log)}
            line["wall_time_s"] = round(before + time.perf_counter() - began, 3)
            folder.append_metrics(line)
            state, epoch = after, epoch + 1
            lines.append(line)
            if epoch == epochs or time.perf_counter() - saved >= checkpoint_seconds:
                checkpoints.save(epoch, state, config)
                kept, saved = epoch, time.perf_counter()
            if progress is not None:
                progress(epoch, epochs, line)
            if epoch < epochs:
                interrupts.look()
    except KeyboardInterrupt:
        if kept < epoch:
            checkpoints.save(epoch, state, config)
        raise
    write_whole(folder.policy, encode(algorithm.policies(state), config=config))
    folder.write_summary(_summary(job, lines, folder.read_config().provenance.get("started", "")))


def _summary(job: Job, lines: list[dict[str, Any]], started: str) -> dict[str, Any]:
    """The result in short; equal for equal runs but for the last three entries."""
    last = lines[-1] if lines else {}
    config = job.config
    scores = [line.get(log_keys.OBJECTIVE) for line in lines]
    return {
        "environment": config.environment,
        "algorithm": config.algorithm,
        "objective_name": objective_text(config.objective),
        "seed": config.seed,
        "epochs": len(lines),
        "objective": last.get(log_keys.OBJECTIVE),
        "best_objective": max((score for score in scores if score is not None), default=None),
        "metrics": log_keys.metrics_in(last),
        "actions": {f"{a}/{element}": x for (a, element), x in log_keys.actions_in(last).items()},
        "survived": last.get(log_keys.SURVIVED),
        "started": started,
        "finished": now(),
        "wall_time_s": last.get("wall_time_s"),
    }


def _numbers(env: Environment, log: Mapping[str, Any]) -> dict[str, float | None]:
    """A log as JSON numbers, objective and metrics first; what is not finite becomes null."""
    values = {name: float(value) for name, value in jax.device_get(dict(log)).items()}
    first = [log_keys.OBJECTIVE, *(log_keys.metric(name) for name in env.metrics)]
    order = [name for name in first if name in values]
    order += [name for name in values if name not in order]
    return {name: values[name] if math.isfinite(values[name]) else None for name in order}
