"""Environments around an environment: another start or end, further metrics, a memory, resets."""

from fairgym.wrappers.augmented import Augmented, AugmentedState, ShownMemory, augmented
from fairgym.wrappers.auto_reset import AutoReset, StepOutcome
from fairgym.wrappers.wrappers import EndsAfter, MoreMetrics, NeverEnds, StartsFrom, Wrapper

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
