"""Metrics of reward and fairness, and the objectives made of them."""

from fairgym.fairness.metrics import Direct, Disparity, Gini, GroupRatio, Metric, Rate, WorstGroup
from fairgym.fairness.objective import Objective

__all__ = [
    "Direct",
    "Disparity",
    "Gini",
    "GroupRatio",
    "Metric",
    "Objective",
    "Rate",
    "WorstGroup",
]
