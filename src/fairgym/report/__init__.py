"""Figures (matplotlib) and the one-file HTML report of one or more runs."""

from fairgym.report.actions import mean_actions
from fairgym.report.distributions import core_attribute_distribution
from fairgym.report.drawn import numbers_of
from fairgym.report.episodes import group_rates, part_curves
from fairgym.report.learning import learning_curves
from fairgym.report.measured import Measured, measure
from fairgym.report.outcomes import group_outcomes, metric_comparison
from fairgym.report.over_time import scheme_curves, status_curves, wait_curves
from fairgym.report.write import write_report

__all__ = [
    "Measured",
    "core_attribute_distribution",
    "group_outcomes",
    "group_rates",
    "learning_curves",
    "mean_actions",
    "measure",
    "metric_comparison",
    "numbers_of",
    "part_curves",
    "scheme_curves",
    "status_curves",
    "wait_curves",
    "write_report",
]
