"""Figures (matplotlib) and the one-file HTML report of one or more runs."""

from fairgym.report.actions import mean_actions
from fairgym.report.distributions import core_attribute_distribution
from fairgym.report.episodes import group_rates, metric_comparison, part_curves
from fairgym.report.learning import learning_curves
from fairgym.report.over_time import scheme_curves, status_curves
from fairgym.report.write import write_report

__all__ = [
    "core_attribute_distribution",
    "group_rates",
    "learning_curves",
    "mean_actions",
    "metric_comparison",
    "part_curves",
    "scheme_curves",
    "status_curves",
    "write_report",
]
