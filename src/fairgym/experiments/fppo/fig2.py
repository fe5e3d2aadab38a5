"""Short-term unfairness in training, with action massaging and without, in three systems."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from fairgym import experiments as ex
from fairgym.experiments._plots import CAPTION, curve, curve_legend
from fairgym.experiments.fppo._systems import ATTENTION, BANK_LOANS, EPIDEMIC, F_PPO, F_PPO_L, SIZES
from fairgym.report import style

SYSTEMS = {
    "gap of true positive rates": BANK_LOANS,
    "largest deviation of units": ATTENTION,
    "gap of vaccines per new infection": EPIDEMIC,
}
LEARNERS = (F_PPO, F_PPO_L)
MEASURE = "short_term"


@ex.experiments.register("fppo-fig2")
class FppoFig2(ex.Experiment):
    """F-PPO and its half without massaging; the lengths of training are those of each system."""

    title = "Short-term fairness in training, with action massaging and without"
    source = "Striking a Balance in Fairness, figure 2"
    claim = (
        '"the effectiveness of the action massaging in maintaining short-term fairness throughout'
        " both the training and evaluation processes, while the long-term fairness component alone"
        ' cannot guarantee short-term fairness"'
    )
    sizes: ClassVar = SIZES

    def grid(self, size: ex.Size) -> dict[str, Any]:
        """Both learners in each system, as figures 1, 3 and 4 train F-PPO."""
        return {
            f"{system.name}: {label}": system.config(label, size)
            for system in SYSTEMS.values()
            for label in LEARNERS
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> Any:
        """Words for the measure -> learner -> its mean over the steps of an epoch, by seed.

        "round" is the number of rounds of an epoch, of each of which the paper shows a point.
        """
        data = {}
        for words, system in SYSTEMS.items():
            several = {label: runs[f"{system.name}: {label}"] for label in LEARNERS}
            one = several[F_PPO][0].job
            data[words] = {
                "rounds": one.algorithm.rounds(one.env),
                "massaged_from": one.algorithm.threshold_start,
                "curves": {
                    label: np.array([ex.logged(run, MEASURE) for run in own])
                    for label, own in several.items()
                },
            }
        return data

    def conclude(self, data: Any) -> ex.Outcome:
        """Less unfairness with massaging: over all of training since it begins, and at its end."""
        checks, rows = [], []
        for words, found in data.items():
            begins = math.ceil(found["massaged_from"] / found["rounds"])  # the first whole epoch
            spans = {
                "since massaging begins": slice(begins, None),
                "in the last tenth": slice(-max(1, found["curves"][F_PPO].shape[1] // 10), None),
            }
            means = {
                label: {when: own[:, span].mean(axis=1) for when, span in spans.items()}
                for label, own in found["curves"].items()
            }
            checks += [
                ex.Check.higher(
                    f"{words}: lower with {F_PPO} than with {F_PPO_L} {when} (by)",
                    means[F_PPO_L][when],
                    means[F_PPO][when],
                )
                for when in spans
            ]
            rows += [
                [words, label, *(ex.iqm_text(values) for values in own.values())]
                for label, own in means.items()
            ]
        return ex.Outcome(
            figures={"": _plot(data)},
            caption=f"{CAPTION} Each point is the mean over the steps of an epoch of training, with"
            " exploration. The vertical line is where massaging begins.",
            tables=[
                ex.Table(
                    ["measure", "learner", "since massaging begins", "last tenth"],
                    rows,
                    "Means over the steps of training; interquartile mean over seeds (95%"
                    " interval).",
                )
            ],
            checks=checks,
        )


@style.styled
def _plot(data: Any) -> Figure:
    figure, axes = style.panels(len(data), len(data), 3.0, legend_rows=1)
    for axis, (words, found) in zip(axes, data.items(), strict=True):
        for index, (label, own) in enumerate(found["curves"].items()):
            x = found["rounds"] * np.arange(1, own.shape[1] + 1)
            curve(axis, x, own, index, label)
        axis.axvline(found["massaged_from"], color=style.BASELINE_COLOUR, lw=0.8, ls=":")
        axis.set_xlabel("training iteration")
        style.set_ylabel(axis, words)
    curve_legend(figure, LEARNERS)
    return figure
