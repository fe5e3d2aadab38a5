"""The published experiments: one module per figure or table, each with its claim as checks.

An experiment is added by one module: it registers a class under its own name. Modules that begin
with an underscore are shared by all.
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
