"""Short-term unfairness in training, with action massaging and without, in three systems."""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import PyTree
from matplotlib.figure import Figure

from fairgym.algorithms.f_ppo import FPpo
from fairgym.experiments import _parts as ex
from fairgym.experiments.fppo._systems import ATTENTION, BANK_LOANS, EPIDEMIC, F_PPO, F_PPO_L, SIZES
from fairgym.report import style

SYSTEMS = {
    "gap of true positive rates": BANK_LOANS,
    "largest deviation of units": ATTENTION,
    "gap of vaccines per new infection": EPIDEMIC,
}
LEARNERS = (F_PPO, F_PPO_L)
MEASURE = "short_term"  # in the log, with its standard deviation over the steps of an epoch


@ex.experiments.register("fppo-fig2")
class FppoFig2(ex.Experiment):
    """F-PPO and its half without massaging; the lengths of training are those of each system."""

    title = "Short-term fairness in training, with action massaging and without"
    source = "Striking a Balance in Fairness, figure 2"
    claim = (
        'in training, "the effectiveness of the action massaging in maintaining short-term fairness'
        " throughout [...], while the long-term fairness component alone cannot guarantee"
        ' short-term fairness"'
    )
    sizes: ClassVar = SIZES

    def grid(self, size: ex.Size) -> ex.Grid:
        """Both learners in each system, as figures 1, 3 and 4 train F-PPO."""
        return {
            f"{system.name}: {label}": system.config(label, size)
            for system in SYSTEMS.values()
            for label in LEARNERS
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Words for the measure -> what is logged of it.

        "curves" and "spreads" hold, by learner, its mean and standard deviation over the steps of
        each epoch, (seeds, epochs); "rounds" is the number of rounds of an epoch, of each of which
        the paper shows a point, and "massaged_from" that of the first one with massaging.
        """
        data = {}
        for words, system in SYSTEMS.items():
            several = {label: runs[f"{system.name}: {label}"] for label in LEARNERS}
            one = several[F_PPO][0].job
            assert isinstance(one.algorithm, FPpo)
            data[words] = {
                "rounds": one.algorithm.rounds(one.env),
                "massaged_from": one.algorithm.threshold_start,
                **{
                    name: {label: ex.logged_curves(own, key) for label, own in several.items()}
                    for name, key in (("curves", MEASURE), ("spreads", f"{MEASURE}_std"))
                },
            }
        return data

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Less unfairness with massaging: over all of training since it begins, and at its end."""
        checks, ends = [], {}
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
            last = spans["in the last tenth"]
            ends |= {
                (words, label): own | {"deviation": found["spreads"][label][:, last].mean(axis=1)}
                for label, own in means.items()
            }
        return ex.Outcome(
            figures={"": _plot(data)},
            caption=f"{ex.CAPTION} Each point is the mean over the steps of an epoch of training,"
            " with exploration; below, their standard deviation. The vertical line is where"
            " massaging begins.",
            tables=[
                ex.columns_table(
                    ["measure", "learner", "since massaging begins", "last tenth", "deviation"],
                    ends,
                    "Means over the steps of training, and their standard deviation in the last"
                    " tenth; interquartile mean over seeds (95% interval).",
                )
            ],
            checks=checks,
        )


def _plot(data: PyTree) -> Figure:
    """Means above, deviations below; a vertical line where massaging begins."""
    shown = [(words, name) for name in ("curves", "spreads") for words in data]
    panels = [
        ex.Curves(
            {
                label: (data[words]["rounds"] * np.arange(1, own.shape[1] + 1), own)
                for label, own in data[words][name].items()
            },
            "training iteration",
            words if name == "curves" else f"{words}, deviation",
        )
        for words, name in shown
    ]
    figure = ex.curves_figure(panels, len(data), 2.6)
    for axis, (words, _) in zip(figure.axes, shown, strict=True):
        begins = data[words]["massaged_from"]
        axis.axvline(begins, color=style.BASELINE_COLOUR, lw=0.8, ls=":")
    return figure
