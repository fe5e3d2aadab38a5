"""Engines by their names."""

import os

from fairgym.core import FairgymError, check_shape
from fairgym.sweeps.engines import Engine, Local, Processes
from fairgym.sweeps.ray_engine import Ray
from fairgym.sweeps.together import TOGETHER, Vmap

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
        raise FairgymError(f"gpus is {gpus}; the engine {name} takes 0, and ray takes others")
    if name == LOCAL:
        if workers not in (None, 1):
            raise FairgymError(f"workers is {workers}; the engine local takes 1")
        return Local()
    if name == PROCESSES:
        return Processes(workers or len(os.sched_getaffinity(0)))
    if name == VMAP:
        return Vmap(workers or TOGETHER)
    if name == RAY:
        return Ray(workers, gpus)
    raise FairgymError(f"engine is {name!r}; it takes one of {', '.join(ENGINES)}")
