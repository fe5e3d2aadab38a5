"""Hand-written rules by name: one module each, found by name.

A rule is registered as a function of an environment, an agent's name and parameters (None for the
environment's defaults) that makes the agent's policy; a class will do. `fixed_policies` looks words
up here.
"""

from fairgym.utils import Registry

rules = Registry("fairgym.policies.rules", "rule")

__all__ = ["rules"]
