"""Who waits at the end and on the way: made-up waits of two episodes, one of which ends early."""

import dataclasses

import numpy as np
import pytest
from stand_ins import stand_in

from fairgym.report.over_time import wait_curves
from fairgym.report.stakeholders import wait_sections, wait_table
from fairgym.results.estimates import Result
from fairgym.training import Evaluation

# North, East, South, West and everybody, at the start and after each of five steps
SHARE = np.zeros((2, 6, 5))
SHARE[0] = np.arange(6)[:, None] * np.array([0.1, 0.0, 0.2, 0.1, 0.1])
SHARE[1, 1:4] = [0.2, 0.0, 0.0, 0.2, 0.1]
MEDIAN = np.zeros((2, 6, 5))
MEDIAN[0, 1:] = np.arange(5)[:, None] * np.array([1.0, 0.0, 3.0, 1.0, 2.0])
MEDIAN[1, 3] = [4.0, 0.0, 0.0, 2.0, 3.0]


@pytest.fixture
def clinic(country, monkeypatch):
    """The made-up country, in which people wait."""
    waits = {"waiting": "time_waited"}
    monkeypatch.setitem(vars(country), "spec", dataclasses.replace(country.spec, waits=waits))
    return country


def result(name, learned=True):
    waits = {"waiting": {"share": SHARE, "median": MEDIAN}}
    lengths = np.array([5, 3])
    return Result(name, learned, (stand_in(Evaluation, waits=waits, lengths=lengths, episodes=2),))


def test_the_table_has_the_end_of_each_episode(clinic):
    """After five steps and after three; medians of the episodes in which somebody waits."""
    cells = wait_table({"mine": result("mine"), "rule": result("rule", False)}, clinic, "waiting")
    rows = [row.split("</td>") for row in cells.split("<tr>")[1:]]
    assert cells.count("<tr>") == 5 and "everybody" in cells and "<small>%</small>" in cells
    assert "Median of their times so far<small>months</small>" in cells
    texts = [[cell.rsplit("<td>")[-1].split(" ")[0] for cell in row[1:6]] for row in rows[1:]]
    # of East nobody waits; the interval of a single value is unknown
    shares = [35.0, 0.0, 50.0, 35.0, 30.0]  # per cent
    medians = [(4.0 + 4.0) / 2, np.nan, 12.0, (4.0 + 2.0) / 2, (8.0 + 3.0) / 2]
    for row, expected in zip(texts, [shares, shares, medians, medians], strict=True):
        for text, value in zip(row, expected, strict=True):
            assert text.startswith("undefined") if np.isnan(value) else float(text) == value


def test_lines_are_of_everybody_and_stop_where_an_episode_does(clinic):
    figure = wait_curves([result("mine"), result("rule", False)], clinic, "waiting")
    share, median = figure.axes
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["mine", "rule"]
    assert share.get_title(loc="left") == "People who are waiting"
    for line in share.get_lines():
        np.testing.assert_allclose(np.asarray(line.get_xdata()), range(6))
        np.testing.assert_allclose(np.asarray(line.get_ydata()), [0, 0.1, 0.15, 0.2, 0.4, 0.5])
    for line in median.get_lines():
        np.testing.assert_allclose(np.asarray(line.get_xdata()), range(1, 6))
        # nobody has waited longer than a step before the third in the second episode
        np.testing.assert_allclose(np.asarray(line.get_ydata()), [0, 1, (4 + 3) / 2, 6, 8])
    assert (share.get_ylabel(), median.get_ylabel()) == ("share of people", "months")
    assert [len(panel.collections) for panel in figure.axes] == [1, 1], "bands of the learned one"


def test_only_environments_in_which_people_wait_have_a_section(country, clinic, monkeypatch):
    ((name, heading, content),) = wait_sections({"mine": result("mine")}, clinic)
    assert (name, heading) == ("waiting-at-the-end", "Who is waiting at the end")
    assert "leaves these people out" in content
    monkeypatch.setitem(vars(country), "spec", dataclasses.replace(country.spec, waits={}))
    assert wait_sections({"mine": result("mine")}, country) == []
