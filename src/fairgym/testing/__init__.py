"""Conformance checks for environments and algorithms, built-in and custom."""

from fairgym.testing._compare import ConformanceError
from fairgym.testing.algorithm import check_algorithm
from fairgym.testing.environment import PROPERTIES, check_environment

__all__ = ["PROPERTIES", "ConformanceError", "check_algorithm", "check_environment"]
