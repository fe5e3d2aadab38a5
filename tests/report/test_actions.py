"""What the agents decide: panels of lines, budgets and their splits, and the sentences on them."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from panels import titled
from stand_ins import stand_in

import fairgym
from fairgym.config import RunConfig
from fairgym.core import ActionSpace, Allocation, Environment, OneEntity, Shares, Unit, per_group
from fairgym.report import actions, findings
from fairgym.report.grouping import group_runs


def row_labels(axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


MADE_UP = RunConfig("made-up", objective="uniform")


def deciding(agent: str, space: ActionSpace) -> Any:
    """An environment, as far as figures ask, with one agent."""
    spec = SimpleNamespace(groups=("north", "south"))
    return stand_in(
        Environment,
        agents=(agent,),
        spec=spec,
        name="made up",
        action_space=lambda self, agent: space,
    )


def test_units_are_lines_on_a_scale_of_units(bare_run):
    units = [[3.0, 3.0], [4.5, 1.5]]
    lines = [
        {
            "epoch": i + 1,
            "actions/dispatcher/units_north": north,
            "actions/dispatcher/units_south": south,
        }
        for i, (north, south) in enumerate(units)
    ]
    space = Allocation(6, per_group("units", ("north", "south"), unit="units"))
    run = bare_run(
        RunConfig("made-up", objective="uniform"), deciding("dispatcher", space), lines, "/z"
    )
    panels = titled(actions.mean_actions([run]))
    assert list(panels) == ["Dispatcher: units"]
    (axes,) = panels.values()
    np.testing.assert_allclose([line.get_ydata() for line in axes.lines], np.transpose(units))
    assert axes.get_ylabel() == "mean action, units" and 4.5 < axes.get_ylim()[1] < 5.5
    (told,) = findings.action_sentences(group_runs([run])[0])
    assert "units for the north rises from 3.00 to 4.50 units" in told


def test_every_budget_has_a_panel_of_its_own(bare_run):
    shares = [[0.5, 0.5, 0.2, 0.3, 0.5], [0.9, 0.1, 0.1, 0.1, 0.8]]
    space = Shares((("beds", "public_health"), ("roads", "rail", "ports")))
    lines = [
        {
            "epoch": i + 1,
            **{f"actions/planner/{n}": v for n, v in zip(space.names, row, strict=True)},
        }
        for i, row in enumerate(shares)
    ]
    run = bare_run(
        RunConfig("made-up", objective="uniform"), deciding("planner", space), lines, "/z"
    )
    panels = titled(actions.mean_actions([run]))
    assert list(panels) == ["Planner: budget 1", "Planner: budget 2"]
    first, second = panels.values()
    np.testing.assert_allclose(first.get_images()[0].get_array(), np.transpose(shares)[:2])
    np.testing.assert_allclose(second.get_images()[0].get_array(), np.transpose(shares)[2:])
    assert row_labels(first) == ["beds", "public health"]
    assert row_labels(second) == ["roads", "rail", "ports"]
    told = findings.action_sentences(group_runs([run])[0])
    assert len(told) == 2 and "goes to ports, 0.80" in told[1]


def test_a_heat_map_that_stands_alone_has_the_whole_width(bare_run):
    space = OneEntity(20, none=True)
    names = space.names
    lines = [{"epoch": 1, **{f"actions/clinic/{name}": 1 / 21 for name in names}}]
    run = bare_run(
        RunConfig("made-up", objective="uniform"), deciding("clinic", space), lines, "/z"
    )
    (axes,) = titled(actions.mean_actions([run])).values()
    assert row_labels(axes) == [name.replace("_", " ") for name in names]
    assert axes.get_position().x1 > 0.7


def test_splits_are_drawn_below_the_name_of_what_is_split(country_run):
    figure = actions.mean_actions([country_run])
    panels = titled(figure)
    assert list(panels) == [
        "Insurer: mean premium",
        "Employer",
        "Planner: shares of the budget",
        "Planner: each kind, split by region",
    ]
    assert not figure.legends  # no line belongs to a region
    budget, split = list(panels.values())[2:]
    assert row_labels(budget) == ["beds", "public health", "rollover"]
    assert texts(budget) == ["0.70", "0.20", "0.10", "last"]
    regions = ["North", "East", "South", "West"]
    assert row_labels(split) == regions * 2
    beds, health = (image.get_array() for image in split.get_images())
    np.testing.assert_allclose(beds, [[0.1, 0.1], [0.2, 0.1], [0.3, 0.2], [0.4, 0.6]])
    np.testing.assert_allclose(health[:, -1], [0.9, 0.1, 0.0, 0.0])
    # the heading takes a row: rows 1 to 4, then 6 to 9
    np.testing.assert_allclose(
        [image.get_extent()[2:] for image in split.get_images()], [(4.5, 0.5), (9.5, 5.5)]
    )
    assert split.get_yticks().tolist() == [1, 2, 3, 4, 6, 7, 8, 9]
    assert {"Beds, 0.70 of the budget", "Public health, 0.20 of the budget"} <= set(texts(split))
    assert {text.get_text() for text in panels["Employer"].texts} == {"salary", "hours"}


def test_configurations_share_the_scale_of_a_budget(country_run, bare_run):
    even = [{key: 0.25 for key in line} | {"epoch": line["epoch"]} for line in country_run.metrics]
    other = bare_run(RunConfig("country", objective="direct"), country_run.env, even, "/y")
    figure = actions.mean_actions([country_run, other])
    scales = [
        image.get_clim()
        for axes in figure.axes
        if axes.get_title(loc="left") == "Planner: shares of the budget"
        for image in axes.get_images()
    ]
    assert scales == [(0.0, 1.0)] * 2


def test_labels_of_heat_maps_do_not_overlap(country_run):
    """What stands beside, above or in the panels keeps apart, as drawn."""
    figure = actions.mean_actions([country_run])
    figure.savefig("/dev/null", format="svg")
    renderer = figure._get_renderer()  # type: ignore[attr-defined]
    width, height = figure.get_window_extent(renderer).size
    for axes in titled(figure).values():
        low, high = sorted(axes.get_ylim())
        ticks = [t for t in axes.get_yticklabels() if low <= t.get_position()[1] <= high]
        shown = [*axes.texts, *ticks, axes.title, axes._left_title]
        boxes = [t.get_window_extent(renderer) for t in shown if t.get_text()]
        for i, box in enumerate(boxes):
            assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height
            assert not any(box.overlaps(other) for other in boxes[:i])


def test_what_is_set_for_everybody_says_what_it_is_a_share_of(country_run):
    panels = titled(actions.mean_actions([country_run]))
    label = panels["Insurer: mean premium"].get_ylabel()
    assert label.replace("\n", " ") == "mean over people, share of the maximum"
    assert panels["Employer"].get_ylabel() == "mean action, 0 to 1"


def test_sentences_tell_budgets_and_amounts(country_run):
    told = findings.action_sentences(group_runs([country_run])[0])
    assert (
        "Insurer: from epoch 1 to 2, mean premium rises from 0.20 to 0.60 of the maximum." in told
    )
    assert told[1] == (
        "Planner: after training, the largest share of the budget goes to beds, 0.70 (0.50 at"
        " first); within it, West gets the largest part, 0.60."
    )


@pytest.mark.parametrize(
    ("environment", "titles"),
    [
        ("health", ["Planner: shares of the budget", "Planner: each kind, split by region"]),
        (
            "education",
            [
                "University: shares of the budget",
                "Planner: shares of the budget",
                "Planner: tertiary education, split by region",
            ],
        ),
        ("loan", []),
    ],
)
def test_the_budgets_of_the_published_environments(environment, titles):
    env = fairgym.make(environment, population=60, horizon=10)
    panels = actions.map_panels(env)
    assert [panel.title for panel in panels] == titles
    for agent in {panel.agent for panel in panels}:
        drawn = [
            element
            for panel in panels
            if panel.agent == agent
            for block in panel.blocks
            for element in block
        ]
        space = env.action_space(agent)
        assert isinstance(space, Shares) and tuple(drawn) == space.elements


def test_one_number_per_agent_is_a_panel_each():
    space = Unit((*per_group("threshold", ("north", "south")), "relief"))
    env = stand_in(Environment, agents=("employer",), action_space=lambda self, agent: space)
    found = actions.line_panels(env)
    assert [(panel.title, len(panel.elements)) for panel in found] == [
        ("Employer: threshold", 2),
        ("Employer: relief", 1),
    ]
