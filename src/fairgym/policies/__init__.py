"""Policies: trainable equivariant networks and fixed rules."""

from fairgym.policies.counterfactual import Flips, group_flips
from fairgym.policies.exploration import GaussianPolicy, Sampled, sampled
from fairgym.policies.fixed import Constant, Function, Random, fixed_policies
from fairgym.policies.massaging import Massaged, massaged
from fairgym.policies.named import with_fixed
from fairgym.policies.networks import EquivariantPolicy, Standardiser, equivariant, split_trainable
from fairgym.policies.rules import FirstCome
from fairgym.utils import rules

__all__ = [
    "Constant",
    "EquivariantPolicy",
    "FirstCome",
    "Flips",
    "Function",
    "GaussianPolicy",
    "Massaged",
    "Random",
    "Sampled",
    "Standardiser",
    "equivariant",
    "fixed_policies",
    "group_flips",
    "massaged",
    "rules",
    "sampled",
    "split_trainable",
    "with_fixed",
]
