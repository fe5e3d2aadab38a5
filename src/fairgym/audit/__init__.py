"""Audits of logged decisions: rates and gaps between groups, with intervals, over time."""

from fairgym.audit.audit import audit
from fairgym.audit.parts import Column, Part
from fairgym.audit.result import Audit
from fairgym.audit.roles import Roles
from fairgym.audit.table import Codes, Decisions, Source, read_decisions

__all__ = [
    "Audit",
    "Codes",
    "Column",
    "Decisions",
    "Part",
    "Roles",
    "Source",
    "audit",
    "read_decisions",
]
