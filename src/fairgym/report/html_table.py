"""Tables in HTML."""

import html
from collections.abc import Sequence
from typing import Any


def table(head: Sequence[str], rows: Sequence[Sequence[str | None]], kind: str = "") -> str:
    """A table of cells that are HTML already.

    The first cell of a row is its heading; if it is None, the heading above holds for this row too.
    """
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = []
    for i, (heading, *cells) in enumerate(rows):
        below = [row[0] for row in rows[i + 1 :]]
        span = 1 + next((n for n, cell in enumerate(below) if cell is not None), len(below))
        group = f' rowspan="{span}"' if span > 1 else ""
        first = "" if heading is None else f'<th scope="row"{group}>{heading}</th>'
        body.append(f"<tr>{first}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    text = "\n".join(body)
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{top}</tr></thead>\n'
        f"<tbody>{text}</tbody></table></div>"
    )


def escaped(text: Any) -> str:
    """Text as HTML shows it: with &, < and > spelt out."""
    return html.escape(str(text), quote=False)
