"""An audit of logged decisions: all tables, what they show, and what cannot be concluded."""

from collections.abc import Callable, Sequence

from fairgym.audit.adjusted import adjusted
from fairgym.audit.concentration import concentration
from fairgym.audit.gaps import gaps
from fairgym.audit.outcomes import outcomes
from fairgym.audit.over_time import over_time
from fairgym.audit.parts import Part
from fairgym.audit.profiles import read_condition, with_profile
from fairgym.audit.rates import rates
from fairgym.audit.result import Audit
from fairgym.audit.roles import Roles
from fairgym.audit.scores import scores
from fairgym.audit.table import Decisions, read_decisions
from fairgym.audit.waits import waits

Chapter = Callable[[Decisions, Roles], list[Part]]
CHAPTERS: Sequence[Chapter] = (
    rates,
    gaps,
    adjusted,
    outcomes,
    scores,
    over_time,
    waits,
    concentration,
)


def audit(table: object, roles: Roles, *, absent_ok: bool = False) -> Audit:
    """Audit a table of logged decisions.

    Args:
        table: As for `read_decisions`.
        roles: Which column plays which role, and the settings.
        absent_ok: As for `read_decisions`.

    Raises:
        FairgymError: The table cannot be read or has bad values, or a role has no column.
    """
    roles = with_profile(roles)
    read_condition(roles.fail_if)
    decisions = read_decisions(table, roles, absent_ok=absent_ok)
    parts = tuple(part for chapter in CHAPTERS for part in chapter(decisions, roles))
    limits = dict.fromkeys(text for part in parts for text in part.limits)
    findings = dict.fromkeys(text for part in parts for text in part.findings)
    return Audit(decisions, roles, parts, tuple(limits), tuple(findings))
