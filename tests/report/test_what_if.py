"""The page of a what-if: one file whose numbers are worked out by hand."""

import json
import re
import shlex

import numpy as np
import pytest
from pages import BROWSER, Page, data_of, tried
from pairs import Pairs  # registers itself
from two_servers import TwoServers

from fairgym.cli import main
from fairgym.report import what_if_measured
from fairgym.report.one_file import SCRIPT
from fairgym.report.what_if import what_if_page
from fairgym.report.what_if_first import four_numbers, python_of
from fairgym.report.what_if_measured import measure_what_if
from fairgym.results.what_if_tables import course_table, grid_table
from fairgym.training import Scenario, devices, simulate
from fairgym.training.decomposition import decompose
from fairgym.training.reforms import Declared, Factor, World
from fairgym.training.sensitivity import sensitivity

EVIL = '<script>alert("1")</script>'
GIVE = Scenario("give all", {"giver": 1.0})
WORLD = World("cheap", "a unit is worth nothing", {"reward": 0.0})
FACTOR = Factor("reward", 0.0, 4.0)


def measured(scenarios, patch, *, worlds=(WORLD,), **more):
    """A what-if of the pairs: a unit more a week is worth 2 and costs 1, for four weeks."""
    declared = Declared(worlds={one.name: one for one in worlds}, uncertain=(FACTOR,))
    patch.setattr(what_if_measured, "declared_by", lambda env: declared)
    found = simulate("pairs", scenarios, episodes=3, trace=True, worlds=worlds)
    return measure_what_if(found, **more)


@pytest.fixture(scope="module")
def given():
    scenarios = [Scenario("even"), GIVE]
    with pytest.MonkeyPatch.context() as patch:
        swung = sensitivity(
            "pairs", GIVE, scenarios[0], factors=(FACTOR, Factor("cost", 0.0, 2.0)), base=8
        )
        found = simulate("pairs", scenarios, episodes=3)
        parts = (decompose(found.base, "score_gap", episodes=3),)
        return measured(scenarios, patch, sensitivities=(swung,), decompositions=parts)


@pytest.fixture(scope="module")
def text(given):
    return what_if_page(given, "fairgym simulate pairs", {"seed": 0}, {"s.yaml": "a: <b>"})


def test_the_page_is_one_well_formed_file(text):
    read = Page(text)
    assert len(set(read.ids)) == len(read.ids)
    assert all(one.startswith(("#", "data:text/csv")) for one in read.loads)
    assert read.scripts == ["application/json", ""]
    assert not re.search(r"url\((?!#)|@import", text)
    assert "a: <b>" in read.words
    charts, tables = text.count("<figure"), text.count('download="')
    assert charts == 5, "people, time, worlds, sensitivity of the worth, parts of a gap"
    assert tables >= charts, "the numbers of each are in a file"


def test_its_parts_stand_in_their_order(text):
    words = Page(text).words
    heads = ("has the opposite effect", "What changes", "Who gains and who loses\n", "Over time\n")
    heads = (*heads, "What could overturn it\n", "Reproduce this\n", "What it does not say\n")
    body = words[words.index("What it does not say") + 20 :]  # behind the contents
    first = [words.index(one) for one in heads[:2]]
    rest = [body.index(one.strip()) for one in heads[2:]]
    assert first == sorted(first) and rest == sorted(rest)


def test_the_first_numbers_are_those_of_a_calculation(given, text):
    (one,) = given.simulation.others
    numbers = four_numbers(given, one)
    # one unit more (0.5 per group) in four weeks, at a profit of 2 - 1
    assert numbers[0] == (
        "+4.00 dollars",
        "worth [+4.00, +4.00]: 8.00 with “give all”, 4.00 with “even”",
    )
    assert numbers[1][0] == "+0.50 points" and "score" in numbers[1][1]
    assert numbers[2][0] == "no difference", "both groups get the same"
    assert numbers[3][0] == "0 of 3", "nothing is counted person by person"
    assert all(size in Page(text).words for size, _ in numbers)


def test_what_turns_around_is_told_before_everything_else(given, text):
    sentence = (
        "If a unit is worth nothing, “give all” has the opposite effect: worth (dollars) −4.00"
        " [−4.00, −4.00] instead of +4.00 [+4.00, +4.00]."
    )
    words = Page(text).words
    assert words.index(sentence) < words.index("What changes")
    rows = [row for row in Page(text).rows if row and row[0] == "Worth (dollars)"]
    assert any("opposite" in row[-1] for row in rows)


def test_the_grid_has_the_difference_of_every_size_and_value(given, text):
    (records,) = given.grids.values()
    worth = [row for row in records if row["measure"] == "worth"]
    assert len(worth) == 25
    for row in worth:
        assert row["difference"] == pytest.approx(
            4 * row["size"] * (row["factor_value"] - 1.0), abs=1e-5
        )
    table = grid_table(records)
    assert table.head == ["size", "0", "1.00", "2.00", "3.00", "4.00"]
    assert [row[0] for row in table.rows[1:6]] == ["0%", "25%", "50%", "75%", "100%"]
    inside = [row for row in data_of(text)["results"] if row["kind"] == "grid"]
    assert len(inside) == len(records)
    assert 'data-start="2"' in text, "the sliders begin at the assumed value of 2"


def test_the_data_are_all_numbers_of_the_page(given, text):
    found = data_of(text)
    kinds = {row["kind"] for row in found["results"]}
    assert {"measure", "rate", "change", "people", "time", "grid", "world"} < kinds
    assert {"sensitivity", "range", "decomposition"} < kinds
    (change,) = [row for row in found["results"] if row["kind"] == "change"][:1]
    assert (change["old"], change["new"]) == (0.5, 1.0)
    people = [row for row in found["results"] if row["kind"] == "people"]
    assert sum(row["mean"] for row in people) == 12 == sum(row["reference_mean"] for row in people)


