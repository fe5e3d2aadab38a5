"""Pages that are one file: their frame, figures and tables, with data and script in them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairgym.report.svg import Captioned, inline_svg, variables
from fairgym.report.template import (
    PAGE,
    bullets,
    csv_link,
    escaped,
    estimate_cell,
    fold,
    noted,
    table,
)
from fairgym.results.table import Table, plain

SCRIPT = Path(__file__).with_name("page.js")
MOST_OPEN = 30  # rows of a table that is not folded
MOST_ROWS = 500  # rows of a table; its CSV file has all
LONG_TEXT = 30  # characters of a text that would become a column of single words


def whole_page(
    name: str,
    title: str,
    first: Sequence[str],
    sections: Mapping[str, tuple[str, str]],
    data: object,
) -> str:
    """Return a page as HTML: its first parts, contents, sections, data and script.

    Args:
        name: Name of the data, which a button saves as NAME.json.
        title: Title of the page.
        first: Parts before the contents, as HTML; they begin below the title.
        sections: Section id -> heading as text, and content as HTML.
        data: Values for JSON.
    """
    links = (f'<a href="#{key}">{escaped(one)}</a>' for key, (one, _) in sections.items())
    body = [
        f"<h1>{escaped(title)}</h1>",
        *first,
        f'<nav aria-label="Contents"><b>Contents</b> {" · ".join(links)}</nav>',
        *(f'<h2 id="{key}">{escaped(one)}</h2>{text}' for key, (one, text) in sections.items()),
        scripted(name, data),
    ]
    return PAGE.format(
        title=escaped(title), light=variables(False), dark=variables(True), body="\n".join(body)
    )


def first_sentences(sentences: Sequence[str], more: str, most: int = 6) -> str:
    """Return the first sentences as a list, and the others folded.

    Args:
        sentences: The sentences, the most important one first.
        more: What the fold is called.
        most: Number of sentences that are not folded.
    """
    rest = sentences[most:]
    return bullets(sentences[:most]) + (fold(more, bullets(rest)) if rest else "")


def figure(name: str, one: Captioned) -> str:
    """Return a figure with its heading and caption.

    Args:
        name: Unique name in the page.
        one: The figure.
    """
    drawing = inline_svg(one.figure, name, one.heading, words=True)
    return (
        f'<h3>{escaped(one.heading)}</h3><figure class="narrow"><div class="scroll">{drawing}</div>'
        f"<figcaption>{escaped(one.caption)}</figcaption></figure>"
    )


def sortable(shown: Table, *, headings: int = 1, count: int | None = None) -> str:
    """Return a table that the script sorts, folded if it is long.

    Args:
        shown: The table. Its title and caption are left out.
        headings: Number of columns at the left that name a row.
        count: Number of rows that the fold tells; by default that of the table.
    """
    head = [escaped(name) for name in shown.head]
    rows = [
        [*map(estimate_cell, row[:headings]), *map(_cell, row[headings:])]
        for row in shown.rows[:MOST_ROWS]
    ]
    text = table(head, rows, "results sortable", headings=headings)
    if len(shown.rows) > MOST_ROWS:
        text += noted(f"The first {MOST_ROWS} of {len(shown.rows):,} rows; the CSV file has all.")
    count = len(shown.rows) if count is None else count
    return fold(f"All {count:,} rows", text) if count > MOST_OPEN else text


def _cell(text: str) -> str:
    """Return an estimate or a text as a cell; a long text keeps some width on a small screen."""
    cell = estimate_cell(text)
    long = len(text) > LONG_TEXT and cell == escaped(text)
    return f'<span class="prose">{cell}</span>' if long else cell


def csv_line(name: str, rows: Sequence[Mapping[str, object]]) -> str:
    """Return the line below a table with the link that saves its numbers as NAME.csv."""
    return f'<p class="numbers">Numbers of this table: {csv_link(name, rows)}</p>'


def command_text(text: str) -> str:
    """Return a command or code, which the script copies."""
    return f'<pre class="command">{escaped(text)}</pre>'


SAVE = '<p id="save"></p>'  # where the script puts the button that saves the data


def big_numbers(numbers: Sequence[tuple[str, str]]) -> str:
    """Return large numbers, each with the sentence that says what it is."""
    items = "".join(f"<li><b>{escaped(one)}</b> {escaped(text)}</li>" for one, text in numbers)
    return f'<ul class="big">{items}</ul>'


def scripted(name: str, data: object) -> str:
    """Return the end of a page's body: its data as JSON, and the script.

    The script shows the values of drawings under the pointer, shows and hides series, sorts tables
    of the class "sortable", copies CSV files and commands, and saves the data as NAME.json.
    Everything can be read without it.

    Args:
        name: Name of the data.
        data: Values for JSON; numbers that are not finite become null.
    """
    text = json.dumps(plain(data), allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    text = text.replace("<", "\\u003c").replace("&", "\\u0026")  # no tag ends the element
    script = SCRIPT.read_text(encoding="utf-8")
    return (
        f'<script type="application/json" id="document" data-name="{name}.json">{text}</script>\n'
        f"<script>\n{script}</script>"
    )
