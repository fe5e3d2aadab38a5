"""Estimate of the time that a sweep takes, from two epochs of one of its runs."""

import dataclasses
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairgym.cli.printing import plain


def say_time(entries: Sequence[Any], engine: Any) -> None:
    """Time the first run that is not finished, in a folder that goes, and tell of all of them."""
    waiting = [entry for entry in entries if not entry.run.finished]
    if not waiting:
        print("nothing is left to train")
        return
    config = waiting[0].run.config
    algorithm = config.build().algorithm
    if not algorithm.extended_by:
        print(f"{len(waiting)} runs to train; {config.algorithm} has no epochs to time")
        return
    first, epoch, busy = _timed(config, algorithm.extended_by)
    compiling = max(0.0, first - epoch)
    left = sum(max(0, algorithm.num_updates - entry.epochs) for entry in waiting)
    programs = len({entry.run.program for entry in waiting})
    workers, gain, assumed = _gain(engine, len(waiting), busy)
    seconds = compiling * programs / min(workers, programs) + left * epoch / gain
    length = f"{seconds / 60:,.0f} minutes" if seconds > 120 else f"{seconds:,.0f} seconds"
    print(f"{len(waiting)} runs to train: about {length} {assumed}")
    print(
        f"assumed: every epoch takes {epoch:.2f} s and {busy:.1f} processors, and each of"
        f" {programs} programs {compiling:.0f} s to compile, as with {plain(waiting[0].run.label)}"
    )


def _timed(config: Any, epochs: str) -> tuple[float, float, float]:
    """Seconds of the first epoch and of the second, and processors that the second keeps busy."""
    from fairgym.training import devices
    from fairgym.training.loop import train

    short = dataclasses.replace(config, algorithm_args={**config.algorithm_args, epochs: 2})
    clocks = [(time.perf_counter(), time.process_time())]

    def progress(done: int, total: int, line: Any) -> None:
        clocks.append((time.perf_counter(), time.process_time()))

    with tempfile.TemporaryDirectory() as folder:
        train(short, Path(folder) / "run", progress=progress)
    (began, _), *_, (first, work), (second, all_work) = clocks
    epoch = max(1e-6, second - first)
    busy = min(max(1.0, (all_work - work) / epoch), float(devices.cores()))
    return first - began, epoch, busy


def _gain(engine: Any, runs: int, busy: float) -> tuple[int, float, str]:
    """Runs at a time, how many times faster they are than one after another, and in words.

    Args:
        engine: What would train.
        runs: Number of runs that are left.
        busy: Processors that one run keeps busy: a run that takes all of a machine leaves none to
            other workers there.
    """
    from fairgym.sweeps import Processes, Ray, Vmap
    from fairgym.training import devices

    cores = devices.cores()
    if isinstance(engine, Processes):
        workers = min(engine.workers, runs)
        words = f"in {workers} processes that share {cores} processors"
        return workers, min(float(workers), max(1.0, cores / busy)), words
    if isinstance(engine, Ray):
        workers = min(engine.workers or cores, runs)
        words = f"on a cluster of {workers} processors like those of this machine"
        return workers, max(1.0, workers / busy), words
    if isinstance(engine, Vmap):
        return 1, 1.0, "if vmap is as fast as one after another"
    return 1, 1.0, "one after another"
