"""Estimate how long all results at paper scale take on this machine, from samples of their runs.

Run `JAX_NUM_CPU_DEVICES=1 taskset -c 0 python benchmarks/whole_set.py --draws 110` (four hours on
one core). It trains one run, drawn at random, of each combination of experiment, environment,
number of people and learner. Its updates count for every run of the combination, and what its first
update took longer for every program; that is too little where another run of the sample shares the
program.

With `--draws` it then trains a second sample, in which the chance of a run is proportional to its
time by the first. The time of the set is scaled by the mean ratio of the times in the second sample
to those by the first, and has a 95% interval.

Two things are not in the sums: measuring and plotting, whose times are on the pages, and runs that
are planned only once others are finished, of which there are few.
"""

import argparse
import itertools
import random
import statistics
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy import stats

from fairgym.experiments._base import experiments
from fairgym.experiments._markdown import training_time
from fairgym.sweeps import Planned, engine_of, plan
from fairgym.training.progress import shown_together
from fairgym.training.run import load

# No page at paper scale comes from them.
LEFT_OUT = ("fairqcm-tuning", "fppo-authors", "mafe-ablations")


def strata(names: list[str], scale: str, out: Path) -> list[list[Planned]]:
    """Return the distinct runs, by experiment, environment, number of people and learner."""
    found: dict[tuple[object, ...], list[Planned]] = defaultdict(list)
    seen: set[Path] = set()
    for name in names:
        experiment = experiments.get(name)()
        size = experiment.size(scale, None)
        grid = experiment.grid(size)
        seeds = {key: experiment.seeds_of(key, size) for key in grid}
        for one in itertools.chain.from_iterable(plan(grid, seeds, out).values()):
            if one.folder not in seen:
                seen.add(one.folder)
                people = one.config.environment_args.get("population")
                found[name, one.config.environment, people, one.config.algorithm].append(one)
    return list(found.values())


def hours(runs: list[Planned], trained: Planned) -> tuple[float, float]:
    """Return the hours of the updates of runs, and of compiling their programs, from one run."""
    run = load(trained.folder)
    epochs = np.diff([line["wall_time_s"] for line in run.metrics], prepend=0.0)
    first = max(0.0, epochs[0] - statistics.median(epochs))
    programs = len({one.program for one in runs})
    return len(runs) * training_time(run) / 3600, programs * first / 3600


def at_equal_distances(sizes: np.ndarray, draws: int, start: float) -> list[int]:
    """Return numbers of runs, drawn with chances proportional to their sizes (systematic sampling).

    Args:
        sizes: Sizes of the runs, in an order in which neighbours are alike.
        draws: How many are drawn; a large one may be drawn twice.
        start: The first place, as a share of the distance between places, in [0, 1).
    """
    ends = np.cumsum(sizes)
    places = (start + np.arange(draws)) * ends[-1] / draws
    found = np.searchsorted(ends, places, side="right")
    return np.minimum(found, len(sizes) - 1).tolist()  # the last place may be rounded up


def scaled(total: float, ratios: np.ndarray) -> tuple[float, float]:
    """Return the total times the mean ratio, and half of its 95% interval.

    The standard error is that of successive differences, since neighbours are alike.
    """
    n = len(ratios)
    error = float(np.sqrt(np.sum(np.diff(ratios) ** 2) / (2 * (n - 1) * n)))
    return total * float(np.mean(ratios)), total * error * float(stats.t.ppf(0.975, n - 1))


def train(runs: list[Planned], workers: int) -> None:
    """Train these runs, except those that are finished."""
    with shown_together() as shown:
        failed = engine_of(workers).run(runs, lambda one: shown(one.label), print)
    if failed:
        raise SystemExit(f"{len(failed)} runs failed")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="names of experiments; by default all")
    parser.add_argument("--scale", default="paper")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--draws", type=int, default=0, help="size of the second sample")
    parser.add_argument("--out", type=Path, default=Path("runs/whole-set"), help="folder of runs")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draws")
    flags = parser.parse_args()
    names = flags.names or [name for name in experiments.names() if name not in LEFT_OUT]
    draw = random.Random(flags.seed)
    every = strata(names, flags.scale, flags.out)
    drawn = [draw.choice(runs) for runs in every]
    train(drawn, flags.workers)
    found = [hours(runs, one) for runs, one in zip(every, drawn, strict=True)]
    for runs, one, (updates, compiling) in zip(every, drawn, found, strict=True):
        print(f"{len(runs):4} runs  {updates:6.2f} h  {compiling:5.2f} h to compile  {one.label}")
    updates, compiling = np.sum(found, axis=0)
    print(f"{updates:.1f} core-hours of updates, and {compiling:.1f} to compile")
    if flags.draws < 2:
        return

    kinds = sorted(zip(every, found, strict=True), key=lambda kind: kind[0][0].label)
    runs = [one for several, _ in kinds for one in sorted(several, key=lambda one: one.label)]
    sizes = np.repeat([own[0] / len(several) for several, own in kinds], [len(k[0]) for k in kinds])
    # a run whose bank fails at once says little about its kind
    sizes = np.maximum(sizes, np.mean(sizes) / 4)
    again = at_equal_distances(sizes, flags.draws, draw.random())
    train([runs[i] for i in sorted(set(again))], flags.workers)
    ratios = [training_time(load(runs[i].folder)) / 3600 / sizes[i] for i in again]
    total, half = scaled(float(np.sum(sizes)), np.array(ratios))
    print(f"{total:.1f} core-hours of updates by the second sample, 95% interval ± {half:.1f}")


if __name__ == "__main__":
    main()
