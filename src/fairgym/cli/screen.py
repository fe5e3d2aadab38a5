"""Sentences and tables on the screen."""

import shutil
import sys
import textwrap

from fairgym.cli.common import plain
from fairgym.results.table import Table

_NARROW = 100  # columns of an output that says nothing of its width


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
