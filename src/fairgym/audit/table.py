"""Tables of logged decisions: read, checked, and kept by column."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairgym.audit.columns import (
    MISSING,
    Codes,
    crossed,
    first_of,
    ids_of,
    legit_of,
    names_of,
    numbers_of,
    occurs,
    periods_of,
    texts,
    truths_of,
)
from fairgym.audit.examples import PREFIX, example_table
from fairgym.audit.reading import read_table
from fairgym.audit.roles import Roles
from fairgym.core import FairgymError
from fairgym.fairness.dates import iso_dates
from fairgym.utils.changes import did_you_mean

MOST_GROUPS = 200  # of a column
MOST_PERIODS = 5000


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a table comes from.

    Attributes:
        path: Path of the file, or the kind of data frame.
        sha256: Digest of the file; "" for a data frame.
        rows: Number of all rows, dropped ones included.
        notes: Sentences about how the file was read.
    """

    path: str
    sha256: str
    rows: int
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Decisions:
    """Logged decisions by column. All arrays have the shape (rows,), without the dropped rows.

    Attributes:
        favourable: Whether each decision was favourable, bool.
        groupings: The groups by each column, and last by all crossed columns (`Roles.crossed`).
        source: Where the table comes from.
        dropped: Number of dropped rows by reason.
        periods: Distinct times in their order, named and never padded; None without times.
        outcome: 1 for a good outcome, 0 for a bad one, NaN where unknown; None without the role.
        score: Score, NaN where unknown; None without the role.
        legit: Columns that may account for a gap: names as `Codes`, numbers as float64.
        person: Number of the person from 0, int64. Rows without an id are persons of their own.
        cluster: Cluster of each row; None without the role.
        weight: Weight of each row, float64 of at least 0; None if all rows count alike.
        amount: Amount of each row, float64; None without the role.
    """

    favourable: np.ndarray
    groupings: Mapping[str, Codes]
    source: Source
    dropped: Mapping[str, int] = dataclasses.field(default_factory=dict)
    periods: Codes | None = None
    outcome: np.ndarray | None = None
    score: np.ndarray | None = None
    legit: Mapping[str, Codes | np.ndarray] = dataclasses.field(default_factory=dict)
    person: np.ndarray | None = None
    cluster: Codes | None = None
    weight: np.ndarray | None = None
    amount: np.ndarray | None = None

    @property
    def rows(self) -> int:
        """Number of decisions."""
        return len(self.favourable)

    def kept(self, rows: np.ndarray) -> "Decisions":
        """Return some of the decisions, with all groups and periods.

        Args:
            rows: Indices of the rows, or whether to keep each row.
        """
        every = dataclasses.fields(self)
        values = {field.name: getattr(self, field.name) for field in every}
        return Decisions(**{name: _rows_of(value, rows) for name, value in values.items()})

    @property
    def units(self) -> np.ndarray | None:
        """Number of the independent unit of each row: its cluster, else its person.

        Rows whose cluster is unknown are units of their own. None if all rows are independent.
        """
        if self.cluster is None:
            return self.person
        codes, alone = self.cluster.codes.astype(np.int64), self.cluster.codes < 0
        codes[alone] = len(self.cluster.names) + np.arange(int(alone.sum()))
        return codes


def _rows_of(value: Any, rows: np.ndarray) -> Any:
    """Return some rows of an array, of codes, or of a dictionary of these."""
    if isinstance(value, np.ndarray):
        return value[rows]
    if isinstance(value, Codes):
        return Codes(value.codes[rows], value.names)
    if isinstance(value, Mapping):
        return {name: _rows_of(one, rows) for name, one in value.items()}
    return value


