"""Schemes in reports and evaluations: courses and status against plain sums; people; choices."""

import dataclasses
import html
import json
import re
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pytest
from panels import drawn_lines, told_lines
from stand_ins import on_paper, stand_in

import fairgym
from fairgym.cli import main
from fairgym.cli.schemes import scheme_rows
from fairgym.config import RunConfig
from fairgym.core import (
    Components,
    Discrete,
    Environment,
    EnvironmentSpec,
    FairgymError,
    OneEntity,
    component,
)
from fairgym.fairness import (
    Disparity,
    Full,
    Min,
    Nash,
    Rate,
    Rawlsian,
    Recent,
    Scheme,
    StakeholderFirst,
)
from fairgym.report import group_rates, numbers_of, scheme_curves, status_curves, write_report
from fairgym.report.actions import line_panels, map_panels
from fairgym.report.findings import action_sentences
from fairgym.report.grouping import RunGroup
from fairgym.report.stakeholders import status_section
from fairgym.report.tables import gap_section, group_table
from fairgym.results.estimates import Result
from fairgym.results.labels import metric_label, metric_labels
from fairgym.training import load_runs, train
from fairgym.training.courses import courses, few, status_vectors

EPISODES, STEPS, PEOPLE = 4, 6, 3


class Given(Components):
    """What each person got."""

    cakes: Any = component("cakes given to each person", unit="cakes", per="person")
    visits: Any = component("visits of each person", unit="visits", per="person")


CAKES = np.random.default_rng(1).integers(0, 3, (EPISODES, STEPS, PEOPLE)).astype(np.float32)
LENGTHS = np.array([6, 6, 4, 6])
CAKES[2, 4:] = 0.0  # nothing is counted after the end
SCHEMES = {
    "welfare": Scheme.anytime(Full("cakes"), Nash()),
    "seldom": Scheme.periodic(Full("cakes"), Rawlsian(), 2),
    "balance": Scheme(Recent("cakes", 2), StakeholderFirst()),
}


@on_paper
@dataclasses.dataclass(frozen=True)
class Bakery(Environment):
    """An environment, as far as schemes ask."""

    name: ClassVar[str] = "bakery"

    own: tuple[tuple[str, Scheme], ...] = tuple(SCHEMES.items())
    horizon: int = STEPS

    @cached_property
    def spec(self) -> EnvironmentSpec:
        return EnvironmentSpec(
            agents=("baker",),
            groups=("all",),
            components=Given,
            metrics={"apart": Disparity(Rate("cakes", "visits", unit="cakes per visit"))},
            time_unit="hours",
            parts={"person": ("ann", "ben", "cy")},
            schemes=dict(self.own),
        )


@pytest.fixture(scope="module")
def baked(made_up_evaluation) -> Any:
    """Episodes in the bakery, one of which ends early."""
    return made_up_evaluation(0.0, trace=Given(CAKES, np.ones_like(CAKES)), lengths=LENGTHS)


@pytest.fixture(scope="module")
def course(baked):
    return courses(baked, SCHEMES)


# ---------------------------------------------------------------- numbers


