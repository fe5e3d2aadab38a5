"""Tools of an application: files, interrupts, a user's own modules, finding things by name."""

from fairgym.utils.registry import Registry, make, register_environment, rules

__all__ = ["Registry", "make", "register_environment", "rules"]
