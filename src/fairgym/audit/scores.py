"""Scores that decisions were based on, by group."""

from fairgym.audit.parts import Part
from fairgym.audit.roles import Roles
from fairgym.audit.table import Decisions


def scores(decisions: Decisions, roles: Roles) -> list[Part]:
    """Return the tables of scores; no table without scores."""
    return []
