"""The page of an audit: one file, whose numbers are those of the JSON document."""

import dataclasses
import json
import re
import shlex

import numpy as np
import pytest
from decided import decisions_table
from matplotlib.patches import Rectangle
from pages import BROWSER, Page, data_of, tried

from fairgym.audit import Column, Part, Roles, audit
from fairgym.audit.examples import example_config, example_names
from fairgym.audit.figures import figures_of
from fairgym.audit.page import NAMING, command, four_numbers, page
from fairgym.audit.parts import cell_text, number_of
from fairgym.audit.write import document, read_config
from fairgym.cli.audit import AuditFlags, _asked
from fairgym.cli.parsing import parse
from fairgym.report.one_file import SCRIPT
from fairgym.report.svg import inline_svg

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module", params=example_names())
def example(request):
    given, _, _ = read_config(example_config(request.param))
    found = audit(f"example:{request.param}", Roles(**given))
    return found, page(found)


def test_a_page_is_one_well_formed_file(example):
    found, text = example
    read = Page(text)
    assert len(set(read.ids)) == len(read.ids)
    assert read.loads and all(one.startswith(("#", "data:text/csv")) for one in read.loads)
    assert not re.search(r"url\((?!#)|@import", text)
    assert read.scripts == ["application/json", ""]
    assert not re.search(r"\b(fair|pass|compliant)\b", read.words, re.IGNORECASE)
    assert {part.name for part in found.parts if part.rows} < set(read.ids)


def test_its_numbers_are_those_of_the_document(example):
    found, text = example
    assert data_of(text) == json.loads(document(found))
    rows = [set(row) for row in Page(text).rows]
    for part in found.parts:
        shown = [one for one in part.columns if one.key != "grouping"]
        for row in part.rows:
            names = {cell_text(row, one) for one in shown if one.key in NAMING} - {""}
            cells = {cell_text(row, one) for one in shown} - {""}
            # a wide table is split, and each half names its rows
            assert cells <= set().union(*(one for one in rows if names <= one)), cells


def test_limits_come_first_then_findings_and_four_numbers(example):
    found, text = example
    words = Page(text).words
    numbers = four_numbers(found)
    firsts = [found.limits[0], found.findings[0], *(one for one, _ in numbers), "Reproduce this"]
    places = [words.index(one) for one in firsts[:3]]
    assert places == sorted(places) and len(numbers) == 4
    largest = max(row["gap"] for row in found.part("largest_gap").rows)
    assert numbers[2][0] == f"{cell_text({'x': largest}, Column('x', '', 'share'))} points"


def test_the_command_repeats_the_audit(example):
    found, text = example
    words = shlex.split(command(found))
    assert command(found) in Page(text).words
    table, given, _ = _asked(parse(AuditFlags, words[2:], "fairgym audit"))
    assert table == found.decisions.source.path
    again = audit(table, Roles(**given))
    assert again.roles == found.roles


def test_commands_say_all_settings_or_name_the_file():
    roles = Roles(
        decision="ok", favourable=("yes",), groups=("sex", "race"), cross=True, time="year",
        reference="best", min_n=40, profile="ll144", score="score",
    )  # fmt: skip
    found = audit(decisions_table(), roles)
    source = dataclasses.replace(found.decisions.source, path="my log.csv", sha256="0")
    found = dataclasses.replace(
        found, decisions=dataclasses.replace(found.decisions, source=source)
    )
    words = shlex.split(command(found))
    assert words[:3] == ["fairgym", "audit", "my log.csv"]
    _, given, _ = _asked(parse(AuditFlags, words[2:], "fairgym audit"))
    again = audit(decisions_table(), Roles(**given))
    assert again.roles == found.roles
    odd = dataclasses.replace(found.roles, favourable=("yes, at once",))
    assert command(dataclasses.replace(found, roles=odd)).endswith("--config audit.toml")
    odd = dataclasses.replace(found.roles, line=0.7)
    assert command(dataclasses.replace(found, roles=odd)).endswith("--config audit.toml")


def test_names_are_escaped_everywhere():
    table = {
        "ok": [1, 0] * 200,
        "who": [EVIL, 'a"b', "$x_1$", "=1+1"] * 100,
        EVIL: ["é", "&"] * 200,
    }
    found = audit(table, Roles(decision="ok", groups=("who", EVIL), cross=True, min_n=5))
    text = page(found)
    read = Page(text)
    assert read.scripts == ["application/json", ""] and EVIL in read.words
    assert {"$x_1$", "=1+1", EVIL} <= {cell for row in read.rows for cell in row}
    assert "'=1+1" not in read.words and "%27%3D1+1" in text.replace("=", "%3D").replace("'", "%27")
    assert data_of(text)["settings"]["groups"] == ["who", EVIL]


def test_the_script_is_small_and_asks_nobody():
    script = SCRIPT.read_text(encoding="utf-8")
    assert len(script.encode()) < 10_000
    assert not re.search(r"https?:|fetch\(|XMLHttp|import\b|innerHTML|eval\(", script)
    assert "</" not in script


