"""Figure of the core attribute's distribution within each group."""

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fairgym.core import Environment
from fairgym.report import style
from fairgym.report.drawn import keep
from fairgym.results.estimates import Evaluations, core_values, group_gap, named_evaluations
from fairgym.results.labels import core_attribute_unit, words
from fairgym.results.numbers import number
from fairgym.training.evaluation import Evaluation

# Percent of a group in each bin, and its mean.
Spread = tuple[np.ndarray, float]

BINS = (12, 40)  # fewest and most


@style.styled
def core_attribute_distribution(evaluations: Evaluations, env: Environment) -> Figure:
    """Draw the core attribute per group at the start and at the end of an episode.

    Args:
        evaluations: One evaluation, or policy name -> evaluation (or several, pooled). Policies
            that start with the same people share a panel for the start.
        env: The environment that was evaluated.

    Returns:
        A figure with one panel for the start and one for each policy's end, on common axes; each
        group's histogram sums to 100%, its mean is a vertical line, and the title carries the
        standardised mean difference. More than two groups have a lane each.
    """
    named = named_evaluations(evaluations)
    starts = {name: _pooled(env, several[:1], "people_start") for name, several in named.items()}
    first, (people, _) = next(iter(starts.items()))
    alike = all(np.array_equal(people, start) for start, _ in starts.values())
    moments = {"At the start": starts[first]} if alike else {}
    for name, several in named.items():
        which = f": {name}" if len(named) > 1 else ""
        if not alike:
            moments[f"At the start{which}"] = starts[name]
        moments[f"At the end{which}"] = _pooled(env, several, "people_end")

    edges = _edges(list(moments.values()))
    spread = {
        label: [_histogram(attribute[group == code], edges) for code in range(len(env.spec.groups))]
        for label, (attribute, group) in moments.items()
    }
    highest = max(shares.max() for several in spread.values() for shares, _ in several)
    lanes = len(env.spec.groups) > 2
    figure, axes = style.panels(
        len(moments),
        3 if len(moments) == 3 and not lanes and max(map(len, moments)) <= 34 else 2,
        0.9 + 0.55 * len(env.spec.groups) if lanes else 2.7,
        legend_rows=0 if lanes else 1,
        sharex=True,
        sharey=True,
    )
    unit = core_attribute_unit(env)
    for panel, (label, (attribute, group)) in zip(axes, moments.items(), strict=True):
        gap = group_gap(attribute, group, len(env.spec.groups)).mean()
        if lanes:
            _lanes(panel, spread[label], edges, env.spec.groups, highest)
            note = f"widest standardised mean difference {number(gap)}"
        else:
            _overlaid(panel, spread[label], edges, env.spec.groups)
            note = f"standardised mean difference {number(gap)}"
        style.set_title(panel, textwrap.fill(label, 52), note)
        panel.set_xlabel(words(env.spec.core_attribute) + (f" ({unit})" if unit else ""))
        panel.tick_params(labelbottom=True, labelleft=True)
    if lanes:
        axes[0].set_ylim(0.0, len(env.spec.groups))
        return figure
    axes[0].set_ylim(0.0, 1.05 * highest)
    handles = [
        Patch(facecolor=style.group_colour(i), alpha=0.6, label=words(name))
        for i, name in enumerate(env.spec.groups)
    ]
    style.top_legend(figure, handles)
    return figure


def _edges(moments: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the bin edges of all panels; their number follows the smallest group."""
    everyone = np.concatenate([attribute.reshape(-1) for attribute, _ in moments])
    low, high = np.quantile(everyone, [0.001, 0.999])
    sizes = np.concatenate([np.unique(group, return_counts=True)[1] for _, group in moments])
    bins = int(np.clip(4 * np.cbrt(sizes.min()), *BINS))
    return np.linspace(low, high if high > low else low + 1.0, bins + 1)


def _histogram(values: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the percentage of the values in each bin, and the mean; 0 and NaN without values."""
    counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
    return 100 * counts / max(values.size, 1), float(values.mean()) if values.size else np.nan


def _keep(panel: Axes, group: str, edges: np.ndarray, shares: np.ndarray) -> None:
    """Remember a group's bars, at the middle of each bin."""
    for middle, share in zip((edges[1:] + edges[:-1]) / 2, shares, strict=True):
        keep(panel, group, middle, share)


def _overlaid(
    panel: Axes, spread: Sequence[Spread], edges: np.ndarray, groups: Sequence[str]
) -> None:
    for code, (shares, mean) in enumerate(spread):
        if not np.isfinite(mean):
            continue
        colour = style.group_colour(code)
        _keep(panel, words(groups[code]), edges, shares)
        panel.stairs(shares, edges, fill=True, color=colour, alpha=0.25, lw=0)
        panel.stairs(shares, edges, color=colour, lw=1.6, label=words(groups[code]))
        panel.axvline(mean, color=colour, lw=1.4, ls=(0, (4, 2)))
    panel.set_ylabel("percent of the group")


def _lanes(
    panel: Axes, spread: Sequence[Spread], edges: np.ndarray, groups: Sequence[str], highest: float
) -> None:
    """Draw one lane per group on one scale, with the mean as a line and a number at the right."""
    floors = np.arange(len(groups))[::-1]
    for code, (floor, (shares, mean)) in enumerate(zip(floors, spread, strict=True)):
        panel.axhline(floor, color=style.GRID, lw=0.8)
        if not np.isfinite(mean):
            continue
        colour = style.group_colour(code)
        _keep(panel, words(groups[code]), edges, shares)
        tops = floor + 0.9 * shares / highest
        panel.stairs(tops, edges, baseline=floor, fill=True, color=colour, alpha=0.3, lw=0)
        panel.stairs(tops, edges, baseline=None, color=colour, lw=1.4, label=groups[code])
        panel.plot([mean, mean], [floor, floor + 0.95], color=style.INK, lw=1.4, ls=(0, (4, 2)))
        for y, text in ((floor + 0.35, number(mean)), (len(groups), "mean")):
            if text == "mean" and code:
                continue
            panel.annotate(
                text,
                (1.0, y),
                xycoords=("axes fraction", "data"),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=style.MUTED,
            )
    panel.set_yticks(floors + 0.35, [words(name) for name in groups])
    panel.tick_params(axis="y", length=0, labelcolor=style.INK)
    panel.grid(axis="y", visible=False)
    panel.spines["left"].set_visible(False)
    panel.set_ylabel(f"percent of the group\n(height of a lane: {highest / 0.9:.0f})")


def _pooled(
    env: Environment, evaluations: Sequence[Evaluation], which: str
) -> tuple[np.ndarray, np.ndarray]:
    pairs = [core_values(env, getattr(evaluation, which)) for evaluation in evaluations]
    return np.concatenate([a for a, _ in pairs]), np.concatenate([g for _, g in pairs])
