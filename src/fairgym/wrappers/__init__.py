"""Wrappers of environments: another start or end, additional metrics, a memory, resets."""

from fairgym.wrappers.augmented import Augmented, AugmentedState, ShownMemory, augmented
from fairgym.wrappers.wrappers import (
    AutoReset,
    EndsAfter,
    MoreMetrics,
    NeverEnds,
    StartsFrom,
    StepOutcome,
    Wrapper,
)

__all__ = [
    "Augmented",
    "AugmentedState",
    "AutoReset",
    "EndsAfter",
    "MoreMetrics",
    "NeverEnds",
    "ShownMemory",
    "StartsFrom",
    "StepOutcome",
    "Wrapper",
    "augmented",
]
