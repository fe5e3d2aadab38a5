"""One table of texts, and rows of numbers as JSON, CSV and parquet."""

import csv
import dataclasses
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairgym.core import FairgymError
from fairgym.data.store import need
from fairgym.utils.files import make_folder, require_path, require_writable, write_whole

SCHEMA, VERSION = "fairgym results", 1  # of what `--json` prints
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


def require_table(path: str, field: str) -> Path:
    """Return the path of a table that can be written.

    Args:
        path: As the user gave it.
        field: Name of the setting, for the message.

    Raises:
        FairgymError: Another ending than .csv or .parquet, a place where no file can be written,
            or pyarrow is not installed and the table is to be .parquet.
    """
    require_path(path, field)
    found = Path(path)
    if found.suffix == ".parquet":
        need("pyarrow.parquet", "a parquet table")
    elif found.suffix != ".csv":
        raise FairgymError(f"{field} is {path!r}; it takes a file that ends in .csv or .parquet")
    require_writable(found)
    return found


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as CSV; what is missing in one, None or not a finite number is empty.

    A column stands where it first occurs. A text that a spreadsheet would take for a formula, such
    as the name "+30% beds", has an apostrophe in front, by which spreadsheets know texts.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, _columns(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _safe(plain(value)) for name, value in row.items()} for row in rows)
    return text.getvalue()


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows as a table, whole or not at all.

    Args:
        path: A file that `require_table` takes; what is missing is an empty cell, or null.
        rows: The rows.
    """
    make_folder(path.parent)
    if path.suffix == ".csv":
        write_whole(path, csv_text(rows).encode())
        return
    pyarrow, parquet = (need(f"pyarrow{part}", "a parquet table") for part in ("", ".parquet"))
    cells = {name: _alike([plain(row.get(name)) for row in rows]) for name in _columns(rows)}
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table(cells), sink)
    write_whole(path, sink.getvalue())


def _columns(rows: Sequence[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def results_json(command: str, settings: Mapping[str, object], **members: object) -> str:
    """The document of results that every command prints with `--json`.

    Args:
        command: The command, such as "sweep table".
        settings: What it was given.
        **members: "results", a list of flat records, and what else the command tells.
    """
    about = {"schema": SCHEMA, "version": VERSION, "command": command, "settings": settings}
    return json.dumps(plain({**about, **members}), indent=1, allow_nan=False)


def plain(value: Any) -> Any:
    """A value for JSON: None for a number that is not finite, lists, dictionaries, texts."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value if isinstance(value, str | int | bool | None) else str(value)


def _safe(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value


def _alike(values: Sequence[object]) -> list[Any]:
    """Values of one type: texts, where numbers and texts are mixed."""
    given = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in given):
        return [None if value is None else str(value) for value in values]
    return list(values)
