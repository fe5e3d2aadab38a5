"""Tables of texts, and rows of numbers as JSON, CSV and parquet."""

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
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")  # first characters of a formula


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of texts.

    Attributes:
        head: Names of the columns.
        rows: Cells. A row with a single cell is the heading of the rows below it.
        caption: Meaning of the numbers.
        title: Title of the table.
        words: Whether cells are words, which are aligned left; numbers are aligned right.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    title: str = ""
    words: bool = False

    def markdown(self) -> str:
        """Return the table in Markdown, without title and caption."""
        wide = [[*row, *[""] * (len(self.head) - len(row))] for row in self.rows]
        lines = [self.head, ["---"] * len(self.head), *wide]
        cells = ((cell.replace("|", "/") for cell in line) for line in lines)
        return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def require_table(path: str, field: str) -> Path:
    """Return the path of a table, after checking that it can be written.

    Args:
        path: Path as the user gave it.
        field: Name of the setting, for the error message.

    Raises:
        FairgymError: The path does not end in .csv or .parquet, no file can be written there, or
            it ends in .parquet and pyarrow is not installed.
    """
    require_path(path, field)
    found = Path(path)
    if found.suffix == ".parquet":
        need("pyarrow.parquet", "a parquet table")
    elif found.suffix != ".csv":
        raise FairgymError(f"{field} must be a file that ends in .csv or .parquet, got {path!r}")
    require_writable(found)
    return found


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows as CSV. Missing values, None and numbers that are not finite are empty.

    Columns are in the order of their first occurrence. Texts that a spreadsheet would take for a
    formula, such as the name "+30% beds", begin with an apostrophe, which marks texts there.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, _columns(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _safe(plain(value)) for name, value in row.items()} for row in rows)
    return text.getvalue()


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows as a table. An interrupted write leaves no partial file.

    Args:
        path: Path that `require_table` accepts. Missing values are empty cells, or null.
        rows: Rows as mappings from column to value.
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
    """Return the document that every command prints with `--json`.

    Args:
        command: Name of the command, such as "sweep table".
        settings: Settings of the command.
        **members: "results", a list of flat records, and further members.
    """
    about = {"schema": SCHEMA, "version": VERSION, "command": command, "settings": settings}
    return json.dumps(plain({**about, **members}), indent=1, allow_nan=False)


def plain(value: Any) -> Any:
    """Return a value for JSON: numbers that are not finite as None, unknown types as texts."""
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
    """Values of one type: texts if numbers and texts are mixed."""
    given = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in given):
        return [None if value is None else str(value) for value in values]
    return list(values)
