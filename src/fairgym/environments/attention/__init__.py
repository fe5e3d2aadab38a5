"""The attention environment: looking for incidents (Hu, Lear and Zhang 2023, section VI-B)."""

from fairgym.environments.attention.environment import Attention
from fairgym.environments.attention.types import AttentionComponents, AttentionParams

__all__ = ["Attention", "AttentionComponents", "AttentionParams"]
