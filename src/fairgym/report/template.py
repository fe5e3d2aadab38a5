"""Frame of a page (HTML and CSS), and its tables.

The frame is a format string with the fields `title`, `light`, `dark` and `body`.
"""

import html
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from fairgym.results.numbers import Estimate, few_seeds_text, interval
from fairgym.results.table import csv_text

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light; {light} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ color-scheme: dark; {dark} }} }}
body {{ font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 64rem; margin: 2rem auto 4rem; padding: 0 1rem; }}
h1 {{ font-size: 1.8rem; line-height: 1.25; margin-bottom: 0.2rem; }}
h2 {{ font-size: 1.25rem; margin: 2.4rem 0 0.6rem; }}
h1 + .note, #short {{ margin-top: 0.4rem; }}
h3 {{ font-size: 1rem; margin: 1.6rem 0 0.4rem; }}
p, li, figcaption {{ max-width: 46rem; }}
li {{ margin: 0.25rem 0; }}
figure {{ margin: 0.8rem 0; }}
figure svg {{ display: block; width: 100%; height: auto; }}
figcaption, .note {{ color: var(--muted); font-size: 0.93rem; }}
figcaption {{ margin-top: 0.6rem; }}
/* A shadow at an edge says that there is more: the first two layers move with the content. */
.scroll {{ overflow-x: auto; background:
  linear-gradient(to right, var(--paper) 40%, transparent) left / 2.5rem 100% no-repeat local,
  linear-gradient(to left, var(--paper) 40%, transparent) right / 2.5rem 100% no-repeat local,
  linear-gradient(to right, var(--muted), transparent) left / 0.7rem 100% no-repeat scroll,
  linear-gradient(to left, var(--muted), transparent) right / 0.7rem 100% no-repeat scroll; }}
.scroll + .scroll {{ margin-top: 1.5rem; }}
table {{ border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: left; padding: 0.35rem 1.1rem 0.35rem 0; vertical-align: top;
  border-bottom: 1px solid var(--grid); }}
thead th {{ vertical-align: bottom; border-bottom-color: var(--muted); }}
tbody th {{ font-weight: 600; }}
td {{ overflow-wrap: anywhere; }}
.results td {{ overflow-wrap: normal; }}
.whole {{ display: inline-block; }}
.best {{ font-weight: 700; }}
small {{ color: var(--muted); font-size: 0.85em; font-weight: 400; display: block; }}
details {{ margin: 0.8rem 0; }}
summary {{ cursor: pointer; font-weight: 600; }}
.numbers > summary {{ font-weight: 400; font-size: 0.93rem; color: var(--muted); }}
nav {{ margin: 1.2rem 0; max-width: 46rem; }}
a {{ color: inherit; }}
pre {{ overflow-x: auto; font-size: 0.85rem; border: 1px solid var(--grid); padding: 0.6rem; }}
button {{ font: inherit; font-size: 0.85rem; color: inherit; background: none; cursor: pointer;
  border: 1px solid var(--muted); border-radius: 0.25rem; padding: 0.05rem 0.5rem; }}
thead button {{ border: 0; padding: 0; font-size: 1em; font-weight: 600; text-align: left; }}
[aria-sort] button::after {{ content: " ↓"; }}
[aria-sort="ascending"] button::after {{ content: " ↑"; }}
[aria-pressed="false"] {{ border-style: dashed; color: var(--muted); }}
.big {{ list-style: none; padding: 0; display: grid; gap: 0.8rem 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); }}
.big li {{ border-top: 2px solid var(--muted); padding-top: 0.3rem; font-size: 0.93rem; }}
.big b {{ display: block; font-size: 1.6rem; line-height: 1.25; }}
.first {{ border-left: 0.3rem solid var(--group-1); padding: 0.1rem 0 0.1rem 0.4rem; }}
.cells label {{ display: inline-block; margin: 0 2rem 0.4rem 0; max-width: 20rem; }}
.cells input {{ display: block; width: 14rem; max-width: 100%; accent-color: var(--ink); }}
.part th {{ padding-top: 0.9rem; }}
.narrow svg {{ max-width: 46rem; }}
svg text {{ font-family: system-ui, sans-serif !important; }}
.off {{ visibility: hidden; }}
#tip {{ position: absolute; z-index: 1; max-width: 20rem; padding: 0.2rem 0.5rem;
  font-size: 0.85rem; color: var(--paper); background: var(--ink); pointer-events: none; }}
