"""Options of F-MACEM that the paper gives or leaves out without a comparison."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairgym.experiments import _parts as ex
from fairgym.report import style
from fairgym.results.labels import title

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
class MafeAblations(ex.ComparisonFigure):
    """F-MACEM with one option changed at a time, all terms weighed alike."""

    title = "Options of F-MACEM"
    source = "beyond MAFE, algorithm 1, table 8 and appendix J"
    claim = (
        'the best fifth of the candidates is the elite, and networks are "shallow, consisting of'
        ' only two layers each"; no other choice is compared, so that what is learned should not'
        " depend much on these"
    )
    caption = (
        "Faint dots are seeds, dark ones interquartile means over seeds with stratified bootstrap"
        " 95% intervals."
    )
    rotation = 35

    def grid(self, size: ex.Size) -> ex.Grid:
        """Every option in three environments."""
        return {
            f"{name}/{words}": ex.run_config(name, size, algorithm_args=size.training() | changes)
            for name in ENVIRONMENTS
            for words, changes in OPTIONS.items()
        }

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> ex.Columns:
        """Objective and fairness, this also by luck alone, and survival."""
        env, objective = runs[0].env, runs[0].objective
        return {
            SCORE: ex.score(ends, objective),
            FAIR: ex.score(ends, ex.category(env, "fair")),
            LUCK: ex.by_luck(ends, env),
            SURVIVED: ex.survival(ends),
        }

    def checks(self, data: ex.Compared) -> list[ex.Check]:
        """No option changes the objective by a tenth."""
        checks = []
        for name, found in data.items():
            usual = found[PUBLISHED][SCORE]
            limit = LITTLE * float(np.mean(np.abs(usual)))
            for words, one in found.items():
                if words != PUBLISHED:
                    statement = f"{name}, {words}: the objective changes by less than a tenth"
                    checks.append(ex.Check.between(statement, one[SCORE] - usual, -limit, limit))
        return checks

    def tables(self, data: ex.Compared) -> list[ex.Table]:
        """All environments in one."""
        caption = (
            "The objective with all terms, the sum of its normalised disparities, and the share of"
            " episodes that do not fail, in held-out episodes; interquartile mean over seeds (95%"
            f" interval). {ex.LUCK}"
        )
        head = ["environment", "option", SCORE, FAIR, LUCK, SURVIVED]
        return [ex.columns_table(head, ex.by_place(data), caption)]

    def panels(self, data: ex.Compared) -> list[ex.Panel]:
        """The objective in every environment."""
        found = [ex.Panel(found, [SCORE], title(name)) for name, found in data.items()]
        return [found[0]._replace(ylabel="objective in held-out episodes"), *found[1:]]

    def colour(self, label: str, index: int) -> str:
        """The published numbers stand out."""
        return style.BASELINE_COLOUR if label == PUBLISHED else style.POLICY_COLOURS[0]
