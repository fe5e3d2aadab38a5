"""Published experiments: one module per figure or table, each with its claim as checks.

Each paper has a sub-package. An experiment is added by one module in it, which registers a class
as "PAPER-MODULE": `mafe/fig6.py` is "mafe-fig6". Modules that begin with an underscore are shared
by all.
"""

from fairgym.experiments._base import Check, Experiment, Outcome, Size, Table, experiments
from fairgym.experiments._reproduce import Reproduced, reproduce

__all__ = [
    "Check",
    "Experiment",
    "Outcome",
    "Reproduced",
    "Size",
    "Table",
    "experiments",
    "reproduce",
]
