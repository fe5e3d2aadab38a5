"""Results of an audit."""

import dataclasses
from collections.abc import Mapping

from fairgym.audit.parts import Cell, Part
from fairgym.audit.profiles import holds
from fairgym.audit.roles import Roles
from fairgym.audit.table import Decisions


@dataclasses.dataclass(frozen=True)
class Audit:
    """Results of an audit.

    Attributes:
        decisions: The decisions.
        roles: Roles of the columns, and settings.
        parts: All tables, in the order of the chapters.
        limits: Sentences about what cannot be concluded.
        findings: Sentences about what the tables show.
    """

    decisions: Decisions
    roles: Roles
    parts: tuple[Part, ...]
    limits: tuple[str, ...]
    findings: tuple[str, ...]

    @property
    def failing(self) -> list[Mapping[str, Cell]]:
        """Rows of the gaps that meet the condition `Roles.fail_if`."""
        if not self.roles.fail_if:
            return []
        rows = [row for part in self.parts if part.name.endswith("gaps") for row in part.rows]
        return [row for row in rows if holds(self.roles.fail_if, row)]

    def part(self, name: str) -> Part:
        """Return the table of this name."""
        return next(part for part in self.parts if part.name == name)
