"""Options of F-MACEM that the paper gives or leaves out without a comparison."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fairgym import experiments as ex
from fairgym.config import RunConfig
from fairgym.experiments._measurements import dot
from fairgym.report import style
from fairgym.report.labels import title

ENVIRONMENTS = ("loan", "health", "education")
# Words -> hyperparameters of F-MACEM that differ; the first ones are the published numbers.
PUBLISHED = "as published"
OPTIONS: dict[str, dict[str, Any]] = {
    PUBLISHED: {},
    "elite share 0.1": {"elite_share": 0.1},
    "elite share 0.4": {"elite_share": 0.4},
    "8 hidden units": {"hidden": 8},
    "64 hidden units": {"hidden": 64},
    "networks see the mean person": {"pooled": True},
    "the same people for all candidates": {"common_random_numbers": True},
    "noise floor 0.1": {"noise_floor": 0.1},
}
SCORE, FAIR, LUCK, SURVIVED = "objective", "fairness", "fairness by luck alone", "survived"
LITTLE = 0.1  # of the objective


@ex.experiments.register("mafe-ablations")
class MafeAblations(ex.TrainingExperiment):
    """F-MACEM with one option changed at a time, all terms weighed alike."""

    title = "Options of F-MACEM"
    source = "beyond MAFE, algorithm 1, table 8 and appendix J"
    claim = (
        'the best fifth of the candidates is the elite, and networks are "shallow, consisting of'
        ' only two layers each"; no other choice is compared, so that what is learned should not'
        " depend much on these"
    )

    def grid(self, size: ex.Size) -> dict[str, RunConfig]:
        """Every option in three environments."""
        return {
            f"{name}/{words}": ex.run_config(name, size, algorithm_args=size.training() | changes)
            for name in ENVIRONMENTS
            for words, changes in OPTIONS.items()
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> Any:
        """Environment -> option -> column -> (seeds,); of luck alone (seeds, permutations)."""
        assert size.held_out is not None
        data: dict[str, Any] = {name: {} for name in ENVIRONMENTS}
        for key, several in runs.items():
            name, _, words = key.partition("/")
            env, objective = several[0].env, several[0].objective
            ends = [ex.held_out_run(run, size.held_out, ex.PERMUTATIONS) for run in several]
            data[name][words] = {
                SCORE: np.array([ex.score(end, objective) for end in ends]),
                FAIR: np.array([ex.score(end, ex.category(env, "fair")) for end in ends]),
                LUCK: np.array([ex.by_luck(end, env) for end in ends]),
                SURVIVED: np.array([1.0 - np.mean(end.terminated) for end in ends]),
            }
        return data

    def conclude(self, data: Any) -> ex.Outcome:
        """No option changes the objective by a tenth."""
        checks, rows = [], []
        for name, found in data.items():
            usual = found[PUBLISHED][SCORE]
            limit = LITTLE * float(np.mean(np.abs(usual)))
            for words, one in found.items():
                texts = (ex.iqm_text(one[SCORE]), ex.iqm_text(one[FAIR]), ex.luck_text(one[LUCK]))
                rows.append([name, words, *texts, ex.iqm_text(one[SURVIVED])])
                if words != PUBLISHED:
                    statement = f"{name}, {words}: the objective changes by less than a tenth"
                    checks.append(ex.Check.between(statement, one[SCORE] - usual, -limit, limit))
        caption = (
            "The objective with all terms, the sum of its normalised disparities, and the share of"
            " episodes that do not fail, in held-out episodes; interquartile mean over seeds (95%"
            f" interval). {ex.LUCK}"
        )
        return ex.Outcome(
            figures={"": _plot(data)},
            caption="Faint dots are seeds, dark ones interquartile means over seeds with"
            " stratified bootstrap 95% intervals.",
            tables=[
                ex.Table(["environment", "option", SCORE, FAIR, LUCK, SURVIVED], rows, caption)
            ],
            checks=checks,
        )


@style.styled
def _plot(data: Mapping[str, Any]) -> Figure:
    figure, axes = style.panels(len(data), len(data), 3.4)
    for panel, (name, found) in zip(axes, data.items(), strict=True):
        for place, one in enumerate(found.values()):
            colour = style.BASELINE_COLOUR if place == 0 else style.POLICY_COLOURS[0]
            dot(panel, place, one[SCORE], colour)
        panel.set_xticks(range(len(found)), list(found), rotation=35, ha="right")
        style.set_title(panel, title(name))
    axes[0].set_ylabel("objective in held-out episodes")
    return figure
