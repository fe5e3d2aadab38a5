"""Confidence intervals, tests and null distributions."""

from fairgym.statistics.gaps import (
    Gap,
    GapTest,
    gap_differences,
    gap_test,
    largest_gap,
    systematic_gaps,
)
from fairgym.statistics.intervals import crossed_interval, mean_interval, paired_interval
from fairgym.statistics.shares import (
    share_difference,
    share_interval,
)

__all__ = [
    "Gap",
    "GapTest",
    "crossed_interval",
    "gap_differences",
    "gap_test",
    "largest_gap",
    "mean_interval",
    "paired_interval",
    "share_difference",
    "share_interval",
    "systematic_gaps",
]
