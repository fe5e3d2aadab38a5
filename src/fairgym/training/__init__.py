"""Training, run folders, evaluation: everything around an algorithm, written once."""

from fairgym.training.config import Job, RunConfig
from fairgym.training.config_file import read_config_file
from fairgym.training.devices import configure
from fairgym.training.evaluation import Evaluation, evaluate
from fairgym.training.loop import train
from fairgym.training.parameters import with_params
from fairgym.training.run import Run, load, load_runs
from fairgym.training.scenarios import Scenario, Simulation, simulate
from fairgym.training.statistics import crossed_interval, mean_interval, paired_interval

__all__ = [
    "Evaluation",
    "Job",
    "Run",
    "RunConfig",
    "Scenario",
    "Simulation",
    "configure",
    "crossed_interval",
    "evaluate",
    "load",
    "load_runs",
    "mean_interval",
    "paired_interval",
    "read_config_file",
    "simulate",
    "train",
    "with_params",
]
