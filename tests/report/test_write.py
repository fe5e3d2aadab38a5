"""The page: whole, offline, and made from the numbers."""

import html
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from panels import titled

import fairgym
from fairgym.report import write_report
from fairgym.report.grouping import group_runs
from fairgym.report.html import result_table
from fairgym.report.measured import measure_all
from fairgym.report.outcomes import metric_comparison
from fairgym.results.estimates import Result
from fairgym.results.labels import metric_labels
from fairgym.results.numbers import interval
from fairgym.results.quantities import measures
from fairgym.training import load
from fairgym.training.comparison import compare

FIGURES = [
    *("groups", "comparison", "learning", "actions"),
    *("core-attribute", "group-rates", "waiting-over-time"),
]
VOID = {"meta", "br", "hr", "img", "link", "input", "path", "use"}


class Page(HTMLParser):
    """Collects tags and text, and checks that tags close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.names: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.names += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)
        self.names += [value or "" for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def both(seeds, other):
    """The page of two configurations, in its default place; without pictures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairgym.report.write.png", lambda figure: b"")
        patch.setattr("fairgym.report.html.inline_svg", lambda *_: "")
        path = write_report([seeds, other], episodes=4, worlds=False)
    assert path == seeds / "report.html"
    return path.read_text(encoding="utf-8")


def test_the_page_is_whole_and_offline(written):
    text = written.read_text(encoding="utf-8")
    page = Page(text)
    assert not page.open
    assert page.seen.count("svg") == len(FIGURES) == page.seen.count("figcaption")
    assert all(any(one.startswith(f"{name}-") for one in page.names) for name in FIGURES)
    links = re.findall(r'href="#([^"]*)"', text)
    assert set(links) <= set(page.names) and text.count("<nav") == 1
    assert len(page.names) == len(set(page.names))
    assert not re.search(r'(src|href)="(?!#|data:text/csv)', text)
    assert "http://" not in text and "https://" not in text
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", text)
    assert "prefers-color-scheme: dark" in text
    assert "gaps" in page.names and "By group" in page.text


def test_the_page_tells_what_was_trained(written, seeds):
    words = Page(written.read_text(encoding="utf-8")).text
    run = load(seeds / "seed-0")
    assert run.env.spec.data_checksum in words
    assert run.provenance["versions"]["jax"] in words
    assert "60 people: advantaged, disadvantaged" in words and "20 months" in words
    assert "seeds 0, 1" in words and "Lines are means over 2 seeds" in words
    assert "uniform" in words and "f-macem" in words
    for setting in ("elite share", "payment noise"):
        assert setting in words  # every setting, behind the fold


def test_the_page_carries_the_numbers(written, measured):
    words = Page(written.read_text(encoding="utf-8")).text
    env = measured.env
    assert [r.name for r in measured.shown] == [
        "learned policy",
        *(name.replace("_", " ") for name in env.spec.baselines),
    ]
    for result in measured.shown:
        for metric in metric_labels(env):
            value = result.estimate(metric)
            if np.isfinite(value.mean):
                assert interval(value, metric.unit) in words, (result.name, metric.name)


def test_who_is_worse_off_stands_beside_permuted_groups(written):
    text = Page(written.read_text(encoding="utf-8"))
    assert "gaps" in text.names and "Who is worse off" in text.text
    assert "null, mean" in text.text


def test_those_who_still_wait_are_told(written):
    page = Page(written.read_text(encoding="utf-8"))
    assert "waiting" in page.names and "Who is waiting, and for how long" in page.text
    assert "Median of their times so far" in page.text and "Half of waits end within" in page.text


def test_pictures_stand_beside_the_page(written):
    beside = written.parent / "figures"
    assert {path.name for path in beside.iterdir()} == {
        f"{name}.{ending}" for name in FIGURES for ending in ("png", "csv")
    }
    for path in beside.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.full
def test_configurations_are_compared(both):
    page = Page(both)
    assert not page.open
    for name in ("objective uniform", "objective direct"):
        # each against the baselines by its own objective
        assert f"By the objective, “{name}” " in page.text
    assert "More findings" in page.text and both.partition("<figure")[0].count("<li>") == 6
    start = page.text.index("Rate of each group over whole episodes")
    by_group = page.text[page.text.rindex("By group", 0, start) : start]
    for name in ("objective uniform", "objective direct"):
        assert by_group.count(name) == 5  # one row for each rate that is compared
    assert "not comparable" in page.text  # baselines have no score by two objectives at once
    assert "each policy by its own objective" in page.text


@pytest.mark.full
def test_results_keep_the_order_of_the_configurations(seeds, other, monkeypatch):
    groups = group_runs([load(seeds / "seed-0"), load(other)])
    monkeypatch.setattr("fairgym.report.measured.compare", lambda *a, **k: compare(*a, **k)[::-1])
    measured = measure_all(groups, 4, 1)
    assert [one.name for one in measured.learned] == ["objective uniform", "objective direct"]
    for group, rules in zip(groups, measured.baselines, strict=True):
        for rule in rules:  # scored by the objective of its own configuration
            (found,) = rule.evaluations
            scored = found.scored_by(group.runs[0].objective)
            assert found.objective is not None and scored.objective is not None
            np.testing.assert_allclose(found.objective, scored.objective, rtol=1e-6)
    baselines = [one for one in measured.shown if not one.learned]
    assert [one.name for one in baselines] == [rule.name for rule in measured.baselines[0]]
    assert all(e.objective is None for one in baselines for e in one.evaluations)


