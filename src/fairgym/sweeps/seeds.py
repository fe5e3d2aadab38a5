"""Training of one configuration with several seeds, and engines by name."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from fairgym.config.run_config import RunConfig
from fairgym.core import FairgymError, check_shape
from fairgym.sweeps.engines import Local, Processes, failure_of
from fairgym.sweeps.plan import Engine, Show, loaded, plan_seeds
from fairgym.sweeps.ray_engine import Ray
from fairgym.sweeps.together import TOGETHER, Vmap
from fairgym.training.devices import cores
from fairgym.training.run import Run

ENGINES = LOCAL, VMAP, PROCESSES, RAY = "local", "vmap", "processes", "ray"
MOST_WORKERS = 256


def engine_of(workers: int | None = None, name: str = "", gpus: float = 0.0) -> Engine:
    """Return an engine by its name, or by the number of workers.

    Args:
        workers: Number of runs at a time. The default is 1 for "local", 8 for "vmap", the CPUs of
            this machine for "processes", and the CPUs of the cluster for "ray".
        name: "local", "vmap", "processes" or "ray". The default is "local" for one worker and
            "processes" for several.
        gpus: GPUs, or share of one, for each run of "ray".

    Raises:
        FairgymError: The name is unknown, the engine does not accept the number of workers or
            GPUs, or Ray is not installed.
    """
    if workers is not None:
        workers = check_shape("workers", workers, 1, MOST_WORKERS)
    name = name or (LOCAL if workers in (None, 1) else PROCESSES)
    if gpus and name != RAY:
        raise FairgymError(f"gpus must be 0 for the engine {name} (only ray uses them), got {gpus}")
    if name == LOCAL:
        if workers not in (None, 1):
            raise FairgymError(f"workers must be 1 for the engine local, got {workers}")
        return Local()
    if name == PROCESSES:
        return Processes(workers or cores())
    if name == VMAP:
        return Vmap(workers or TOGETHER)
    if name == RAY:
        return Ray(workers, gpus)
    raise FairgymError(f"engine must be one of {', '.join(ENGINES)}, got {name!r}")


def train_seeds(
    config: RunConfig,
    out: str | Path,
    seeds: Sequence[int],
    *,
    resume: bool = False,
    overwrite: bool = False,
    workers: int = 1,
    show: Show | None = None,
    say: Callable[[str], None] = print,
) -> list[Run]:
    """Train one configuration with several seeds in `out`/seed-N, compiling once.

    Args:
        config: Configuration of the runs; its seed is ignored.
        out: Folder for the run folders.
        seeds: Seeds of the runs.
        resume: As for `fairgym.train`; finished seeds are skipped.
        overwrite: As for `fairgym.train`.
        workers: Number of processes, each of which trains one run at a time; 1 trains in this
            process. The results are the same bits.
        show: Run -> context that yields its progress.
        say: Called with further messages, a line each.

    Returns:
        The finished runs, one per seed.

    Raises:
        FairgymError: As `fairgym.train`. Nothing is trained if a folder cannot be written to. If a
            run fails, the others are trained before the error is raised.
    """
    engine = engine_of(workers)
    planned = plan_seeds(config, Path(out), seeds, resume=resume, overwrite=overwrite)
    silent = contextlib.nullcontext(lambda done, total, line: None)
    failed = engine.run(planned, show or (lambda one: silent), say)
    if failed:
        with contextlib.suppress(OSError):
            Path(out).rmdir()  # nothing was trained
        raise failure_of(failed, len(planned))
    return loaded({"": planned})[""]
