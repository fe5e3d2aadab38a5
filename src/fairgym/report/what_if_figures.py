"""Figures of a page about a what-if: who gains, courses over time, and what could overturn it."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.report import style
from fairgym.report.drawn import keep, mark
from fairgym.report.forest import WIDTH, Point, forest, map_axes, map_cell, rows_axis, short
from fairgym.results.labels import capital, words
from fairgym.results.numbers import (
    Estimate,
    difference_text,
    number,
    number_in,
    people_unit,
    unit_text,
)
from fairgym.results.what_if import Record, Rival, Swing
from fairgym.results.what_if_tables import courses_by_title, factor_title

MOST_MEASURES = 4  # in one figure
MOST_PEOPLE_GROUPS = 6  # panels of a map of people
_STRONGEST = 0.6  # opacity of the largest change in a map
GAIN, LOSS = 2, 1  # places of the colours of more and fewer people


@style.styled
def people_figure(records: Sequence[Record]) -> Figure:
    """Draw how many more or fewer people end in each stage: a map per group.

    Args:
        records: Records of kind "people" of one scenario.
    """
    groups = moved_groups(records)[:MOST_PEOPLE_GROUPS]
    stages = list(dict.fromkeys(one["measure"] for one in records))
    scores = list(dict.fromkeys(one["score"] for one in records))
    largest = max(abs(one["difference"]) for one in records) or 1.0
    figure, panels = style.panels(len(groups), 1, 0.75 + 0.4 * len(scores), width=WIDTH)
    names = [stage if stage not in ("more", "less") else f"receive {stage}" for stage in stages]
    for panel, group in zip(panels, groups, strict=True):
        for one in records:
            if one["part"] != group:
                continue
            value = one["difference"]
            ends = Estimate(value, one["difference_low"], one["difference_high"])
            counted = one["measure"] in ("more", "less")
            gained = value > 0.0 and one["measure"] != "less"
            colour = style.group_colour(GAIN if gained else LOSS) if value else style.GRID
            alpha = 0.06 + (_STRONGEST - 0.06) * abs(value) / largest if value else 0.5
            who = f"{words(group)}, {one['score']} third"
            text = f"{who}, {one['title']}: {difference_text(ends, 'people')}"
            written = f"{'+' * (value > 0 and not counted)}{number(value)}"
            place = stages.index(one["measure"]), scores.index(one["score"])
            map_cell(panel, *place, colour, alpha, written, text)
            keep(panel, one["score"], one["measure"], value, ends.low, ends.high)
        last = panel is panels[-1]
        shown = [words(name) for name in names] if last else ["" for _ in names]
        map_axes(panel, shown, scores, turned=sum(map(len, names)) > 60)
        style.set_title(panel, capital(words(group)))
    return figure


def moved_groups(records: Sequence[Record]) -> list[str]:
    """Return the groups in which somebody ends elsewhere; all if nobody does."""
    every = list(dict.fromkeys(one["part"] for one in records))
    moved = {one["part"] for one in records if one["difference"]}
    return [group for group in every if group in moved] or every


@style.styled
def courses_figure(records: Sequence[Record], titles: Sequence[str], time_unit: str) -> Figure:
    """Draw rates and sums over an episode, and their differences: a row of panels per measure.

    Args:
        records: Records of kind "time" of one scenario.
        titles: Measures to draw, as `courses_by_title` names them.
        time_unit: Unit of the steps.
    """
    several = courses_by_title(records)
    figure, panels = style.panels(2 * len(titles), 2, 2.2, width=WIDTH, legend_rows=2)
    parts = list(dict.fromkeys(one["part"] for title in titles for one in several[title]))
    places = {part: place for place, part in enumerate(parts)}
    for row, title in enumerate(titles):
        left, right = panels[2 * row : 2 * row + 2]
        for part in dict.fromkeys(one["part"] for one in several[title]):
            own = [one for one in several[title] if one["part"] == part]
            colour = style.MUTED if part is None else style.group_colour(places[part])
            _course(left, right, own, colour, "all people" if part is None else words(part))
        right.axhline(0.0, color=style.MUTED, lw=1, zorder=1)
        style.set_title(left, title)
        style.set_title(right, "difference")
        for panel in (left, right):
            panel.margins(x=0.01)
            if row == len(titles) - 1:
                panel.set_xlabel(time_unit)
    groups = {
        words(part): style.group_colour(place) for part, place in places.items() if part is not None
    }
    _legend(figure, records[0], groups)
    return figure


def _course(left: Axes, right: Axes, own: Sequence[Record], colour: str, name: str) -> None:
    """Draw one group: both sides at the left, their difference with its band at the right."""
    factor = people_unit(own[0]["unit"])[1]
    steps = np.array([one["step"] for one in own])

    def column(key: str) -> np.ndarray:
        return factor * np.array([one[key] for one in own], float)

    for key, dash, side in (
        ("mean", "-", "policy"),
        ("reference_mean", (0, (2, 1.5)), "reference"),
    ):
        (line,) = left.plot(steps, column(key), color=colour, linestyle=dash)
        told = f"{name}, {own[0][side]}: {number_in(own[-1][key], own[0]['unit'])} at the end"
        mark(line, told, name)
        for step, value in zip(steps, column(key), strict=True):
            keep(left, f"{name}, {own[0][side]}", step, value)
    ends = [column(f"difference{end}") for end in ("", "_low", "_high")]
    band = right.fill_between(steps, ends[1], ends[2], color=colour, alpha=0.18, lw=0)
    mark(band, series=name)
    (line,) = right.plot(steps, ends[0], color=colour)
    last = Estimate(*(own[-1][f"difference{end}"] for end in ("", "_low", "_high")))
    mark(line, f"{name}: {difference_text(last, own[0]['unit'])} at the end", name)
    for place, step in enumerate(steps):
        keep(right, name, step, *(one[place] for one in ends))


def _legend(figure: Figure, about: Record, groups: Mapping[str, str]) -> None:
    """Say which line is which side, and which colour is which group."""
    sides = ((about["policy"], "-"), (about["reference"], (0, (2, 1.5))))
    lines = [Line2D([], [], color=style.INK, ls=dash, label=short(name)) for name, dash in sides]
    lines += [Line2D([], [], color=colour, label=short(name)) for name, colour in groups.items()]
    style.top_legend(figure, lines)


@style.styled
def worlds_figure(several: Sequence[Rival]) -> Figure:
    """Draw the difference of each measure in every world, a panel per measure.

    Args:
        several: Differences of one scenario in rival worlds, of the measures to draw.
    """
    measures = list(dict.fromkeys(one.quantity.name for one in several))
    figure, panels = _stack(len(measures), 1 + len({one.world for one in several}))
    for panel, measure in zip(panels, measures, strict=True):
        own = [one for one in several if one.quantity.name == measure]
        quantity = own[0].quantity
        points = [("as assumed", own[0].here), *((words(one.world), one.there) for one in own)]
        forest(panel, [_point(name, one, quantity.unit) for name, one in points], "difference")
        _zero(panel)
        style.set_title(panel, f"{quantity.title}{unit_text(_points(quantity.unit))}")
    panels[-1].set_xlabel("difference from the reference")
    return figure


@style.styled
def ranges_figure(several: Sequence[Swing]) -> Figure:
    """Draw the difference in one measure over the range of each uncertain parameter.

    Args:
        several: What each parameter does to the measure, in the order to draw them.
    """
    own = [one for one in several if one.course is not None]
    quantity = own[0].quantity
    factor = people_unit(quantity.unit)[1]
    figure, (panel,) = _stack(1, len(own))
    for place, one in zip(range(len(own) - 1, -1, -1), own, strict=True):
        assert one.course is not None
        course, name = one.course, factor_title(one)
        means = factor * np.array(course.means)
        colour = style.group_colour(0)
        (line,) = panel.plot([means.min(), means.max()], [place, place], color=colour, lw=3)
        mark(line, f"{name}: from {number(means.min())} to {number(means.max())}")
        for end, marker in ((0, "o"), (-1, "s")):
            fill = colour if end else style.PAPER
            (dot,) = panel.plot(
                means[end], place, marker, ms=6.5, mfc=fill, mec=colour, mew=1.5, zorder=3
            )
            at = Estimate(course.means[end], course.lows[end], course.highs[end])
            text = difference_text(at, quantity.unit)
            mark(dot, f"{name} {number(course.values[end])}: {text}")
        for value, mean, low, high in zip(
            course.values, course.means, course.lows, course.highs, strict=True
        ):
            keep(panel, name, value, factor * mean, factor * low, factor * high)
    rows_axis(panel, [factor_title(one) for one in own])
    _zero(panel)
    style.set_title(panel, f"{quantity.title}{unit_text(_points(quantity.unit))}")
    panel.set_xlabel("difference from the reference; circle: lowest value, square: highest")
    return figure


@style.styled
def parts_figure(title: str, unit: str, parts: Sequence[tuple[str, Estimate]]) -> Figure:
    """Draw the parts of a gap and the gap.

    Args:
        title: The rate whose gap it is.
        unit: Its unit.
        parts: Names in words, and the numbers.
    """
    figure, (panel,) = _stack(1, len(parts))
    points = [_point(name, one, unit)._replace(name=name) for name, one in parts]
    forest(panel, points, "gap")
    _zero(panel)
    style.set_title(panel, f"{title}{unit_text(_points(unit))}")
    panel.set_xlabel("gap between the two groups, and its parts")
    return figure


def _stack(count: int, rows: int) -> tuple[Figure, list[Axes]]:
    """Return panels below each other, with so many rows in each."""
    return style.panels(count, 1, 0.75 + 0.27 * rows, width=WIDTH)


def _zero(panel: Axes) -> None:
    panel.axvline(0.0, color=style.MUTED, lw=1, zorder=1)


def _points(unit: str) -> str:
    """Return the unit of differences: percentage points for shares."""
    return "percentage points" if unit == "share" else unit


def _point(name: str, one: Estimate, unit: str) -> Point:
    factor = people_unit(unit)[1]
    value, low, high = (factor * x for x in (one.mean, one.low, one.high))
    return Point(short(name), value, low, high, f"{name}: {difference_text(one, unit)}", name)
