"""The benchmark of learners: frozen tasks, equal tuning, fronts, and tables with intervals.

The speed of environments is measured by `fairgym.bench` instead.
"""

from fairgym.benchmark.learner import Learner, learner_names, learner_of
from fairgym.benchmark.running import Benchmark, Stage, run_benchmark
from fairgym.benchmark.task import Task, read_task, task_names, task_of
from fairgym.benchmark.tiers import TIERS, Tier

__all__ = [
    "TIERS",
    "Benchmark",
    "Learner",
    "Stage",
    "Task",
    "Tier",
    "learner_names",
    "learner_of",
    "read_task",
    "run_benchmark",
    "task_names",
    "task_of",
]
