"""Published experiments: one module per figure or table, each with its claim as checks.

Each paper has a sub-package. An experiment is added by one module in it, which registers a class
as "PAPER-MODULE": `mafe/fig6.py` is "mafe-fig6". A study of this project's own methods is a module
here: `gaps.py` is "gaps". Its notes are the Markdown file beside it. Modules
that begin with an underscore are no experiments, but parts of them.
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
