"""Figures of what policies do to people: distributions, rates over time, the comparison."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fairgym.report import style
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
    return [make(i, style.words(name)) for i, name in enumerate(env.groups)]


@style.styled
def core_attribute_distribution(evaluations: Any, env: Any) -> Figure:
    """The core attribute per group at the start and at the end of an episode.

    Args:
        evaluations: one evaluation, or policy name -> evaluation (or several, pooled). Policies
            that start with the same people share a panel for the start.
        env: the environment they were made in.

    Returns:
        A figure with one panel for the start and one for each policy's end, on common axes; each
        group's histogram sums to 100%, its mean is a vertical line, and the title carries the
        standardised mean difference.
    """
    named = _named(evaluations)
    starts = {name: _pooled(env, several[:1], "people_start") for name, several in named.items()}
    first, (people, _) = next(iter(starts.items()))
    alike = all(np.array_equal(people, start) for start, _ in starts.values())
    moments = {"At the start": starts[first]} if alike else {}
    for name, several in named.items():
        which = f": {name}" if len(named) > 1 else ""
        if not alike:
            moments[f"At the start{which}"] = starts[name]
        moments[f"At the end{which}"] = _pooled(env, several, "people_end")

    everyone = np.concatenate([attribute.reshape(-1) for attribute, _ in moments.values()])
    low, high = np.quantile(everyone, [0.001, 0.999])
    edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1)
    figure, axes = style.panels(
        len(moments), 2 if len(moments) != 3 else 3, 2.7, legend_rows=1, sharex=True, sharey=True
    )
    unit = attribute_unit(env, env.core_attribute)
    highest = 0.0
    for panel, (label, (attribute, group)) in zip(axes, moments.items(), strict=True):
        for code in range(len(env.groups)):
            own = attribute[group == code]
            if not own.size:
                continue
            counts, _ = np.histogram(np.clip(own, edges[0], edges[-1]), edges)
            colour = style.group_colour(code)
            shares = 100 * counts / own.size
            highest = max(highest, shares.max())
            panel.stairs(shares, edges, fill=True, color=colour, alpha=0.25, lw=0)
            panel.stairs(shares, edges, color=colour, lw=1.6, label=style.words(env.groups[code]))
            panel.axvline(own.mean(), color=colour, lw=1.4, ls=(0, (4, 2)))
        gap = group_gap(attribute, group, len(env.groups)).mean()
        style.set_title(panel, label, f"standardised mean difference {style.number(gap)}")
        panel.set_xlabel(style.words(env.core_attribute) + (f" ({unit})" if unit else ""))
        panel.set_ylabel("percent of the group")
        panel.tick_params(labelbottom=True, labelleft=True)
    axes[0].set_ylim(0.0, 1.05 * highest)
    style.top_legend(
        figure,
        _group_handles(
            env, lambda i, n: Patch(facecolor=style.group_colour(i), alpha=0.6, label=n)
        ),
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
    same: dict[str, list[Axes]] = {name: [] for name in compared}
    for policy, several in named.items():
        for name, metric in compared.items():
            panel = next(places)
            same[name].append(panel)
            rates = np.concatenate(
                [cumulative_rates(e.trace, metric.rate, e.discount) for e in several]
            )
            _rate_lines(panel, rates, env.groups)
            style.set_title(panel, rate_title(env, name), policy if len(named) > 1 else "")
            panel.set_ylabel(f"{rate_unit(env.component_info, metric.rate)}, so far")
            panel.set_xlabel(f"time ({steps})")
    for alike in same.values():
        _common_scale(alike)
    style.top_legend(
        figure, _group_handles(env, lambda i, n: Line2D([], [], label=n, **style.group_line(i)))
    )
    return figure


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
            label=style.words(name),
            zorder=3,
            **style.group_line(code),
        )
        if own.shape[0] > 1:
            low, high = np.nanpercentile(shown, SPREAD, axis=0)
            panel.fill_between(
                steps[known],
                low,
                high,
                color=style.group_colour(code),
                alpha=style.BAND_ALPHA,
                lw=0,
            )
    panel.set_xlim(0, rates.shape[1])
    if not panel.lines:
        panel.text(0.5, 0.5, "undefined: nobody counts", transform=panel.transAxes, ha="center")


def _common_scale(alike: Sequence[Axes]) -> None:
    """One scale from 0 for all panels of a rate, so that policies can be compared."""
    limits = [panel.dataLim.intervaly for panel in alike if panel.lines]
    low = min((limit[0] for limit in limits), default=0.0)
    high = max((limit[1] for limit in limits), default=0.0)
    low, high = min(low, 0.0), high if high > 0.0 else 1.0
    for panel in alike:
        panel.set_ylim(low - 0.03 * (high - low), high + 0.06 * (high - low))


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
    names = [textwrap.fill(result.name, 36) for result in results]
    lines = max(name.count("\n") for name in names) + 1
    height = 1.2 + (0.11 + 0.13 * lines) * len(results)
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
                    "undefined" if value.episodes else "not comparable",
                    (0.5, place),
                    xycoords=panel.get_yaxis_transform(),
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
        own = any(not result.estimate(measure).episodes for result in results)
        style.set_title(panel, measure.title, "each by its own: do not compare" if own else "")
        panel.set_xlabel(f"{measure.label}\n{'← better' if measure.flipped else 'better →'}")
        panel.set_yticks(places, names)
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
