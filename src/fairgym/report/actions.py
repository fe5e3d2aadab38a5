"""Figures of the agents' mean actions over training, and of how budgets are divided."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.algorithms import log_keys
from fairgym.core import Element, Environment, Shares
from fairgym.report import style
from fairgym.report.drawn import curve, keep
from fairgym.report.grouping import RunGroup, Series, groups_of
from fairgym.results.labels import has_people, parts_word, row_label, title, whole, words
from fairgym.results.numbers import number
from fairgym.training.run import Run

MOST_LINES = 12  # options that have a line each; of more, each is a row of a heat map


@dataclasses.dataclass(frozen=True)
class Panel:
    """Elements of an agent's action that are drawn together in one panel.

    Attributes:
        agent: The agent whose action it is.
        title: Title in words.
        elements: Elements drawn as lines; empty for a heat map.
        blocks: Blocks of shares drawn as rows of a heat map; empty for lines.
    """

    agent: str
    title: str
    elements: tuple[Element, ...] = ()
    blocks: tuple[tuple[Element, ...], ...] = ()

    @property
    def rows(self) -> int:
        """Rows of a heat map, headings included."""
        return sum(len(block) + bool(block[0].of) for block in self.blocks)


def line_panels(env: Environment) -> list[Panel]:
    """Return the panels of agents that set numbers or units, or choose among a few options."""
    found = []
    for agent in env.agents:
        space, who = env.action_space(agent), title(agent)
        if space.discrete and len(space.elements) <= MOST_LINES:
            found.append(Panel(agent, f"{who}: choices", space.elements))
        if space.discrete or isinstance(space, Shares):
            continue
        elements = space.elements
        if space.per_entity:
            found.append(Panel(agent, f"{who}: mean {words(elements[0].label)}", elements))
            continue
        labels = list(dict.fromkeys(element.label for element in elements))
        if len(labels) > 1 and not any(element.group for element in elements):
            found.append(Panel(agent, who, elements))
            continue
        for label in labels:
            own = tuple(element for element in elements if element.label == label)
            found.append(Panel(agent, f"{who}: {words(label)}", own))
    return found


def map_panels(env: Environment) -> list[Panel]:
    """Return the panels of agents that divide budgets or choose among many options.

    Each budget has a panel. The blocks that split a budget's shares further have one together.
    """
    found = []
    for agent in env.agents:
        space, who = env.action_space(agent), title(agent)
        if space.discrete and len(space.elements) > MOST_LINES:
            found.append(Panel(agent, f"{who}: choices", blocks=(space.elements,)))
        if not isinstance(space, Shares):
            continue
        budgets = [block for block in space.blocks if not block[0].of]
        splits = tuple(block for block in space.blocks if block[0].of)
        for i, budget in enumerate(budgets):
            which = "shares of the budget" if len(budgets) == 1 else f"budget {i + 1}"
            found.append(Panel(agent, f"{who}: {which}", blocks=(budget,)))
        if splits:
            what = whole(space, splits[0]) if len(splits) == 1 else "each kind"
            parts = {parts_word(env, [element.group for element in block]) for block in splits}
            word = parts.pop() if len(parts) == 1 else ""
            how = f"split by {word}" if word else "how it is split"
            found.append(Panel(agent, f"{who}: {what}, {how}", blocks=splits))
    return found


LINES, MAPS = 4, 2  # panels in a row
LINE_HEIGHT, MAP_ROW, MAP_FRAME = 2.35, 0.2, 1.0  # inches


@style.styled
def mean_actions(runs: Sequence[Run] | Sequence[RunGroup]) -> Figure:
    """Draw the agents' mean actions over training.

    Numbers are lines, one colour per group that an element is for. Per-person actions are averaged
    over the people the agent sees. Choices are the share of steps in which each option was chosen:
    lines, or a heat map if there are many. Shares of a budget are heat maps, with the last epoch's
    values at the right: one per budget, and one for the blocks that split its shares further.

    Args:
        runs: Runs as loaded, or groups of them. Each configuration has its own panels; lines and
            colours are means over seeds; bands run from the lowest to the highest seed.
    """
    groups = groups_of(runs)
    strips = [strip for group in groups for strip in _strips(group)]
    handles = _legend(groups)
    figure, places = style.strips(
        [strip.height for strip in strips], legend_rows=1 if handles else 0
    )
    limits = _map_limits(strips)
    alike: dict[tuple[str, str], list[Axes]] = {}
    for place, strip in zip(places, strips, strict=True):
        group = strip.group
        axes = list(place.subplots(1, strip.columns, squeeze=False).flat)
        for spare in axes[len(strip.panels) :]:
            spare.remove()
        for panel, axis in zip(strip.panels, axes, strict=False):
            style.prepare(axis)
            if panel.blocks:
                _heat_map(axis, group, panel, limits[panel.agent, panel.title])
            else:
                _lines(axis, group, panel)
                alike.setdefault((panel.agent, panel.title), []).append(axis)
            fixed = " (fixed)" if panel.agent in group.fixed else ""
            style.set_title(axis, panel.title + fixed, group.label)
            style.epoch_axis(axis)
    for same in alike.values():  # one scale, so that configurations can be compared
        low, high = max((axis.get_ylim() for axis in same), key=lambda limits: limits[1])
        for axis in same:
            axis.set_ylim(low, high)
    style.top_legend(figure, handles)
    return figure


# ---------------------------------------------------------------- layout


class _Strip(NamedTuple):
    """A row of panels of one configuration, with room for `columns` of them."""

    group: RunGroup
    panels: list[Panel]
    columns: int
    height: float


def _strips(group: RunGroup) -> Iterator[_Strip]:
    """Yield rows of lines, then rows of heat maps."""
    lines, maps = line_panels(group.env), map_panels(group.env)
    room = 0.15 if group.label else 0.0
    for start in range(0, len(lines), LINES):
        part = lines[start : start + LINES]
        yield _Strip(group, part, min(LINES, len(lines)), LINE_HEIGHT + room)
    for start in range(0, len(maps), MAPS):
        part = maps[start : start + MAPS]
        height = MAP_FRAME + room + MAP_ROW * max(5, *(panel.rows for panel in part))
        yield _Strip(group, part, min(MAPS, len(maps)), height)


def _map_limits(strips: Sequence[_Strip]) -> dict[tuple[str, str], float]:
    """Return the upper end of each heat map's scale, the same for all configurations."""
    highest: dict[tuple[str, str], float] = {}
    for strip in strips:
        for panel in strip.panels:
            elements = (element for block in panel.blocks for element in block)
            curves = (_curve(strip.group, panel.agent, element.name) for element in elements)
            tops = [np.nanmax(curve.mean, initial=0.0) for curve in curves]
            name = (panel.agent, panel.title)
            highest[name] = float(max([highest.get(name, 0.0), *tops]))
    return {name: _limit(value) for name, value in highest.items()}


