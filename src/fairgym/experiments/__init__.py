"""Published experiments: one module per figure or table, each with its claim as checks.

Each paper has a sub-package. To add an experiment, add a module that registers a class as
"PAPER-MODULE": `mafe/fig6.py` is "mafe-fig6". Studies of this project's own methods are modules of
this package: `gaps.py` is "gaps". The notes of an experiment are in the Markdown file beside its
module. Modules whose name begins with an underscore are shared parts, not experiments.
"""

from fairgym.experiments._base import (
    Experiment,
    Outcome,
    Runs,
    Size,
    Table,
    experiments,
    run_config,
)
from fairgym.experiments._reproduce import Reproduced, reproduce
from fairgym.statistics.checks import Check, Kind, Tally

__all__ = [
    "Check",
    "Experiment",
    "Kind",
    "Outcome",
    "Reproduced",
    "Runs",
    "Size",
    "Table",
    "Tally",
    "experiments",
    "reproduce",
    "run_config",
]
