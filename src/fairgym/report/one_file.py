"""Pages that are one file: their frame with data and script, and links to numbers in them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from fairgym.report.template import escaped
from fairgym.results.table import csv_text, plain

SCRIPT = Path(__file__).with_name("page.js")


def csv_link(name: str, rows: Sequence[Mapping[str, object]]) -> str:
    """Return a link that saves rows as NAME.csv; it holds the file.

    Texts that a spreadsheet would take for a formula begin with an apostrophe.
    """
    data = quote(csv_text(rows), safe=",/:;+()[]") if rows else ""
    return f'<a download="{name}.csv" href="data:text/csv;charset=utf-8,{data}">{name}.csv</a>'


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
