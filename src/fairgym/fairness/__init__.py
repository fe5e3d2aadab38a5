"""Metrics of reward and fairness, and the objectives made of them."""

from fairgym.fairness.metrics import Direct, Disparity, Metric, Rate
from fairgym.fairness.objective import Objective

__all__ = ["Direct", "Disparity", "Metric", "Objective", "Rate"]
