"""Rates and gaps over time, with fairness schemes."""

from fairgym.audit.parts import Part
from fairgym.audit.roles import Roles
from fairgym.audit.table import Decisions


def over_time(decisions: Decisions, roles: Roles) -> list[Part]:
    """Return the tables over time; no table without times."""
    return []
