"""Figures of what the agents decide over training: mean actions, and how budgets are divided."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.core import PerEntity, Shares
from fairgym.report import style
from fairgym.report.grouping import RunGroup, groups_of
from fairgym.report.labels import Section, action_unit, section, split_group, variable
from fairgym.report.words import number, title, words

LINES, MAPS = 4, 2  # panels in a row
LINE_HEIGHT, MAP_ROW, MAP_FRAME = 2.35, 0.2, 1.0  # inches


@dataclasses.dataclass(frozen=True)
class Panel:
    """One panel: the elements of an agent's action that are drawn together.

    Attributes:
        agent: whose action it is.
        title: in words.
        elements: of lines; empty for a heat map.
        sections: of a heat map; empty for lines.
    """

    agent: str
    title: str
    elements: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()

    @property
    def rows(self) -> int:
        """Rows of a heat map, headings included."""
        return sum(len(s.elements) + bool(s.head) for s in self.sections)


@style.styled
def mean_actions(runs: Sequence[Any]) -> Figure:
    """What the agents do on average, over training.

    Numbers in [0, 1] are lines, one colour per group that an element is for; per-person actions
    are the mean over the people the agent sees. Shares of a budget are heat maps, with the last
    epoch's values at the right: one for each budget, and one for how its parts are split further.

    Args:
        runs: runs as loaded, or groups of them. Each configuration has its own panels; lines and
            colours are means over seeds, shades run from the lowest to the highest seed.
    """
    groups = groups_of(runs)
    strips: list[tuple[RunGroup, list[Panel], int, float]] = []
    for group in groups:
        lines, maps = line_panels(group.env), map_panels(group.env)
        room = 0.15 if group.label else 0.0
        for start in range(0, len(lines), LINES):
            part = lines[start : start + LINES]
            strips.append((group, part, min(LINES, len(lines)), LINE_HEIGHT + room))
        for start in range(0, len(maps), MAPS):
            part = maps[start : start + MAPS]
            height = MAP_FRAME + room + MAP_ROW * max(5, *(panel.rows for panel in part))
            strips.append((group, part, MAPS, height))
    names = list(dict.fromkeys(n for g in groups if _uses_groups(g.env) for n in g.env.groups))
    handles = [Line2D([], [], label=words(n), **style.group_line(i)) for i, n in enumerate(names)]
    figure, places = style.strips(
        [height for *_, height in strips], legend_rows=1 if handles else 0
    )
    alike: dict[tuple[str, str], list[Axes]] = {}
    highest: dict[tuple[str, str], float] = {}
    for group, part, *_ in strips:
        for panel in part:
            keys = [f"actions/{panel.agent}/{e}" for s in panel.sections for e in s.elements]
            tops = [np.nanmax(group.series(key).mean, initial=0.0) for key in keys]
            name = (panel.agent, panel.title)
            highest[name] = float(max([highest.get(name, 0.0), *tops]))
    for place, (group, part, columns, _) in zip(places, strips, strict=True):
        axes = list(place.subplots(1, columns, squeeze=False).flat)
        for spare in axes[len(part) :]:
            spare.remove()
        for panel, axis in zip(part, axes, strict=False):
            style.prepare(axis)
            if panel.sections:
                _heat_map(axis, group, panel, _limit(highest[panel.agent, panel.title]))
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


# ---------------------------------------------------------------- which panels there are


def line_panels(env: Any) -> list[Panel]:
    """The panels of the agents that set numbers, in their order."""
    found = []
    for agent in env.agents:
        space = env.action_space(agent)
        who = title(agent)
        if isinstance(space, Shares):
            continue
        if isinstance(space, PerEntity):
            found.append(Panel(agent, f"{who}: mean {words(space.names[0])}", space.names))
            continue
        names = tuple(space.names)
        bases = list(dict.fromkeys(split_group(n, env.groups)[0] for n in names))
        if len(bases) > 1 and not any(split_group(n, env.groups)[1] for n in names):
            found.append(Panel(agent, who, names))
            continue
        for base in bases:
            own = tuple(n for n in names if split_group(n, env.groups)[0] == base)
            found.append(Panel(agent, f"{who}: {words(base)}", own))
    return found


def map_panels(env: Any) -> list[Panel]:
    """The panels of the agents that divide budgets, in their order.

    A budget with names of its own has a panel; blocks that split one part each ("roads, north",
    "roads, south") share one.
    """
    found = []
    for agent in env.agents:
        space = env.action_space(agent)
        if not isinstance(space, Shares):
            continue
        who = title(agent)
        sections = [section(block) for block in space.blocks]
        budgets = [s for s in sections if not s.head]
        splits = tuple(s for s in sections if s.head)
        for i, budget in enumerate(budgets):
            which = "shares of the budget" if len(budgets) == 1 else f"budget {i + 1}"
            found.append(Panel(agent, f"{who}: {which}", sections=(budget,)))
        if splits:
            what = splits[0].head if len(splits) == 1 else "each kind"
            found_words = {variable(env, s.labels) for s in splits}
            word = found_words.pop() if len(found_words) == 1 else ""
            how = f"split by {word}" if word else "how it is split"
            found.append(Panel(agent, f"{who}: {words(what)}, {how}", sections=splits))
    return found


def _uses_groups(env: Any) -> bool:
    return any(split_group(n, env.groups)[1] for panel in line_panels(env) for n in panel.elements)


# ---------------------------------------------------------------- drawing


def _lines(axis: Axes, group: RunGroup, panel: Panel) -> None:
    env = group.env
    ends, top = [], 0.0
    for index, element in enumerate(panel.elements):
        base, member = split_group(element, env.groups)
        line: dict[str, Any]
        if member:
            line = style.group_line(env.groups.index(member))
        else:
            line = {"color": style.INK} if len(panel.elements) == 1 else style.policy_line(index)
        data = group.series(f"actions/{panel.agent}/{element}")
        axis.plot(
            data.epochs,
            data.mean,
            label=words(element),
            zorder=3,
            marker=data.marker,
            **line,
        )
        if len(group.runs) > 1:
            axis.fill_between(
                data.epochs, data.low, data.high, color=line["color"], alpha=style.BAND_ALPHA, lw=0
            )
        if data.epochs.size:
            top = max(top, float(np.nanmax(data.high)))
            if not member and len(panel.elements) > 1:
                ends.append((float(data.mean[-1]), words(base), line["color"]))
    limit = _limit(top)
    axis.set_ylim(-0.03 * limit, 1.03 * limit)
    space = env.action_space(panel.agent)
    if isinstance(space, PerEntity):
        style.set_ylabel(axis, f"mean over people, {action_unit(env, space.names[0])}")
    else:
        axis.set_ylabel("mean action, 0 to 1")
    style.label_line_ends(axis, ends)


def _limit(highest: float) -> float:
    """Where a scale from 0 ends."""
    return next(t for t in (0.25, 0.5, 1.0) if highest <= t or t == 1.0)


def _heat_map(axis: Axes, group: RunGroup, panel: Panel, limit: float) -> None:
    def series(element: str) -> Any:
        return group.series(f"actions/{panel.agent}/{element}")

    shares = [np.array([series(e).mean for e in s.elements]) for s in panel.sections]
    epochs = series(panel.sections[0].elements[0]).epochs
    if not epochs.size:
        return
    left, right = int(epochs[0]) - 0.5, int(epochs[-1]) + 0.5
    names = group.env.action_space(panel.agent).names
    y, image, ticks = 0, None, {}
    for part, block in zip(panel.sections, shares, strict=True):
        if part.head:
            last = number(series(part.head).mean[-1]) if part.head in names else ""
            axis.text(
                0.0,
                y + 0.1,
                title(part.head) + (f", {last} of the budget" if last else ""),
                transform=axis.get_yaxis_transform(),
                fontsize=8,
                va="center",
            )
            y += 1
        image = axis.imshow(
            block,
            aspect="auto",
            interpolation="none",
            cmap="cividis",
            vmin=0.0,
            vmax=limit,
            extent=(left, right, y + len(block) - 0.5, y - 0.5),
        )
        for row, label in enumerate(part.labels):
            ticks[y + row] = label
            _beside(axis, y + row, number(block[row, -1]))
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
    bar.set_label("share of the kind" if panel.sections[0].head else "share of the budget")
    bar.ax.tick_params(color=style.MUTED, labelcolor=style.MUTED, labelsize=8)
    bar.outline.set_visible(False)  # type: ignore[union-attr]


def _beside(axis: Axes, y: float, text: str, shift: tuple[int, int] = (0, 0)) -> None:
    """Small text at the right of a row."""
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
