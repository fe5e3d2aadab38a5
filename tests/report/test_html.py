"""The page: whole, offline, and made from the numbers."""

import re
import types
from html.parser import HTMLParser

import numpy as np
import pytest

import fairgym
from fairgym.report import write_report
from fairgym.report.findings import metric_sentence, objective_sentence
from fairgym.report.results import Result

VOID = {"meta", "br", "hr", "img", "link", "input", "path", "use"}


class Page(HTMLParser):
    """Collects tags and checks that they close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def written(seeds, tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "page.html"
    return write_report([seeds], out, episodes=4)


def test_the_page_is_whole_and_offline(written):
    text = written.read_text()
    page = Page()
    page.feed(text)
    assert not page.open
    assert page.seen.count("svg") == 5
    assert not re.search(r'(src|href)="(?!#)', text)
    assert "http://" not in text and "https://" not in text


def test_the_page_tells_what_was_trained_and_found(written):
    page = Page()
    page.feed(written.read_text())
    words = " ".join(page.text)
    env = fairgym.make("loan")
    for name in env.baselines:
        assert name in words
    assert env.data_checksum in words
    assert "0, 1" in words  # the seeds
    for heading in ("Key findings", "Learning curves", "What the agents decide", "over an episode"):
        assert heading in words


def test_pictures_stand_beside_the_page(written):
    names = {path.name for path in (written.parent / "figures").iterdir()}
    assert names == {
        "comparison.png",
        "learning.png",
        "actions.png",
        "core-attribute.png",
        "group-rates.png",
    }
    for name in names:
        assert (written.parent / "figures" / name).read_bytes().startswith(b"\x89PNG")


def test_configurations_are_compared(seeds, other, tmp_path):
    page = write_report([seeds, other], tmp_path / "both.html", episodes=4).read_text()
    assert "objective uniform" in page and "objective direct" in page


def test_the_default_place_is_the_first_folder(other):
    assert write_report([other], episodes=2) == other / "report.html"


def test_a_folder_without_a_run_is_one_sentence(tmp_path):
    with pytest.raises(fairgym.FairgymError, match="nothing-here"):
        write_report([tmp_path / "nothing-here"])
    with pytest.raises(fairgym.FairgymError, match="no run folder"):
        write_report([])


def made_up(env, name: str, learned: bool, value: float) -> Result:
    """A policy whose every metric is `value` in each of four episodes, give or take a little."""
    values = value + np.array([-0.01, 0.01, -0.01, 0.01])
    evaluation = types.SimpleNamespace(
        objective=values,
        metrics=dict.fromkeys(env.metrics, values),
        defined=dict.fromkeys(env.metrics, np.ones(4, bool)),
        terminated=np.zeros(4, bool),
        trace=None,
    )
    return Result(name, learned, (evaluation,))


def test_sentences_follow_the_numbers():
    env = fairgym.make("loan", population=60, horizon=20)
    base = made_up(env, "base", False, 0.5)
    better = objective_sentence(made_up(env, "learned policy", True, 0.9), [base])
    worse = objective_sentence(made_up(env, "learned policy", True, 0.1), [base])
    same = objective_sentence(made_up(env, "learned policy", True, 0.5), [base])
    assert "above" in better and "0.9" in better
    assert "below" in worse and "0.1" in worse
    assert "no clear difference" in same
    rise = metric_sentence("admission_rate", [made_up(env, "a", True, 0.9)], base, env)
    fall = metric_sentence("admission_rate", [made_up(env, "a", True, 0.1)], base, env)
    assert rise.endswith("better.") and fall.endswith("worse.")
