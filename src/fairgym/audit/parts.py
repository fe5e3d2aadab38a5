"""Result tables of an audit: rows of numbers, and how they are shown."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

from fairgym.results.numbers import Estimate, interval, number, unit_text
from fairgym.results.table import Table

Cell = str | int | float | bool | None

P_VALUES = ("p", "p_holm", "change_p")  # keys
LEAST_P = 0.001  # of those, the least one that is written out


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a table for people.

    Attributes:
        key: Key of the number or text in the rows.
        title: Heading.
        unit: Unit of the numbers. Shares are shown in per cent; "points" are shares, too, shown in
            percentage points, for differences.
        limits: Keys of the lower and the upper limit of the number's interval; () without one.
        signed: Whether to write a plus sign before positive numbers, as for differences.
    """

    key: str
    title: str
    unit: str = ""
    limits: tuple[str, str] | tuple[()] = ()
    signed: bool = False

    @property
    def heading(self) -> str:
        """Title with the unit, such as "rate (%)" and "difference (points)"."""
        return f"{self.title}{unit_text(self.unit)}"


@dataclasses.dataclass(frozen=True)
class Part:
    """A result table of an audit. Its rows are its data; `columns` is how people see it.

    Attributes:
        name: Name for files and JSON, such as "rates".
        title: Title of the table.
        about: What the numbers mean, one or two sentences.
        rows: Flat rows of machine numbers: natural signs, plain units (shares from 0 to 1), None
            where undefined or suppressed. Limits of intervals are in keys that end in `low` and
            `high`.
        columns: Columns of the table for people; by default one for each key.
        findings: Sentences about what the table shows, the most important one first.
        limits: Sentences about what cannot be concluded.
    """

    name: str
    title: str
    about: str
    rows: Sequence[Mapping[str, Cell]]
    columns: Sequence[Column] = ()
    findings: Sequence[str] = ()
    limits: Sequence[str] = ()

    def table(self) -> Table:
        """Return the table of texts for the terminal and the page.

        Where the first column is "grouping" and repeats, its names become headings of rows. Columns
        without any text are left out.
        """
        keys = dict.fromkeys(key for row in self.rows for key in row)
        columns = self.columns or [Column(key, key.replace("_", " ")) for key in keys]
        columns = [one for one in columns if any(cell_text(row, one) for row in self.rows)]
        rows = [[cell_text(row, column) for column in columns] for row in self.rows]
        first = [row[0] for row in rows]
        if columns and columns[0].key == "grouping" and len(set(first)) < len(first):
            columns, ungrouped, rows = columns[1:], rows, []
            for place, row in enumerate(ungrouped):
                if not place or row[0] != first[place - 1]:
                    rows.append([f"By {row[0]}"])
                rows.append(row[1:])
        return Table([column.heading for column in columns], rows, self.about, self.title)


def cell_text(row: Mapping[str, Cell], column: Column) -> str:
    """Return a cell as text: a word, a whole number, or a number with its interval.

    It is "" for None, and "undefined" for NaN.
    """
    value = row.get(column.key)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not column.unit:
        return f"{value:,}".replace("-", "−")
    if column.key in P_VALUES and value < LEAST_P:
        return f"<{LEAST_P:g}"
    low, high = (row.get(key) for key in column.limits) if column.limits else (None, None)
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        low = high = math.nan
    found = Estimate(float(value), float(low), float(high))
    if not math.isfinite(found.mean):
        return number(found.mean)
    unit = "share" if column.unit == "points" else column.unit
    return interval(found, unit, column.signed)


def number_of(row: Mapping[str, Cell], key: str) -> float:
    """Return a number of a row; NaN for None, and where the row has no such number."""
    value = row.get(key)
    return float(value) if isinstance(value, int | float) else math.nan
