"""Short-term unfairness in training, with and without action massaging."""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import PyTree
from matplotlib.figure import Figure

from fairgym.algorithms.f_ppo import FPpo
from fairgym.experiments import _parts as ex
from fairgym.experiments.fppo._claims import CRITERION
from fairgym.experiments.fppo._systems import ATTENTION, BANK_LOANS, EPIDEMIC, F_PPO, F_PPO_L, SIZES
from fairgym.report import style

SYSTEMS = {
    "gap of true positive rates": BANK_LOANS,
    "largest deviation of units": ATTENTION,
    "gap of vaccines per new infection": EPIDEMIC,
}
LEARNERS = (F_PPO, F_PPO_L)
MEASURE = "short_term"  # log key; the standard deviation over the steps of an epoch has "_std"


@ex.experiments.register("fppo-fig2")
class FppoFig2(ex.Experiment):
    """F-PPO with and without massaging, with the training length of each environment."""

    title = "F-PPO figure 2: short-term fairness with and without action massaging"
    source = "Striking a Balance in Fairness, figure 2"
    claim = (
        'in training, "the effectiveness of the action massaging in maintaining short-term fairness'
        " throughout [...], while the long-term fairness component alone cannot guarantee"
        ' short-term fairness"'
    )
    sizes: ClassVar = SIZES
    criterion: ClassVar[str] = CRITERION

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return both learners in each environment, with F-PPO as in figures 1, 3 and 4."""
        return {
            f"{system.name}: {label}": system.config(label, size)
            for system in SYSTEMS.values()
            for label in LEARNERS
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return label of the measure -> logged numbers.

        "curves" and "spreads" hold, by learner, its mean and standard deviation over the steps of
        each epoch, (seeds, epochs). "rounds" is the number of rounds per epoch (the paper plots
        each round), and "massaged_from" is the first round with massaging.
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
        """Check for less unfairness with massaging, from its start on and at the end."""
        checks, ends, orders = [], {}, []
        for words, found in data.items():
            begins = math.ceil(found["massaged_from"] / found["rounds"])  # first whole epoch
            spans = {
                "since massaging began": slice(begins, None),
                "in the last tenth": slice(-max(1, found["curves"][F_PPO].shape[1] // 10), None),
            }
            means = {
                label: {when: own[:, span].mean(axis=1) for when, span in spans.items()}
                for label, own in found["curves"].items()
            }
            checks += [
                ex.Check.greater(
                    f"{words}: lower with {F_PPO} than with {F_PPO_L} {when}",
                    means[F_PPO_L][when],
                    means[F_PPO][when],
                    names=(F_PPO_L, F_PPO),
                )
                for when in spans
            ]
            orders.append([words, f"{F_PPO} < {F_PPO_L}", *(_below(means, when) for when in spans)])
            last = spans["in the last tenth"]
            ends |= {
                (words, label): own | {"deviation": found["spreads"][label][:, last].mean(axis=1)}
                for label, own in means.items()
            }
        return ex.Outcome(
            figures={"": _plot(data)},
            caption=f"{ex.CAPTION} Top: mean over the steps of a training epoch, with exploration."
            " Bottom: standard deviation. The vertical line marks the start of massaging.",
            tables=[
                ex.columns_table(
                    [
                        "measure",
                        "learner",
                        "since massaging began",
                        "last tenth",
                        "standard deviation",
                    ],
                    ends,
                    "Means over the steps of training, and standard deviation in the last tenth;"
                    " interquartile mean over seeds [95% CI].",
                ),
                ex.Table(
                    ["measure", "published order", "since massaging began", "last tenth"],
                    orders,
                    "Published orders in training, and in how many seeds they occur.",
                ),
            ],
            checks=checks,
        )


def _below(means: Mapping[str, Mapping[str, np.ndarray]], when: str) -> str:
    """Return the number of seeds with F-PPO below F-PPO-L."""
    below = means[F_PPO][when] < means[F_PPO_L][when]
    return f"{below.sum()} of {below.size} seeds"


def _plot(data: PyTree) -> Figure:
    """Plot means above and standard deviations below, with a line at the start of massaging."""
    shown = [(words, name) for name in ("curves", "spreads") for words in data]
    panels = [
        ex.Curves(
            {
                label: (data[words]["rounds"] * np.arange(1, own.shape[1] + 1), own)
                for label, own in data[words][name].items()
            },
            "training iteration",
            words if name == "curves" else f"{words}, SD",
        )
        for words, name in shown
    ]
    figure = ex.curves_figure(panels, len(data), 2.6)
    for axis, (words, _) in zip(figure.axes, shown, strict=True):
        begins = data[words]["massaged_from"]
        axis.axvline(begins, color=style.BASELINE_COLOUR, lw=0.8, ls=":")
    return figure