@media screen {{
  figure svg {{ min-width: 44rem; }}
  .narrow svg {{ min-width: 31rem; }}
  .results tbody th {{ min-width: 11rem; }}
  .groups tbody th {{ min-width: 9rem; }}
  .wrap {{ display: inline-block; min-width: 6.4rem; max-width: 11rem; }}
  .whole {{ white-space: nowrap; }}
  .prose {{ display: inline-block; min-width: 12rem; }}
}}
@media screen and (max-width: 40rem) {{
  th, td {{ padding-right: 0.8rem; }}
  .results tbody th {{ min-width: 6rem; }}
}}
@media print {{
  @page {{ margin: 12mm; }}
  :root {{ font-size: 9.5pt; }}
  body {{ font-size: 1rem; max-width: none; margin: 0; padding: 0; }}
  h2, h3, .note, summary {{ break-after: avoid; }}
  p, li, figcaption {{ max-width: none; }}
  .part {{ break-after: avoid; }}
  pre {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
  figure, tr, .groups tbody {{ break-inside: avoid; }}
  /* No taller than a page with its heading and caption. */
  figure svg {{ max-height: 20.5cm; }}
  /* Nothing scrolls on paper: tables as wide as the page, whose cells wrap. */
  .scroll {{ overflow: visible; background: none; }}
  table {{ width: 100%; table-layout: fixed; font-size: 8pt; }}
  th, td {{ padding-right: 0.5rem; overflow-wrap: anywhere; }}
  thead th:first-child {{ width: 20%; }}
  .groups thead th:nth-child(2) {{ width: 14%; }}
  details::details-content {{ content-visibility: visible; }}
  /* A button is a box, which is left out where a heading is repeated on the next page. */
  thead button {{ display: contents; }}
  .numbers, #save, .cells input {{ display: none; }}  /* these are for the screen */
}}
</style>
</head>
<body>
{body}
</body>
</html>
"""


MOST_COLUMNS = 7  # of one table, headings included: what a printed page has room for

Row = Sequence[str | None]


def table(head: Sequence[str], rows: Sequence[Row], kind: str = "", headings: int = 1) -> str:
    """Return a table of cells that are HTML already; split a wide one into several.

    The first cell of a row is its heading; None continues the heading of the row above. A row with
    a single cell is the heading of the rows below it.

    Args:
        head: The cells of the first line.
        rows: The cells of the other lines.
        kind: Classes of the table.
        headings: Number of columns at the left that name a row; each part of a wide table repeats
            them.
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
    over = [i for i, row in enumerate(rows) if len(row) == 1 < len(head)]
    starts = over or [i for i, row in enumerate(rows) if row[0] is not None]
    groups = [rows[i:j] for i, j in itertools.pairwise([*starts, len(rows)])]
    apart = "</tbody>\n<tbody>" if len(groups) < len(rows) else "\n"
    if over:
        lines = [
            [_over(group[0][0], len(head)), *(_row(row, 1) for row in group[1:])]
            for group in groups
        ]
    else:
        lines = [[_row(row, len(group)) for row in group] for group in groups]
    text = apart.join(map("\n".join, lines))
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{top}</tr></thead>\n'
        f"<tbody>{text}</tbody></table></div>"
    )


def _row(cells: Row, span: int) -> str:
    """Return a row of a table, whose heading spans `span` rows."""
    heading, *rest = cells
    group = f' rowspan="{span}"' if span > 1 else ""
    first = "" if heading is None else f'<th scope="row"{group}>{heading}</th>'
    return f"<tr>{first}{''.join(f'<td>{cell}</td>' for cell in rest)}</tr>"


def _over(heading: str | None, columns: int) -> str:
    """Return the heading of the rows below it."""
    return f'<tr class="part"><th scope="rowgroup" colspan="{columns}">{heading}</th></tr>'


def csv_link(name: str, rows: Sequence[Mapping[str, object]]) -> str:
    """Return a link that saves rows as NAME.csv; it holds the file.

    Texts that a spreadsheet would take for a formula begin with an apostrophe.
    """
    data = quote(csv_text(rows), safe=",/:;+()[]") if rows else ""
    return f'<a download="{name}.csv" href="data:text/csv;charset=utf-8,{data}">{name}.csv</a>'


def fold(summary: str, content: str, kind: str = "fold") -> str:
    """Return content that opens with a click on its summary."""
    return f'<details class="{kind}"><summary>{escaped(summary)}</summary>{content}</details>'


def bullets(lines: Sequence[str]) -> str:
    """Return a list of sentences; "" for none."""
    items = "".join(f"<li>{escaped(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if lines else ""


def escaped(text: object) -> str:
    """Escape &, < and > for HTML."""
    return html.escape(str(text), quote=False)


def wrapped(name: str) -> str:
    """Return the name of a policy as a cell that breaks between words."""
    return f'<span class="wrap">{escaped(name)}</span>'


def noted(text: str) -> str:
    """Return a note below a table."""
    return f'<p class="note">{escaped(text)}</p>'


def estimated(value: Estimate, unit: str = "") -> str:
    """Return an estimate as a cell, with the means of two or three seeds in small print."""
    return estimate_cell(interval(value, unit)) + by_seed(few_seeds_text(value.seeds, unit))


def by_seed(text: str) -> str:
    """Return the values of seeds as small print; "" for none."""
    return f"<small>by seed {text}</small>" if text else ""


def estimate_cell(text: str) -> str:
    """Return an estimate as a cell that breaks before its interval, not within it."""
    return re.sub(r"\[.*\],?", r'<span class="whole">\g<0></span>', escaped(text))
