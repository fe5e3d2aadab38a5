"""Numbers of figures: what is drawn, as table, CSV and code that draws it again."""

import csv
import html
import io
import re
import shlex
from typing import Any
from urllib.parse import unquote

import jax
import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle, StepPatch
from panels import drawn_lines, six_digits, titled, told_lines
from scipy.stats import spearmanr

import fairgym
import fairgym.report
from fairgym.cli import main
from fairgym.report import actions, drawn, findings
from fairgym.report.drawn import NULL
from fairgym.results.estimates import Result
from fairgym.results.labels import words
from fairgym.results.numbers import number
from fairgym.results.table import csv_text
from fairgym.training import evaluate, load


def numbers_of(figure: Figure) -> list[dict[str, Any]]:
    """The numbers of a figure, of whatever types."""
    return drawn.numbers_of(figure)


def panels(figure: Figure) -> dict[str, Any]:
    """The panels by title, in one line."""
    return {title.replace("\n", " "): axes for title, axes in titled(figure).items()}


LINES = ("learning", "actions", "group-rates", "waiting-over-time")


@pytest.mark.parametrize("name", LINES)
def test_lines_and_their_bands(figures, name):
    figure = figures[name]
    rows = numbers_of(figure)
    nulls = [row for row in rows if row["series"] == NULL]
    rows = [row for row in rows if row["series"] != NULL]
    assert rows and told_lines(rows) == drawn_lines(figure)
    areas = [area.get_height() for axes in figure.axes for area in axes.patches]
    assert [row["value"] for row in nulls] == pytest.approx(areas)
    assert bool(areas) == (name == "learning")
    corners = [
        corner
        for axes in figure.axes
        for band in axes.collections
        if isinstance(band, PolyCollection)
        for corner in np.asarray(band.get_paths()[0].vertices)
    ]
    edges = {tuple(map(six_digits, corner)) for corner in corners}
    told = {
        (six_digits(row["x"]), six_digits(row[end]))
        for row in rows
        if row["low"] is not None
        for end in ("low", "high")
    }
    assert told == edges != set()
    for row in rows:
        panel = panels(figure)[row["panel"]]
        assert row["unit"] == panel.get_ylabel().replace("\n", " ")
        if not isinstance(row["x"], str):
            assert row["axis"] == panel.get_xlabel()


@pytest.mark.parametrize("name", ["comparison", "groups"])
def test_points_with_their_intervals(figures, name):
    bars = 0
    for title, axes in panels(figures[name]).items():
        rows = [row for row in numbers_of(figures[name]) if row["panel"] == title]
        points = [line for line in axes.get_lines() if len(line.get_xdata()) == 1]
        lines = [line for line in axes.get_lines() if len(line.get_xdata()) == 2]
        told = [row for row in rows if row["x"] != NULL]
        drawn = [(line.get_label(), six_digits(line.get_xdata()[0])) for line in points]
        assert [(row["series"], six_digits(row["value"])) for row in told] == drawn
        ends = [tuple(map(six_digits, line.get_xdata())) for line in lines]
        known = [row for row in told if row["low"] is not None]
        assert [(six_digits(row["low"]), six_digits(row["high"])) for row in known] == ends
        null = [row for row in rows if row["x"] == NULL]
        widths = [bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)]
        assert [six_digits(row["value"]) for row in null] == list(map(six_digits, widths))
        bars += len(widths)
        assert {(row["axis"], row["unit"]) for row in rows} <= {
            ("", axes.get_xlabel().partition("\n")[0])
        }
    assert (bars > 0) == (name == "comparison"), "disparities stand before their nulls"


def test_histograms(figures):
    figure = figures["core-attribute"]
    for title, axes in panels(figure).items():
        rows = [row for row in numbers_of(figure) if row["panel"] == title]
        for patch in axes.patches:
            if isinstance(patch, StepPatch) and not patch.get_fill():
                heights, edges, _ = patch.get_data()
                own = [row for row in rows if row["series"] == patch.get_label()]
                np.testing.assert_allclose([row["value"] for row in own], heights, rtol=1e-5)
                middles = (edges[1:] + edges[:-1]) / 2
                np.testing.assert_allclose([row["x"] for row in own], middles, rtol=1e-5, atol=1e-6)


def test_heat_maps(country_run):
    figure = actions.mean_actions([country_run])
    rows = numbers_of(figure)
    panel = "Planner: shares of the budget"
    (image,) = panels(figure)[panel].get_images()
    own = [row for row in rows if row["panel"] == panel]
    names = [words(e.title) for e in country_run.env.action_space("planner").elements[:3]]
    assert [row["series"] for row in own] == [name for name in names for _ in range(2)]
    np.testing.assert_allclose([row["value"] for row in own], np.ravel(image.get_array()))
    assert [row["x"] for row in own] == [1.0, 2.0] * 3


# ---------------------------------------------------------------- the page


def told(page: str) -> dict[str, tuple[str, str, str]]:
    """Name of a figure -> the content of its link, the command, the code."""
    found = re.findall(
        r'download="([^"]*)\.csv" href="data:text/csv;charset=utf-8,([^"]*)".*?'
        r"<pre>(.*?)</pre><pre>(.*?)</pre>",
        page,
        re.DOTALL,
    )
    return {
        name: (unquote(data), html.unescape(command), html.unescape(code))
        for name, data, command, code in found
    }