def test_the_python_of_the_page_measures_the_same(given, capsys):
    made: dict = {}
    code = python_of(given.simulation)
    assert len(code.splitlines()) <= 12 and code in what_if_page(given, "", {}, {}).replace(
        "&gt;", ">"
    )
    exec(code, made)
    again = made["found"]
    assert again.reference == given.simulation.reference
    for name, one in given.simulation.evaluations.items():
        for metric, values in one.metrics.items():
            np.testing.assert_array_equal(again.evaluations[name].metrics[metric], values)
    assert "Worth" in capsys.readouterr().out


def test_python_says_world_reference_and_size():
    from fairgym.training.reforms import world_of

    scenarios = [
        Scenario("a", environment_args={"horizon": 2}),
        Scenario("b", (), {"cost": "+10%"}, {"horizon": 2}),
    ]
    world = world_of(Pairs(), "reward=3")
    found = simulate("pairs", scenarios, episodes=2, seed=4, reference="b", world=world)
    made: dict = {}
    exec(python_of(found), made)
    again = made["found"]
    assert (again.reference, again.seed, again.base.env.horizon) == ("b", 4, 2)
    difference = again.difference("a", lambda e: e.metrics["worth"])
    assert difference == found.difference("a", lambda e: e.metrics["worth"])
    assert difference[0] == pytest.approx(2 * 0.1)


def test_without_a_change_nothing_differs(monkeypatch):
    found = measured([Scenario("even"), Scenario("the same")], monkeypatch)
    for records in (found.people, found.courses, found.grids):
        for row in records["the same"]:
            assert row["difference"] == row["difference_low"] == row["difference_high"] == 0.0
    words = Page(what_if_page(found, "", {}, {})).words
    assert "Nobody ends elsewhere" in words and "opposite effect" not in words
    (one,) = found.simulation.others
    assert {size for size, _ in four_numbers(found, one)} == {"no difference", "0 of 3"}


def test_long_courses_are_thinned_out_and_end_at_the_end(monkeypatch):
    long = {"horizon": 250}
    scenarios = [Scenario(n, f, environment_args=long) for n, f in (("a", {}), ("b", GIVE.fixed))]
    found = measured(scenarios, monkeypatch, worlds=())
    worth = [row for row in found.courses["b"] if row["measure"] == "worth"]
    steps = [row["step"] for row in worth]
    assert len(steps) == 60 and steps[0] == 1 and steps[-1] == 250
    for row in worth:
        assert row["difference"] == pytest.approx(row["step"], rel=1e-5)
    table = course_table(found.courses["b"], "weeks")
    assert table.head[-1] == "250 weeks" and len(table.head) == 5
    assert table.rows[-1][-1] == "+250 [+250, +250]"


def test_several_scenarios_and_names_are_escaped(monkeypatch):
    odd = Scenario(EVIL, {"giver": 0.7})
    found = measured([Scenario("even"), GIVE, odd], monkeypatch, worlds=())
    text = what_if_page(found, f"fairgym simulate {shlex.quote(EVIL)}", {}, {EVIL: EVIL})
    read = Page(text)
    assert read.scripts == ["application/json", ""] and EVIL in read.words
    assert len(set(read.ids)) == len(read.ids)
    assert {row["policy"] for row in data_of(text)["results"]} == {"even", "give all", EVIL}
    assert text.count('<div class="cells"') == 2


def test_a_system_without_people_has_a_page_too(monkeypatch):
    found = simulate(
        "two_servers",
        [Scenario("left"), Scenario("half", {"router": 0.5})],
        episodes=3,
        trace=True,
    )
    assert found.base.env == TwoServers()
    words = Page(what_if_page(measure_what_if(found), "", {}, {})).words
    assert "two_servers has no people who could be compared" in words
    assert "A smaller reform" not in words, "no uncertain parameter is declared"


SLIDE = """
const found = [], one = (selector) => document.querySelector(selector);
const [size, value] = document.querySelectorAll(".cells input");
const told = () => [one(".cells ul").innerText, size.getAttribute("aria-valuetext")];
found.push(told());
size.value = 2; size.dispatchEvent(new Event("input")); found.push(told());
value.value = 0; value.dispatchEvent(new Event("input")); found.push(told());
"""


@pytest.mark.full
@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine")
def test_the_sliders_show_the_cells_of_the_grid(text, tmp_path):
    whole, half, worthless = tried(text, tmp_path / "page.html", SLIDE)
    assert "Worth (dollars): +4.00 [+4.00, +4.00]" in whole[0] and whole[1] == "100%"
    assert "Worth (dollars): +2.00 [+2.00, +2.00]" in half[0] and half[1] == "50%"
    assert "Worth (dollars): −2.00 [−2.00, −2.00]" in worthless[0]


def test_the_script_is_small():
    assert len(SCRIPT.read_bytes()) < 10_000


def test_the_command_writes_the_page_and_tells_how(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(devices, "configure", lambda: None)
    monkeypatch.chdir(tmp_path)
    file = "scenarios: {more: {fixed: {giver: 1.0}}}\nenvironment: pairs\nepisodes: 3\n"
    (tmp_path / "s.yaml").write_text(file)
    words = ["simulate", "--scenarios", "s.yaml", "--out", "new/page.html", "--json"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert err.splitlines()[-1] == "wrote new/page.html"
    text = (tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    read = Page(text)
    assert shlex.join(["fairgym", *words]) in read.words and file in read.words
    printed = json.loads(out)
    numbers = len(printed["results"])
    assert data_of(text)["results"][:numbers] == printed["results"]