TRY = """
const one = (selector) => document.querySelector(selector), found = [];
const mark = one("[data-tip]"), box = mark.getBoundingClientRect();
const at = { bubbles: true, clientX: box.x, clientY: box.y };
mark.dispatchEvent(new PointerEvent("pointermove", at));
found.push(one("#tip").hidden, one("#tip").textContent);
const table = one("#rates ~ .scroll table"), sort = table.querySelectorAll("thead button")[2];
const names = () => [...table.rows].map((row) => row.cells[0].textContent);
sort.click(); found.push(names());
sort.click(); found.push(names());
found.push(document.querySelectorAll("a[download] + button").length, one("#save").textContent);
"""


@pytest.mark.full
@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine")
def test_the_script_shows_values_sorts_and_copies(tmp_path):
    table = {"ok": [1, 1, 1, 0] * 150 + [1, 0] * 100, "who": ["a"] * 600 + ["b"] * 200}
    found = audit(table, Roles(decision="ok", groups=("who",)))
    hidden, tip, down, up, copies, save = tried(page(found), tmp_path / "page.html", TRY)
    low, high = (100.0 * number_of(found.part("rates").rows[0], end) for end in ("low", "high"))
    assert not hidden and tip == f"a: 75.0 [{low:.1f}, {high:.1f}], 600 decisions"
    assert [name for name in down if name in "ab"] == ["a", "b"]
    assert [name for name in up if name in "ab"] == ["b", "a"]
    assert copies == sum(1 for part in found.parts if part.rows) and save == "Save audit.json"


def test_crossed_groups_below_the_minimum_are_grey():
    found = audit(decisions_table(), Roles(decision="ok", groups=("sex", "race"), cross=True))
    figures = figures_of(found.part("rates"), found.roles)
    drawing = inline_svg(figures["rates_crossed"].figure, "map", "Map", words=True)
    crossed = [row for row in found.part("rates").rows if row["grouping"] == "sex × race"]
    small = [row for row in crossed if row["note"]]
    assert small and drawing.count(">few</text>") == len(small)
    titles = re.findall(r"<title>(.*?)</title>", drawing)
    assert len(titles) == len(crossed)
    shown = next(row for row in crossed if not row["note"])
    told = f"{100.0 * number_of(shown, 'rate'):.1f} ["
    assert any(told in one and f"{shown['n']:,} decisions" in one for one in titles)


def test_a_gap_falls_to_what_is_left_of_it():
    sides = {"grouping": "sex", "group": "f", "reference": "m", "method": "strata"}
    steps = {"raw gap": -0.2, "age": -0.15, "checks": 0.01, "left": -0.06}
    rows = [sides | {"step": step, "difference": value} for step, value in steps.items()]
    columns = [Column("step", "part"), Column("difference", "gap", "points", (), signed=True)]
    roles = Roles(decision="ok", groups=("sex",))
    (one,) = figures_of(Part("accounted", "Accounted", "", rows, columns), roles).values()
    assert one.heading == "By sex: f − m, strata: of −20.0 points, −6.00 are left"
    bars = [bar for bar in one.figure.axes[0].patches if isinstance(bar, Rectangle)]
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars]
    assert np.allclose(ends, [(0, -20), (-5, -20), (-6, -5), (0, -6)])
    adjusted = [sides | {"difference": -0.2, "low": -0.3, "high": -0.1, "n": 9}]
    columns = [Column("difference", "gap", "points", ("low", "high"), signed=True)]
    (one,) = figures_of(Part("adjusted", "Adjusted", "", adjusted, columns), roles).values()
    assert one.heading == "f − m: strata −20.0 points"
    drawing = inline_svg(one.figure, "a", "A", words=True)
    assert "f − m, strata: −20.0 [−30.0, −10.0], 9 decisions" in drawing


def test_figures_are_drawn_by_the_columns_of_a_table():
    ends = {"low": -0.2, "high": 0.1, "band_low": -0.3, "band_high": 0.2}
    rows = [
        {"grouping": "sex", "group": group, "period": str(year), "difference": -0.05, **ends}
        for group in ("f", "x")
        for year in range(1997, 2003)
    ]
    columns = [Column("difference", "gap", "points", ("low", "high"), signed=True)]
    part = Part("gap_over_time", "Gap over time", "About.", rows, columns)
    roles = Roles(decision="ok", groups=("sex",))
    (one,) = figures_of(part, roles).values()
    assert "wide, pale one" in one.caption
    drawing = inline_svg(one.figure, "time", "Time", words=True)
    assert drawing.count("<title>") == len(rows)
    assert "<title>f, 1997: −5.00 [−20.0, +10.0]</title>" in drawing
    assert drawing.count('data-series="f"') == 2 + 1 + 6, "bands, line, points"
    cuts = [
        {"grouping": "sex", "group": "f", "reference": "m", "cut": float(x), "ratio": x / 10}
        | {"ratio_low": 0.1, "ratio_high": 0.9}
        for x in range(3, 8)
    ]
    columns = [
        Column("cut", "cut score"),
        Column("ratio", "ratio", "", ("ratio_low", "ratio_high")),
    ]
    (one,) = figures_of(Part("cut_scores", "Cuts", "", cuts, columns), roles).values()
    assert one.heading == "Lowest: f − m at 3, 0.30; highest: f − m at 7, 0.70"
    measures = [
        {"grouping": "sex", "group": "f", "measure": "TPR", "rate": 0.5, "low": 0, "high": 1}
    ]
    columns = [Column("rate", "rate", "share", ("low", "high"))]
    assert figures_of(Part("error_rates", "Error rates", "", measures, columns), roles) == {}
    assert figures_of(Part("data", "Data", "", [{"what": "rows", "number": 3}]), roles) == {}


