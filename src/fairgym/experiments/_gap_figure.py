"""Figure of the study of gaps: coverage, size, power, and a bootstrap of the largest gap."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxtyping import PyTree
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairgym.experiments._gap_study import SIZES
from fairgym.report import style

# Gap in standard deviations -> power of a t test of 16 normal episodes.
OF_T = {0.6: 0.61, 1.0: 0.96}
# Name of a share of replicates -> its label, and its shift along the x axis.
FOUND = {"test": ("test", -0.05), "interval": ("interval excludes 0", 0.05)}
# Interval of the largest gap -> its dash, and its words.
INTERVALS = {"largest": "-", "bootstrap": ":"}
WORDS = {"largest": "simultaneous", "bootstrap": "bootstrap"}
SHARE = "share of replicates"


@style.styled
def plot(
    data: PyTree,
    coverage: tuple[float, float],
    size: tuple[float, float],
    power: tuple[float, float],
) -> Figure:
    """Return the figure.

    Args:
        data: Study -> rows.
        coverage: Limits of the coverage of intervals.
        size: Limits of the size of the test.
        power: Limits of its power.
    """
    figure, axes = style.panels(4, 2, 2.7, legend_rows=1)
    _by_groups(axes[0], data["coverage"], "gaps", coverage)
    axes[0].set_ylim(0.9, 1.0)
    style.set_title(axes[0], "All true gaps covered")
    _by_groups(axes[1], data["size"], "test", size)
    axes[1].set_ylim(0.0, 0.1)
    style.set_title(axes[1], "True null rejected")
    _power(axes[2], data["power"], power[0])
    _largest(axes[3], data["bootstrap"])
    figure.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside upper left",
        ncols=len(_rates(data["coverage"])),
    )
    return figure


def _rates(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    return list(dict.fromkeys(row["case"].rate for row in rows))


def _by_groups(
    panel: Axes, rows: Sequence[Mapping[str, Any]], name: str, limits: tuple[float, float]
) -> None:
    """Plot one point per case over the number of groups, rates side by side."""
    panel.axhspan(*limits, color=style.BASELINE_COLOUR, alpha=style.BAND_ALPHA, lw=0)
    rates = _rates(rows)
    for place, rate in enumerate(rates):
        cases = [row["case"] for row in rows if row["case"].rate == rate]
        shift = 0.16 * (place - (len(rates) - 1) / 2)
        panel.plot(
            [case.groups + shift + 0.05 * (case.sizes == SIZES[1]) for case in cases],
            [row[name] for row in rows if row["case"].rate == rate],
            style.MARKERS[place],
            color=style.POLICY_COLOURS[place],
            ms=4,
            clip_on=False,
            label=f"rate {rate:g}",
        )
    panel.set_xticks(sorted({row["case"].groups for row in rows}))
    panel.set_xlabel("groups")
    panel.set_ylabel(SHARE)


def _power(panel: Axes, rows: Sequence[Mapping[str, Any]], limit: float) -> None:
    for place, (name, (words, shift)) in enumerate(FOUND.items()):
        panel.plot(
            [abs(row["case"].gap) + shift for row in rows],
            [row[name] for row in rows],
            style.MARKERS[2 + place],
            color=style.POLICY_COLOURS[place],
            ms=4,
            label=words,
        )
    panel.plot(
        list(OF_T), list(OF_T.values()), "s", color=style.BASELINE_COLOUR, ms=6, label="t test"
    )
    panel.axhline(limit, color=style.BASELINE_COLOUR, lw=0.8)
    panel.set_xticks(list(OF_T))
    panel.set_xlim(min(OF_T) - 0.2, max(OF_T) + 0.2)
    panel.set_xlabel("gap of one group, standard deviations")
    panel.set_ylabel(SHARE)
    style.keep_within(panel, "y", 0.0, 1.0)
    panel.legend(loc="lower right", fontsize=8)
    style.set_title(panel, "Gap found ↑")


def _largest(panel: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    for place, groups in enumerate(dict.fromkeys(row["case"].groups for row in rows)):
        of_groups = [row for row in rows if row["case"].groups == groups]
        for name, dash in INTERVALS.items():
            panel.plot(
                [row["case"].gap for row in of_groups],
                [row[name] for row in of_groups],
                linestyle=dash,
                marker=style.MARKERS[place],
                ms=4,
                color=style.POLICY_COLOURS[place],
                clip_on=False,
                label=f"{groups} groups, {WORDS[name]}",
            )
    panel.axhline(0.95, color=style.BASELINE_COLOUR, lw=0.8)
    panel.set_ylim(0.0, 1.0)
    panel.set_xlabel("true gap, standard deviations")
    panel.set_ylabel(SHARE)
    panel.legend(loc="lower right", fontsize=8)
    style.set_title(panel, "Largest gap covered")
