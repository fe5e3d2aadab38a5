"""Tables per group and per further part of the people, against numbers worked out by hand."""

import dataclasses
import html
import re
import types
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from matplotlib.patches import StepPatch
from panels import drawn_lines, told_lines
from stand_ins import stand_in

import fairgym
from fairgym.report import findings, tables, template
from fairgym.report.distributions import core_attribute_distribution
from fairgym.report.drawn import numbers_of
from fairgym.report.episodes import group_rates, part_curves
from fairgym.report.grouping import RunGroup
from fairgym.report.style import DASHES, INK, group_line
from fairgym.results.estimates import Result, best
from fairgym.results.numbers import number
from fairgym.training import Evaluation, evaluate, load
from fairgym.training.run import Run

GROUP = np.array([0, 0, 0, 1, 1, 2, 2, 3])
PLACE = np.array([0, 0, 1, 1, 1, 1, 0, 0])  # nobody lives in the desert


def cells_of(table: str) -> list[list[str]]:
    """The rows of a table; what is in small print stands after a |."""
    rows = []
    for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL):
        cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        rows.append(
            [html.unescape(re.sub(r"<[^>]+>", "", c.replace("<small>", "|"))) for c in cells]
        )
    return rows


# four people in town, four in the village, nobody in the desert, at the start and after each of
# five steps; the second episode ends after three
PLACES = {
    "people": np.array([[[4, 4, 0]] * 6, [[4, 4, 0]] * 4 + [[0, 0, 0]] * 2], float),
    "well": np.array(
        [[[4, 4, 0]] * 5 + [[3, 2, 0]], [[4, 4, 0]] * 3 + [[3, 2, 0]] + [[0] * 3] * 2]
    ),
    "waiting": np.array(
        [[[0, 0, 0]] * 5 + [[1, 1, 0]], [[0, 0, 0]] * 3 + [[1, 0, 0]] + [[0] * 3] * 2]
    ),
    "in hospital": np.array(
        [[[0, 0, 0]] * 5 + [[0, 1, 0]], [[0, 0, 0]] * 3 + [[0, 2, 0]] + [[0] * 3] * 2]
    ),
    "risk": np.array(
        [[[9, 8, 0]] * 5 + [[11, 13, 0]], [[9, 10, 0]] * 3 + [[13, 13, 0]] + [[0] * 3] * 2], float
    ),
}


def people(risk: list[float], waiting: list[int], in_hospital: list[int]) -> dict:
    """One episode of eight people."""
    return {
        "group": GROUP[None],
        "place": PLACE[None].astype(float),
        "risk": np.array([risk]),
        "waiting": np.array([waiting], float),
        "in_hospital": np.array([in_hospital], float),
    }


START = people([1.0, 1.2, 2.0, 2.0, 2.2, 3.0, 3.2, 4.0], [0] * 8, [0] * 8)
END = people(
    [1.0, 1.2, 3.0, 3.0, 3.2, 4.0, 4.2, 5.0], [1, 0, 0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0, 0]
)


def measured(country, ill, episodes: int = 2):
    """An evaluation in which the groups fall ill at these rates, a little apart in each episode."""
    shape = (episodes, 5, 4)
    shift = np.linspace(-0.02, 0.02, episodes)[:, None, None]
    seen = np.full(shape, 10.0)
    rates = np.broadcast_to(np.array(ill) + shift, shape)
    trace = types.SimpleNamespace(seen=seen, ill=seen * rates, paid=seen * 1.5)
    apart = -rates[:, 0].std(axis=1)
    metrics = {
        "illness_rate": -rates[:, 0].mean(axis=1),
        "pay": np.full(episodes, 1.5),
        "illness_disparity": apart,
        "pay_disparity": np.zeros(episodes),
    }

    def both(moment: dict) -> dict:
        return {name: np.repeat(values, episodes, axis=0) for name, values in moment.items()}

    return stand_in(
        Evaluation,
        metrics=metrics,
        defined={name: np.ones(episodes, bool) for name in metrics},
        objective=-np.array(ill).mean() * np.ones(episodes),
        terminated=np.zeros(episodes, bool),
        trace=trace,
        discount=1.0,
        people_start=both(START),
        people_end=both(END),
        parts={"place": PLACES},
        nulls={},
        rates={},
        part_totals={},
        part_metrics={},
        episodes=episodes,
        lengths=np.array([5, 3])[:episodes],
    )


