"""Intervals, tests and null distributions."""

from fairgym.statistics.intervals import crossed_interval, mean_interval, paired_interval

__all__ = ["crossed_interval", "mean_interval", "paired_interval"]
