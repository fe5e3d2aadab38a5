"""Measure the seconds of a sweep with each engine: 64 loan runs with different parameters.

    python benchmarks/sweep_speed.py [--runs 64] [--episodes 20] [--engines one-core processes]

All runs share one program, which is compiled before the first measurement, like a program cached
on disk by an earlier sweep. The engine vmap has another program, whose compilation is included.
Every engine trains the whole sweep into its own folder, including the start of worker processes.
Two more ways train one run after another on a single device: one-core has a single core, one-device
has all cores. The engine local spreads the episodes of a run over one device per core.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from fairgym.config import sweep_of
from fairgym.sweeps import engine_of, entries_of, run_sweep
from fairgym.training import devices

POPULATION, EPOCHS = 500, 10
ALONE = {"one-core": 1, "one-device": None}  # number of cores


def quietly(one: Any) -> Any:
    """Return a context without progress."""
    return contextlib.nullcontext(lambda done, total, line: None)


def seconds(engine: str, workers: int | None, sweep: Any, out: Path) -> float:
    """Return the wall time of a whole sweep."""
    entries = entries_of(sweep, out)
    began = time.perf_counter()
    failed = run_sweep(entries, out, engine_of(workers, engine), quietly, print)
    took = time.perf_counter() - began
    assert not failed and all(entry.run.finished for entry in entries)
    return took


def alone(cores: int | None, runs: int, episodes: int) -> float:
    """Return the wall time of one run after another on a single device, in a new process."""
    command = [sys.executable, __file__, "--engines", "local"]
    command += ["--runs", str(runs), "--episodes", str(episodes)]
    command += [] if cores is None else ["--cores", str(cores)]
    environment = {**os.environ, "JAX_NUM_CPU_DEVICES": "1"}
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(output.stdout.splitlines()[-1].split()[1])


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--episodes", type=int, default=20, help="per epoch")
    engines = [*ALONE, "local", "processes", "vmap"]
    parser.add_argument("--engines", nargs="+", choices=engines, default=engines)
    parser.add_argument("--cores", type=int, help="CPU cores to use; all by default")
    words = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: words.cores])
    devices.configure()
    base = {
        "environment": "loan",
        "population": POPULATION,
        "epochs": EPOCHS,
        "episodes_per_epoch": words.episodes,
        "objective": "uniform",
    }
    rates = np.linspace(0.01, 0.06, words.runs).round(6).tolist()
    sweep = sweep_of({"base": base, "grid": {"deposit_rate": rates}})
    short = sweep_of({"base": base, "grid": {"deposit_rate": rates[:1]}})
    cores = len(os.sched_getaffinity(0))
    print(f"{words.runs} runs of loan, {POPULATION} people, {EPOCHS} epochs of {words.episodes}")
    print(f"episodes; {cores} cores")
    with tempfile.TemporaryDirectory() as place:
        seconds("local", None, short, Path(place) / "compiled")
        first = 0.0
        for engine in words.engines:
            if engine in ALONE:
                took = alone(ALONE[engine], words.runs, words.episodes)
            else:
                took = seconds(engine, None, sweep, Path(place) / engine)
            first = first or took
            print(f"{engine.ljust(10)} {took:7.1f} s   {first / took:5.2f} times", flush=True)


if __name__ == "__main__":
    main()
