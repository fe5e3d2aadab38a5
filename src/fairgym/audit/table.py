"""Tables of logged decisions: read, checked, and kept by column."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from fairgym.audit.roles import Roles


@dataclasses.dataclass(frozen=True)
class Codes:
    """A column of names, as numbers.

    Attributes:
        codes: Index of each row's name, int32 with the shape (rows,); -1 where it is unknown.
        names: The names, sorted; periods are in the order of time.
    """

    codes: np.ndarray
    names: tuple[str, ...]

    def counts(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the number of rows of every name, or the sum of their weights."""
        known = self.codes >= 0
        own = None if weights is None else weights[known]
        return np.bincount(self.codes[known], own, len(self.names))


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a table comes from.

    Attributes:
        path: Path of the file, or the kind of data frame.
        sha256: Digest of the file; "" for a data frame.
        rows: Number of all rows, dropped ones included.
    """

    path: str
    sha256: str
    rows: int


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


def read_decisions(table: object, roles: Roles) -> Decisions:
    """Return the decisions of a table, after checking every row.

    Args:
        table: Path of a CSV or parquet file, a data frame of pandas, polars or pyarrow, or a
            dictionary of columns.
        roles: Which column plays which role.

    Raises:
        FairgymError: The file cannot be read, a column is missing, or a value is of another kind;
            the message names the column and the first bad row.
    """
    raise NotImplementedError(Path)