def _legend(groups: Sequence[RunGroup]) -> list[Line2D]:
    """Return the legend of the groups, where each has a line."""
    names = list(dict.fromkeys(n for g in groups if _uses_groups(g.env) for n in g.env.spec.groups))
    return [Line2D([], [], label=words(n), **style.group_line(i)) for i, n in enumerate(names)]


def _uses_groups(env: Environment) -> bool:
    return any(e.group in env.spec.groups for panel in line_panels(env) for e in panel.elements)


# ---------------------------------------------------------------- drawing


def _curve(group: RunGroup, agent: str, element: str) -> Series:
    return group.series(log_keys.action(agent, element))


def _lines(axis: Axes, group: RunGroup, panel: Panel) -> None:
    env, space = group.env, group.env.action_space(panel.agent)
    ends, top = [], 0.0
    for index, element in enumerate(panel.elements):
        member = element.group in env.spec.groups
        line: dict[str, Any]
        if member:
            line = style.group_line(env.spec.groups.index(element.group))
        else:
            line = {"color": style.INK} if len(panel.elements) == 1 else style.policy_line(index)
            if space.chooses_row:
                line = style.one_of(index, len(space.elements))
        data = _curve(group, panel.agent, element.name)
        band = (data.low, data.high) if len(group.runs) > 1 else (None, None)
        label = words(element.title)
        curve(axis, data.epochs, data.mean, *band, label=label, marker=data.marker, **line)
        if data.epochs.size:
            top = max(top, float(np.nanmax(data.high)))
            if not member and len(panel.elements) > 1:
                name = words(element.group or element.label)
                ends.append((float(data.mean[-1]), name, line["color"]))
    limit = _limit(top)
    axis.set_ylim(0.0, limit)
    style.keep_within(axis, "y", 0.0, limit)
    units = dict.fromkeys(element.unit or "0 to 1" for element in panel.elements)
    mean = "mean action"
    if space.per_entity:
        mean = f"mean over {'people' if has_people(env) else 'rows'}"
    text = "share of steps" if space.discrete else f"{mean}, {', '.join(units)}"
    style.set_ylabel(axis, text)
    style.label_line_ends(axis, ends)


