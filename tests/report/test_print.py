"""The page on paper: no column, row or figure is cut off."""

import collections
import html
import itertools
import json
import re
import shutil
import subprocess

import pytest

from fairgym.report.one_file import sortable, whole_page
from fairgym.report.svg import variables
from fairgym.report.template import MOST_COLUMNS, PAGE, estimate_cell, table
from fairgym.results.table import Table

POLICIES = ["uniform", "direct, deposit rate 0.02", "half direct", "random", "high salary", "none"]
REGIONS = ["New England", "Middle Atlantic", "East North Central", "West North Central"]
REGIONS += ["South Atlantic", "East South Central", "West South Central", "Mountain", "Pacific"]
# as long as estimates get
NUMBERS = [
    "0.123",
    "−0.034 [−0.045, −0.023]",
    "12,345 [−12,001, 112,689]",
    "16.8 [15.0, 18.6] million",
]
SHEETS = {"A4": (210, 297), "letter": (215.9, 279.4)}  # millimetres
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "chrome-headless-shell")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)


def numbers(count):
    """As many estimates, from short to long, over and over."""
    return list(itertools.islice(itertools.cycle(map(estimate_cell, NUMBERS)), count))


def page():
    """A page with the tables of six policies in nine regions, and a figure."""
    results = [[f"Measure {row}<small>dollars</small>", *numbers(6)] for row in range(20)]
    groups = [
        [f"Rate {row}<small>share</small>" if i == 0 else None, policy, *numbers(10)]
        for row in range(4)
        for i, policy in enumerate(POLICIES)
    ]
    settings = [["data", *["894f6ce1f4c5cf3697f33fcba96eea21396649"] * 6]]
    figure = '<svg viewBox="0 0 700 2000" role="img"><rect width="700" height="2000"/></svg>'
    body = [
        table(["", *POLICIES], results, "results"),
        table(["", "policy", *REGIONS, "disparity"], groups, "results groups", headings=2),
        f'<figure><div class="scroll">{figure}</div><figcaption>A caption.</figcaption></figure>',
        f"<details><summary>Every setting</summary>{table(['', *POLICIES], settings)}</details>",
    ]
    return PAGE.format(
        title="Page", light=variables(False), dark=variables(True), body="\n".join(body)
    )


def cells_of(text):
    """Tables of a text as rows of cells without markup."""
    return [
        [
            [
                html.unescape(re.sub("<.*?>", "", cell))
                for cell in re.findall(r"<t[hd].*?</t[hd]>", row)
            ]
            for row in re.findall(r"<tr>.*?</tr>", one, re.DOTALL)
        ]
        for one in re.findall(r"<table.*?</table>", text, re.DOTALL)
    ]


# ---------------------------------------------------------------- structure


@pytest.mark.parametrize("columns", [1, 5, 6, 7, 9, 10, 23])
@pytest.mark.parametrize("headings", [1, 2])
def test_a_wide_table_is_several_that_repeat_what_a_row_is(columns, headings):
    names = [f"c{i}" for i in range(columns)]
    lead = ["", "policy"][:headings]
    rows = [[f"r{r}", "p"][:headings] + [f"r{r}{name}" for name in names] for r in range(3)]
    parts = cells_of(table([*lead, *names], rows, headings=headings))
    assert max(len(part[0]) for part in parts) <= MOST_COLUMNS
    sizes = [len(part[0]) - headings for part in parts]
    assert max(sizes) - min(sizes) <= 1 and sum(sizes) == columns
    assert [name for head, *_ in parts for name in head[headings:]] == names
    for head, *body in parts:
        assert head[:headings] == lead
        for row, cells in zip(rows, body, strict=True):
            assert cells == row[:headings] + [f"{row[0]}{name}" for name in head[headings:]]


def test_rows_under_one_heading_are_a_body_of_their_own():
    rows = [["a", "1"], [None, "2"], ["b", "3"]]
    text = table(["", "x"], rows)
    bodies = re.findall(r"<tbody>(.*?)</tbody>", text, re.DOTALL)
    assert [re.findall(r"<td>(.*?)</td>", body) for body in bodies] == [["1", "2"], ["3"]]
    assert text.count('rowspan="2"') == 1
    assert table(["", "x"], [["a", "1"], ["b", "2"]]).count("<tbody>") == 1


def test_an_estimate_breaks_before_its_interval():
    assert estimate_cell("1.5 [1, 2] million") == '1.5 <span class="whole">[1, 2]</span> million'
    assert estimate_cell("<1") == "&lt;1"


def test_a_long_text_keeps_some_width_on_a_small_screen():
    long = "Beds per region at the start, the average over regions."
    text = sortable(Table(["setting", "to", "what it is"], [[long, NUMBERS[2], long]]))
    assert text.count("prose") == 1 and f'<td><span class="prose">{long}</span></td>' in text
    assert rules()["screen", ".prose", "min-width"] == "12rem"


# ---------------------------------------------------------------- style


