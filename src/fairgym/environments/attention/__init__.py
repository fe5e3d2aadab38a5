"""Attention allocation: where to look for incidents (Hu, Lear and Zhang 2023, section VI-B)."""

from fairgym.environments.attention.environment import Attention
from fairgym.environments.attention.types import (
    AttentionComponents,
    AttentionNoise,
    AttentionParams,
    AttentionState,
)

__all__ = [
    "Attention",
    "AttentionComponents",
    "AttentionNoise",
    "AttentionParams",
    "AttentionState",
]