def test_undefined_values_are_shown_as_such(env, made_up_result):
    defined = {name: np.full(4, name != "wait_disparity") for name in env.metrics}
    defined["default_rate"] = np.array([True, True, True, False])
    table = result_table(
        [made_up_result("mine", True, -0.3), made_up_result("a<b", False, -0.1, defined=defined)],
        env,
    )
    rows = {row.partition("<")[0]: row for row in table.split('<th scope="row">')}
    assert "a&lt;b" in table and "a<b" not in table
    assert "<td>undefined</td>" in rows["Wait disparity"]
    assert "undefined in 1 of 4" in rows["Default rate"]
    assert "↓ lower is better" in rows["Default rate"]
    best = re.findall(r'"best">(.*?)<', html.unescape(rows["Admission disparity"]))
    assert len(best) == 1 and best[0].startswith("10.0")


def test_who_is_served_stands_before_how_long_they_wait(env, made_up_result):
    results = [made_up_result("mine", True, -0.3)]
    rows = re.findall(r'<th scope="row">(.*?)<small>', result_table(results, env))
    panels = [title.replace("\n", " ") for title in titled(metric_comparison(results, env))]
    printed = [one.title for one in measures(env, "uniform")]  # by evaluate
    for titles in (rows, panels, printed):
        served, apart = "Approved people ever paid out", "Served disparity"
        assert titles.index(served) < titles.index(apart) < titles.index("Wait disparity")
        assert titles.index("Profit") < titles.index("Default rate"), "the others stay"
    own = [label.name for label in metric_labels(env)]
    assert own == ["objective", *env.metrics], "the environment's order stays"


def test_values_of_few_seeds_stand_beside_their_interval(env, made_up_evaluation):
    def cell(*values: float) -> str:
        result = Result("mine", True, tuple(made_up_evaluation(-value) for value in values))
        _, _, row = result_table([result], env).partition('<th scope="row">Default rate')
        return row.partition("</tr>")[0]

    assert re.search(r"35\.0 <span.*\].*<small>by seed 30\.0, 40\.0</small>", cell(0.3, 0.4))
    assert "by seed" not in cell(0.3) and "by seed" not in cell(0.1, 0.2, 0.3, 0.4)


def best_of(results: list[Result], env: Any, title: str) -> list[str]:
    """Bold cells of the row of a metric."""
    rows = {r.partition("<")[0]: r for r in result_table(results, env).split('<th scope="row">')}
    cells = re.findall(r"<td>(.*?)</td>", rows[title])
    bold = [cell for cell in cells if 'class="best"' in cell]
    return [html.unescape(re.sub("<small>.*|<.*?>", "", cell)) for cell in bold]


def test_bold_are_the_best_and_those_that_may_be_as_good(env, made_up_evaluation):
    def result(name: str, *values: float, environment: str = "", **changes: Any) -> Result:
        metrics = dict.fromkeys(env.metrics, np.array(values))
        return Result(
            name, False, (made_up_evaluation(0.0, metrics=metrics, **changes),), environment
        )

    luck = [1.0, 5.0, 9.0, 13.0]
    best, near = result("a", 2, 6, 10, 14), result("b", 2.5, 5, 10.5, 13)
    apart = result("c", *luck)  # less by 1 in every episode, though brackets overlap
    assert best_of([best, near, apart], env, "Profit") == [
        "8,000 [−217, 16,217]",
        "7,750 [49.9, 15,450]",
    ]
    failed = result("d", 50, 51, 52, 53, terminated=np.array([False, False, True, False]))
    assert len(best_of([failed, best, apart], env, "Profit")) == 1
    assert best_of([failed], env, "Profit") == []
    elsewhere = result("e", 30, 30, 30, 31, environment="other")  # other people: not to be compared
    assert len(best_of([best, apart, elsewhere], env, "Profit")) == 2


def test_what_cannot_be_read_is_one_sentence(tmp_path):
    with pytest.raises(fairgym.FairgymError, match="nothing-here"):
        write_report([tmp_path / "nothing-here"])
    with pytest.raises(fairgym.FairgymError, match=r"config\.json"):
        write_report([tmp_path])
    with pytest.raises(fairgym.FairgymError, match="no run folder"):
        write_report([])
    with pytest.raises(fairgym.FairgymError, match="episodes"):
        write_report([tmp_path], episodes=0)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("file/report.html", "file/report.html cannot be written .Not a directory"),
        ("folder", "folder cannot be written .Is a directory"),
        ("/proc/x/report.html", "/proc/x/report.html cannot be written"),
        ("bad/report.html", "figures must be a folder, got a file"),
    ],
)
def test_a_page_that_cannot_be_written_is_one_sentence_before_anything_is_measured(
    out, message, seeds, tmp_path, monkeypatch
):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "figures").write_text("mine")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr("fairgym.report.write.measure_all", lambda *_: pytest.fail("too late"))
    with pytest.raises(fairgym.FairgymError, match=message):
        write_report([seeds / "seed-0"], tmp_path / out, episodes=4, worlds=False)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text() == (tmp_path / "bad" / "figures").read_text() == "mine"


def test_looking_whether_a_page_can_be_written_leaves_nothing(seeds, tmp_path, monkeypatch):
    def measured(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("fairgym.report.write.measure_all", measured)
    with pytest.raises(KeyboardInterrupt):
        write_report([seeds / "seed-0"], tmp_path / "new" / "report.html", episodes=4, worlds=False)
    assert not list(tmp_path.iterdir())


def test_linked_figures_are_not_followed(seeds, tmp_path, monkeypatch):
    mine = tmp_path / "mine"
    mine.mkdir()
    (tmp_path / "figures").symlink_to(mine)
    monkeypatch.setattr("fairgym.report.write.measure_all", lambda *_: pytest.fail("too late"))
    with pytest.raises(fairgym.FairgymError, match=r"figures must be a folder, got a link"):
        write_report([seeds / "seed-0"], tmp_path / "report.html", episodes=4, worlds=False)
    assert not list(mine.iterdir())
