"""Tables of sweeps as files."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairgym.core import FairgymError
from fairgym.core.files import write_whole
from fairgym.data.store import need


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows with equal names of columns, whole or not at all.

    Args:
        path: A file that ends in .csv or .parquet; a missing value is an empty cell, or null.
        rows: The rows.

    Raises:
        FairgymError: Another ending, a file that cannot be written, pyarrow is not installed.
    """
    if path.suffix == ".csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_whole(path, text.getvalue().encode())
    elif path.suffix == ".parquet":
        pyarrow = need("pyarrow", "a parquet table")
        parquet = need("pyarrow.parquet", "a parquet table")
        columns = {name: _alike([row[name] for row in rows]) for name in rows[0]}
        sink = io.BytesIO()
        parquet.write_table(pyarrow.table(columns), sink)
        write_whole(path, sink.getvalue())
    else:
        raise FairgymError(f"{path} ends in {path.suffix!r}; it takes .csv or .parquet")


def _alike(values: Sequence[Any]) -> list[Any]:
    """Values of one type: texts, where numbers and texts are mixed."""
    given = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in given):
        return [None if value is None else str(value) for value in values]
    return list(values)
