"""Speed of environments, as `fairgym bench` measures it.

Each time is the wall time of compiled episodes divided by the total number of environment steps.
Episodes start from a state 60 steps into an episode and continue after a failure, so that all make
the same number of steps. Resets are not included.

"With policies" means the two-layer networks that F-MACEM trains, with different parameters in each
episode; "without" means constant actions. An opponent is another implementation of the same
environments (`load_opponent`). It is measured in the same process, alternating with fairgym, from
the same step of an episode. It runs one episode after another, so its time per step is the same
for every batch. The command runs both on one processor core.
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