def test_courses_are_plain_sums(course):
    got = np.cumsum(CAKES, axis=1)
    ended = np.minimum(np.arange(STEPS), LENGTHS[:, None] - 1)  # the last step that was made
    each = np.log(got + 1).sum(axis=2)
    welfare = np.take_along_axis(np.cumsum(each, axis=1), ended, axis=1)
    np.testing.assert_allclose(course["welfare"].scores, welfare, rtol=1e-5)
    np.testing.assert_array_equal(course["welfare"].status, got)
    worst = got.min(axis=2) * (np.arange(STEPS) % 2 == 1)
    seldom = np.take_along_axis(np.cumsum(worst, axis=1), ended, axis=1)
    np.testing.assert_allclose(course["seldom"].scores, seldom, rtol=1e-6)
    recent = CAKES.copy()
    recent[:, 1:] += CAKES[:, :-1]
    unfair = np.cumsum(recent - recent.mean(axis=2, keepdims=True), axis=1)
    balance = np.take_along_axis(-(unfair**2).sum(axis=2), ended, axis=1)
    np.testing.assert_allclose(course["balance"].scores, balance, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(course["balance"].status[2, 4:], recent[2, [3, 3]])


def test_schemes_that_judge_the_same_share_a_status_vector(course):
    first, second = status_vectors(Bakery(), course)
    assert first.schemes == ("welfare", "seldom") and second.schemes == ("balance",)
    assert first.title == "cakes given to each person" and first.unit == "cakes"
    assert second.title == "cakes given to each person, last 2 hours"
    assert first.axis == "person" and first.stakeholders == ("ann", "ben", "cy")
    assert first.nonnegative
    past = Bakery((("one", Scheme.anytime(Min("cakes", discount=0.9), Nash())),))
    (vector,) = status_vectors(past, {})
    assert vector.title.endswith("each person, above the minimum, the past discounted by 0.9")


def test_many_parts_are_told_by_three_numbers():
    values = np.arange(26.0).reshape(2, 13)
    names = [f"person_{i}" for i in range(13)]
    np.testing.assert_array_equal(few(values, names)[0], [[0, 6, 12], [13, 19, 25]])
    assert few(values, names)[1] == ["lowest", "mean of 13", "highest"]
    same, words = few(values[:, :12], names[:12])
    assert same.shape == (2, 12) and words[3] == "person 3"


def test_the_table_of_status_has_the_means_at_the_end(baked):
    results = {"baker": Result("baker", True, (baked,))}
    heading, content = status_section(results, Bakery())
    assert heading == "Status per person"
    cells = re.findall(r"<td>(.*?)</td>", content)
    got = CAKES.sum(axis=1)
    shown = [float(re.sub(r"<.*", "", cell).split(" ")[0]) for cell in cells[:4]]
    expected = [*got.mean(axis=0), np.ptp(got, axis=1).mean()]
    np.testing.assert_allclose(shown, expected, atol=0.05)
    assert "“Welfare” and “Seldom” score" in content and "which “Balance” scores" in content


def test_rates_of_people_have_a_table_and_lines_of_their_own(baked):
    env = Bakery()
    evaluation = dataclasses.replace(
        baked, metrics={"apart": np.zeros(4)}, defined={"apart": np.ones(4, bool)}
    )
    baker = {"baker": Result("baker", True, (evaluation,))}
    assert re.findall("<h3>(.*?)</h3>", gap_section(baker, env)) == ["By person"]
    cells = re.findall(r"<td>(.*?)</td>", group_table(baker, env, "person"))
    shown = [float(cell.split(" ")[0]) for cell in cells[1:4]]
    np.testing.assert_allclose(shown, CAKES.sum(axis=1).mean(axis=0) / STEPS, atol=0.005)
    lines = group_rates({"baker": [evaluation]}, env).axes[0].lines
    assert [line.get_label() for line in lines] == ["ann", "ben", "cy"]


def test_evaluate_has_rows_on_the_way_and_at_the_end(baked):
    rows = scheme_rows(Bakery(), [baked, baked])
    assert list(rows) == [
        "welfare, so far ↑",
        "seldom, so far ↑",
        "balance, so far ↑",
        "cakes given to each person (cakes), at the end",
        "cakes given to each person, last 2 hours (cakes), at the end",
    ]
    welfare = rows["welfare, so far ↑"]
    assert [label.strip() for label in welfare] == [f"after {k} of 6 hours" for k in (1, 3, 4)]
    first = np.log(CAKES[:, 0] + 1).sum(axis=1)
    np.testing.assert_allclose(welfare["  after 1 of 6 hours"], [first, first], rtol=1e-5)
    got = rows["cakes given to each person (cakes), at the end"]
    np.testing.assert_array_equal(got["  ben"][0], CAKES.sum(axis=1)[:, 1])


# ---------------------------------------------------------------- figures


def test_a_line_per_policy_and_a_panel_per_scheme(baked, course):
    results = [Result("baker", True, (baked,)), Result("turns", False, (baked,))]
    figure = scheme_curves(results, Bakery())
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Welfare ↑",
        "Seldom ↑",
        "Balance ↑",
    ]
    assert told_lines(numbers_of(figure)) == drawn_lines(figure)
    learned, fixed = figure.axes[0].lines
    np.testing.assert_allclose(
        np.asarray(learned.get_ydata()), course["welfare"].scores.mean(axis=0)
    )
    assert learned.get_color() != fixed.get_color() and len(figure.axes[0].collections) == 1


def test_a_line_per_stakeholder_and_a_panel_per_status(baked):
    figure = status_curves([Result("baker", True, (baked,))], Bakery())
    assert len(figure.axes) == 2
    assert told_lines(numbers_of(figure)) == drawn_lines(figure)
    lines = figure.axes[0].lines
    assert [line.get_label() for line in lines] == ["ann", "ben", "cy"]
    for person, line in enumerate(lines):
        expected = np.cumsum(CAKES, axis=1)[:, :, person].mean(axis=0)
        np.testing.assert_allclose(np.asarray(line.get_ydata()), expected)


# ---------------------------------------------------------------- labels, choices


