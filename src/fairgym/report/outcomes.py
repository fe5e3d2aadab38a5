"""Figures of every measure and of the groups' rates, with intervals."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.core import Environment
from fairgym.report import style
from fairgym.report.drawn import NULL, keep
from fairgym.results.estimates import Result, group_rates_of
from fairgym.results.gaps import compared_rates
from fairgym.results.labels import (
    MetricLabel,
    display_order,
    displayed_labels,
    rate_parts,
    rate_title,
)
from fairgym.results.numbers import Estimate, limits_of, people_unit
from fairgym.training.courses import few

LEAST_SPAN = 0.02  # of a panel, as a share of its largest value


@style.styled
def metric_comparison(results: Sequence[Result], env: Environment) -> Figure:
    """Draw every metric of policies and baselines as points with 95% intervals.

    Args:
        results: Learned policies first, then baselines. A disparity that was measured with
            permutations has a grey bar up to the 95% quantile of its null distribution.
        env: The environment, for names and units.
    """
    shown = displayed_labels(env)
    names = [textwrap.fill(result.name, 36) for result in results]
    lines = max(name.count("\n") for name in names) + 1
    height = 1.2 + (0.11 + 0.13 * lines) * len(results)
    figure, axes = style.panels(len(shown), 4 if len(shown) > 6 else 3, height, sharey=True)
    for panel, metric in zip(axes, shown, strict=True):
        unit, factor = people_unit(metric.unit)
        for place, result, look in zip(_places(results), results, _looks(results), strict=True):
            _null_bar(panel, place, result, metric)
            value = result.estimate(metric)
            _dot(panel, place, value.times(factor), look, result.name, "mean")
        own = any(not result.estimate(metric).episodes for result in results)
        style.set_title(panel, metric.title, "each by its own: do not compare" if own else "")
        label = unit or metric.axis_label
        panel.set_xlabel(f"{label}\n{'← better' if metric.flipped else 'better →'}")
        _policies_below(panel, results, names)
        style.keep_within(panel, "x", *(factor * limit for limit in metric.limits))
    return figure


@style.styled
def group_outcomes(results: Sequence[Result], env: Environment) -> Figure:
    """Draw every rate that is compared between groups, with one point per group.

    Args:
        results: Policies, made with `trace=True`.
        env: The environment, for names and units.

    Returns:
        A figure with a panel per rate and a row in it per policy. Each group has a point with its
        95% interval; many groups or people are shown by their lowest rate, mean and highest rate.
    """
    compared, finished = compared_rates(env), env.spec.finished_only
    order = display_order(env, compared)
    groups = max((few(np.zeros(n), parts)[1] for n, parts in _parts(env, order)), key=len)
    handles = [
        Line2D([], [], label=name, color=style.group_colour(i), marker="o", ls="", ms=6)
        for i, name in enumerate(groups)
    ]
    names = [textwrap.fill(result.name, 24) for result in results]
    height = 0.95 + (0.2 + 0.13 * len(groups)) * len(results)
    figure, axes = style.panels(
        len(order),
        len(order) if len(order) <= 5 else 4,
        height,
        legend_rows=style.legend_rows(groups),
        sharey=True,
    )
    for panel, name in zip(axes, order, strict=True):
        rate, info = compared[name], env.spec.component_info
        own = rate.unit_in(info)
        unit, factor = people_unit(own)
        limits = limits_of(own, info[rate.numerator].nonnegative)
        for place, result in zip(_places(results), results, strict=True):
            values = group_rates_of(result, rate, rate_parts(env, rate))
            if not any(np.isfinite(value.mean) for value in values):
                values = values[:1]  # the word "undefined" once
            apart = 0.5 / max(1, len(values))
            for code, value in enumerate(values):
                look = {"color": style.group_colour(code), "marker": "o"}
                at = place + apart * ((len(values) - 1) / 2 - code)
                shown = value.within(*limits).times(factor)
                _dot(panel, at, shown, look, groups[code], result.name)
        style.set_title(panel, rate_title(env, name))
        way = "← better" if rate.sign < 0 else "better →"
        panel.set_xlabel(f"{unit}\n{'of the served only' if name in finished else way}")
        _policies_below(panel, results, names)
        style.keep_within(panel, "x", *(factor * limit for limit in limits))
    style.top_legend(figure, handles)
    return figure


def _parts(env: Environment, names: Sequence[str]) -> list[tuple[int, tuple[str, ...]]]:
    every = [rate_parts(env, compared_rates(env)[name]) for name in names]
    return [(len(parts), parts) for parts in every]


def _places(results: Sequence[Result]) -> range:
    """Return the heights of the policies, the first one at the top."""
    return range(len(results) - 1, -1, -1)


def _policies_below(panel: Axes, results: Sequence[Result], names: Sequence[str]) -> None:
    """Write the policies' names along y."""
    panel.set_yticks(_places(results), names)
    panel.set_ylim(-0.6, len(results) - 0.4)
    panel.tick_params(axis="y", length=0, pad=7, labelcolor=style.INK)
    panel.grid(axis="y", visible=False)
    panel.margins(x=0.1)
    low, high = panel.get_xlim()
    least = LEAST_SPAN * max(abs(low), abs(high))  # so that no tiny difference looks large
    if high - low < least:
        panel.set_xlim((low + high - least) / 2, (low + high + least) / 2)
    panel.locator_params(axis="x", nbins=4)


def _null_bar(panel: Axes, place: float, result: Result, metric: MetricLabel) -> None:
    """Draw a bar from 0 to the 95% quantile of a disparity's null distribution."""
    null = result.null(metric.name) if metric.kind == "fair" else None
    if null is None or not np.isfinite(null.bound):
        return
    bound = float(metric.shown(null.bound)) * people_unit(metric.unit)[1]
    panel.barh(place, bound, height=0.7, color=style.GRID, zorder=0)
    keep(panel, result.name, NULL, bound)


def _dot(
    panel: Axes, place: float, value: Estimate, look: dict[str, Any], series: str, x: str
) -> None:
    """Draw a point with its interval; write a word where the value is undefined."""
    if not np.isfinite(value.mean):
        panel.annotate(
            "undefined" if value.episodes else "not comparable",
            (0.5, place),
            xycoords=panel.get_yaxis_transform(),
            ha="center",
            va="center",
            fontsize=8,
            color=style.MUTED,
        )
        return
    if np.isfinite(value.low):
        panel.plot([value.low, value.high], [place, place], color=look["color"], lw=2)
    panel.plot([value.mean], [place], ls="", ms=6.5, label=series, zorder=3, **look)
    keep(panel, series, x, value.mean, value.low, value.high)


def _looks(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return the policies' looks: coloured circles for learned ones, grey squares for baselines."""
    lines = style.policy_lines([result.name for result in results if result.learned])
    learned = iter({"color": line["color"], "marker": "o"} for line in lines)
    fixed = {"color": style.BASELINE_COLOUR, "marker": "s"}
    return [next(learned) if result.learned else fixed for result in results]
