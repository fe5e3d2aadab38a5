"""Speed of environments: the measurements that `fairgym bench` prints.

Each figure is the wall time of compiled episodes divided by the number of environment steps of
all of them together. Episodes start from one state some months into an episode and are carried on
past a failure, so that every one of them makes all its steps; a reset is not in the figures.

"With policies" means the two-layer networks that F-MACEM trains, with other parameters in each
episode; "without" means actions fixed beforehand. An opponent is another implementation of the
same environments (`load_opponent`): measured in the same process, in turns with ours, from as far
into an episode. It runs one episode after another, so its time per step is the same for every
batch.
"""

from fairgym.bench.command import load_opponent, main_bench
from fairgym.bench.measuring import CANDIDATES, Measurement, Opponent, Workload, measure

__all__ = [
    "CANDIDATES",
    "Measurement",
    "Opponent",
    "Workload",
    "load_opponent",
    "main_bench",
    "measure",
]
