"""Figures of the benchmark: profiles, scores with intervals, and fronts."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.benchmark.intervals import over_tasks
from fairgym.benchmark.scores import Cell, Results, suite_name, tasks_text
from fairgym.benchmark.store import FIXED, RANDOM
from fairgym.benchmark.task import Task
from fairgym.report import style
from fairgym.statistics.learners import performance_profile

HIGHEST = 3.0  # threshold of a profile
POINTS = 601
BAND = 0.12
BANDS = 5  # learners at most whose bands can be told apart
BELOW = 0.22  # of a bar, in rows: where its runs are


def figures_of(results: Results) -> dict[str, Figure]:
    """Return the figures by name; those over tasks only for suites with scores."""
    found, every = {}, _looks([learner.name for learner in results.learners])
    for suite, tasks in results.suites.items():
        there = [n for n in every if any((task.name, n) in results.cells for task in tasks)]
        looks = {name: every[name] for name in there}
        scores = {one.name: results.by_task(tasks, one.name) for one in results.learners}
        scores = {name: several for name, several in scores.items() if several}
        if scores:
            found[f"{suite}-scores"] = _scores(results, suite, scores, looks)
            found[f"{suite}-profile"] = _profile(results, suite, scores, looks)
        found[f"{suite}-fronts"] = _fronts(results, tasks, looks)
    return found


def _looks(learners: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return colour, dash and marker of all learners, the same in all figures."""
    outside = dict.fromkeys(name for name in learners if name not in style.ALGORITHMS)
    # pairs of colour and dash, and of colour and marker, that no built-in learner has
    further = {name: (k, k + 4, k + 3) for k, name in enumerate(outside)}
    colours, dashes, markers = style.POLICY_COLOURS, style.DASHES, style.MARKERS
    return {
        name: {
            "color": colours[c % len(colours)],
            "linestyle": dashes[d % len(dashes)],
            "marker": markers[m % len(markers)],
        }
        for name, (c, d, m) in (style.ALGORITHMS | further).items()
    }


def _titles(results: Results) -> dict[str, str]:
    return {learner.name: learner.title for learner in results.learners}


