"""Gaps under learned policies, divided into decisions, starts and dynamics."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import PyTree

from fairgym.experiments import _parts as ex
from fairgym.results.labels import title, words
from fairgym.training.building import Scenario
from fairgym.training.decomposition import DECISION, DYNAMICS, REST, START, decompose

# Environment -> indices of the two groups, and rates that are compared.
RATES: dict[str, tuple[tuple[int, int], tuple[str, ...]]] = {
    "loan": (
        (0, 1),
        ("admission_disparity", "served_disparity", "queue_disparity", "default_disparity"),
    ),
    "health": ((0, 2), ("insured_disparity", "incidence_disparity", "mortality_disparity")),
    "education": (
        (0, 1),
        ("admission_disparity", "bachelor_disparity", "graduation_disparity"),
    ),
}
GAP, INTERACTIONS = "gap", "interactions"
SINGLE = (DECISION, START, DYNAMICS, REST)


def parts_of_gaps(name: str, runs: Sequence[ex.Run], episodes: int) -> dict[str, ex.Columns]:
    """Return the gap of each rate and its parts, means over episodes, one number per seed.

    Args:
        name: Name of the environment.
        runs: Runs of the learned policies, one per seed.
        episodes: Number of episodes of each of six kinds (`decompose`).

    Returns:
        Name of the metric -> "gap", "decision", "start", "dynamics", "neither" and "interactions",
        the sum of the other four parts; each (seeds,).
    """
    found = {}
    pair, rates = RATES[name]
    for metric in rates:
        each = []
        for run in runs:
            built = Scenario("learned").build(run)
            parts = decompose(built, metric, episodes=episodes, seed=run.config.seed, pair=pair)
            means = {part.name: part.mean for part in parts.parts}
            more = sum(value for part, value in means.items() if part not in SINGLE)
            own = {GAP: parts.gap.mean, **{part: means[part] for part in SINGLE}}
            each.append({**own, INTERACTIONS: more})
        found[metric] = {part: np.array([one[part] for one in each]) for part in each[0]}
    return found


def parts_table(name: str, one: Mapping[str, PyTree]) -> ex.Table:
    """Return a table with a rate per row.

    Args:
        name: Name of the environment.
        one: "groups", their names, and "parts", what `parts_of_gaps` returns.
    """
    pair, _ = RATES[name]
    first, second = (words(one["groups"][group]) for group in pair)
    found = one["parts"]
    rows = [
        [words(metric), *(ex.mean_text(values) for values in parts.values())]
        for metric, parts in found.items()
    ]
    return ex.Table(
        ["rate", *next(iter(found.values()))],
        rows,
        f"**{title(name)}**, parts of the gap ({first} minus {second}) under the learned policies"
        " that observe groups: what decisions that are blind to the group change, what exchanged"
        " starting attributes change, what then still goes with the group, and their interactions;"
        " “neither” is there without any of them. Paired episodes (`fairgym simulate"
        " --decompose`); mean over seeds [95% CI]. The parts sum to the gap.",
    )