@pytest.fixture
def pair(country, made_up_page):
    """A learned policy and two baselines, as a page shows them."""
    mine = Result("learned policy", True, (measured(country, [0.1, 0.2, 0.3, 0.4]),))
    rules = [
        Result("bad", False, (measured(country, [0.9, 0.9, 0.9, 0.9]),)),
        Result("good", False, (measured(country, [0.2, 0.2, 0.2, 0.2]),)),
    ]
    return made_up_page([], [mine], [rules])


def test_the_best_baseline_stands_beside_a_policy(pair):
    ((mine, rule),) = pair.pairs
    assert list(pair.named) == ["learned policy", "good"]
    assert mine.name == "learned policy" and rule is not None and rule.name == "good"
    assert best([]) is None


def test_baselines_of_the_same_name_in_other_environments_are_told_apart(country, made_up_page):
    def one(name: str, learned: bool, ill: float) -> Result:
        return Result(name, learned, (measured(country, [ill] * 4),))

    rule, other = one("rule", False, 0.2), one("rule", False, 0.7)
    rescored = Result("rule", False, rule.evaluations)  # the same episodes, another objective
    learned = [one("a", True, 0.1), one("b", True, 0.3), one("c", True, 0.5)]
    page = made_up_page([], learned, [[rule], [rescored], [other]])
    rows = cells_of(tables.group_table(page.named, country))[2:7]
    assert [result.name for result in page.beside] == list(page.named)
    assert [row[-6] for row in rows] == ["a", "b", "c", "rule", "rule (c)"]
    assert [row[-5][:4] for row in rows] == ["10.0", "30.0", "50.0", "20.0", "70.0"]


def test_parts_of_a_wide_table_of_groups_repeat_measure_and_policy(country, pair, monkeypatch):
    monkeypatch.setattr(template, "MOST_COLUMNS", 5)
    whole = tables.group_table(pair.named, country)
    parts = [cells_of(part) for part in whole.split("</table>")[:-1]]
    names = [*country.spec.groups, "disparity|standard deviation"]
    assert [rows[0] for rows in parts] == [["", "policy", *names[:2]], ["", "policy", *names[2:]]]
    for rows in parts:
        assert [row[-len(rows[0]) + 1] for row in rows[2:4]] == ["learned policy", "good"]


def test_each_group_has_its_own_rate(country, pair):
    head, size, mine, rule, pay, _ = cells_of(tables.group_table(pair.named, country))
    assert head == ["", "policy", *country.spec.groups, "disparity|standard deviation"]
    assert size == ["People", "", "3", "2", "2", "1", ""]
    assert mine[:2] == ["Illness rate|%, ↓ lower is better", "learned policy"]
    # two episodes 0.04 apart: t with one degree of freedom times 0.04 / 2
    half = 12.706205 * 0.02
    for cell, rate in zip(mine[2:6], (0.1, 0.2, 0.3, 0.4), strict=True):
        low, high = max(rate - half, 0.0), min(rate + half, 1.0)
        assert cell == f"{number(100 * rate)} [{number(100 * low)}, {number(100 * high)}]"
    assert mine[6].startswith(number(100 * 0.0125**0.5))
    assert rule[0] == "good" and rule[1].startswith("20.0 [")  # the heading spans both
    assert pay[0] == "Pay|maximum salaries per person, ↑ higher is better"


def test_intervals_of_rates_end_at_0_and_1(country):
    one = Result("a", True, (measured(country, [0.01, 0.3, 0.97, 0.99]),))
    (row,) = [
        cells
        for cells in cells_of(tables.group_table({"a": one}, country))
        if cells[0].startswith("Illness rate")
    ]
    assert [cell.partition(" ")[2] for cell in (row[2], row[4], row[5])] == [
        "[0, 26.4]",
        "[71.6, 100]",
        "[73.6, 100]",
    ]


def test_groups_have_the_values_of_few_seeds(country):
    seeds = tuple(measured(country, [ill, 0.2, 0.3, 0.4]) for ill in (0.1, 0.5))
    rows = cells_of(tables.group_table({"a": Result("a", True, seeds)}, country))
    (row,) = (cells for cells in rows if cells[0].startswith("Illness rate"))
    assert row[2].startswith("30.0 [") and row[2].endswith("]|by seed 10.0, 50.0")
    assert "by seed" not in row[3], "equal values"


