"""Figures of what policies do to people: distributions, rates over time, the comparison."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import blended_transform_factory

from fairgym.report import style
from fairgym.report.learning import group_colour
from fairgym.report.measures import (
    attribute_unit,
    disparities,
    measures,
    rate_title,
    rate_unit,
    time_unit,
)
from fairgym.report.results import Result, core_values, cumulative_rates, group_gap

BINS = 40
SPREAD = (5.0, 95.0)  # percentiles of the band over episodes


def _named(evaluations: Any) -> dict[str, Sequence[Any]]:
    """Evaluations by name of policy: one, a mapping, or results."""
    if isinstance(evaluations, Mapping):
        return {k: v if isinstance(v, list | tuple) else [v] for k, v in evaluations.items()}
    if isinstance(evaluations, list | tuple) and evaluations:
        if isinstance(evaluations[0], Result):
            return {result.name: result.evaluations for result in evaluations}
        return {"": evaluations}
    return {"": [evaluations]}


def _group_handles(env: Any, make: Any) -> list[Any]:
    return [make(group_colour(i), style.words(name)) for i, name in enumerate(env.groups)]


@style.styled
def core_attribute_distribution(evaluations: Any, env: Any) -> Figure:
    """The core attribute per group at the start and at the end of an episode.

    Args:
        evaluations: one evaluation, or policy name -> evaluation (or several, pooled). The start
            is taken from the first: it is the same for every policy.
        env: the environment they were made in.

    Returns:
        A figure with one panel for the start and one for each policy's end, on common axes; each
        group's histogram sums to 100%, its mean is a vertical line, and the title carries the
        standardised mean difference.
    """
    named = _named(evaluations)
    first = next(iter(named.values()))
    moments = {"At the start": _pooled(env, first, "people_start")}
    for name, several in named.items():
        label = f"At the end: {name}" if len(named) > 1 else "At the end"
        moments[label] = _pooled(env, several, "people_end")

    everyone = np.concatenate([attribute.reshape(-1) for attribute, _ in moments.values()])
    low, high = np.quantile(everyone, [0.001, 0.999])
    edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1)
    figure, axes = style.panels(
        len(moments), 2 if len(moments) != 3 else 3, 2.7, legend_rows=1, sharex=True, sharey=True
    )
    unit = attribute_unit(env, env.core_attribute)
    for panel, (label, (attribute, group)) in zip(axes, moments.items(), strict=True):
        for code in range(len(env.groups)):
            own = attribute[group == code]
            if not own.size:
                continue
            counts, _ = np.histogram(np.clip(own, edges[0], edges[-1]), edges)
            colour = group_colour(code)
            panel.stairs(100 * counts / own.size, edges, fill=True, color=colour, alpha=0.25, lw=0)
            panel.stairs(
                100 * counts / own.size,
                edges,
                color=colour,
                lw=1.6,
                label=style.words(env.groups[code]),
            )
            panel.axvline(own.mean(), color=colour, lw=1.4, ls=(0, (4, 2)))
        gap = group_gap(attribute, group, len(env.groups)).mean()
        panel.set_title(f"{label}", pad=17)
        panel.annotate(
            f"standardised mean difference {style.number(gap)}",
            (0, 1),
            xycoords="axes fraction",
            xytext=(0, 5),
            textcoords="offset points",
            fontsize=8.5,
            color=style.MUTED,
        )
        panel.set_xlabel(style.words(env.core_attribute) + (f" ({unit})" if unit else ""))
        panel.set_ylabel("percent of the group")
        panel.tick_params(labelbottom=True, labelleft=True)
        panel.set_ylim(bottom=0)
    style.top_legend(
        figure, _group_handles(env, lambda c, n: Patch(facecolor=c, alpha=0.6, label=n))
    )
    return figure


def _pooled(env: Any, evaluations: Sequence[Any], which: str) -> tuple[np.ndarray, np.ndarray]:
    pairs = [core_values(env, getattr(evaluation, which)) for evaluation in evaluations]
    return np.concatenate([a for a, _ in pairs]), np.concatenate([g for _, g in pairs])


@style.styled
def group_rates(evaluations: Any, env: Any) -> Figure:
    """Each rate that a disparity compares, per group over the episode.

    Args:
        evaluations: one evaluation made with `trace=True`, or policy name -> evaluation (or
            several, pooled); each policy has a row of panels.
        env: the environment they were made in.

    Returns:
        A figure: the rate over all steps so far, mean over episodes, with a band that holds nine
        of ten episodes.
    """
    named = _named(evaluations)
    compared = disparities(env)
    figure, axes = style.panels(
        len(named) * len(compared), min(len(compared), 4), 2.5, legend_rows=1
    )
    steps = time_unit(env)
    places = iter(axes)
    for policy, several in named.items():
        for metric in compared.values():
            panel = next(places)
            rates = np.concatenate(
                [cumulative_rates(e.trace, metric.rate, _discount(e)) for e in several]
            )
            _rate_lines(panel, rates, env.groups)
            title = rate_title(env, metric.rate)
            if len(named) > 1:
                panel.set_title(title, pad=16)
                panel.annotate(
                    policy,
                    (0, 1),
                    xycoords="axes fraction",
                    xytext=(0, 5),
                    textcoords="offset points",
                    fontsize=8,
                    color=style.MUTED,
                )
            else:
                panel.set_title(title)
            panel.set_ylabel(f"{rate_unit(env.component_info, metric.rate)}, so far")
            panel.set_xlabel(f"time ({steps})")
    style.top_legend(
        figure, _group_handles(env, lambda c, n: Line2D([], [], color=c, lw=1.8, label=n))
    )
    return figure


def _discount(evaluation: Any) -> float:
    return float(getattr(evaluation, "discount", 1.0))


def _rate_lines(panel: Axes, rates: np.ndarray, groups: Sequence[str]) -> None:
    steps = np.arange(1, rates.shape[1] + 1)
    for code, name in enumerate(groups):
        own = rates[:, :, code]
        known = np.isfinite(own).any(axis=0)
        if not known.any():
            continue
        shown = own[:, known]
        panel.plot(
            steps[known],
            np.nanmean(shown, axis=0),
            color=group_colour(code),
            label=style.words(name),
            zorder=3,
        )
        if own.shape[0] > 1:
            low, high = np.nanpercentile(shown, SPREAD, axis=0)
            panel.fill_between(
                steps[known], low, high, color=group_colour(code), alpha=style.BAND_ALPHA, lw=0
            )
    panel.margins(x=0.02)
    if not panel.lines:
        panel.text(0.5, 0.5, "undefined: nobody counted", transform=panel.transAxes, ha="center")
    low, high = panel.get_ylim()
    panel.set_ylim(0.0 if low >= -0.1 * (high - low) or low >= 0 else low, high)


@style.styled
def metric_comparison(results: Sequence[Result], env: Any) -> Figure:
    """Every metric of policies and baselines as points with 95% intervals, one panel each.

    Args:
        results: learned policies first, then baselines.
        env: the environment, for names and units.
    """
    shown = measures(env)
    columns = 4 if len(shown) > 6 else 3
    rows = -(-len(shown) // columns)
    height = 1.15 + 0.24 * len(results)
    figure, axes = style.panels(len(shown), columns, height, sharey=True)
    figure.set_size_inches(style.WIDTH, rows * height)
    places = np.arange(len(results))[::-1]
    learned = 0
    for place, result in zip(places, results, strict=True):
        look = _look(result, learned)
        learned += result.learned
        for panel, measure in zip(axes, shown, strict=True):
            value = result.estimate(measure)
            if not np.isfinite(value.mean):
                panel.annotate(
                    "undefined",
                    (0.5, place),
                    xycoords=blended_transform_factory(panel.transAxes, panel.transData),
                    ha="center",
                    va="center",
                    fontsize=8,
                    color=style.MUTED,
                )
                continue
            if np.isfinite(value.low):
                panel.plot([value.low, value.high], [place, place], color=look["color"], lw=2)
            panel.plot([value.mean], [place], ls="", ms=6.5, label=result.name, zorder=3, **look)
    for panel, measure in zip(axes, shown, strict=True):
        panel.set_title(measure.title)
        unit = f"{measure.label}, " if measure.label else ""
        panel.set_xlabel(f"{unit}{measure.better}")
        panel.set_yticks(places, [result.name for result in results])
        panel.set_ylim(-0.6, len(results) - 0.4)
        panel.tick_params(axis="y", length=0, labelcolor=style.INK)
        panel.grid(axis="y", visible=False)
        panel.margins(x=0.1)
        panel.locator_params(axis="x", nbins=4)
    return figure


def _look(result: Result, learned: int) -> dict[str, Any]:
    if result.learned:
        return {"color": style.POLICY_COLOURS[learned % len(style.POLICY_COLOURS)], "marker": "o"}
    return {"color": style.BASELINE_COLOUR, "marker": "s"}
