"""Which groups an audit compares, and with which one."""

import dataclasses
from collections.abc import Iterator

import numpy as np

from fairgym.audit.profiles import read_profile
from fairgym.audit.roles import REFERENCES, Roles
from fairgym.audit.table import Decisions
from fairgym.results.labels import listed
from fairgym.statistics.clusters import correlations, effective_shares
from fairgym.statistics.proportions import Shares

POOLED = "all others"
MOST = 20  # groups of a grouping, that are compared in depth


def compared(decisions: Decisions, grouping: str, roles: Roles) -> np.ndarray:
    """Return whether each group is large enough to compare, shape (groups,).

    It has at least `min_n` decisions, as many as numbers are shown for (`suppress`), and at least
    `min_share` of those whose group is known.
    """
    n = decisions.groupings[grouping].counts()
    return (n >= max(roles.min_n, roles.suppress)) & (n >= roles.min_share * n.sum())


def reference_of(decisions: Decisions, grouping: str, roles: Roles) -> int | None:
    """Return the index of the group that the others are compared with.

    If another group is named, which is none of this grouping, the rule of the profile applies.

    Returns:
        The index; None if the reference is all other groups together ("pooled"), or if no group
        is large enough.
    """
    codes = decisions.groupings[grouping]
    if roles.reference in codes.names:
        return codes.names.index(roles.reference)
    named = roles.reference not in ("", *REFERENCES)
    rule = read_profile(roles.profile).reference if named else roles.reference
    if rule == "pooled":
        return None
    n, used = codes.counts(), compared(decisions, grouping, roles)
    if not used.any():
        return None
    size = n.astype(np.float64)
    if rule == "best":
        weight = decisions.weight
        total = size if weight is None else codes.counts(weight)
        good = codes.counts(decisions.favourable * (1.0 if weight is None else weight))
        size = np.divide(good, total, out=np.zeros(len(n)), where=total > 0)
    return int(np.argmax(np.where(used, size, -1.0)))


def shares_of(decisions: Decisions, grouping: str) -> Shares:
    """Return the share of favourable decisions of every group, with its effective number."""
    codes = decisions.groupings[grouping]
    units, weight = decisions.units, decisions.weight
    return effective_shares(decisions.favourable, codes.codes, len(codes.names), weight, units)


def correlations_of(decisions: Decisions, grouping: str) -> np.ndarray | None:
    """Return the correlations of the groups' rates that persons or clusters with several make."""
    codes = decisions.groupings[grouping]
    units, weight = decisions.units, decisions.weight
    return correlations(decisions.favourable, codes.codes, len(codes.names), weight, units)


def scored(decisions: Decisions, roles: Roles) -> Decisions | None:
    """Return the decisions with a score, where a score above the median counts as favourable.

    None if there is no score or the profile does not ask for scoring rates.
    """
    if decisions.score is None or not read_profile(roles.profile).scoring:
        return None
    rows = np.flatnonzero(np.isfinite(decisions.score))
    if not len(rows):
        return None
    score = decisions.score[rows]
    return dataclasses.replace(decisions.kept(rows), favourable=score > np.median(score))


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
    """Sentences about groupings with too many groups to compare all in every table."""
    periods = decisions.periods
    tables = {
        "adjusted gaps": bool(decisions.legit),
        "outcomes": decisions.outcome is not None,
        "scores": decisions.score is not None,
        "periods": periods is not None and len(periods.names) > 1,
    }
    named = [name for name, there in tables.items() if there]
    found = []
    for grouping in decisions.groupings:
        number = int(compared(decisions, grouping, roles).sum())
        if named and number > MOST + 1:
            found.append(
                f"By {grouping}, only the {MOST} largest of {number} groups are compared with the"
                f" reference in the tables of {listed(named)}; those of rates and gaps have all."
            )
    return found


def alike(decisions: Decisions, roles: Roles) -> list[str]:
    """Sentences about groups whose names differ in capital letters or spaces alone."""
    found = []
    for grouping in roles.groups:
        spellings: dict[str, list[str]] = {}
        for name in decisions.groupings[grouping].names:
            spellings.setdefault("".join(name.split()).casefold(), []).append(repr(name))
        same = [" and ".join(names) for names in spellings.values() if len(names) > 1]
        if same:
            found.append(
                f"By {grouping}, names that differ in capital letters or spaces alone are groups of"
                f" their own: {'; '.join(same[:4])}. Write them alike if they mean the same."
            )
    return found