def rules():
    """(medium, selector, property) -> value; the medium is "" for rules of every medium."""
    css = re.sub(r"/\*.*?\*/", "", re.findall(r"<style>(.*?)</style>", page(), re.DOTALL)[0])
    found = {}
    blocks = re.findall(r"@media ([^{]+) \{((?:[^{}]|\{[^{}]*\})*)\}", css)
    rest = re.sub(r"@media [^{]+\{(?:[^{}]|\{[^{}]*\})*\}", "", css)
    for medium, text in [*blocks, ("", rest)]:
        for selectors, declarations in re.findall(r"([^{}]+)\{([^{}]*)\}", text):
            for selector, each in itertools.product(selectors.split(","), declarations.split(";")):
                name, _, value = each.partition(":")
                if name.strip():
                    found[medium, selector.strip(), name.strip()] = value.strip()
    return found


def test_print_does_not_scroll_and_does_not_widen():
    """`overflow-x: auto` cut the columns, which `nowrap` and `min-width` had made too wide."""
    css = rules()
    assert css["print", ".scroll", "overflow"] == "visible"
    assert css["print", "table", "table-layout"] == "fixed"
    assert css["print", "table", "width"] == "100%"
    assert css["print", "td", "overflow-wrap"] == "anywhere"
    for (medium, selector, name), value in css.items():
        if name == "min-width" or value == "nowrap":
            assert medium.startswith("screen"), selector
        if "dark" in medium:
            assert medium.startswith("screen"), "a dark page prints light"
    assert "dark" not in css["", ":root", "color-scheme"]


def test_print_breaks_pages_between_rows_and_figures_and_hides_nothing():
    css = rules()
    for selector in ("figure", "tr", ".groups tbody"):
        assert css["print", selector, "break-inside"] == "avoid"
    assert css["print", "h2", "break-after"] == "avoid"
    assert ("print", "figure svg", "max-height") in css
    hidden = {key[1] for key, value in css.items() if key[2] == "display" and value == "none"}
    screen = {".numbers", "#save", ".cells input"}
    assert hidden == screen, "a figure's numbers and code, a button and sliders are for the screen"
    assert css["print", "details::details-content", "content-visibility"] == "visible", "unfolded"


# ---------------------------------------------------------------- paper

needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine")
MEASURE = """<script>
const right = document.body.getBoundingClientRect().right + 0.5, found = [];
for (const e of document.body.querySelectorAll("td, th, svg, p, figcaption")) {
  const box = e.getBoundingClientRect();
  if (box.width == 0 || box.right > right || e.scrollWidth > e.clientWidth + 1)
    found.push([e.tagName, e.textContent.slice(0, 30), box.width, box.right]);
}
document.body.dataset.found = JSON.stringify(found);
</script></body>"""


def browse(*arguments):
    assert BROWSER is not None
    common = ["--headless", "--no-sandbox", "--disable-gpu"]
    done = subprocess.run(
        [BROWSER, *common, *arguments], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


@needs_browser
@pytest.mark.full
@pytest.mark.parametrize("sheet", SHEETS)
def test_everything_lies_within_the_sheet(sheet, tmp_path):
    """Under the rules of print, at the width of the sheet less its margins."""
    margin = float(re.findall(r"@page \{\{ margin: (\d+)mm", PAGE)[0])
    text = page().replace("@media print", "@media all").replace("@media screen", "@media not all")
    text = text.replace("<body>", f'<body style="width: {SHEETS[sheet][0] - 2 * margin}mm">')
    path = tmp_path / "page.html"
    path.write_text(text.replace("</body>", MEASURE), encoding="utf-8")
    dom = browse("--dump-dom", "--window-size=1600,1200", path.as_uri())
    found = re.findall(r'data-found="(.*?)"', dom)
    assert json.loads(html.unescape(found[0])) == []


def pdf_text(text, folder, *flags):
    """What pdftotext finds in a page as PDF."""
    path, pdf = folder / "page.html", folder / "page.pdf"
    path.write_text(text, encoding="utf-8")
    browse("--no-pdf-header-footer", f"--print-to-pdf={pdf}", path.as_uri())
    call = ["pdftotext", *flags, pdf, "-"]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout


needs_pdftotext = pytest.mark.skipif(
    shutil.which("pdftotext") is None, reason="no pdftotext on this machine"
)


@needs_browser
@needs_pdftotext
@pytest.mark.full
def test_a_table_that_the_script_sorts_repeats_its_heading_on_every_sheet(tmp_path):
    rows = [[f"row {number}", "1"] for number in range(200)]
    text = whole_page("data", "Title", [sortable(Table(["name", "number"], rows))], {}, {})
    sheets = pdf_text(text, tmp_path, "-layout").split("\f")[:-1]
    assert len(sheets) > 3
    for sheet in sheets:
        assert re.search(r"^\s*name\s+number$", sheet, re.MULTILINE), sheet


@needs_browser
@needs_pdftotext
@pytest.mark.full
def test_the_pdf_has_every_column(tmp_path):
    found = pdf_text(page(), tmp_path, "-bbox")
    (width,) = {float(x) for x in re.findall(r'<page width="([\d.]+)"', found)}
    words = re.findall(r'xMax="([\d.]+)" yMax="[\d.]+">(.*?)</word>', found)
    assert all(float(right) < width for right, _ in words)
    printed = collections.Counter(html.unescape(word) for _, word in words)
    shown = [row for part in cells_of(page()) for row in part]
    for name in (*POLICIES, *REGIONS, "disparity"):
        assert all(printed[word] for word in name.split()), name
    settings = [text for text in printed if "894f6ce1f4c5" in text]
    assert settings, "what is folded is printed"
    million = sum(cell.count("million") for row in shown for cell in row)
    assert printed["million"] == million > 20
