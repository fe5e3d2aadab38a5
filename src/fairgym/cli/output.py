"""Results: sentences and tables on the screen, `--json` and `--csv FILE`."""

import contextlib
import dataclasses
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fairgym.cli.common import plain
from fairgym.cli.parsing import flag
from fairgym.results.table import Table, require_table, results_json, write_rows

_NARROW = 100  # columns of an output that says nothing of its width


@dataclasses.dataclass(frozen=True, kw_only=True)
class Output:
    """Flags of results for programs and spreadsheets."""

    json: bool = flag(False, "Print the results as JSON, numbers with their unit.")
    csv: str | None = flag(
        None, "Write the results to a table, .csv or .parquet: the same numbers.", metavar="FILE"
    )

    def __post_init__(self) -> None:
        """Check that the table can be written, before anything is computed."""
        if self.csv is not None:
            require_table(self.csv, "csv")

    def computing(self) -> contextlib.AbstractContextManager[object]:
        """While results are computed: progress goes to standard error if JSON is asked for."""
        return contextlib.redirect_stdout(sys.stderr) if self.json else contextlib.nullcontext()

    def give(
        self,
        command: str,
        tell: Callable[[], Mapping[str, Any]],
        settings: Mapping[str, object] | None = None,
    ) -> bool:
        """Write and print what these flags ask for.

        Args:
            command: The command, such as "sweep table".
            tell: Called if they ask for anything: "results", a list of flat records, and what else
                JSON has.
            settings: What the command was given; by default the values of its flags.

        Returns:
            True if the tables for people are to be printed.
        """
        if not self.json and self.csv is None:
            return True
        found = tell()
        if self.csv is not None:
            write_rows(Path(self.csv), found["results"])
        if self.json:
            given = dataclasses.asdict(self) if settings is None else settings
            told = {name: x for name, x in given.items() if name not in ("json", "csv")}
            print(results_json(command, told, **found))
        return not self.json


def say(text: str) -> None:
    """Progress, on standard error."""
    print(plain(text), file=sys.stderr)


def line(text: str = "") -> None:
    """A sentence of the result, on a terminal in lines of at most 100 columns."""
    text = plain(text)
    if sys.stdout.isatty():
        width = min(_NARROW, shutil.get_terminal_size().columns)
        text = textwrap.fill(text, width, break_long_words=False, subsequent_indent="  ")
    print(text)


def show(table: Table, most: int | None = None) -> None:
    """Print a table; where it goes to a file, as wide as it takes.

    The first column has words; the others have numbers, or words where `table.words` says so.

    Args:
        table: the table.
        most: the most columns of text; cells are folded where it takes more. Without, as many as
            the terminal has.
    """
    from rich.console import Console
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
    console = Console()
    if not console.is_terminal:
        lines = (table.head, *(row for row in table.rows if len(row) > 1))
        widths = [max(len(plain(cell)) for cell in column) for column in zip(*lines, strict=True)]
        console = Console(width=max(_NARROW, sum(widths) + 3 * len(widths) + 1))
    if most is not None and console.width > most:
        console = Console(width=most)
    console.print(shown)
