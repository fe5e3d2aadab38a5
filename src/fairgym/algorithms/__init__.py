"""Algorithms that learn or search for policies: one module each, found by name."""

from fairgym.algorithms._base import Algorithm, TrainState, algorithms

__all__ = ["Algorithm", "TrainState", "algorithms"]
