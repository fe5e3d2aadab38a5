"""Figures over time: scores of schemes, status of stakeholders, and who waits."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.core import Environment
from fairgym.report import style
from fairgym.report.drawn import curve
from fairgym.results.estimates import Result, courses_of, wait_courses, waits_of
from fairgym.results.labels import capital, scheme_title, words
from fairgym.training.courses import StatusVector, few, status_vectors

SPREAD = (5.0, 95.0)  # percentiles of the band over episodes


@style.styled
def scheme_curves(results: Sequence[Result], env: Environment) -> Figure:
    """Draw the score of every scheme over an episode, a panel each and a line per policy.

    Args:
        results: Learned policies first, then baselines; evaluations made with `trace=True`.
        env: The environment whose schemes they are.

    Returns:
        A figure: means over episodes; bands of learned policies hold 90% of the episodes.
    """
    looks = _looks(results)
    handles = [Line2D([], [], label=r.name, **look) for r, look in zip(results, looks, strict=True)]
    labels = [result.name for result in results]
    figure, axes = style.panels(
        len(env.spec.schemes),
        min(len(env.spec.schemes), 3),
        2.5,
        legend_rows=style.legend_rows(labels),
    )
    found = [courses_of(result, env) for result in results]
    for panel, name in zip(axes, env.spec.schemes, strict=True):
        for result, look, course in zip(results, looks, found, strict=True):
            scores = np.concatenate([one.scores for one in course[name]], dtype=np.float64)
            steps = np.arange(1, scores.shape[1] + 1)
            band = _band(result, scores)
            curve(panel, steps, scores.mean(axis=0), *band, label=result.name, **look)
        style.set_title(panel, f"{scheme_title(env, name)} ↑")
        _time_axis(panel, env, "score so far")
    style.top_legend(figure, handles)
    return figure


@style.styled
def status_curves(results: Sequence[Result], env: Environment) -> Figure:
    """Draw the status of each stakeholder over an episode: what each has received.

    Args:
        results: Policies, each with a row of panels; evaluations made with `trace=True`.
        env: The environment whose schemes score it.

    Returns:
        A figure with a panel for each status vector that schemes score: means over episodes.
    """
    found = [courses_of(result, env) for result in results]
    vectors = status_vectors(env, {name: several[0] for name, several in found[0].items()})
    handles = _stakeholders(vectors)
    columns = min(len(vectors), 3)
    each = -(-len(vectors) // columns) * columns  # panels of a policy, empty ones included
    figure, axes = style.panels(
        len(results) * each,
        columns,
        2.5,
        legend_rows=style.legend_rows([str(handle.get_label()) for handle in handles]),
    )
    for row, (result, course) in enumerate(zip(results, found, strict=True)):
        for place, vector in enumerate(vectors, row * each):
            panel = axes[place]
            status = [one.status for one in course[vector.schemes[0]]]
            mean = np.concatenate(status, dtype=np.float64).mean(axis=0)
            lines, names = few(mean, vector.stakeholders)
            steps = np.arange(1, len(mean) + 1)
            for code, line in enumerate(lines.T):
                look = style.one_of(code, len(names))
                curve(panel, steps, line, label=names[code], **look)
            style.set_title(panel, capital(vector.title), result.name if len(results) > 1 else "")
            _time_axis(panel, env, vector.unit or "status")
            if not handles:
                panel.legend(loc="best", fontsize=8)
        for spare in axes[row * each + len(vectors) : (row + 1) * each]:
            spare.remove()
    style.top_legend(figure, handles)
    return figure


@style.styled
def wait_curves(results: Sequence[Result], env: Environment, stage: str) -> Figure:
    """Draw the share of people who wait over an episode, and the median of their waits so far.

    Args:
        results: Learned policies first, then baselines; evaluations made with `trace=True`.
        env: The environment.
        stage: A key of `env.spec.waits`.

    Returns:
        A figure with three panels and a line per policy. First, the share of those who begin to
        wait that still waits after a given time (`waits_of`), over all episodes. Then, at each step
        of an episode, the share of people who wait, a mean over the episodes still running, and
        their median wait, over those in which somebody waits. Bands of learned policies hold 90%
        of the episodes.
    """
    looks = _looks(results)
    handles = [Line2D([], [], label=r.name, **look) for r, look in zip(results, looks, strict=True)]
    rows = style.legend_rows([result.name for result in results])
    figure, (first, *axes) = style.panels(3, 3, 2.5, legend_rows=rows)
    everybody = range(len(env.spec.groups))
    for result, look in zip(results, looks, strict=True):
        ages, left = waits_of(result.evaluations, stage, everybody)
        curve(first, ages, 100.0 * left, label=result.name, **look)
    style.set_title(first, "Of those who begin to wait")
    style.set_ylabel(first, "% still waiting")
    first.set_xlabel(f"{env.spec.time_unit} since they began")
    first.set_ylim(0.0, 100.0)
    style.keep_within(first, "y", 0.0, 100.0)
    panels = {
        "share": (f"People who are {words(stage)}", "% of people"),
        "median": ("Median of their times so far", env.spec.time_unit),
    }
    for panel, (column, (heading, unit)) in zip(axes, panels.items(), strict=True):
        for result, look in zip(results, looks, strict=True):
            of_all = np.concatenate(wait_courses(result, stage)[column])[:, :, -1]
            known = np.isfinite(of_all).any(axis=0)
            steps = np.flatnonzero(known)
            shown = of_all[:, known] * (100.0 if column == "share" else 1.0)
            band = _band(result, shown)
            curve(panel, steps, np.nanmean(shown, axis=0), *band, label=result.name, **look)
        style.set_title(panel, heading)
        _time_axis(panel, env, unit)
        style.keep_within(panel, "y", 0.0, 100.0 if column == "share" else np.inf)
    style.top_legend(figure, handles)
    return figure


def _band(result: Result, values: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the edges of a learned policy's band over episodes; none for a baseline."""
    if not result.learned or len(values) == 1:
        return None, None
    low, high = np.nanpercentile(values, SPREAD, axis=0)
    return low, high


def _looks(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return the policies' looks: learned ones in colours, baselines grey and dashed."""
    learned = iter(style.policy_lines([result.name for result in results if result.learned]))
    fixed = iter(range(len(results)))
    return [
        next(learned) if result.learned else style.baseline_line(next(fixed)) for result in results
    ]


def _stakeholders(vectors: Sequence[StatusVector]) -> list[Line2D]:
    """Return the legend if all status vectors have the same stakeholders, else none."""
    if len({vector.stakeholders for vector in vectors}) > 1:
        return []
    count = len(vectors[0].stakeholders)
    names = few(np.zeros(count), vectors[0].stakeholders)[1]
    return [
        Line2D([], [], label=name, **style.one_of(code, len(names)))
        for code, name in enumerate(names)
    ]


def _time_axis(panel: Axes, env: Environment, unit: str) -> None:
    style.set_ylabel(panel, unit)
    panel.set_xlabel(f"time ({env.spec.time_unit})")
    panel.set_xlim(0, env.horizon)
    panel.margins(y=0.08)
