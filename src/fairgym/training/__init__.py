"""Training, run folders and evaluation of all algorithms."""

from fairgym.training.decisions import DecisionLog, log_decisions
from fairgym.training.devices import configure
from fairgym.training.evaluation import Evaluation, evaluate
from fairgym.training.loop import train
from fairgym.training.run import Run, load, load_runs
from fairgym.training.scenarios import Scenario, Simulation, simulate
from fairgym.training.schedules import During
from fairgym.training.tensorboard import TensorBoard

__all__ = [
    "DecisionLog",
    "During",
    "Evaluation",
    "Run",
    "Scenario",
    "Simulation",
    "TensorBoard",
    "configure",
    "evaluate",
    "load",
    "load_runs",
    "log_decisions",
    "simulate",
    "train",
]
