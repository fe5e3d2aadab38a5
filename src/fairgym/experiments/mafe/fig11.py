"""F-MACEM and two gradient learners on the loan system and its simplified form."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from matplotlib.figure import Figure

from fairgym.algorithms import log_keys
from fairgym.config import RunConfig
from fairgym.experiments import _parts as ex
from fairgym.experiments._comparison import At, Claim, Columns, Compared, ComparisonFigure
from fairgym.experiments._measurements import CAPTION, curve, curve_legend
from fairgym.report import style
from fairgym.training.evaluation import Evaluation
from fairgym.training.run import Run

FULL, SIMPLE = "loan", "loan_simple"
# Name -> how it is written.
ALGORITHMS = {"f-macem": "F-MACEM", "f-mappo": "F-MAPPO", "f-maddpg": "F-MADDPG"}
OURS, *OTHERS = ALGORITHMS
OBJECTIVE = "half-direct"
STEPS, CURVE, START, FINAL = "steps", "curve", "start", "final"


@ex.experiments.register("mafe-fig11")
class MafeFig11(ComparisonFigure):
    """Three algorithms, two environments, equally many environment steps."""

    title = "F-MACEM beside F-MAPPO and F-MADDPG"
    source = "MAFE, figure 11 and appendix D.6"
    claim = (
        'on the full loan system "F-MACEM achieves significantly better performance on the'
        ' fairness-reward objective compared to F-MAPPO and F-MADDPG"; on the simplified one "each'
        ' algorithm exhibits steady learning progress"'
    )
    sizes: ClassVar = {
        "paper": ex.PAPER,
        "quick": dataclasses.replace(ex.QUICK, people=300, epochs=10, episodes=15),
    }
    permutations = 0
    caption = CAPTION
    claims = (
        *(
            Claim(
                f"loan: {ALGORITHMS[OURS]} scores above {ALGORITHMS[other]} (by)",
                At(OURS, FINAL, FULL),
                At(other, FINAL, FULL),
            )
            for other in OTHERS
        ),
        *(
            Claim(
                f"simplified loan: {label} improves on its untrained policy (by)",
                At(algorithm, FINAL, SIMPLE),
                At(algorithm, START, SIMPLE),
            )
            for algorithm, label in ALGORITHMS.items()
        ),
    )

    def grid(self, size: ex.Size) -> dict[str, RunConfig]:
        """Three algorithms on two environments."""
        assert size.episodes is not None
        episodes = min(3 * size.episodes, 100)
        simple = dataclasses.replace(size, people=None, episodes=episodes)
        return {
            f"{name}/{algorithm}": ex.run_config(name, one, OBJECTIVE, algorithm=algorithm)
            for name, one in ((FULL, size), (SIMPLE, simple))
            for algorithm in ALGORITHMS
        }

    def numbers(self, place: str, runs: Sequence[Run], ends: Sequence[Evaluation]) -> Columns:
        """Learning curves, and scores before and after training in the same held-out episodes."""
        starts = [ex.untrained_run(run, ends[0].episodes) for run in runs]
        curves = np.array([ex.logged(run, log_keys.OBJECTIVE) for run in runs])
        per_epoch = runs[0].config.algorithm_args["episodes_per_epoch"]
        assert isinstance(per_epoch, int)
        return {
            STEPS: np.arange(1, curves.shape[1] + 1) * per_epoch * runs[0].env.horizon,
            CURVE: curves,
            START: np.array([ex.score(start, runs[0].objective) for start in starts]),
            FINAL: np.array([ex.score(end, runs[0].objective) for end in ends]),
        }

    def tables(self, data: Compared) -> list[ex.Table]:
        """Both systems in one."""
        rows = [
            [name.replace("_", " "), ALGORITHMS[a], ex.iqm_text(d[START]), ex.iqm_text(d[FINAL])]
            for name, algorithms in data.items()
            for a, d in algorithms.items()
        ]
        caption = (
            "Objective in held-out episodes, the same for all within a seed; interquartile mean"
            " over seeds (95% interval)."
        )
        return [ex.Table(["environment", "algorithm", "untrained", "trained"], rows, caption)]

    def figures(self, data: Compared) -> dict[str, Figure]:
        """Learning curves."""
        return {"": _plot(data)}


@style.styled
def _plot(data: Compared) -> Figure:
    figure, axes = style.panels(len(data), 2, 3.0, legend_rows=1)
    for panel, (name, algorithms) in zip(axes, data.items(), strict=True):
        for index, (algorithm, label) in enumerate(ALGORITHMS.items()):
            found = algorithms[algorithm]
            curve(panel, found[STEPS], found[CURVE], index, label)
        style.set_title(panel, "Loan" if name == FULL else "Simplified loan")
        panel.set_xlabel("environment steps")
    axes[0].set_ylabel("objective of the learned policy ↑")
    curve_legend(figure, ALGORITHMS.values())
    return figure
