"""Tables in HTML."""

import html
import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

MOST_COLUMNS = 7  # of one table, headings included: what a printed page has room for

Row = Sequence[str | None]


def table(head: Sequence[str], rows: Sequence[Row], kind: str = "", headings: int = 1) -> str:
    """A table of cells that are HTML already; a wide one as several, one below the other.

    The first cell of a row is its heading; if it is None, the heading above holds for this row too.

    Args:
        head: the cells of the first line.
        rows: the cells of the other lines.
        kind: classes of the table.
        headings: number of columns at the left that say what a row is; each part of a wide table
            has them.
    """
    columns = len(head) - headings
    parts = max(1, math.ceil(columns / (MOST_COLUMNS - headings)))
    ends = [headings + round(columns * part / parts) for part in range(parts + 1)]

    def narrow(row: Row, start: int, end: int) -> Row:
        return [*row[:headings], *row[start:end]]

    return "\n".join(
        _table(narrow(head, *limits), [narrow(row, *limits) for row in rows], kind)
        for limits in itertools.pairwise(ends)
    )


def _table(head: Row, rows: Sequence[Row], kind: str) -> str:
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    # rows under one heading are a body of their own, which is not torn apart in print
    starts = [i for i, row in enumerate(rows) if row[0] is not None]
    groups = [rows[i:j] for i, j in itertools.pairwise([*starts, len(rows)])]
    apart = "</tbody>\n<tbody>" if len(groups) < len(rows) else "\n"
    text = apart.join("\n".join(_row(row, len(group)) for row in group) for group in groups)
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{top}</tr></thead>\n'
        f"<tbody>{text}</tbody></table></div>"
    )


def _row(cells: Row, span: int) -> str:
    """A line of a table, whose heading holds for `span` lines."""
    heading, *rest = cells
    group = f' rowspan="{span}"' if span > 1 else ""
    first = "" if heading is None else f'<th scope="row"{group}>{heading}</th>'
    return f"<tr>{first}{''.join(f'<td>{cell}</td>' for cell in rest)}</tr>"


def escaped(text: Any) -> str:
    """Text as HTML shows it: with &, < and > spelt out."""
    return html.escape(str(text), quote=False)


def estimate_cell(text: str) -> str:
    """An estimate as a cell, which breaks before its interval rather than within it."""
    return re.sub(r"\[.*\]", r'<span class="whole">\g<0></span>', escaped(text))
