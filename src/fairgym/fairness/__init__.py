"""Metrics of reward and fairness, and the objectives made of them."""

from fairgym.fairness.disparities import Disparity, Gini, GroupRatio, WorstGroup
from fairgym.fairness.metrics import Direct, Metric, Rate
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
