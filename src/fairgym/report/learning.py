"""Figures of how training went: learning curves and mean actions over the epochs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.core import PerEntity, Shares
from fairgym.report import style
from fairgym.report.grouping import RunGroup, Series, group_runs
from fairgym.report.measures import Measure, measures


def _groups(runs: Sequence[Any]) -> list[RunGroup]:
    return list(runs) if runs and isinstance(runs[0], RunGroup) else group_runs(runs)


def _policy_line(index: int) -> dict[str, Any]:
    count = len(style.POLICY_COLOURS)
    return {
        "color": style.POLICY_COLOURS[index % count],
        "linestyle": style.DASHES[(index // count) % len(style.DASHES)],
    }


def _marker(data: Series) -> str:
    """A single epoch makes no line."""
    return "o" if len(data.epochs) == 1 else ""


@style.styled
def learning_curves(
    runs: Sequence[Any],
    *,
    band: str = "range",
    references: Mapping[str, Mapping[str, float]] | None = None,
) -> Figure:
    """The objective and every metric of the learned policy over training, one panel each.

    Args:
        runs: runs as loaded, or groups of them (`group_runs`). A line is the mean over the seeds
            of one configuration.
        band: "range" shades from the lowest to the highest seed, "interval" the 95% interval of
            the mean over seeds; with one seed there is no band.
        references: fixed policies drawn as level lines: name -> {"objective" or metric: value as
            the program counts it}.

    Returns:
        A figure; disparities and signed rates are shown as plain gaps and rates.
    """
    groups = _groups(runs)
    references = references or {}
    aims = len({group.aim for group in groups})
    shown = list({m.key: m for g in groups for m in measures(g.env)}.values())
    handles = _legend(groups, list(references))
    labels = [str(h.get_label()) for h in handles]
    figure, axes = style.panels(
        len(shown), 4 if len(shown) > 6 else 3, 2.25, legend_rows=style.legend_rows(labels)
    )
    for panel, measure in zip(axes, shown, strict=True):
        for index, group in enumerate(groups):
            line = _policy_line(index)
            data = group.series(measure.key)
            mean = measure.shown(data.mean)
            panel.plot(data.epochs, mean, label=group.name, zorder=3, marker=_marker(data), **line)
            if len(group.runs) > 1:
                low, high = _band(measure, data, band)
                panel.fill_between(
                    data.epochs, low, high, color=line["color"], alpha=style.BAND_ALPHA, lw=0
                )
        for index, (name, values) in enumerate(references.items()):
            if np.isfinite(values.get(measure.name, np.nan)):
                panel.axhline(
                    float(measure.shown(values[measure.name])),
                    label=name,
                    zorder=2,
                    **_reference_line(index),
                )
        own = aims > 1 and measure.kind == "objective"
        style.set_title(
            panel,
            f"{measure.title} {measure.arrow}",
            "each by its own: do not compare" if own else "",
        )
        panel.set_ylabel(measure.label)
        panel.margins(y=0.12)
        style.epoch_axis(panel)
    style.top_legend(figure, handles)
    return figure


def _band(measure: Measure, data: Any, band: str) -> tuple[np.ndarray, np.ndarray]:
    if band == "range":
        low, high = measure.shown(data.low), measure.shown(data.high)
    else:
        from fairgym.training.statistics import mean_interval

        columns = [column[np.isfinite(column)] for column in data.values.T]
        limits = [mean_interval(column) for column in columns]
        low = measure.shown([limit[1] for limit in limits])
        high = measure.shown([limit[2] for limit in limits])
    return np.minimum(low, high), np.maximum(low, high)


def _reference_line(index: int) -> dict[str, Any]:
    dashes = style.DASHES[1:]
    return {
        "color": style.BASELINE_COLOUR,
        "linestyle": dashes[index % len(dashes)],
        "linewidth": 1.2,
    }


def _legend(groups: Sequence[RunGroup], references: Sequence[str]) -> list[Line2D]:
    if len(groups) == 1 and not references:
        return []
    handles = [Line2D([], [], label=g.name, **_policy_line(i)) for i, g in enumerate(groups)]
    return handles + [
        Line2D([], [], label=name, **_reference_line(i)) for i, name in enumerate(references)
    ]


@style.styled
def mean_actions(runs: Sequence[Any]) -> Figure:
    """What the agents do on average, over training: one row per configuration.

    Vectors of numbers in [0, 1] are lines, one colour per group that an element is for; shares of
    a budget are a heat map. Per-person actions are the mean over the people the agent sees.

    Args:
        runs: runs as loaded, or groups of them; lines are means over seeds, shades run from the
            lowest to the highest seed.
    """
    groups = _groups(runs)
    rows = [(group, agent, part) for group in groups for agent, part in _parts(group.env)]
    columns = max(len(_parts(group.env)) for group in groups)
    names = list(dict.fromkeys(n for g in groups for n in g.env.groups if _uses_groups(g.env)))
    handles = [
        Line2D([], [], label=style.words(n), **style.group_line(i)) for i, n in enumerate(names)
    ]
    tall = any(isinstance(g.env.action_space(a), Shares) for g, a, _ in rows)
    figure, axes = style.panels(
        len(rows), min(columns, 4), 2.9 if tall else 2.35, legend_rows=1 if handles else 0
    )
    alike: dict[tuple[str, str], list[Axes]] = {}
    for panel, (group, agent, elements) in zip(axes, rows, strict=True):
        space = group.env.action_space(agent)
        draw = _heat_map if isinstance(space, Shares) else _lines
        draw(panel, group, agent, elements)
        title = _panel_title(group.env, agent, elements)
        if draw is _lines:
            alike.setdefault((agent, title), []).append(panel)
        style.set_title(panel, f"{title} (fixed)" if agent in group.fixed else title, group.label)
        style.epoch_axis(panel)
    for same in alike.values():  # one scale, so that configurations can be compared
        low, high = max((panel.get_ylim() for panel in same), key=lambda limits: limits[1])
        for panel in same:
            panel.set_ylim(low, high)
    style.top_legend(figure, handles)
    return figure


def _parts(env: Any) -> list[tuple[str, tuple[str, ...]]]:
    """One entry per panel: the agent and the elements of its action drawn together."""
    parts = []
    for agent in env.agents:
        space = env.action_space(agent)
        if isinstance(space, PerEntity):
            parts.append((agent, (space.name,)))
            continue
        names = tuple(space.names)
        if isinstance(space, Shares) or not any(split_group(n, env.groups)[1] for n in names):
            parts.append((agent, names))
            continue
        bases = dict.fromkeys(split_group(n, env.groups)[0] for n in names)
        for base in bases:
            own = tuple(n for n in names if split_group(n, env.groups)[0] == base)
            parts.append((agent, own))
    return parts


def split_group(name: str, groups: Sequence[str]) -> tuple[str, str]:
    """What an element means and the group that it is for: "threshold, rich" -> two parts.

    The second is "" for an element that is not for one group.
    """
    base, comma, last = name.rpartition(",")
    if comma and last.strip() in groups:
        return base.strip(), last.strip()
    return name, ""


def _uses_groups(env: Any) -> bool:
    return any(split_group(n, env.groups)[1] for _, names in _parts(env) for n in names)


def _panel_title(env: Any, agent: str, elements: Sequence[str]) -> str:
    space = env.action_space(agent)
    bases = list(dict.fromkeys(split_group(n, env.groups)[0] for n in elements))
    if isinstance(space, Shares) or len(bases) > 1:
        return style.title(agent)
    mean = "mean " if isinstance(space, PerEntity) else ""
    return f"{style.title(agent)}: {mean}{style.words(bases[0])}"


def _lines(panel: Axes, group: RunGroup, agent: str, elements: Sequence[str]) -> None:
    groups = group.env.groups
    ends, top = [], 0.0
    for index, element in enumerate(elements):
        base, member = split_group(element, groups)
        line: dict[str, Any]
        if member:
            line = style.group_line(groups.index(member))
        else:
            line = {"color": style.INK} if len(elements) == 1 else _policy_line(index)
        data = group.series(f"actions/{agent}/{element}")
        panel.plot(
            data.epochs,
            data.mean,
            label=style.words(element),
            zorder=3,
            marker=_marker(data),
            **line,
        )
        if len(group.runs) > 1:
            panel.fill_between(
                data.epochs, data.low, data.high, color=line["color"], alpha=style.BAND_ALPHA, lw=0
            )
        if data.epochs.size:
            top = max(top, float(np.nanmax(data.high)))
            if not member and len(elements) > 1:
                ends.append((float(data.mean[-1]), style.words(base), line["color"]))
    limit = next(t for t in (0.25, 0.5, 1.0) if top <= t or t == 1.0)
    panel.set_ylim(-0.03 * limit, 1.03 * limit)
    panel.set_ylabel("mean action (0 to 1)")
    style.label_line_ends(panel, ends)


def _heat_map(panel: Axes, group: RunGroup, agent: str, elements: Sequence[str]) -> None:
    space = group.env.action_space(agent)
    columns = [group.series(f"actions/{agent}/{element}") for element in elements]
    epochs = columns[0].epochs
    shares = np.array([column.mean for column in columns])
    first, last = (int(epochs[0]), int(epochs[-1])) if epochs.size else (0, 1)
    image = panel.imshow(
        shares,
        aspect="auto",
        interpolation="nearest",
        cmap="cividis",
        vmin=0.0,
        vmax=1.0 if np.nanmax(shares, initial=0.0) > 0.5 else 0.5,
        extent=(first - 0.5, last + 0.5, len(elements) - 0.5, -0.5),
    )
    panel.set_yticks(range(len(elements)), [style.words(e) for e in elements])
    panel.grid(False)
    edge = 0
    for block in space.blocks[:-1]:
        edge += len(block)
        panel.axhline(edge - 0.5, color=style.PAPER, lw=3)
    bar = panel.figure.colorbar(image, ax=panel, pad=0.02, fraction=0.06)
    bar.set_label("share of the budget")
    bar.outline.set_visible(False)  # type: ignore[union-attr]
