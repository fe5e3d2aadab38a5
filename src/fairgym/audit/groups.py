"""Which groups an audit compares, and with which one."""

import numpy as np

from fairgym.audit.roles import Roles
from fairgym.audit.table import Decisions


def compared(decisions: Decisions, grouping: str, roles: Roles) -> np.ndarray:
    """Return whether each group is large enough to compare, shape (groups,).

    It has at least `min_n` decisions, and at least `min_share` of those whose group is known.
    """
    n = decisions.groupings[grouping].counts()
    return (n >= roles.min_n) & (n >= roles.min_share * n.sum())


def reference_of(decisions: Decisions, grouping: str, roles: Roles) -> int | None:
    """Return the index of the group that the others are compared with.

    A reference that is named but is no group of this grouping stands for the largest group.

    Returns:
        The index; None if the reference is all other groups together ("pooled"), or if no group
        is large enough.
    """
    codes = decisions.groupings[grouping]
    if roles.reference == "pooled":
        return None
    if roles.reference in codes.names:
        return codes.names.index(roles.reference)
    n, used = codes.counts(), compared(decisions, grouping, roles)
    if not used.any():
        return None
    size = n.astype(np.float64)
    if roles.reference == "best":
        weight = decisions.weight
        total = size if weight is None else codes.counts(weight)
        good = codes.counts(decisions.favourable * (1.0 if weight is None else weight))
        size = np.divide(good, total, out=np.zeros(len(n)), where=total > 0)
    return int(np.argmax(np.where(used, size, -1.0)))
