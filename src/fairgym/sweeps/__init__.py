"""Sweeps: plans of many runs, engines that train and resume them, and analysis of results."""

from fairgym.sweeps.analysis import (
    Front,
    Point,
    by_setting,
    measure_named,
    measures_of,
    pareto,
)
from fairgym.sweeps.engines import Local, Processes, failure_of
from fairgym.sweeps.plan import (
    Engine,
    Failed,
    Planned,
    folder_name,
    label_of,
    loaded,
    plan,
    unique,
)
from fairgym.sweeps.ray_engine import Ray
from fairgym.sweeps.results import results_of
from fairgym.sweeps.seeds import engine_of, train_seeds
from fairgym.sweeps.sweeping import Entry, entries_of, run_sweep
from fairgym.sweeps.together import Vmap
from fairgym.sweeps.variance import Effects, Share, effects

__all__ = [
    "Effects",
    "Engine",
    "Entry",
    "Failed",
    "Front",
    "Local",
    "Planned",
    "Point",
    "Processes",
    "Ray",
    "Share",
    "Vmap",
    "by_setting",
    "effects",
    "engine_of",
    "entries_of",
    "failure_of",
    "folder_name",
    "label_of",
    "loaded",
    "measure_named",
    "measures_of",
    "pareto",
    "plan",
    "results_of",
    "run_sweep",
    "train_seeds",
    "unique",
]