def read_decisions(table: object, roles: Roles, *, absent_ok: bool = False) -> Decisions:
    """Return the decisions of a table, after checking every row.

    Args:
        table: Path of a CSV or parquet file, "example:NAME" for a built-in table, a data frame of
            pandas, polars or pyarrow, or a dictionary of columns.
        roles: Which column plays which role.
        absent_ok: Whether values of `roles.unknown` may be absent from the table. Roles that are
            kept for several tables may list more than one table has.

    Raises:
        FairgymError: The file cannot be read, a column is missing, or a value is of another kind;
            the message names the column and the first bad row.
    """
    named = table if isinstance(table, str) and table.startswith(PREFIX) else ""
    given = example_table(named.removeprefix(PREFIX)) if named else table
    numeric = (roles.score, roles.weight, roles.amount)
    found, path, digest, notes = read_table(given, roles.columns, numeric, MISSING)
    path = named or path
    if not found.num_rows:
        raise FairgymError(f"the table must have one row per decision, got no rows in {path}")
    if roles.time:
        _, order = iso_dates(texts(found[roles.time]).names, roles.time)
        notes += (f"The dates of {roles.time} were read as {order}.",) * bool(order)
    source = Source(path, digest, found.num_rows, notes)
    decision = truths_of(
        found[roles.decision], roles.decision, "favourable", roles.favourable, roles.unfavourable
    )
    kept, dropped = _kept(decision, found[roles.decision], roles)
    rows = np.flatnonzero(kept)
    named_groups = {name: names_of(found[name]) for name in roles.groups}
    groupings = {
        name: _groups(codes.without(roles.unknown).kept(rows), name)
        for name, codes in named_groups.items()
    }
    if not absent_ok:
        _require_there(roles.unknown, {name: one.names for name, one in named_groups.items()})
    if roles.crossed:
        groupings[roles.crossed] = crossed(list(groupings.values()))
    legit = {name: legit_of(found[name], name) for name in roles.legit}
    cluster = names_of(found[roles.cluster]).kept(rows) if roles.cluster else None
    return Decisions(
        favourable=decision[rows] == 1.0,
        groupings=groupings,
        source=source,
        dropped=dropped,
        periods=_periods(found[roles.time], rows, roles) if roles.time else None,
        outcome=(
            truths_of(found[roles.outcome], roles.outcome, "good", roles.good)[rows]
            if roles.outcome
            else None
        ),
        score=_numbers(found, roles.score, "score", rows),
        legit={
            name: one.kept(rows) if isinstance(one, Codes) else one[rows]
            for name, one in legit.items()
        },
        person=ids_of(found[roles.person])[rows] if roles.person else None,
        cluster=cluster,
        weight=_weights(_numbers(found, roles.weight, "weight", rows, 0.0), roles),
        amount=_numbers(found, roles.amount, "amount", rows),
    )


def _kept(
    decision: np.ndarray, column: object, roles: Roles
) -> tuple[np.ndarray, Mapping[str, int]]:
    """Return which rows have a decision, and the number of the others by reason."""
    kept = np.isfinite(decision)
    dropped = Counter[str]()
    if not kept.all():
        given = names_of(column)
        empty = int((given.codes[~kept] < 0).sum())
        dropped[f"no {roles.decision}"] = empty
        dropped[f"{roles.decision} neither favourable nor unfavourable"] = (
            int((~kept).sum()) - empty
        )
    if not kept.any():
        raise FairgymError(
            f"the column {roles.decision!r} must have decisions, got empty cells only"
        )
    return kept, {reason: number for reason, number in dropped.items() if number}


def _groups(codes: Codes, name: str) -> Codes:
    """Return groups, after checking that there are at least two and not too many."""
    count = len(codes.names)
    if count > MOST_GROUPS:
        raise FairgymError(
            f"the column {name!r} must have at most {MOST_GROUPS} groups, got {count:,} different"
            " values; is it a number, or an id of persons (--person)?"
        )
    if count < 2:
        only = f"only {codes.names[0]!r}" if count else "empty cells only"
        raise FairgymError(f"the column {name!r} must have two or more groups, got {only}")
    return codes


def _require_there(values: Sequence[str], names: Mapping[str, Sequence[str]]) -> None:
    """Raise a FairgymError unless each value for an unknown group occurs in a column of groups.

    Args:
        values: The values.
        names: Column -> its values, without empty cells.
    """
    every = list(dict.fromkeys(name for own in names.values() for name in own))
    for value in values:
        if occurs(value, every):
            continue
        if len(names) > 1:
            where = f"which occurs in none of the columns {', '.join(map(repr, names))}"
            told = did_you_mean(value, every)
        else:
            where = f"which does not occur in the column {next(iter(names))!r}"
            told = f"; it has: {first_of(every)}"
        raise FairgymError(f"unknown must name values of the groups, got {value!r}, {where}{told}")


def _periods(column: object, rows: np.ndarray, roles: Roles) -> Codes:
    found = periods_of(column, roles.time, roles.every).kept(rows)
    if len(found.names) > MOST_PERIODS:
        raise FairgymError(
            f"the column {roles.time!r} must have at most {MOST_PERIODS:,} different times, got"
            f" {len(found.names):,}; group dates with --every month"
        )
    return found


def _numbers(
    table: Any, name: str, role: str, rows: np.ndarray, low: float = -np.inf
) -> np.ndarray | None:
    return numbers_of(table[name], name, role, low)[rows] if name else None


def _weights(weight: np.ndarray | None, roles: Roles) -> np.ndarray | None:
    """Return weights, after checking that all are given and some are above 0."""
    if weight is None:
        return None
    bad = np.flatnonzero(np.isnan(weight))
    if bad.size:
        raise FairgymError(
            f"the column {roles.weight!r} (weight) must have a number in every row, got"
            f" {bad.size:,} empty cells"
        )
    if not weight.any():
        raise FairgymError(f"the column {roles.weight!r} (weight) must have weights above 0")
    return weight