def test_numbers_that_are_0_if_groups_are_alike_are_points():
    roles = Roles(decision="ok", groups=("sex",))
    rows = [
        {"grouping": "sex", "group": group, "reference": "m", "smd": value}
        | {"low": value - 0.1, "high": value + 0.1}
        for group, value in (("f", -0.4), ("x", 0.2))
    ]
    columns = [Column("smd", "standardised difference", "", ("low", "high"), True)]
    (one,) = figures_of(Part("scores", "Scores", "", rows, columns), roles).values()
    assert one.heading == "Farthest from 0: f − m, 0.40 below"
    drawing = inline_svg(one.figure, "a", "A", words=True)
    assert "f − m: −0.40 [−0.50, −0.30]" in drawing
    rows = [{"grouping": "sex", "group": "f", "balance": 0.03, "low": 0.01, "high": 0.05}]
    columns = [Column("balance", "balance", "points", ("low", "high"), True)]
    (one,) = figures_of(Part("balances", "Balances", "", rows, columns), roles).values()
    assert one.heading == "Farthest from 0: f, 3.00 points above"
    rows = [{"grouping": "sex", "group": "f", "reference": "m", "trend": None}]
    columns = [Column("trend", "trend", "points", (), True)]
    assert figures_of(Part("trends", "Trends", "", rows, columns), roles) == {}


def test_bins_of_scores_are_in_their_order_where_a_group_lacks_some():
    rows = [
        {"grouping": "sex", "group": group, "bin": f"from {start}", "score_from": float(start)}
        | {"rate": start / 10, "low": 0.0, "high": 1.0}
        for group, starts in (("f", (1, 3)), ("m", (1, 2, 3)))
        for start in starts
    ]
    columns = [Column("bin", "score"), Column("rate", "good", "share", ("low", "high"))]
    (one,) = figures_of(
        Part("calibration", "Outcomes", "", rows, columns), Roles(decision="ok", groups=("sex",))
    ).values()
    (panel,) = one.figure.axes
    lines = {line.get_label(): np.asarray(line.get_xdata()).tolist() for line in panel.lines}
    assert lines["f"] == [0.0, 2.0] and lines["m"] == [0.0, 1.0, 2.0]


def test_the_gap_so_far_and_those_who_still_wait_are_drawn():
    rng = np.random.default_rng(0)
    rows = 1200
    table = {"ok": rng.random(rows) < 0.5, "g": rng.choice(list("ab"), rows)}
    table |= {"t": rng.integers(0, 4, rows), "id": rng.integers(0, 300, rows)}
    roles = Roles(decision="ok", groups=("g",), time="t", person="id", resamples=50)
    found = audit(table, roles)
    part = found.part("gaps_over_time")
    figures = figures_of(part, found.roles)
    assert list(figures) == ["gaps_over_time", "gaps_over_time_so_far"]
    last = cell_text(part.rows[-1], next(one for one in part.columns if one.key == "cumulative"))
    assert figures["gaps_over_time_so_far"].heading.endswith(f"{last} points by 3")
    course = found.part("waiting")
    (drawn,) = figures_of(course, found.roles).values()
    assert drawn.heading.startswith("Still waiting at the end: a ")
    assert {line.get_label() for line in drawn.figure.axes[0].lines} >= {"a", "b"}


def test_the_ratio_that_stands_first_is_the_one_farthest_from_1():
    ok = {"a": (60, 40), "b": (90, 10), "c": (61, 39)}  # a is the largest and the lowest
    table = {
        "ok": [x for yes, no in ok.values() for x in [1] * yes + [0] * no] + [1] * 6 + [0] * 4,
        "g": [name for name in ok for _ in range(100)] + ["a"] * 10,
    }
    numbers = four_numbers(audit(table, Roles(decision="ok", groups=("g",), reference="largest")))
    assert numbers[-1][0] == "1.50" and numbers[-1][1].startswith("highest ratio")
    assert numbers[-1][1].endswith("of b to a")
