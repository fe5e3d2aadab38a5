"""Published experiments: one module per figure or table, each with its claim as checks.

Each paper has a sub-package. An experiment is added by one module in it, which registers a class
as "PAPER-MODULE": `mafe/fig6.py` is "mafe-fig6". Its notes are the Markdown file beside it. Modules
that begin with an underscore are no experiments, but parts of them.
"""

from fairgym.experiments._base import (
    LARGE,
    PAPER,
    QUICK,
    Check,
    Experiment,
    Outcome,
    Runs,
    Size,
    Table,
    TrainingExperiment,
    experiments,
    run_config,
)
from fairgym.experiments._markdown import BY_LUCK, cell, iqm_text, luck_text, mean_text
from fairgym.experiments._measurements import (
    KINDS,
    LUCK,
    PERMUTATIONS,
    beyond,
    by_luck,
    category,
    category_curves,
    disparity,
    first_and_last,
    held_out,
    held_out_run,
    logged,
    score,
    untrained_run,
)
from fairgym.experiments._reproduce import Reproduced, reproduce

__all__ = [
    "BY_LUCK",
    "KINDS",
    "LARGE",
    "LUCK",
    "PAPER",
    "PERMUTATIONS",
    "QUICK",
    "Check",
    "Experiment",
    "Outcome",
    "Reproduced",
    "Runs",
    "Size",
    "Table",
    "TrainingExperiment",
    "beyond",
    "by_luck",
    "category",
    "category_curves",
    "cell",
    "disparity",
    "experiments",
    "first_and_last",
    "held_out",
    "held_out_run",
    "iqm_text",
    "logged",
    "luck_text",
    "mean_text",
    "reproduce",
    "run_config",
    "score",
    "untrained_run",
]
