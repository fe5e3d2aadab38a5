"""Which groups an audit compares, and with which one."""

import dataclasses

import numpy as np

from fairgym.audit.profiles import read_profile
from fairgym.audit.roles import REFERENCES, Roles
from fairgym.audit.table import Decisions
from fairgym.statistics.clusters import correlations, effective_shares
from fairgym.statistics.proportions import Shares


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
