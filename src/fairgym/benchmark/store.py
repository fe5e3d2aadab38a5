"""Raw results of the benchmark: one row per run, in a table per tier."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairgym.core import FairgymError
from fairgym.results.table import require_table, write_rows
from fairgym.utils.files import read_regular

FOLDER = Path(__file__).parent / "results"
LARGEST = 20_000_000  # bytes
TUNING, FRONTIER, PUBLISHED, RULES = "tuning", "frontier", "published", "rules"
STAGES = (TUNING, FRONTIER, PUBLISHED, RULES)
FIXED, RANDOM = "fixed-rules", "random"  # policies without learning, in the place of learners
CHOSEN = "published"  # name of the published setting
# What tells rows apart; a later row with the same key replaces an earlier one.
KEY = (
    *("task", "fingerprint", "algorithm", "learner_fingerprint"),
    *("stage", "setting", "level", "seed"),
)
NUMBERS = ("reward", "unfairness", "disparity", "null", "p", "terminated", "steps", "seconds")
COLUMNS = (
    *KEY,
    *NUMBERS,
    "rates",
    "episodes",
    "settings",
    "commit",
    "versions",
    "finished",
)
DIGITS = 8  # of stored numbers

Row = Mapping[str, str]


def stored(tier: str) -> Path:
    """Return the path of the results that come with the package."""
    return FOLDER / f"{tier}.csv"


def key_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what tells a row from others."""
    return tuple(str(row[name]) for name in KEY)


def number_of(row: Row, name: str) -> float:
    """Return a number of a row; NaN where it is missing."""
    return float(row[name]) if row[name] else math.nan


def text_of(value: float | None) -> str:
    """Return a number as it is stored; "" for None and numbers that are not finite."""
    return "" if value is None or not math.isfinite(value) else f"{value:.{DIGITS}g}"


def level_text(level: float) -> str:
    """Return a level as it is stored."""
    return f"{level:g}"


def read_results(path: Path) -> list[dict[str, str]]:
    """Read rows; none if there is no file.

    Raises:
        FairgymError: The file cannot be read, is no table of results, or a number is none.
    """
    if not path.exists():
        return []
    try:
        text = read_regular(path, LARGEST).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise FairgymError(f"{path} cannot be read: {error}") from error
    reader = csv.DictReader(io.StringIO(text))
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise FairgymError(f"{path} has no column {missing[0]!r}; it holds no benchmark results")
    rows = []
    for number, row in enumerate(reader, 2):
        if None in row or None in row.values():
            raise FairgymError(f"{path}, line {number}: it has another number of cells")
        try:
            [number_of(row, name) for name in NUMBERS]
        except ValueError as error:
            raise FairgymError(f"{path}, line {number}: {error}") from error
        if row["stage"] not in STAGES:
            raise FairgymError(
                f"{path}, line {number}: stage must be one of {', '.join(STAGES)}, got"
                f" {row['stage']!r}"
            )
        rows.append({name: row[name] for name in COLUMNS})
    return rows


def merged(*tables: Iterable[Row]) -> list[Row]:
    """Return rows of several tables; of rows with the same key the last one counts."""
    found = {key_of(row): row for table in tables for row in table}
    return [found[key] for key in sorted(found)]


def write_results(path: Path, rows: Sequence[Row]) -> None:
    """Write rows in the order of their keys, each key once.

    Raises:
        FairgymError: The file cannot be written.
    """
    require_table(str(path), "results")

    def cell(row: Row, name: str) -> object:
        # a number, since a table marks texts such as "-1", which a spreadsheet takes for a formula
        return (float(row[name]) if row[name] else None) if name in NUMBERS else row[name]

    write_rows(path, [{name: cell(row, name) for name in COLUMNS} for row in merged(rows)])


def require_results(path: str) -> Path:
    """Return the path of a table of results, after checking that it can be read and written.

    Raises:
        FairgymError: It is no .csv file, cannot be written, or holds something else.
    """
    found = require_table(path, "results")
    if found.suffix != ".csv":
        raise FairgymError(f"results must be a file that ends in .csv, got {path!r}")
    read_results(found)
    return found
