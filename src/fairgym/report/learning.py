"""Figures of how training went: learning curves of the objective and the metrics."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.report import style
from fairgym.report.drawn import NULL, curve, keep
from fairgym.report.grouping import RunGroup, Series, groups_of
from fairgym.results.labels import MetricLabel, metric_labels
from fairgym.results.numbers import people_unit
from fairgym.training.run import Run


@style.styled
def learning_curves(
    runs: Sequence[Run] | Sequence[RunGroup],
    references: Mapping[str, Mapping[str, float]] | None = None,
    nulls: Mapping[str, float] | None = None,
    *,
    band: str = "range",
) -> Figure:
    """Draw the objective and every metric of the learned policy over training.

    Args:
        runs: Runs as loaded, or groups of them (`group_runs`). A line is the mean over the seeds
            of one configuration.
        references: Fixed policies drawn as horizontal lines: name -> {"objective" or metric: raw
            value}.
        nulls: 95% quantile of the null distribution of a disparity, raw: metric -> value. Grey is
            what lies between it and parity.
        band: "range" shades from the lowest to the highest seed; "interval" shades the 95%
            interval of the mean over seeds. With one seed there is no band.

    Returns:
        A figure; disparities and signed rates are shown as plain gaps and rates.
    """
    groups = groups_of(runs)
    references = references or {}
    aims = len({group.aim for group in groups})
    shown = list({m.key: m for g in groups for m in metric_labels(g.env)}.values())
    handles = _legend(groups, list(references))
    labels = [str(h.get_label()) for h in handles]
    figure, axes = style.panels(
        len(shown), 4 if len(shown) > 6 else 3, 2.25, legend_rows=style.legend_rows(labels)
    )
    lines = style.policy_lines([group.name for group in groups])
    for panel, metric in zip(axes, shown, strict=True):
        unit, factor = people_unit(metric.unit)
        for group, line in zip(groups, lines, strict=True):
            data = group.series(metric.key)
            mean = factor * metric.shown(data.mean)
            edges = _band(metric, data, band, factor) if len(group.runs) > 1 else (None, None)
            curve(panel, data.epochs, mean, *edges, label=group.name, marker=data.marker, **line)
        for index, (name, values) in enumerate(references.items()):
            if np.isfinite(values.get(metric.name, np.nan)):
                level = factor * float(metric.shown(values[metric.name]))
                panel.axhline(level, label=name, zorder=2, **style.baseline_line(index))
                keep(panel, name, "every epoch", level)
        if np.isfinite(bound := (nulls or {}).get(metric.name, np.nan)):
            bound = factor * float(metric.shown(bound))
            panel.axhspan(0.0, bound, color=style.GRID, alpha=0.6, linewidth=0, zorder=0)
            keep(panel, NULL, "every epoch", bound)
        own = aims > 1 and metric.kind == "objective"
        style.set_title(
            panel,
            f"{metric.title} {metric.arrow}",
            "each by its own: do not compare" if own else "",
        )
        style.set_ylabel(panel, unit or metric.axis_label)
        panel.margins(y=0.12)
        style.keep_within(panel, "y", *(factor * limit for limit in metric.limits))
        style.epoch_axis(panel)
    style.top_legend(figure, handles)
    return figure


def _band(
    metric: MetricLabel, data: Series, band: str, factor: float
) -> tuple[np.ndarray, np.ndarray]:
    if band == "range":
        low, high = metric.shown(data.low), metric.shown(data.high)
    else:
        from fairgym.statistics.intervals import mean_interval

        columns = [column[np.isfinite(column)] for column in data.values.T]
        limits = [mean_interval(column) for column in columns]
        low = metric.shown([limit[1] for limit in limits])
        high = metric.shown([limit[2] for limit in limits])
    return factor * np.minimum(low, high), factor * np.maximum(low, high)


def _legend(groups: Sequence[RunGroup], references: Sequence[str]) -> list[Line2D]:
    if len(groups) == 1 and not references:
        return []
    names = [group.name for group in groups]
    lines = zip(names, style.policy_lines(names), strict=True)
    return [Line2D([], [], label=name, **line) for name, line in lines] + [
        Line2D([], [], label=name, **style.baseline_line(i)) for i, name in enumerate(references)
    ]
