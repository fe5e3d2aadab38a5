"""Variants of F-PPO: scaled or unscaled terms, and windowed or true measures."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

from jaxtyping import PyTree
from matplotlib.figure import Figure

from fairgym.experiments import _parts as ex
from fairgym.experiments.fppo._courses import (
    LONG,
    REWARD,
    SHORT,
    CourseFigure,
    Courses,
    acting,
    drawn,
    massaged,
)
from fairgym.experiments.fppo._systems import F_PPO, F_PPO_S, PPO, SIZES
from fairgym.experiments.fppo.fig1 import FppoFig1
from fairgym.experiments.fppo.fig3 import FppoFig3
from fairgym.experiments.fppo.fig4 import FppoFig4

FIGURES: dict[str, type[CourseFigure]] = {
    "bank loans": FppoFig1,
    "attention": FppoFig3,
    "epidemic": FppoFig4,
}
UNSCALED, TRUTH = {"scale": "none"}, {"long_term": "long_term"}
# Label -> hyperparameters that differ from those of the figures.
VARIANTS: dict[str, dict[str, Any]] = {
    "window, scaled": {},
    "window, unscaled": UNSCALED,
    "truth, scaled": TRUTH,
    "truth, unscaled": UNSCALED | TRUTH,
}


COLUMNS = (SHORT, LONG, REWARD)
LABELS = (PPO, F_PPO_S, *VARIANTS)


@ex.experiments.register("fppo-variants")
class FppoVariants(ex.Experiment):
    """Four variants of advantage regularisation, compared with none (F-PPO-S) and PPO."""

    title = "F-PPO equations 4 and 7: variants of advantage regularisation"
    source = "Striking a Balance in Fairness, equations 4 and 7"
    claim = (
        'the advantage is penalised "when the long-term fairness measure does not decrease" and'
        ' rewarded "when the long-term fairness measure reduces", so that "F-PPO achieves the best'
        ' performance in terms of long-term fairness"; the scale of this term relative to the'
        " advantage is left open, and measures are estimated from a window of steps"
    )
    sizes: ClassVar = SIZES

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return PPO, F-PPO-S and four variants of F-PPO; figures 1, 3 and 4 share runs."""
        return {
            f"{name}: {label}": figure.system.config(algorithm, size, **more)
            for name, figure in FIGURES.items()
            for label, algorithm, more in (
                (PPO, PPO, {}),
                (F_PPO_S, F_PPO_S, {}),
                *((words, F_PPO, more) for words, more in VARIANTS.items()),
            )
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return environment -> "panels", and "courses" like those of figures 1, 3 and 4."""
        data: dict[str, PyTree] = {}
        for name, kind in FIGURES.items():
            figure = kind()
            env, episodes = figure.evaluated_in(), figure.system.at(size).held_out
            assert episodes is not None
            sample, courses = figure.discrete(env), {}
            for label in LABELS:
                several = runs[f"{name}: {label}"]
                policies = (
                    {run.config.seed: (env, acting(run, env, sample)) for run in several}
                    if label == PPO
                    else massaged(env, several, sample)
                )
                courses[label] = figure.courses(policies, episodes)
            panels = {panel.label: panel.what for panel in figure.panels(env)}
            data[name] = {"courses": courses, "panels": panels}
        return data

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Check whether each variant is fairer in the long term than without regularisation.

        F-PPO-S is massaged like the variants, so only the regularisation differs.
        """
        checks, rows = [], {}
        for name, own in data.items():
            found = Courses.of(own)
            for words in VARIANTS:
                for check in found.lower(LONG, words, (F_PPO_S, PPO)):
                    statement = f"{name}, {check.statement}"
                    checks.append(dataclasses.replace(check, statement=statement))
            rows |= {
                (name, label): {what: found.mean(label, what) for what in COLUMNS}
                for label in found.courses
            }
        return ex.Outcome(
            figures={"": _plot(data)},
            caption=f"{ex.CAPTION} All learners except PPO use massaging in evaluation.",
            tables=[
                ex.columns_table(
                    ["environment", "variant", *COLUMNS],
                    rows,
                    "Means over the steps of an evaluation episode; interquartile mean over seeds"
                    " [95% CI]. The reward of bank loans is the bank's cash.",
                )
            ],
            checks=checks,
        )


def _plot(data: PyTree) -> Figure:
    """Plot long-term unfairness above and short-term below, one column per environment."""
    found = {name: Courses.of(own) for name, own in data.items()}
    panels = [
        ex.Curves(
            {label: drawn(one[own.names[what]]) for label, one in own.courses.items()},
            f"step, {name}",
            own.names[what],
        )
        for what in (LONG, SHORT)
        for name, own in found.items()
    ]
    return ex.curves_figure(panels, len(data), 2.6)
