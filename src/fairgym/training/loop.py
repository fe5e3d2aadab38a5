"""Training: from a configuration to a finished run folder, with checkpoints and resuming."""

import contextlib
import math
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import jax
from jaxtyping import PyTree

from fairgym.algorithms import Algorithm, log_keys
from fairgym.config.plain import objective_text
from fairgym.config.run_config import Job, RunConfig
from fairgym.core import Environment
from fairgym.training.checkpoint import decode, encode
from fairgym.training.devices import keep_programs
from fairgym.training.folder import RunFolder
from fairgym.training.provenance import needed_modules, now, provenance
from fairgym.training.run import Run, initial_state, load
from fairgym.training.stored import Stored
from fairgym.utils import interrupts
from fairgym.utils.files import write_whole

# Called before the first update and after each one, with the number of updates done, the number of
# all updates, and the log of the last one (None before the first).
Progress = Callable[[int, int, Mapping[str, object] | None], None]
# Yields an algorithm and a state, receives the result of `update` for them, and returns the run.
Training = Generator[tuple[Algorithm, Any], tuple[Any, Mapping[str, object]], Run]

_PATIENT = "stopping after this epoch; Ctrl-C again ends it at once"


def train(
    config: RunConfig,
    out: str | Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
    checkpoint_seconds: float = 5.0,
) -> Run:
    """Train a policy, and write a complete run folder.

    An interrupted and resumed run ends with the same bits as an uninterrupted one, on the same
    machine with the same versions. Compiled programs are cached for other processes
    (`fairgym.configure`).

    Args:
        config: Configuration of the run.
        out: Run folder; created if absent.
        resume: Whether to continue the run in `out`, or begin it if there is none yet. A
            configuration that differs only in training for longer (a larger `epochs`) extends the
            run, finished or not, to the same result as training for longer from the start. The old
            run is kept until the longer one is finished.
        overwrite: Whether to replace the run in `out`. The old run is kept until the new one is
            finished; an interrupted new run is continued with `resume`.
        progress: Called before the first update and after each one.
        checkpoint_seconds: Least time between two checkpoints, which are written after an update.
            A checkpoint is also written at the end, and when Ctrl-C interrupts training.

    Raises:
        FairgymError: The configuration is wrong, the folder cannot be written to, or the disk is
            full. An existing run stays as it was.
    """
    steps = training(
        config,
        out,
        resume=resume,
        overwrite=overwrite,
        progress=progress,
        checkpoint_seconds=checkpoint_seconds,
    )
    try:
        algorithm, state = next(steps)
        while True:
            try:
                updated = algorithm.update(state)
            except BaseException as error:
                steps.throw(error)  # saves a checkpoint, and raises the error again
                raise
            algorithm, state = steps.send(updated)
    except StopIteration as end:
        return end.value


def training(
    config: RunConfig,
    out: str | Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
    checkpoint_seconds: float = 5.0,
) -> Training:
    """Train as a coroutine whose caller computes the updates, such as those of many runs at once.

    Arguments are those of `train`.

    Yields:
        The algorithm and a training state. It expects to be sent the result of
        `algorithm.update(state)`; an error in the update must be thrown into it.

    Returns:
        The finished run.

    Raises:
        FairgymError: As `train`.
    """
    job = config.build()
    keep_programs()
    folder = RunFolder(out)
    folder.admit(job.config, job.env, resume=resume, overwrite=overwrite)
    if resume and folder.finished and not folder.is_extended_by(job.config):
        folder.check_policy(job.config)
        return load(out)
    start = initial_state(job)
    with folder.held():
        folder.settle()
        folder.admit(job.config, job.env, resume=resume, overwrite=overwrite)
        extended = resume and folder.is_extended_by(job.config)
        replaced = extended or (overwrite and folder.config.exists())
        target = folder.replacement if replaced else folder.current
        if not (resume and target.read_summary()):
            with contextlib.nullcontext() if target is folder else target.held():
                if overwrite:
                    target.clear()
                if extended:
                    _begin_longer(folder, target, start, job.config)
                elif overwrite or not target.config.exists():
                    origin, imports = provenance(job), needed_modules(job.config)
                    target.write_config(Stored(job.config, job.env.spec.version, origin, imports))
                with interrupts.patiently(_PATIENT):
                    yield from _updates(job, target, start, progress, checkpoint_seconds)
            folder.settle()
    return load(out)


def _begin_longer(run: RunFolder, target: RunFolder, start: PyTree, config: RunConfig) -> None:
    """Begin a longer run in `target` from the training of `run`.

    config.json, which makes the folder a run, is written last.
    """
    begun = run.read_config()
    lines = run.read_metrics()
    target.clear()
    latest = run.checkpoints.latest(start, len(lines), begun.config.as_json())
    if latest is not None:
        state, epoch = latest
        target.write_metrics(lines[:epoch])
        target.checkpoints.save(epoch, state, config.as_json())
    target.write_config(begun._replace(config=config))


def _updates(
    job: Job, folder: RunFolder, start: PyTree, progress: Progress | None, checkpoint_seconds: float
) -> Generator[tuple[Algorithm, Any], tuple[Any, Mapping[str, object]], None]:
    """Train from the last checkpoint to the end."""
    folder.clean()
    algorithm, epochs = job.algorithm, job.algorithm.num_updates
    checkpoints = folder.checkpoints
    config = job.config.as_json()
    latest = checkpoints.latest(start, len(folder.read_metrics()), config)
    if latest is None:
        # Encoded and decoded, so that a resumed run does not differ even in weak types.
        latest = decode(encode(start), start, folder.path)[0], 0
    state, epoch = latest
    lines = folder.cut_metrics(epoch)
    before = lines[-1]["wall_time_s"] if lines else 0.0
    began = saved = time.perf_counter()
    if progress is not None:
        progress(epoch, epochs, None)
    kept, ended = epoch, began
    try:
        while epoch < epochs:
            after, log = yield algorithm, state
            line = {"epoch": epoch + 1, **_numbers(job.env, log)}
            line["wall_time_s"] = round(before + time.perf_counter() - began, 3)
            steps, lasted = line.get(log_keys.ENVIRONMENT_STEPS), time.perf_counter() - ended
            if steps is not None:
                line[log_keys.STEPS_A_SECOND] = round(steps / lasted, 1)
            folder.append_metrics(line)
            ended = time.perf_counter()
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
    checkpoints.keep_only(epoch)
    folder.write_summary(_summary(job, lines, folder.read_config().provenance.get("started", "")))


def _summary(job: Job, lines: list[dict[str, Any]], started: str) -> dict[str, Any]:
    """Summary of the result; for equal runs equal except for the last three entries."""
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
        "gaps": log_keys.gaps_in(last),
        "actions": {f"{a}/{element}": x for (a, element), x in log_keys.actions_in(last).items()},
        "survived": last.get(log_keys.SURVIVED),
        "started": started,
        "finished": now(),
        "wall_time_s": last.get("wall_time_s"),
    }


def _numbers(env: Environment, log: Mapping[str, object]) -> dict[str, float | None]:
    """Return a log as JSON numbers, objective and metrics first; not finite ones are null."""
    values = {name: float(value) for name, value in jax.device_get(dict(log)).items()}
    first = [log_keys.OBJECTIVE, *map(log_keys.metric, (*env.metrics, *env.spec.schemes))]
    order = [name for name in first if name in values]
    order += [name for name in values if name not in order]
    return {name: values[name] if math.isfinite(values[name]) else None for name in order}
