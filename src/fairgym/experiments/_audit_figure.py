"""Figure of the study of the audit's intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import PyTree
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairgym.experiments._audit_study import rate_coverage
from fairgym.report import style
from fairgym.statistics.proportions import wilson_interval

SHARE = "share of tables"
FEW = 30  # decisions of the curve of a rate
# Study -> its words, from the top.
STUDIES = {
    "table": "gaps, five cases",
    "rates": "rates near 0 and 1",
    "clusters": "clusters, persons",
    "adjusted": "adjusted gaps",
    "series": "over time",
    "schemes": "schemes",
    "waits": "waits",
    "scores": "scores",
    "even": "concentration",
}
NOT_CLAIMED = ("case", "replicates", "bootstrap", "bias", "alone", "told")


@style.styled
def plot(data: PyTree, coverage: tuple[float, float], rates: np.ndarray) -> Figure:
    """Return the figure.

    Args:
        data: Study -> rows.
        coverage: Limits of the coverage.
        rates: True rates of the exact coverage.
    """
    figure, axes = style.panels(4, 2, 2.9)
    for panel in axes[:3]:
        panel.axhspan(*coverage, color=style.BASELINE_COLOUR, alpha=style.BAND_ALPHA, lw=0)
        panel.set_ylabel(SHARE)
    _largest(axes[0], data["table"])
    _rate(axes[1], data["exact rates"][FEW], rates)
    _clusters(axes[2], data["clusters"])
    _every(axes[3], data, coverage)
    return figure


def _largest(panel: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    labels = []
    for row in rows:
        case = row["case"]
        gap = f"gap {np.ptp(case.rates):.2g}" if np.ptp(case.rates) else "equal"
        labels.append(f"{len(case.sizes)} groups\n{case.sizes_text}\n{gap}")
    places = np.arange(len(rows))
    for shift, (name, words) in enumerate(
        (("largest", "simultaneous intervals"), ("bootstrap", "percentile bootstrap"))
    ):
        panel.plot(
            places + 0.1 * (2 * shift - 1),
            [row[name] for row in rows],
            style.MARKERS[shift],
            color=style.POLICY_COLOURS[shift],
            ms=6,
            clip_on=False,
            label=words,
        )
    panel.set_xticks(places, labels)
    panel.set_xlim(-0.5, len(rows) - 0.5)
    panel.set_ylim(0.0, 1.0)
    panel.legend(loc="center left", fontsize=8)
    style.set_title(panel, "Largest gap covered")


def _rate(panel: Axes, found: np.ndarray, rates: np.ndarray) -> None:
    curves = {"Agresti and Coull": found, "Wilson": rate_coverage(FEW, rates, wilson_interval)}
    for place, (words, values) in enumerate(curves.items()):
        panel.plot(
            rates,
            values,
            linestyle=style.DASHES[place],
            color=style.POLICY_COLOURS[place],
            lw=1.2,
            label=words,
        )
    panel.set_ylim(0.84, 1.0)
    panel.set_xlabel(f"true rate, {FEW} decisions")
    panel.legend(loc="lower center", fontsize=8)
    style.set_title(panel, "Rate covered, exactly")


def _clusters(panel: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    rows = [row for row in rows if row["case"].units.number]
    rows.sort(key=lambda row: -row["alone"])
    labels = []
    for row in rows:
        units = row["case"].units
        kind = "clusters" if units.mixed else "persons"
        labels.append(f"{units.number}\n{kind}\n{units.icc:g}")
    places = np.arange(len(rows))
    for place, (name, words) in enumerate(
        (("rates", "with the column of persons or clusters"), ("alone", "without it"))
    ):
        panel.plot(
            places,
            [row[name] for row in rows],
            style.MARKERS[place],
            color=style.POLICY_COLOURS[place],
            ms=6,
            clip_on=False,
            label=words,
        )
    panel.set_xticks(places, labels)
    panel.set_ylim(0.0, 1.0)
    panel.set_xlabel("number, kind, intra-cluster correlation")
    panel.legend(loc="lower left", fontsize=8)
    style.set_title(panel, "Rate covered, repeated decisions")


def _every(panel: Axes, data: PyTree, coverage: tuple[float, float]) -> None:
    panel.axvspan(*coverage, color=style.BASELINE_COLOUR, alpha=style.BAND_ALPHA, lw=0)
    for place, name in enumerate(STUDIES):
        values = [
            value
            for row in data[name]
            for key, value in row.items()
            if key not in NOT_CLAIMED and np.isfinite(value)
        ]
        shift = np.linspace(-0.25, 0.25, len(values)) if len(values) > 1 else np.zeros(len(values))
        panel.plot(
            values,
            place + shift,
            style.MARKERS[0],
            color=style.POLICY_COLOURS[0],
            ms=2.5,
            clip_on=False,
        )
    panel.set_yticks(range(len(STUDIES)), list(STUDIES.values()))
    panel.set_ylim(len(STUDIES) - 0.5, -0.5)
    style.keep_within(panel, "x", 0.9, 1.0)
    panel.set_xlabel(SHARE)
    style.set_title(panel, "Every claimed interval")
