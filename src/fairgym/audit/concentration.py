"""How unequally decisions and amounts are spread over people."""

from fairgym.audit.parts import Part
from fairgym.audit.roles import Roles
from fairgym.audit.table import Decisions


def concentration(decisions: Decisions, roles: Roles) -> list[Part]:
    """Return the tables of concentration; no table without persons or amounts."""
    return []
