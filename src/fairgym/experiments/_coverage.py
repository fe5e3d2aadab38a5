"""Coverage of intervals over simulated cases: shares of replicates, and checks of the worst one."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fairgym.experiments import _parts as ex
from fairgym.statistics import share_interval

AGAIN = 5  # times as many replicates decide a case that is beyond a limit
_AT = 1e-12  # tolerance: the limits themselves are allowed


def rows_of(
    cases: Sequence[Any],
    found: Callable[[Any, int], Mapping[str, np.ndarray]],
    replicates: int,
    limits: Mapping[str, tuple[float, float]],
) -> list[dict[str, Any]]:
    """Return each case with its shares of replicates by name.

    Args:
        cases: The cases.
        found: Function of a case and a number of replicates -> name -> in which replicates it is
            true, of the shape (replicates,) or (replicates, several), where the lowest share
            counts; NaN where undefined.
        replicates: Number of replicates.
        limits: Limits by name. A case beyond them is decided by more replicates.
    """
    rows = []
    for case in cases:
        for count in (replicates, AGAIN * replicates):
            shares = {name: _share(own) for name, own in found(case, count).items()}
            if all(
                low <= shares[name] <= high
                for name, (low, high) in limits.items()
                if name in shares
            ):
                break
        rows.append({"case": case, "replicates": count, **shares})
    return rows


def _share(own: np.ndarray) -> float:
    known = np.isfinite(own)
    if not known.any():
        return math.nan
    return float(np.min(np.mean(own, axis=0, where=known)))


def worst(
    statement: str,
    rows: Sequence[Mapping[str, Any]],
    name: str,
    limit: float,
    sign: int,
    kind: ex.Kind = "predicted",
) -> ex.Check:
    """Check that the lowest (sign 1) or highest (sign -1) share is within a limit.

    Args:
        statement: The claim.
        rows: Result of `rows_of`, whose cases have a description, `words`.
        name: Name of the share; cases without it do not count.
        limit: The limit.
        sign: Which share counts.
        kind: Kind of the check.
    """
    known = [row for row in rows if math.isfinite(row.get(name, math.nan))]
    row = min(known, key=lambda row: sign * row[name])
    count = row["replicates"]
    share, low, high = share_interval(np.arange(count) < round(row[name] * count))
    which = "lowest" if sign > 0 else "highest"
    detail = f"{which} of {len(known)}: {row['case'].words}; {ex.interval_text(low, high)}"
    least, most = (limit - _AT, math.inf) if sign > 0 else (-math.inf, limit + _AT)
    return ex.Check(statement, share, share, share, least, most, kind, detail)


def exact(
    statement: str, coverages: Sequence[float], limit: float, kind: ex.Kind = "predicted"
) -> ex.Check:
    """Check that exact coverages are at least a limit; the lowest one decides."""
    least = min(coverages)
    return ex.Check(statement, least, least, least, limit - _AT, kind=kind, detail="exact")
