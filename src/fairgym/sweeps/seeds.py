"""One configuration with several seeds, and engines by their names."""

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
    """Return the engine of a name, or the one that a number of workers asks for.

    Args:
        workers: Number of runs at a time. If None it is 1; of "processes" the number of processors
            of this machine, of "vmap" 8, of "ray" the number of processors of the cluster.
        name: "local", "vmap", "processes" or "ray"; if empty, "local" for 1 and else "processes".
        gpus: Graphics cards, or the share of one, for each run of "ray".

    Raises:
        FairgymError: An unknown name, a number that the engine does not take, Ray is missing.
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
    """Train the same configuration with several seeds, in `out`/seed-N; compiled once.

    Args:
        config: configuration of the runs; its own seed does not count.
        out: the folder that holds the run folders.
        seeds: the seeds.
        resume: as for `fairgym.train`; finished seeds are passed over.
        overwrite: as for `fairgym.train`.
        workers: number of processes that train, each one run at a time; 1 for this process. The
            results are the same bits.
        show: a run -> a context that yields its progress.
        say: called with a line about what happens besides.

    Returns:
        The finished runs, one for each seed.

    Raises:
        FairgymError: as `fairgym.train`; nothing is trained if one of the folders may not be
            written to. A run that fails keeps no other from being trained; the error comes then.
    """
    engine = engine_of(workers)
    planned = plan_seeds(config, Path(out), seeds, resume=resume, overwrite=overwrite)
    silent = contextlib.nullcontext(lambda done, total, line: None)
    failed = engine.run(planned, show or (lambda one: silent), say)
    if failed:
        raise failure_of(failed, len(planned))
    return loaded({"": planned})[""]
