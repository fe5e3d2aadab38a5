"""Tables of the data, rates by group, gaps, and the largest gap."""

from fairgym.audit.parts import Part
from fairgym.audit.roles import Roles
from fairgym.audit.table import Decisions


def rates(decisions: Decisions, roles: Roles) -> list[Part]:
    """Return the tables of the data, of rates, of gaps and of the largest gaps."""
    return []
