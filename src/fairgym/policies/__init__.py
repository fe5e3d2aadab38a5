"""Policies: learnable equivariant networks and fixed rules."""

from fairgym.policies.fixed import Constant, FirstCome, Function, Random, fixed_policies
from fairgym.policies.named import with_fixed
from fairgym.policies.networks import EquivariantPolicy, Standardiser, equivariant, split_learned

__all__ = [
    "Constant",
    "EquivariantPolicy",
    "FirstCome",
    "Function",
    "Random",
    "Standardiser",
    "equivariant",
    "fixed_policies",
    "split_learned",
    "with_fixed",
]
