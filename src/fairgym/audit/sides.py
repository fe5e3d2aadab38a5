"""Pairs of groups that an audit compares, as rows of two sides."""

import dataclasses
from collections.abc import Iterator

import numpy as np

from fairgym.audit.groups import compared, reference_of
from fairgym.audit.roles import Roles
from fairgym.audit.table import Decisions

POOLED = "all others"
MOST = 20  # groups of a grouping, that are compared in depth


@dataclasses.dataclass(frozen=True)
class Side:
    """A group and the one that it is compared with.

    Attributes:
        grouping: Column with the groups.
        group: Name of the group: ours.
        reference: Name of the reference: theirs.
        of_row: 1 for our rows, 0 for theirs, -1 for others; int8 with the shape (rows,).
    """

    grouping: str
    group: str
    reference: str
    of_row: np.ndarray

    @property
    def names(self) -> dict[str, str]:
        """The first cells of rows of tables."""
        return {"grouping": self.grouping, "group": self.group, "reference": self.reference}


def sides_of(decisions: Decisions, grouping: str, roles: Roles) -> Iterator[Side]:
    """Yield the groups of a grouping with the reference, at most the 20 largest ones."""
    codes = decisions.groupings[grouping]
    used = np.flatnonzero(compared(decisions, grouping, roles))
    reference = reference_of(decisions, grouping, roles)
    pooled = roles.reference == "pooled"
    if len(used) < 2 or (reference is None and not pooled):
        return
    largest = used[np.argsort(-codes.counts()[used], kind="stable")]
    chosen = sorted(int(group) for group in largest if group != reference)
    if len(chosen) > MOST:
        chosen = sorted(int(group) for group in largest[largest != reference][:MOST])
    for group in chosen:
        other = codes.codes >= 0 if pooled else codes.codes == reference
        of_row = np.where(codes.codes == group, 1, np.where(other, 0, -1)).astype(np.int8)
        name = POOLED if pooled or reference is None else codes.names[reference]
        yield Side(grouping, codes.names[group], name, of_row)


def left_out(decisions: Decisions, roles: Roles) -> list[str]:
    """Sentences about groupings with too many groups to compare all in depth."""
    found = []
    for grouping in decisions.groupings:
        number = int(compared(decisions, grouping, roles).sum())
        if number > MOST + 1:
            found.append(
                f"By {grouping}, the {MOST} largest of {number} groups are compared in the tables"
                " of adjusted gaps, outcomes, scores and periods."
            )
    return found