def test_schemes_have_labels_beside_metrics():
    env = fairgym.make("doughnut")
    assert [label.name for label in metric_labels(env)] == [
        "objective",
        *env.metrics,
        *env.spec.schemes,
    ]
    label = metric_label(env, "worst_off")
    assert (label.title, label.kind, label.better) == ("Worst off", "scheme", "higher is better")
    assert label.axis_label == "score" and label.key == "metrics/worst_off"
    titled = dataclasses.replace(env.spec.schemes["welfare"], title="log of Nash welfare")
    assert metric_label(Bakery((("nash", titled),)), "nash").title == "Log of Nash welfare"


def chooser(space):
    """An environment as far as figures of actions ask."""
    return stand_in(Environment, agents=("server",), action_space=lambda self, agent: space)


def test_few_choices_are_lines_and_many_a_map():
    (panel,) = line_panels(chooser(OneEntity(5)))
    assert panel.title == "Server: choices" and len(panel.elements) == 5
    assert map_panels(chooser(OneEntity(5))) == []
    many = chooser(OneEntity(34, none=True))
    assert line_panels(many) == []
    (panel,) = map_panels(many)
    assert panel.rows == 35


def test_choices_are_told_as_shares_of_steps(bare_run):
    env = chooser(Discrete(("deny", "approve")))
    lines = [
        {"epoch": 1, "actions/server/deny": 0.5, "actions/server/approve": 0.5},
        {"epoch": 2, "actions/server/deny": 0.2, "actions/server/approve": 0.8},
    ]
    run = bare_run(RunConfig("doughnut"), env, lines, "/z")
    assert action_sentences(RunGroup("", (run,))) == [
        "Server: after epoch 2 it chooses approve in 0.80 of the steps (0.50 at first), deny in"
        " 0.20 of the steps (0.50 at first)."
    ]


# ---------------------------------------------------------------- a whole page


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run in a small shop."""
    folder = tmp_path_factory.mktemp("shop") / "run"
    config = RunConfig(
        "doughnut",
        environment_args={"population": 3, "horizon": 4},
        algorithm_args={"epochs": 2, "episodes_per_epoch": 4},
    )
    train(config, folder)
    return folder


@pytest.mark.full
def test_a_page_on_people_who_are_told_apart(folder):
    text = write_report([folder], episodes=2, schemes=["gini"], worlds=False).read_text(
        encoding="utf-8"
    )
    page = html.unescape(text)
    assert {path.stem for path in (folder / "figures").iterdir()} == {
        "comparison",
        "learning",
        "actions",
        "schemes",
        "status",
    }
    sections = re.findall(r'<h2 id="([^"]*)">(.*?)</h2>(.*?)(?=<h2|</body>)', page, re.DOTALL)
    assert {"stakeholders", "schemes"} <= {name for name, _, _ in sections}
    for name, _, content in sections:
        assert re.sub(r"<[^>]+>|\s", "", content), name
    titles = {name: title for name, title, _ in sections}
    assert titles["stakeholders"] == "Status per person"
    for words in ("Gini welfare of", "Welfare", "A scheme is", "share of steps", "person 2"):
        assert words in page
    assert "--episodes 2 --seed 1 --scheme gini" in page and "schemes=['gini']" in page
    assert "present goes from" not in page  # the mean of three people is no finding


def test_evaluate_prints_schemes_and_knows_them_as_json(folder, capsys):
    command = ["evaluate", str(folder), "--episodes", "2", "--scheme", "gini"]
    main([*command, "--all"])
    shown = capsys.readouterr().out
    for words in ("Worst off ↑", "Fairness over an episode", "after 1 of 4 steps", "person 2"):
        assert words in shown
    main([*command, "--json"])
    document = json.loads(capsys.readouterr().out)
    for policy in document["policies"]:
        found = {}
        for row in document["results"]:
            if row["policy"] == policy["policy"]:
                found.setdefault((row["kind"], row["measure"]), []).append(row)
        course = found["course", "welfare"]
        assert [row["step"] for row in course] == [1, 2, 3, 4]
        ((welfare,), (out,)) = (found["measure", name] for name in ("welfare", "handed_out"))
        assert course[-1]["mean"] == pytest.approx(welfare["mean"], rel=1e-5)
        status, same = (found["status", name] for name in ("welfare", "gini"))
        assert [row["mean"] for row in status] == [row["mean"] for row in same]
        assert [row["part"] for row in status] == ["person_0", "person_1", "person_2"]
        assert sum(row["mean"] for row in status) == pytest.approx(out["mean"])


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        ("nosh", "unknown scheme 'nosh'; there is the welfare nash, max-min, gini"),
        ("nash:handed", "scheme 'nash:handed': component must have an entry per stakeholder of"),
        ("alpha:-1", "scheme must be alpha:ALPHA with a number from 0, got 'alpha:-1'"),
    ],
)
def test_an_unknown_scheme_is_refused(folder, scheme, message):
    with pytest.raises(FairgymError, match=re.escape(message)):
        load_runs(folder, schemes=[scheme])