def test_the_csv_beside_the_page_is_that_of_the_link(written, figures):
    found = told(written.read_text(encoding="utf-8"))
    assert set(found) == set(figures)
    for name, (linked, _, _) in found.items():
        beside = (written.parent / "figures" / f"{name}.csv").read_bytes().decode()
        assert linked == beside == csv_text(numbers_of(figures[name]))
        rows = list(csv.DictReader(io.StringIO(linked, newline="")))
        assert len(rows) == len(numbers_of(figures[name])) > 0
        assert all(
            float(row["value"] or 0) == (mine["value"] or 0)
            for row, mine in zip(rows, numbers_of(figures[name]), strict=True)
        )


def test_a_table_of_numbers_is_short_and_has_every_line(written, figures):
    page = written.read_text(encoding="utf-8")
    for name, figure in figures.items():
        start = page.index(f'download="{name}.csv"')
        table = page[start:].partition("</table>")[0].partition("<tbody>")[2]
        rows = numbers_of(figure)
        assert table.count("<tr>") < 100 and "</table>" not in table
        for row in rows[-1:] + rows[:1]:
            assert f"<td>{html.escape(str(row['series']), quote=False)}</td>" in table


def test_the_code_of_every_figure_draws_the_same(written, figures, tmp_path, monkeypatch):
    measured: dict[str, Any] = {}
    measure = fairgym.report.measure

    def once(*given: Any, **options: Any) -> Any:
        """What each figure's code measures, which is the same for all of them."""
        key = repr((given, options))
        if key not in measured:
            measured[key] = measure(*given, **options)
        return measured[key]

    monkeypatch.setattr(fairgym.report, "measure", once)
    monkeypatch.setattr(Figure, "savefig", lambda *_, **__: None)
    for name, (_, _, code) in told(written.read_text(encoding="utf-8")).items():
        assert code.count("\n") <= 10
        space: dict[str, Any] = {}
        exec(code, space)
        assert numbers_of(space["figure"]) == numbers_of(figures[name]), name
    assert len(measured) == 1


def test_the_command_writes_the_same(written, measured, seeds, monkeypatch):
    commands = {command for _, command, _ in told(written.read_text(encoding="utf-8")).values()}
    (command,) = commands
    assert shlex.split(command)[:3] == ["fairgym", "report", str(seeds)]

    def same(groups: Any, episodes: int, seed: int, *_: Any) -> Any:
        assert (episodes, seed) == (4, 1)
        assert [[run.folder for run in group.runs] for group in groups] == [
            [run.folder for run in group.runs] for group in measured.groups
        ]
        return measured

    monkeypatch.setattr("fairgym.report.write.measure_all", same)
    monkeypatch.setattr("fairgym.report.write.png", lambda figure: b"")
    monkeypatch.setattr("fairgym.report.html.inline_svg", lambda *_: "")
    main(shlex.split(command)[1:])
    for path in (written.parent / "figures").glob("*.csv"):
        assert (seeds / "figures" / path.name).read_bytes() == path.read_bytes()


# ---------------------------------------------------------------- whom numbers favour


@pytest.fixture(scope="module")
def crowd(seeds):
    """A larger loan market, and two seeds in it."""
    env = fairgym.make("loan", population=150, horizon=20)
    runs = [load(seeds / f"seed-{seed}") for seed in (0, 1)]
    given = [(env, run.params, run.policies, jax.random.key(5), 2) for run in runs]
    found = [evaluate(*each, people_episodes=2) for each in given]
    return env, Result("learned policy", True, tuple(found))


def test_whom_a_priority_favours_is_spearmans_correlation(crowd):
    env, learned = crowd
    found = findings.order_correlations(learned, env, "disbursement")
    features = env.observation_space("disbursement").features
    expected: dict[str, list[float]] = {}
    for evaluation in learned.evaluations:
        order = evaluation.orders["disbursement"]
        assert (order["mask"].sum(axis=1) > 10).all()
        for episode, there in enumerate(order["mask"]):
            action = order["action"][episode, there]
            for place, feature in enumerate(features):
                own = order["features"][episode, there, place]
                if len(set(own)) > 1 and not feature.tells_group:
                    both: Any = spearmanr(action, own)
                    expected.setdefault(feature.name, []).append(both.statistic)
    assert len(found) > 3 and set(found) == set(expected) and "group" not in found
    for name, each in expected.items():
        assert found[name] == pytest.approx(np.mean(each), abs=1e-6)
    (told,) = findings.order_sentences(learned, env, False)
    assert told.startswith("Disbursement: at the end of an episode, priority is ")
    told, strong = words(told), {n: r for n, r in found.items() if abs(r) >= findings.FAVOURS}
    # of features that say the same the first one is told
    told_once = {r: n for n, r in reversed(strong.items())}
    strong = {n: strong[n] for n in told_once.values()}
    first = sorted(strong, key=lambda name: -abs(strong[name]))[: findings.MOST_FEATURES]
    for name in first:
        way = "a higher" if strong[name] > 0.0 else "a lower"
        assert f"{way} {words(name)} ({number(strong[name])})" in told
    assert ("related to none of" in told) == (not first)


def test_what_a_higher_action_does_is_told_once(measured, written):
    told = findings.meaning_sentences(measured.env)
    assert [line.partition(":")[0] for line in told] == ["Threshold", "Priority", "Relief"]
    page = written.read_text(encoding="utf-8")
    assert all(page.count(html.escape(line, quote=False)) == 1 for line in told)
