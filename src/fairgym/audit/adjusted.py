"""Gaps adjusted for columns that may account for them."""

from fairgym.audit.parts import Part
from fairgym.audit.roles import Roles
from fairgym.audit.table import Decisions


def adjusted(decisions: Decisions, roles: Roles) -> list[Part]:
    """Return the adjusted gaps; no table without columns to adjust for."""
    return []