def test_the_groups_of_a_real_evaluation(seeds):
    run = load(seeds / "seed-0")
    env = run.env
    found = evaluate(
        env,
        run.params,
        run.policies,
        jax.random.key(4),
        4,
        objective=run.objective,
        discount=0.9,
        trace=True,
        people_episodes=2,
    )
    rows = cells_of(tables.group_table({"mine": Result("mine", True, (found,))}, env))
    heads = [row[0] for row in rows]
    (wait,) = (place for place, head in enumerate(heads) if head.endswith("of the served only"))
    assert any("ever paid out" in head for head in heads[:wait]), (
        "who is served stands before waits"
    )
    group = found.people_start["group"]
    assert [float(cell) for cell in rows[1][2:4]] == [(group == code).sum() / 2 for code in (0, 1)]
    weights = 0.9 ** np.arange(env.horizon)
    row = next(row for row in rows if row[0].startswith("Admission rate"))
    for code in (0, 1):
        approved, applied = (
            np.asarray(getattr(found.trace, name), float)[:, :, code] @ weights
            for name in ("approved", "applied")
        )
        assert row[2 + code].startswith(f"{number(100 * (approved / applied).mean())} [")
    assert row[4].startswith(
        f"{number(-100 * float(found.metrics['admission_disparity'].mean()))} ["
    )


class Totals(NamedTuple):
    """Component sums by place, of two episodes; in the second nobody is seen in the desert."""

    seen: Any = np.array([[20.0, 10.0, 10.0], [10.0, 10.0, 0.0]], np.float32)
    ill: Any = np.array([[2.0, 3.0, 8.0], [3.0, 5.0, 0.0]], np.float32)
    paid: Any = np.array([[20.0, 10.0, 10.0], [10.0, 10.0, 0.0]], np.float32)


def test_rates_and_disparities_of_a_partition(country, pair):
    ((mine, rule),) = pair.pairs
    for result in (mine, rule):
        result.evaluations[0].part_totals["place"] = Totals()
        apart = -np.array([np.std([0.1, 0.3, 0.8]), np.nan])
        disparities = {"illness_disparity": apart, "pay_disparity": np.zeros(2)}
        result.evaluations[0].part_metrics["place"] = disparities
    rates, apart = tables.part_rates_of(mine, "illness_disparity", country, "place")
    assert [rate.mean for rate in rates] == pytest.approx([0.2, 0.4, 0.8])
    assert [rate.undefined for rate in rates] == [0, 0, 1]
    assert apart.mean == pytest.approx(np.std([0.1, 0.3, 0.8])) and apart.undefined == 1
    head, ill, *_ = cells_of(tables.group_table(pair.named, country, "place"))
    assert head == ["", "policy", "town", "village", "desert", "disparity|standard deviation"]
    assert ill[:2] == ["Illness rate|%, ↓ lower is better", "learned policy"]
    assert [cell[:4] for cell in ill[2:]] == ["20.0", "40.0", "80.0", number(100 * apart.mean)[:4]]
    assert "Illness rate" in tables.partition_section(on(pair, country), "place")


def test_each_part_of_the_people_has_its_stages_and_standing(country, pair):
    ((mine, rule),) = pair.pairs
    start, end = (tables.part_values(mine, country, "place", end=end) for end in (False, True))
    assert list(start) == ["people", "well", "waiting", "in hospital", "risk"]
    np.testing.assert_allclose(start["people"], [4, 4, 0])
    np.testing.assert_allclose(start["well"], [1, 1, np.nan])
    np.testing.assert_allclose(end["people"], [4, 4, 0])
    np.testing.assert_allclose(end["well"], [0.75, 0.5, np.nan])
    np.testing.assert_allclose(end["in hospital"], [0, 0.375, np.nan])
    np.testing.assert_allclose(end["risk"], [3, 3.25, np.nan])
    head, town, village, desert = cells_of(tables.partition_table(mine, rule, country, "place"))
    assert head == [
        "place",
        "people",
        "well|%",
        "waiting|%",
        "in hospital|%",
        "risk|mean",
    ]
    assert town[:4] == ["town", "4", "100 → 75.0|→ 75.0", "0 → 25.0|→ 25.0"]
    assert town[4:] == ["0 → 0|→ 0", "2.25 → 3.00|→ 3.00"]
    assert village[2] == "100 → 50.0|→ 50.0"
    assert desert[1:3] == ["0", "undefined → undefined|→ undefined"]
    alone = cells_of(tables.partition_table(mine, None, country, "place"))
    assert alone[1][2] == "100 → 75.0"