@style.styled
def _scores(
    results: Results,
    suite: str,
    scores: Mapping[str, Sequence[np.ndarray]],
    looks: Mapping[str, dict[str, Any]],
) -> Figure:
    """Draw the interquartile mean of each learner with its interval, and every run faintly."""
    found = {name: over_tasks(several) for name, several in scores.items()}
    order = sorted(found, key=lambda name: found[name].value)
    figure, (axes,) = style.panels(1, 1, 0.9 + 0.3 * len(order))
    titles = _titles(results)
    for place, name in enumerate(order):
        one, look = found[name], looks[name]
        runs = np.concatenate(list(scores[name]))
        axes.plot(
            runs,
            np.full(runs.size, place - BELOW),
            "o",
            color=look["color"],
            alpha=0.5,
            ms=2.6,
            mew=0,
        )
        if math.isfinite(one.low):
            axes.plot([one.low, one.high], [place, place], color=look["color"], lw=2.2)
        axes.plot([one.value], [place], look["marker"], color=look["color"], ms=6)
    axes.set_yticks(
        range(len(order)),
        [f"{titles[n]} ({tasks_text(len(scores[n]))}, n = {found[n].n})" for n in order],
    )
    for limit, word in ((0.0, "random policy"), (1.0, "best fixed rule")):
        axes.axvline(limit, color=style.BASELINE_COLOUR, lw=1.0, ls=":")
        axes.annotate(
            word,
            (limit, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(2, 2),
            textcoords="offset points",
            fontsize=8,
            color=style.MUTED,
        )
    axes.set_ylim(-0.6, len(order) - 0.4)
    axes.set_xlabel("normalised score ↑")
    style.set_title(axes, suite_name(suite), " ")
    return figure


@style.styled
def _profile(
    results: Results,
    suite: str,
    scores: Mapping[str, Sequence[np.ndarray]],
    looks: Mapping[str, dict[str, Any]],
) -> Figure:
    """Draw the share of runs above each score, with pointwise intervals."""
    titles = _titles(results)
    labels = [titles[name] for name in scores]
    figure, (axes,) = style.panels(1, 1, 3.6, legend_rows=style.legend_rows(labels))
    top = max(float(np.max(one)) for several in scores.values() for one in several)
    thresholds = np.linspace(-0.25, min(HIGHEST, max(1.2, 1.05 * top)), POINTS)
    for name, several in scores.items():
        share, low, high = performance_profile(several, thresholds)
        look = looks[name]
        drawn = {"color": look["color"], "ls": look["linestyle"], "drawstyle": "steps-post"}
        axes.plot(thresholds, share, lw=1.6, **drawn)
        if np.isfinite(low).all() and len(scores) <= BANDS:
            axes.fill_between(
                thresholds, low, high, color=look["color"], alpha=BAND, lw=0, step="post"
            )
    for limit in (0.0, 1.0):
        axes.axvline(limit, color=style.BASELINE_COLOUR, lw=1.0, ls=":")
    axes.set_xlabel("normalised score τ (0 random policy, 1 best fixed rule)")
    axes.set_ylabel("share of fronts above τ")
    style.set_title(axes, suite_name(suite))
    handles = [
        Line2D([], [], color=looks[n]["color"], ls=looks[n]["linestyle"], lw=1.6, label=titles[n])
        for n in scores
    ]
    style.top_legend(figure, handles)
    return figure


@style.styled
def _fronts(results: Results, tasks: Sequence[Task], looks: Mapping[str, dict[str, Any]]) -> Figure:
    """Draw reward against unfairness: interquartile means with intervals, joined along a front."""
    titles = _titles(results)
    there = list(looks)
    rows = style.legend_rows([titles[name] for name in there] + ["fixed rules", "random policy"])
    figure, panels = style.panels(len(tasks), 2, 3.2, legend_rows=rows)
    plain: dict[str, Any] = {"color": style.BASELINE_COLOUR}
    own: dict[str, dict[str, Any]] = {
        FIXED: {**plain, "marker": "D"},
        RANDOM: {**plain, "marker": "X"},
    }
    for axes, task in zip(panels, tasks, strict=True):
        for name, look in {**own, **{name: looks[name] for name in there}}.items():
            cell = results.cells.get((task.name, name))
            if cell is not None:
                _front(axes, cell, look, joined=name not in own)
        axes.set_xlabel("unfairness ↓")
        axes.set_ylabel("reward ↑")
        _keep_near(axes, task)
        style.set_title(axes, task.title)
    handles = [
        Line2D([], [], color=looks[n]["color"], marker=looks[n]["marker"], ms=5, label=titles[n])
        for n in there
    ] + [
        Line2D([], [], ls="", **look, ms=5, label=label)
        for label, look in (("fixed rules", own[FIXED]), ("random policy", own[RANDOM]))
    ]
    style.top_legend(figure, handles)
    return figure


def _front(axes: Any, cell: Cell, look: Mapping[str, Any], *, joined: bool) -> None:
    """Draw the levels of a learner with their intervals; those on the front are joined."""
    colour = look["color"]
    places = [(point.of("unfairness"), point.of("reward")) for point in cell.points]
    for x, y in places:
        if math.isfinite(x.low) and math.isfinite(y.low):
            axes.plot([x.low, x.high], [y.value, y.value], color=colour, lw=1.0, alpha=0.8)
            axes.plot([x.value, x.value], [y.low, y.high], color=colour, lw=1.0, alpha=0.8)
        axes.plot([x.value], [y.value], look["marker"], color=colour, ms=5, zorder=4)
    if joined:
        line = sorted(
            (x.value, y.value)
            for (x, y), best in zip(places, cell.front.optimal, strict=True)
            if best
        )
        if len(line) > 1:
            drawn = {"color": colour, "ls": look["linestyle"], "drawstyle": "steps-post"}
            axes.plot(*np.array(line).T, lw=1.0, alpha=0.7, **drawn)


def _keep_near(axes: Any, task: Task) -> None:
    """Limit the panel to the task's box and a margin around it, with the reference marked."""
    (low, most), (high, least) = task.reference, task.ideal
    width, height = most - least, high - low
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    axes.set_xlim(max(left, least - 0.1 * width), min(right, most + 0.5 * width))
    axes.set_ylim(max(bottom, low - 0.5 * height), min(top, high + 0.5 * height))
    for line, value in ((axes.axvline, most), (axes.axhline, low)):
        line(value, color=style.BASELINE_COLOUR, lw=1.0, ls="--")
