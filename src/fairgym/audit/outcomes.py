"""Outcomes of decisions by group, where they are known."""

from fairgym.audit.parts import Part
from fairgym.audit.roles import Roles
from fairgym.audit.table import Decisions


def outcomes(decisions: Decisions, roles: Roles) -> list[Part]:
    """Return the tables of outcomes; no table without outcomes."""
    return []
