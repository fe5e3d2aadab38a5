"""Environments around an environment: another start or end, further metrics, a memory, resets."""

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
