"""One table of texts, and rows of numbers as CSV and parquet files."""

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairgym.core import FairgymError
from fairgym.data.store import need
from fairgym.utils.files import write_whole

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")  # first letters of what is calculated


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of texts.

    Attributes:
        head: Names of the columns.
        rows: Cells. A row of a single cell is the heading of those below it.
        caption: Meaning of the numbers.
        title: What the table shows.
        words: True if the cells are words, False for numbers, which stand flush right.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    title: str = ""
    words: bool = False

    def markdown(self) -> str:
        """The table in Markdown, without title and caption."""
        wide = [[*row, *[""] * (len(self.head) - len(row))] for row in self.rows]
        lines = [self.head, ["---"] * len(self.head), *wide]
        cells = ((cell.replace("|", "/") for cell in line) for line in lines)
        return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows with equal names of columns as CSV; what is missing is empty.

    A text that a spreadsheet would take for a formula, such as the name "+30% beds", has an
    apostrophe in front, by which spreadsheets know texts.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _safe(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows with equal names of columns, whole or not at all.

    Args:
        path: A file that ends in .csv or .parquet; a missing value is an empty cell, or null.
        rows: The rows.

    Raises:
        FairgymError: Another ending, a file that cannot be written, pyarrow is not installed.
    """
    if path.suffix == ".csv":
        write_whole(path, csv_text(rows).encode())
    elif path.suffix == ".parquet":
        pyarrow = need("pyarrow", "a parquet table")
        parquet = need("pyarrow.parquet", "a parquet table")
        columns = {name: _alike([row[name] for row in rows]) for name in rows[0]}
        sink = io.BytesIO()
        parquet.write_table(pyarrow.table(columns), sink)
        write_whole(path, sink.getvalue())
    else:
        raise FairgymError(f"{path} ends in {path.suffix!r}; it takes .csv or .parquet")


def _safe(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value


def _alike(values: Sequence[object]) -> list[Any]:
    """Values of one type: texts, where numbers and texts are mixed."""
    given = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in given):
        return [None if value is None else str(value) for value in values]
    return list(values)
