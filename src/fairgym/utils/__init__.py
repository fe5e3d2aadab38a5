"""Application tools: registries, files, interrupts and custom modules."""

from fairgym.utils.registry import Registry, make, register_environment, rules

__all__ = ["Registry", "make", "register_environment", "rules"]