def test_curves_of_the_parts_of_the_people(country, pair):
    ((mine, _),) = pair.pairs
    figure = part_curves(list(mine.evaluations), country, "place")
    assert told_lines(numbers_of(figure)) == drawn_lines(figure)
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    assert list(panels)[:4] == ["Risk", "Well", "Waiting", "In hospital"]
    town, village, desert = panels["Risk"].get_lines()
    np.testing.assert_allclose(
        np.asarray(town.get_ydata()), [2.25, 2.25, 2.25, 22 / 8, 2.25, 11 / 4]
    )
    np.testing.assert_allclose(np.asarray(village.get_ydata()), [18 / 8] * 3 + [21 / 8, 2, 13 / 4])
    assert np.isnan(np.asarray(desert.get_ydata())).all()
    well = panels["Well"].get_lines()[1]
    np.testing.assert_allclose(np.asarray(well.get_ydata()), [1, 1, 1, 6 / 8, 1, 0.5])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "town",
        "village",
        "desert",
    ]


def on(page, env):
    """The page, in an environment."""
    return dataclasses.replace(page, groups=[RunGroup("", (stand_in(Run, env=env),))])


def test_sections_of_the_page(country, pair):
    gaps = tables.gap_section(pair.named, country)
    assert re.findall("<h3>(.*?)</h3>", gaps) == ["By region"] and "Illness rate" in gaps
    places = tables.partition_section(on(pair, country), "place")
    assert "over 2 episodes" in places and "“good”" in places and "Illness rate" not in places


def test_education_tells_its_regions():
    env: Any = fairgym.make("education", population=60, horizon=10)
    assert len(env.spec.partitions["region"]) == 9 and env.spec.partitions["region"][8] == "Pacific"
    assert env.spec.group_word == "group"
    assert fairgym.make("health", population=60, horizon=10).spec.group_word == "region"
    loan: Any = fairgym.make("loan", population=60, horizon=10)
    assert loan.spec.partitions == {}


# ---------------------------------------------------------------- four groups elsewhere


def test_sentences_on_four_groups(country, pair):
    ((mine, _),) = pair.pairs
    text = findings.core_sentence(mine, country, False)
    assert "the mean risk (1 good to 5 bad) goes from 1.40 to 1.73 for the North" in text
    assert "4.00 to 5.00 for the West; the widest gap between two groups" in text
    assert "better" not in text and "worse" not in text


def test_four_groups_are_drawn_in_lanes_of_their_own(country, pair):
    ((mine, _),) = pair.pairs
    figure = core_attribute_distribution(list(mine.evaluations), country)
    first, second = figure.axes
    labels = [label.get_text() for label in first.get_yticklabels()]
    assert labels == list(country.spec.groups) and not figure.legends
    stairs = [patch for patch in first.patches if isinstance(patch, StepPatch)]
    floors = [patch.get_data()[2] for patch in stairs if patch.get_fill()]
    assert floors == [3, 2, 1, 0]
    means = [
        np.asarray(line.get_xdata()).min() for line in first.get_lines() if line.get_color() == INK
    ]
    np.testing.assert_allclose(means, [1.4, 2.1, 3.1, 4.0])
    assert first.texts[0].get_text() == "1.40" and "widest" in first.texts[-1].get_text()
    assert second.get_xlabel() == "risk (1 good to 5 bad)"


def test_lines_of_groups_differ_in_colour_and_dash(country, pair):
    looks = [group_line(i) for i in range(6)]
    assert len({look["color"] for look in looks}) == len(set(DASHES)) == 6
    ((mine, _),) = pair.pairs
    figure = group_rates(list(mine.evaluations), country)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(country.spec.groups)
    panel = figure.axes[0]
    assert len(panel.get_lines()) == 4
    low, high = panel.get_ylim()
    assert low < 10.0 and 40.0 < high < 50.0  # from 0, for the rates begin far below the highest


def test_scales_begin_near_the_rates_when_all_are_high(country):
    high = Result("a", True, (measured(country, [0.9, 0.91, 0.92, 0.93]),))
    panel = group_rates(list(high.evaluations), country).axes[0]
    low, high = panel.get_ylim()
    assert 82.0 < low < 90.0 and high > 93.0
    assert high - low > 0.1 * 95.0  # no small gap looks large
