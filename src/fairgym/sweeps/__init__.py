"""Plans of many runs, and the engines that train them: folders by configuration, resumed."""

from fairgym.sweeps.engines import Engine, Failed, Local, Processes, engine_of, failure_of
from fairgym.sweeps.plan import (
    Planned,
    folder_name,
    label_of,
    loaded,
    plan,
    plan_seeds,
    unique,
)
from fairgym.sweeps.sweep_file import Sweep, read_sweep, sweep_of
from fairgym.sweeps.sweeping import Entry, entries_of, results_of, run_sweep

__all__ = [
    "Engine",
    "Entry",
    "Failed",
    "Local",
    "Planned",
    "Processes",
    "Sweep",
    "engine_of",
    "entries_of",
    "failure_of",
    "folder_name",
    "label_of",
    "loaded",
    "plan",
    "plan_seeds",
    "read_sweep",
    "results_of",
    "run_sweep",
    "sweep_of",
    "unique",
]
