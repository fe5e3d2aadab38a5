"""Options of F-MACEM that the paper does not compare."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairgym.experiments import _parts as ex
from fairgym.report import style
from fairgym.results.labels import title

ENVIRONMENTS = ("loan", "health", "education")
# Label -> hyperparameters of F-MACEM that differ; the first entry is the published setting.
PUBLISHED = "as published"
OPTIONS: dict[str, dict[str, Any]] = {
    PUBLISHED: {},
    "elite share 0.1": {"elite_share": 0.1},
    "elite share 0.4": {"elite_share": 0.4},
    "8 hidden units": {"hidden": 8},
    "64 hidden units": {"hidden": 64},
    "networks also observe the mean person": {"pooled": True},
    "the same people for all candidates": {"common_random_numbers": True},
    "noise floor 0.1": {"noise_floor": 0.1},
}
SCORE, FAIR, SURVIVED = "objective", "fairness", "survived"
NULL = FAIR + ex.NULL_MEAN
LITTLE = 0.1  # share of the objective


@ex.experiments.register("mafe-ablations")
class MafeAblations(ex.ComparisonFigure):
    """F-MACEM with one option changed at a time, with all terms weighted equally."""

    title = "Beyond MAFE: options of F-MACEM"
    source = "beyond MAFE, algorithm 1, table 8 and appendix J"
    claim = (
        'the elite is the best fifth of the candidates, and networks are "shallow, consisting of'
        ' only two layers each"; the paper compares no other choice, so the results should not'
        " depend much on these"
    )
    caption = (
        "Faint dots are seeds; dark dots are interquartile means over seeds with stratified"
        " bootstrap 95% intervals."
    )
    rotation = 35
    sizes = ex.STUDIES

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return every option in three environments."""
        return {
            f"{name}/{words}": ex.run_config(name, size, algorithm_args=size.training() | changes)
            for name in ENVIRONMENTS
            for words, changes in OPTIONS.items()
        }

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> ex.Columns:
        """Return objective, fairness with its null distribution, and survival."""
        env, objective = runs[0].env, runs[0].objective
        return {
            SCORE: ex.score(ends, objective),
            FAIR: ex.score(ends, ex.category(env, "fair")),
            NULL: ex.null_sums(ends, env),
            SURVIVED: ex.survival(ends),
        }

    def checks(self, data: ex.Compared) -> list[ex.Check]:
        """Check that no option changes the objective by a tenth."""
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
        """Return one table of all environments."""
        caption = (
            "Objective with all terms, sum of its normalised disparities (fairness), and share of"
            " episodes that do not fail, in held-out episodes; interquartile mean over seeds [95%"
            f" CI]. {ex.NULL_NOTE}"
        )
        head = ["environment", "option", SCORE, FAIR, NULL, SURVIVED]
        return [ex.columns_table(head, ex.by_place(data), caption)]

    def panels(self, data: ex.Compared) -> list[ex.Panel]:
        """Return the objective in every environment."""
        found = [ex.Panel(found, [SCORE], title(name)) for name, found in data.items()]
        return [found[0]._replace(ylabel="objective in held-out episodes"), *found[1:]]

    def colour(self, label: str, index: int) -> str:
        """Return a different colour for the published settings."""
        return style.BASELINE_COLOUR if label == PUBLISHED else style.POLICY_COLOURS[0]
