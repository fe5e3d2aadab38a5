"""Who waits at the end and on the way: made-up waits of two episodes, one of which ends early."""

import dataclasses
import re

import numpy as np
import pytest
from stand_ins import stand_in

from fairgym.report.over_time import wait_curves
from fairgym.report.stakeholders import wait_section
from fairgym.results.estimates import Result
from fairgym.results.numbers import number
from fairgym.statistics.survival import wait_ages
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


# Waits of the North that last three months each, and of the West that do not end
AGES = wait_ages(5)
REACHED = np.zeros((2, 6, 4, len(AGES)))
for age in range(3):
    REACHED[0, age:, 0, age] = 30.0
for age in range(6):
    REACHED[0, age, 3, age] = 10.0
    REACHED[1, age : age + 1, 3, age] = 15.0 * (age <= 3)


def result(name, learned=True, reached=REACHED):
    waits = {"waiting": {"share": SHARE, "median": MEDIAN, "reached": reached}}
    lengths = np.array([5, 3])
    one = stand_in(Evaluation, waits=waits, lengths=lengths, episodes=2)
    return Result(name, learned, (one,))


def rows_of(content):
    """Heading of a group of rows -> the cells of its rows, without marks."""
    found, heading = {}, ""
    for row in re.findall(r"<tr>(.*?)</tr>", content, re.DOTALL)[1:]:
        for text in re.findall(r'<th scope="row"[^>]*>(.*?)</th>', row):
            heading = text.partition("<small>")[0]
        cells = re.findall(r"<td>(.*?)</td>", row)
        found.setdefault(heading, []).append([re.sub(r"<.*?>", "", cell) for cell in cells])
    return found


def test_the_table_has_the_end_of_each_episode(clinic):
    """After five steps and after three; medians of the episodes in which somebody waits."""
    both = {"mine": result("mine"), "rule": result("rule", False)}
    content = wait_section(both, clinic, "waiting")
    assert "everybody" in content and "<small>%</small>" in content
    assert "Median of their times so far<small>months</small>" in content
    rows = rows_of(content)
    # of East nobody waits; the interval of a single value is unknown
    shares = [35.0, 0.0, 50.0, 35.0, 30.0]  # per cent
    medians = [(4.0 + 4.0) / 2, np.nan, 12.0, (4.0 + 2.0) / 2, (8.0 + 3.0) / 2]
    expected = {
        "People who are waiting at the end": shares,
        "Median of their times so far": medians,
    }
    for heading, values in expected.items():
        assert [row[0] for row in rows[heading]] == ["mine", "rule"]
        for row in rows[heading]:
            for text, value in zip(row[1:], values, strict=True):
                assert text.startswith("undefined" if np.isnan(value) else number(value))


def test_the_table_tells_how_long_waits_last(clinic):
    """The 90 waits of the North end before the third month; 10 and 15 of the West go on."""
    content = wait_section({"mine": result("mine")}, clinic, "waiting")
    rows = {heading: row[1:] for heading, (row,) in rows_of(content).items()}
    # North, East, South, West, everybody; all are followed for three months at most
    assert rows["Waits of 3 months or longer"] == [
        "0",
        *["undefined"] * 2,
        "100",
        number(100 * 25 / 115),
    ]
    for part in ("A quarter of waits", "Half of waits", "Three quarters"):
        ends = rows[f"{part} end within"]  # last seen to wait for two months
        assert ends == ["2", "undefined", "undefined", "over 3", "2"]
    assert "leaves these people out" in content


def test_lines_are_of_everybody_and_stop_where_an_episode_does(clinic):
    figure = wait_curves([result("mine"), result("rule", False)], clinic, "waiting")
    _, share, median = figure.axes
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["mine", "rule"]
    assert share.get_title(loc="left") == "People who are waiting"
    for line in share.get_lines():
        np.testing.assert_allclose(np.asarray(line.get_xdata()), range(6))
        np.testing.assert_allclose(np.asarray(line.get_ydata()), [0, 10, 15, 20, 40, 50])
    for line in median.get_lines():
        np.testing.assert_allclose(np.asarray(line.get_xdata()), range(1, 6))
        # nobody has waited longer than a step before the third in the second episode
        np.testing.assert_allclose(np.asarray(line.get_ydata()), [0, 1, (4 + 3) / 2, 6, 8])
    assert (share.get_ylabel(), median.get_ylabel()) == ("% of people", "months")
    assert [len(panel.collections) for panel in figure.axes] == [0, 1, 1], (
        "bands of the learned one"
    )
