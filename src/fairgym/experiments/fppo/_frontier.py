"""Frontier of profit against the distance of scores, with rules that are blind to groups."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fairgym.core import Environment
from fairgym.environments.bank_loans.dynamics import SCORES
from fairgym.experiments import _parts as ex
from fairgym.policies import Random, rules
from fairgym.report import style
from fairgym.statistics.comparisons import non_dominated

# Distances and profits at the end of the episode, one per seed.
Ends = tuple[np.ndarray, np.ndarray]


def blind_rules(env: Environment) -> dict[str, Mapping[str, Any]]:
    """Return label -> policies that approve by score only, or at random."""
    threshold = rules.get("threshold")
    found: dict[str, Mapping[str, Any]] = {
        f"score {lowest} or more": {"bank": threshold(env, "bank", lowest=lowest)}
        for lowest in range(1, SCORES + 1)
    }
    return {**found, "at random": {"bank": Random(env.action_space("bank"))}}


def frontier_table(blind: Mapping[str, Ends]) -> ex.Table:
    """Return a table of the blind rules, which shows how much room the distance has."""
    front = _front(blind)
    rows = [
        [
            label,
            ex.iqm_text(distance),
            ex.iqm_text(profit),
            "yes" if label in front else "no",
        ]
        for label, (distance, profit) in blind.items()
    ]
    caption = (
        "Rules that are blind to groups, at the end of the episode: true distance of scores and"
        " profit in dollars; interquartile mean over seeds [95% CI]. A rule is on the front if no"
        " other one has both a smaller distance and a higher profit."
    )
    head = ["approved", "distance of scores", "profit", "on the front"]
    return ex.Table(head, rows, caption)


@style.styled
def frontier_figure(
    learners: Mapping[str, Ends], blind: Mapping[str, Ends], start: float
) -> Figure:
    """Plot every seed's profit against its distance; a line joins the front of the blind rules.

    Args:
        learners: Label -> ends of every seed.
        blind: Label -> ends of the blind rules.
        start: Distance at the start of the episode.
    """
    looks = ex.looks_of(list(learners))
    names = [*learners, "front of blind rules", "start"]
    figure, (axis,) = style.panels(1, 1, 4.6, legend_rows=style.legend_rows(names))
    for place, (label, (distance, profit)) in enumerate(learners.items()):
        colour, marker = looks[label]["color"], style.MARKERS[place % len(style.MARKERS)]
        axis.plot(distance, profit, marker, color=colour, alpha=0.7, ms=6, mew=0, label=label)
    means = {label: [float(np.mean(x)) for x in own] for label, own in blind.items()}
    line = sorted(means[label] for label in _front(blind))
    axis.plot(*np.transpose(line), color=style.MUTED, lw=1.2, label="front of blind rules")
    for label, (distance, profit) in means.items():
        axis.plot(distance, profit, "x", color=style.MUTED, ms=5)
        axis.annotate(
            label.removesuffix(" or more"),
            (distance, profit),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=7,
        )
    axis.axvline(start, color=style.BASELINE_COLOUR, lw=0.8, ls=":", label="start")
    axis.set_xlabel("distance of scores at the end")
    axis.set_ylabel("profit, in dollars")
    handles, _ = axis.get_legend_handles_labels()
    style.top_legend(figure, handles)
    return figure


def _front(blind: Mapping[str, Ends]) -> list[str]:
    """Return the labels that no other rule dominates in mean distance and mean profit."""
    points = np.array(
        [[-np.mean(distance), np.mean(profit)] for distance, profit in blind.values()]
    )
    return [label for label, on in zip(blind, non_dominated(points), strict=True) if on]
