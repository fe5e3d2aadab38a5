"""F-MACEM and two gradient learners on the loan environment and its simplified form."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from matplotlib.figure import Figure

from fairgym.algorithms import log_keys
from fairgym.experiments import _parts as ex
from fairgym.experiments.mafe._tuned import SIZE, WORDS, settings_table, tuned

FULL, SIMPLE = "loan", "loan_simple"
# Name -> label.
ALGORITHMS = {"f-macem": "F-MACEM", "f-mappo": "F-MAPPO", "f-maddpg": "F-MADDPG"}
OURS, *OTHERS = ALGORITHMS
OBJECTIVE = "half-direct"
STEPS, CURVE, START, FINAL = "steps", "curve", "start", "final"


@ex.experiments.register("mafe-fig11")
class MafeFig11(ex.ComparisonFigure):
    """Three algorithms in two environments, with equally many environment steps."""

    title = "MAFE figure 11: F-MACEM, F-MAPPO and F-MADDPG"
    source = "MAFE, figure 11 and appendix D.6"
    claim = (
        'on the full loan system "F-MACEM achieves significantly better performance on the'
        ' fairness-reward objective compared to F-MAPPO and F-MADDPG"; on the simplified one "each'
        ' algorithm exhibits steady learning progress"'
    )
    sizes: ClassVar = {
        "paper": SIZE,
        "quick": dataclasses.replace(ex.QUICK, people=300, epochs=10, episodes=15),
    }
    permutations = 0
    caption = f"{ex.CAPTION} {WORDS} The simplified form has the settings of loan."
    claims = (
        *(
            ex.Claim(
                f"loan: {ALGORITHMS[OURS]} scores above {ALGORITHMS[other]}",
                *ex.pair(OURS, other, FINAL, FULL),
            )
            for other in OTHERS
        ),
        *(
            ex.Claim(
                f"simplified loan: {label} improves on its untrained policy",
                ex.At(algorithm, FINAL, SIMPLE),
                ex.At(algorithm, START, SIMPLE),
            )
            for algorithm, label in ALGORITHMS.items()
        ),
    )

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return three algorithms in two environments."""
        assert size.episodes is not None
        episodes = min(3 * size.episodes, 100)
        simple = dataclasses.replace(size, people=None, episodes=episodes)
        return {
            f"{name}/{algorithm}": ex.run_config(
                name,
                one,
                OBJECTIVE,
                algorithm=algorithm,
                algorithm_args=tuned(FULL, algorithm, one),
            )
            for name, one in ((FULL, size), (SIMPLE, simple))
            for algorithm in ALGORITHMS
        }

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> ex.Columns:
        """Return learning curves, and scores before and after training in held-out episodes."""
        starts = [ex.untrained_run(run, ends[0].episodes) for run in runs]
        curves = ex.logged_curves(runs, log_keys.OBJECTIVE)
        per_epoch = runs[0].config.algorithm_args["episodes_per_epoch"]
        assert isinstance(per_epoch, int)
        return {
            STEPS: np.arange(1, curves.shape[1] + 1) * per_epoch * runs[0].env.horizon,
            CURVE: curves,
            START: ex.score(starts, runs[0].objective),
            FINAL: ex.score(ends, runs[0].objective),
        }

    def tables(self, data: ex.Compared) -> list[ex.Table]:
        """Return one table of both environments."""
        found = {
            (name.replace("_", " "), ALGORITHMS[algorithm]): one
            for name, algorithms in data.items()
            for algorithm, one in algorithms.items()
        }
        caption = (
            "Objective in held-out episodes, the same episodes for all within a seed;"
            " interquartile mean over seeds [95% CI]."
        )
        head = ["environment", "algorithm", "untrained", "trained"]
        settings = settings_table({label: name for name, label in ALGORITHMS.items()}, [FULL])
        return [ex.columns_table(head, found, caption, [START, FINAL]), settings]

    def figures(self, data: ex.Compared) -> dict[str, Figure]:
        """Return the learning curves."""
        panels = [
            ex.Curves(
                {
                    label: (algorithms[name][STEPS], algorithms[name][CURVE])
                    for name, label in ALGORITHMS.items()
                },
                "environment steps",
                title="Loan" if place == FULL else "Simplified loan",
            )
            for place, algorithms in data.items()
        ]
        panels[0] = panels[0]._replace(ylabel="objective of the learned policy ↑")
        return {"": ex.curves_figure(panels, 2, 3.0)}