def _limit(highest: float) -> float:
    """Return the upper end of a scale from 0: that of shares, or a whole number of units."""
    return next((t for t in (0.25, 0.5, 1.0) if highest <= t), math.ceil(highest))


def _heat_map(axis: Axes, group: RunGroup, panel: Panel, limit: float) -> None:
    curves = [
        [_curve(group, panel.agent, element.name) for element in block] for block in panel.blocks
    ]
    epochs = curves[0][0].epochs
    if not epochs.size:
        return
    left, right = int(epochs[0]) - 0.5, int(epochs[-1]) + 0.5
    y, image, ticks = 0, None, {}
    for block, rows in zip(panel.blocks, curves, strict=True):
        if block[0].of:
            _heading(axis, group, panel.agent, block, y)
            y += 1
        shares = np.array([row.mean for row in rows])
        image = axis.imshow(
            shares,
            aspect="auto",
            interpolation="none",
            cmap="cividis",
            vmin=0.0,
            vmax=limit,
            extent=(left, right, y + len(block) - 0.5, y - 0.5),
        )
        for row, element in enumerate(block):
            ticks[y + row] = row_label(element)
            for epoch, share in zip(epochs, shares[row], strict=True):
                keep(axis, words(element.title), epoch, share)
            _beside(axis, y + row, number(shares[row, -1]))
        y += len(block)
    assert image is not None
    axis.set_xlim(left, right)
    axis.set_ylim(y - 0.5, -0.5)
    axis.set_yticks(list(ticks), list(ticks.values()))
    axis.tick_params(axis="y", length=0, labelcolor=style.INK)
    axis.spines["left"].set_visible(False)
    axis.grid(False)
    _beside(axis, -0.5, "last", (0, 8))
    bar = axis.figure.colorbar(image, ax=axis, pad=0.02, fraction=0.06)
    of = "the kind" if panel.blocks[0][0].of else "the budget"
    chooses = group.env.action_space(panel.agent).discrete
    bar.set_label("share of steps" if chooses else f"share of {of}")
    bar.ax.tick_params(color=style.MUTED, labelcolor=style.MUTED, labelsize=8)
    bar.outline.set_visible(False)  # type: ignore[union-attr]


def _heading(
    axis: Axes, group: RunGroup, agent: str, block: Sequence[Element], place: float
) -> None:
    """Write what a block splits, and its final share of the budget."""
    last = number(_curve(group, agent, block[0].of).mean[-1])
    name = whole(group.env.action_space(agent), block)
    axis.text(
        0.0,
        place + 0.1,
        f"{title(name)}, {last} of the budget",
        transform=axis.get_yaxis_transform(),
        fontsize=8,
        va="center",
    )


def _beside(axis: Axes, y: float, text: str, shift: tuple[int, int] = (0, 0)) -> None:
    """Write small text to the right of a row."""
    axis.annotate(
        text,
        (1.0, y),
        xycoords=("axes fraction", "data"),
        xytext=(4 + shift[0], shift[1]),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=style.MUTED,
    )
