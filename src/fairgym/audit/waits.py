"""How long refused persons wait for a favourable decision."""

import math

import numpy as np

from fairgym.audit.groups import compared
from fairgym.audit.parts import Cell, Column, Part
from fairgym.audit.roles import Roles
from fairgym.audit.table import Decisions
from fairgym.statistics.survival import survival

SOON = (1, 3, 12)  # periods after which the share that still waits is given


def waits(decisions: Decisions, roles: Roles) -> list[Part]:
    """Return waits from a person's first refusal to their next favourable decision, by group.

    The first table has medians, the second one the share that still waits after every period.

    Persons who wait at the end of the table count as waiting (E. L. Kaplan and P. Meier 1958). No
    table without persons, or if nobody has two decisions.
    """
    periods, person = decisions.periods, decisions.person
    if periods is None or person is None or not _repeats(person):
        return []
    refused, wait, ended = first_waits(person, periods.codes, decisions.favourable)
    rows: list[dict[str, Cell]] = []
    course: list[dict[str, Cell]] = []
    last = len(periods.names) - 1
    for grouping, codes in decisions.groupings.items():
        used = compared(decisions, grouping, roles)
        for group in np.flatnonzero(used):
            own = codes.codes[refused] == group
            if own.sum() < max(roles.suppress, 1):
                continue
            row: dict[str, Cell] = {"grouping": grouping, "group": codes.names[group]}
            course += _course(row, wait[own], ended[own], roles.level)
            row |= {"refused": int(own.sum()), "later_favourable": int(ended[own].sum())}
            rows.append(row | _waiting(wait[own], ended[own], roles.level, last))
    if not rows:
        return []
    columns = (
        Column("grouping", "by"),
        Column("group", "group"),
        Column("refused", "persons refused"),
        Column("later_favourable", "favourable later"),
        Column("median", "median wait (periods)", "", ("median_low", "median_high")),
        *(
            Column(
                f"after_{n}", f"wait more than {n}", "share", (f"after_{n}_low", f"after_{n}_high")
            )
            for n in SOON
        ),
    )
    about = (
        "Periods from a person's first refusal to their next favourable decision (Kaplan-Meier,"
        f" {roles.level:.0%} intervals). Persons without one, also those who did not ask again,"
        " wait until the table ends. No median where fewer than half are known to end."
    )
    return [
        Part("waits", "How long refused persons wait", about, rows, columns),
        _course_part(course, roles),
    ]


def _course(
    names: dict[str, Cell], wait: np.ndarray, ended: np.ndarray, level: float
) -> list[dict[str, Cell]]:
    """Rows of the share of a group that still waits after each period."""
    share, low, high = survival(wait, ended, level)
    every = zip(share, low, high, strict=True)
    return [
        names | {"after": t, "share": float(s), "low": float(a), "high": float(b)}
        for t, (s, a, b) in enumerate(every)
    ]


def _course_part(rows: list[dict[str, Cell]], roles: Roles) -> Part:
    columns = (
        Column("grouping", "by"),
        Column("group", "group"),
        Column("after", "periods"),
        Column("share", "still waiting", "share", ("low", "high")),
    )
    about = (
        "Share of the refused persons without a favourable decision so many periods after their"
        f" first refusal (Kaplan-Meier, {roles.level:.0%} intervals)."
    )
    return Part("waiting", "Who still waits", about, rows, columns)


def first_waits(
    person: np.ndarray, period: np.ndarray, favourable: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each person's first refusal, and how long they then wait.

    Args:
        person: Number of the person of each row.
        period: Index of the period, -1 if unknown (such rows are left out). Rows of a person and
            period are in the order of the table.
        favourable: Whether the decision was favourable.

    Returns:
        `(row, wait, ended)`: the row of the refusal, periods until the next favourable decision or
        until the last period, and whether there was one.
    """
    rows = np.flatnonzero(period >= 0)
    rows = rows[np.lexsort((period[rows], person[rows]))]
    who, good = person[rows], favourable[rows]
    places = np.arange(len(rows))
    refusals = places[~good]
    _, first = np.unique(who[refusals], return_index=True)
    start = refusals[first]
    following = np.minimum.accumulate(np.where(good, places, len(rows))[::-1])[::-1]
    end = following[start]
    ended = end < len(rows)
    ended[ended] = who[end[ended]] == who[start[ended]]
    begin = period[rows[start]]
    until = np.full(len(start), int(period.max(initial=0)))
    until[ended] = period[rows[end[ended]]]
    return rows[start], until - begin, ended


def _waiting(wait: np.ndarray, ended: np.ndarray, level: float, last: int) -> dict[str, Cell]:
    """Cells of the median wait and of the shares that wait longer."""
    share, low, high = survival(wait, ended, level)

    def median(course: np.ndarray) -> float | None:
        reached = np.flatnonzero(course <= 0.5)
        return float(reached[0]) if len(reached) else None

    row: dict[str, Cell] = {"median": median(share), "median_low": median(low)}
    end = median(high)
    row["median_high"] = math.inf if end is None and row["median"] is not None else end
    for n in SOON:
        if n <= last and n < len(share):
            row |= {f"after_{n}": float(share[n])}
            row |= {f"after_{n}_low": float(low[n]), f"after_{n}_high": float(high[n])}
    return row


def _repeats(person: np.ndarray) -> bool:
    return len(person) > 0 and int(np.bincount(person).max()) > 1
