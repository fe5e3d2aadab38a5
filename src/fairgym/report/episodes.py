"""Figures of rates and of subgroups over the steps of an episode."""

import warnings
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.core import Environment
from fairgym.report import style
from fairgym.report.drawn import curve
from fairgym.results.estimates import Evaluations, cumulative_rates, named_evaluations
from fairgym.results.labels import (
    core_attribute_unit,
    disparities,
    rate_parts,
    rate_title,
    title,
    words,
)
from fairgym.results.numbers import limits_of, people_unit, ratio
from fairgym.training.courses import few

SPREAD = (5.0, 95.0)  # percentiles of the band over episodes


@style.styled
def group_rates(evaluations: Evaluations, env: Environment) -> Figure:
    """Draw the rates that disparities compare, per group over an episode.

    Args:
        evaluations: One evaluation made with `trace=True`, or policy name -> evaluation (or
            several, pooled); each policy has a row of panels.
        env: The environment that was evaluated.

    Returns:
        A figure: the rate over all steps so far, mean over episodes, with a band that holds 90% of
        the episodes.
    """
    named = named_evaluations(evaluations)
    compared = disparities(env)
    columns = len(compared) if len(compared) <= 4 else 3
    each = -(-len(compared) // columns) * columns  # panels of a policy, empty ones included
    handles = _compared(env)
    labels = [str(handle.get_label()) for handle in handles]
    figure, axes = style.panels(
        len(named) * each, columns, 2.5, legend_rows=style.legend_rows(labels)
    )
    steps = env.spec.time_unit
    same: dict[str, list[tuple[Axes, np.ndarray]]] = {name: [] for name in compared}
    for row, (policy, several) in enumerate(named.items()):
        for place, (name, metric) in enumerate(compared.items(), row * each):
            panel = axes[place]
            unit, factor = people_unit(metric.rate.unit_in(env.spec.component_info))
            rates = factor * np.concatenate(
                [cumulative_rates(e.trace, metric.rate, e.discount) for e in several]
            )
            same[name].append((panel, rates))
            _rate_lines(panel, *few(rates, rate_parts(env, metric.rate)))
            style.set_title(panel, rate_title(env, name), policy if len(named) > 1 else "")
            style.set_ylabel(panel, f"{unit}, so far")
            panel.set_xlabel(f"time ({steps})")
        for spare in axes[row * each + len(compared) : (row + 1) * each]:
            spare.remove()
    for name, alike in same.items():
        _common_scale(alike)
        rate, info = compared[name].rate, env.spec.component_info
        unit = rate.unit_in(info)
        limits = limits_of(unit, info[rate.numerator].nonnegative)
        for panel, _ in alike:
            style.keep_within(panel, "y", *(people_unit(unit)[1] * limit for limit in limits))
    style.top_legend(figure, handles)
    return figure


def _compared(env: Environment) -> list[Line2D]:
    """Return the legend of the groups, or people, whose rates are compared."""
    every = [rate_parts(env, metric.rate) for metric in disparities(env).values()]
    names = max((few(np.zeros(len(parts)), parts)[1] for parts in every), key=len, default=[])
    return [Line2D([], [], label=name, **style.group_line(i)) for i, name in enumerate(names)]


def _rate_lines(panel: Axes, rates: np.ndarray, groups: Sequence[str]) -> None:
    steps = np.arange(1, rates.shape[1] + 1)
    for code, name in enumerate(groups):
        own = rates[:, :, code]
        known = np.isfinite(own).any(axis=0)
        if not known.any():
            continue
        shown = own[:, known]
        band = np.nanpercentile(shown, SPREAD, axis=0) if own.shape[0] > 1 else (None, None)
        look = {**style.group_line(code), "alpha": 2 * style.BAND_ALPHA / max(2, len(groups))}
        curve(panel, steps[known], np.nanmean(shown, axis=0), *band, label=name, **look)
    panel.set_xlim(0, rates.shape[1])
    if not panel.lines:
        panel.text(0.5, 0.5, "undefined: nobody counts", transform=panel.transAxes, ha="center")


def _common_scale(alike: Sequence[tuple[Axes, np.ndarray]]) -> None:
    """Give all panels of a rate one scale, so that policies can be compared.

    It covers the lines, and the bands after the first tenth of the episode, when few people have
    been counted yet. It begins at 0 unless all values are far above, and spans at least a tenth of
    the highest value, so that no small gap looks large.
    """
    values = []
    for _, rates in alike:
        known = rates[:, :, np.isfinite(rates).any(axis=(0, 1))]
        known = known[:, np.isfinite(known).any(axis=(0, 2))]
        if not known.size:
            continue
        late = known[:, known.shape[1] // 10 :]
        with warnings.catch_warnings():  # a group of whom nobody counts yet
            warnings.simplefilter("ignore", RuntimeWarning)
            values += [np.nanmean(known, axis=0), *np.nanpercentile(late, SPREAD, axis=0)]
    low = min((float(np.nanmin(v)) for v in values), default=0.0)
    high = max((float(np.nanmax(v)) for v in values), default=0.0)
    high = high if high > 0.0 else 1.0
    low = min(low, 0.9 * high) if low < 0.0 or low > 0.4 * high else 0.0
    span = high - low
    for panel, _ in alike:
        panel.set_ylim(low - 0.03 * span, high + 0.06 * span)


@style.styled
def part_curves(evaluations: Evaluations, env: Environment, partition: str) -> Figure:
    """Draw a line per subgroup (region) over an episode: its core attribute and its stages.

    Args:
        evaluations: One evaluation made with `trace=True`, or policy name -> evaluation (or
            several, pooled); each policy has a row of panels.
        env: The environment that was evaluated.
        partition: A key of `env.spec.partitions`.

    Returns:
        A figure: the mean core attribute and the share of people in each stage, over the episodes
        that are still running.
    """
    named = named_evaluations(evaluations)
    parts = [words(part) for part in env.spec.partitions[partition]]
    handles = [Line2D([], [], label=n, **style.part_line(i)) for i, n in enumerate(parts)]
    shown = (env.spec.core_attribute, *env.spec.stages)
    figure, axes = style.panels(
        len(named) * len(shown),
        min(len(shown), 4),
        2.5,
        legend_rows=style.legend_rows(parts),
    )
    places = iter(axes)
    for policy, several in named.items():
        for column in shown:
            panel = next(places)
            above, below = (
                np.concatenate([e.parts[partition][name] for e in several], dtype=np.float64)
                for name in (column, "people")
            )
            # an episode that has ended counts nobody
            means = ratio(above.sum(axis=0), below.sum(axis=0))
            for code, line in enumerate(means.T):
                curve(panel, range(len(line)), line, label=parts[code], **style.part_line(code))
            style.set_title(panel, title(column), policy if len(named) > 1 else "")
            if column in env.spec.stages:
                style.set_ylabel(panel, "share of people")
            else:
                unit = core_attribute_unit(env)
                style.set_ylabel(panel, f"mean, {unit}" if unit else "mean")
            panel.set_xlabel(f"time ({env.spec.time_unit})")
            panel.set_xlim(0, means.shape[0] - 1)
            panel.margins(y=0.08)
            if column in env.spec.stages:
                style.keep_within(panel, "y", 0.0, 1.0)
    style.top_legend(figure, handles)
    return figure
