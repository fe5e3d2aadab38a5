"""F-MACEM and two gradient learners on the loan system and its simplified form."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from fairgym import experiments as ex
from fairgym.algorithms import log_keys
from fairgym.config import RunConfig
from fairgym.experiments._measurements import CAPTION, curve, curve_legend
from fairgym.report import style

FULL, SIMPLE = "loan", "loan_simple"
# Name -> how it is written.
ALGORITHMS = {"f-macem": "F-MACEM", "f-mappo": "F-MAPPO", "f-maddpg": "F-MADDPG"}
OBJECTIVE = "half-direct"


@ex.experiments.register("mafe-fig11")
class MafeFig11(ex.Experiment):
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

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> Any:
        """Environment -> algorithm -> "steps" (epochs,), "curve" (seeds, epochs), scores.

        "start" and "final" are the scores of the untrained and of the trained policies in the same
        held-out episodes, (seeds,).
        """
        assert size.held_out is not None
        data: dict[str, Any] = {FULL: {}, SIMPLE: {}}
        for key, several in runs.items():
            name, _, algorithm = key.partition("/")
            starts = [ex.untrained_run(run, size.held_out) for run in several]
            ends = [ex.held_out_run(run, size.held_out) for run in several]
            curves = np.array([ex.logged(run, log_keys.OBJECTIVE) for run in several])
            episodes = several[0].config.algorithm_args["episodes_per_epoch"]
            per_epoch = episodes * several[0].env.horizon
            data[name][algorithm] = {
                "steps": np.arange(1, curves.shape[1] + 1) * per_epoch,
                "curve": curves,
                "start": np.array([ex.score(start, several[0].objective) for start in starts]),
                "final": np.array([ex.score(end, several[0].objective) for end in ends]),
            }
        return data

    def conclude(self, data: Any) -> ex.Outcome:
        """F-MACEM ahead on the full system; progress of all on the simple one."""
        ours, *others = ALGORITHMS
        checks = [
            ex.Check.higher(
                f"loan: {ALGORITHMS[ours]} scores above {ALGORITHMS[other]} (by)",
                data[FULL][ours]["final"],
                data[FULL][other]["final"],
            )
            for other in others
        ]
        for algorithm, label in ALGORITHMS.items():
            found = data[SIMPLE][algorithm]
            statement = f"simplified loan: {label} improves on its untrained policy (by)"
            checks.append(ex.Check.higher(statement, found["final"], found["start"]))
        rows = [
            [
                name.replace("_", " "),
                ALGORITHMS[a],
                ex.iqm_text(d["start"]),
                ex.iqm_text(d["final"]),
            ]
            for name, algorithms in data.items()
            for a, d in algorithms.items()
        ]
        caption = (
            "Objective in held-out episodes, the same for all within a seed; interquartile mean"
            " over seeds (95% interval)."
        )
        return ex.Outcome(
            figures={"": _plot(data)},
            caption=CAPTION,
            tables=[ex.Table(["environment", "algorithm", "untrained", "trained"], rows, caption)],
            checks=checks,
        )


@style.styled
def _plot(data: Any) -> Figure:
    figure, axes = style.panels(len(data), 2, 3.0, legend_rows=1)
    for panel, (name, algorithms) in zip(axes, data.items(), strict=True):
        for index, (algorithm, label) in enumerate(ALGORITHMS.items()):
            found = algorithms[algorithm]
            curve(panel, found["steps"], found["curve"], index, label)
        style.set_title(panel, "Loan" if name == FULL else "Simplified loan")
        panel.set_xlabel("environment steps")
    axes[0].set_ylabel("objective of the learned policy ↑")
    curve_legend(figure, ALGORITHMS.values())
    return figure
