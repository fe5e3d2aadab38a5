"""Printed results: sentences, tables, `--json` and `--csv FILE`."""

import contextlib
import dataclasses
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairgym.cli.common import plain
from fairgym.cli.parsing import flag
from fairgym.results.table import Table, require_table, results_json, write_rows

WIDTH = 100  # columns of text
_LABEL = 40  # columns that the first column of a table keeps
LINES = 25  # of what a command prints without --all
ALL_HELP = "Print everything, not only the first 25 lines."
LOG_HELP = "Also log the training for TensorBoard, as event files in DIR (docs/trackers.md)."
LOG = "tensorboard:DIR"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Output:
    """Flags for results as JSON, CSV or parquet."""

    json: bool = flag(False, "Print the results as JSON, with units.")
    csv: str | None = flag(
        None, "Write the same results to a .csv or .parquet table.", metavar="FILE"
    )

    def __post_init__(self) -> None:
        """Check that the table can be written before anything is computed."""
        if self.csv is not None:
            require_table(self.csv, "csv")

    def computing(self) -> contextlib.AbstractContextManager[object]:
        """Return a context that sends progress to standard error if JSON is asked for."""
        return contextlib.redirect_stdout(sys.stderr) if self.json else contextlib.nullcontext()

    def give(
        self,
        command: str,
        tell: Callable[[], Mapping[str, Any]],
        settings: Mapping[str, object] | None = None,
    ) -> bool:
        """Write the table and print the JSON that these flags ask for.

        Args:
            command: Name of the command, such as "sweep table".
            tell: Function that returns "results", a list of flat records, and further members of
                the JSON document. It is called only if JSON or a table is asked for.
            settings: Settings of the command; by default the values of its flags.

        Returns:
            Whether the command should print its tables for people.
        """
        if not self.json and self.csv is None:
            return True
        found = tell()
        if self.csv is not None:
            write_rows(Path(self.csv), found["results"])
        if self.json:
            if settings is None:  # `all` is about the screen alone
                settings = {name: x for name, x in vars(self).items() if name != "all"}
            told = {name: x for name, x in settings.items() if name not in ("json", "csv")}
            print(results_json(command, told, **found))
        return not self.json


def say(text: str) -> None:
    """Print a line about progress to standard error."""
    print(plain(text), file=sys.stderr)


def width() -> int:
    """Columns that text may take: 100, or fewer if the terminal has fewer."""
    if sys.stdout.isatty():
        return min(WIDTH, shutil.get_terminal_size().columns)
    return WIDTH


def folded(text: str) -> list[str]:
    """Return a sentence as lines that are not too wide."""
    lines = textwrap.wrap(plain(text), width(), break_long_words=False, subsequent_indent="  ")
    return lines or [""]


def line(text: str = "") -> None:
    """Print a sentence of the result, on a terminal in lines of at most 100 columns."""
    print("\n".join(folded(text)) if sys.stdout.isatty() else plain(text))


def fitting(start: str, items: Sequence[str]) -> str:
    """Return a line with as many of the items as fit, and the number of those that do not.

    Args:
        start: Start of the line.
        items: Items with the commas between them.

    Examples:
        >>> from fairgym.cli.output import fitting
        >>> fitting("worse in ", ["profit", ", wait"])
        'worse in profit, wait'
        >>> fitting("worse in ", ["profit", ", " + "wait " * 20, ", default rate"])
        'worse in profit and 2 more'
    """
    for count in range(len(items), 1, -1):
        more = f" and {len(items) - count} more" if count < len(items) else ""
        text = f"{start}{''.join(items[:count])}{more}"
        if len(plain(text)) <= width():
            return text
    more = f" and {len(items) - 1} more" if len(items) > 1 else ""
    text = plain(f"{start}{''.join(items[:1])}{more}")
    return text if len(text) <= width() else f"{text[: width() - 1]}…"


def fits(table: Table) -> bool:
    """Whether the table is not too wide."""
    return sum(_widths(table)) < width()


def show(table: Table, most: int | None = None) -> None:
    """Print a table.

    The first column has words; the others have numbers, or words where `table.words` says so.

    Args:
        table: The table.
        most: Largest width. A table that is wider is printed as several, each with the first
            column and as many others as fit. By default a table is as wide as the terminal, or as
            its cells where the output is no terminal.
    """
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=max(WIDTH, sum(_widths(table)) + 1))
    if most is not None and console.width > most:
        console = Console(width=most)
    for part in [table] if most is None else _split(table, console.width):
        console.print(_drawn(part))


def _widths(table: Table) -> list[int]:
    """Columns of text that each column takes, with its left border and padding."""
    lines = (table.head, *(row for row in table.rows if len(row) > 1))
    return [max(len(plain(cell)) for cell in column) + 3 for column in zip(*lines, strict=True)]


def _split(table: Table, most: int) -> list[Table]:
    """Split the table to at most this width: each part has the first column, the last the notes."""
    first, *others = _widths(table)
    first = min(first, _LABEL)  # a longer one is folded
    parts: list[list[int]] = [[]]
    room = most - first - 1
    for place, width in enumerate(others, 1):
        if parts[-1] and width > room:
            parts.append([])
            room = most - first - 1
        parts[-1].append(place)
        room -= width

    def cells(row: Sequence[str], places: Sequence[int]) -> list[str]:
        return [row[0], *(row[place] for place in places)] if len(row) > 1 else list(row)

    return [
        dataclasses.replace(
            table,
            head=cells(table.head, places),
            rows=[cells(row, places) for row in table.rows],
            title=table.title if places is parts[0] else "",
            caption=table.caption if places is parts[-1] else "",
        )
        for places in parts
    ]


def _drawn(table: Table) -> Any:
    """Return a table of rich."""
    from rich.table import Table as Shown
    from rich.text import Text

    shown = Shown(
        title=Text(plain(table.title)) if table.title else None,
        caption=Text(plain(table.caption)) if table.caption else None,
        title_justify="left",
        caption_justify="left",
    )
    for place, name in enumerate(table.head):
        flush = "left" if table.words or not place else "right"
        shown.add_column(Text(plain(name)), justify=flush, overflow="fold")
    for row in table.rows:
        if len(row) == 1 < len(table.head):
            shown.add_section()
        shown.add_row(*(Text(plain(cell)) for cell in row), style="bold" if len(row) == 1 else "")
    return shown
