"""Training, run folders and evaluation of all algorithms."""

from fairgym.training.decisions import DecisionLog, log_decisions
from fairgym.training.devices import configure
from fairgym.training.evaluation import Evaluation, evaluate
from fairgym.training.loop import train
from fairgym.training.run import Run, load, load_runs
from fairgym.training.scenarios import Scenario, Simulation, simulate

__all__ = [
    "DecisionLog",
    "Evaluation",
    "Run",
    "Scenario",
    "Simulation",
    "configure",
    "evaluate",
    "load",
    "load_runs",
    "log_decisions",
    "simulate",
    "train",
]
