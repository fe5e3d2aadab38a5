"""Names that experiment modules use, imported as `ex`."""

# ruff: noqa: F401
from fairgym.config import RunConfig
from fairgym.experiments._base import (
    PAPER,
    QUICK,
    SCALES,
    STUDIES,
    STUDY,
    Experiment,
    Grid,
    Outcome,
    Runs,
    Size,
    Table,
    experiments,
    run_config,
)
from fairgym.experiments._comparison import (
    At,
    Claim,
    Columns,
    Compared,
    ComparisonFigure,
    Panel,
    by_place,
    columns_table,
    pair,
)
from fairgym.experiments._measurements import (
    HELD_OUT,
    KINDS,
    NULL_NOTE,
    PERMUTATIONS,
    Ends,
    category,
    disparity,
    excess,
    first_and_last,
    held_out,
    held_out_run,
    logged,
    logged_curves,
    logged_ends,
    means,
    narrowing,
    null_sums,
    score,
    signed_gap,
    steps_per_epoch,
    survival,
    untrained_run,
)
from fairgym.experiments._showing import (
    CAPTION,
    NULL_MEAN,
    Curves,
    cell,
    curve,
    curves_figure,
    dot,
    interval_text,
    iqm_text,
    looks_of,
    mean_text,
    multiples,
    null_bar,
    null_text,
)
from fairgym.statistics.checks import Check, Kind
from fairgym.statistics.intervals import interquartile_mean
from fairgym.training.evaluation import Evaluation
from fairgym.training.run import Run
