"""Table of fairness schemes during an episode."""

from collections.abc import Sequence

import numpy as np

from fairgym.core import Environment
from fairgym.results.gap_tables import Columns
from fairgym.results.numbers import Estimate, interval
from fairgym.results.table import Table
from fairgym.statistics.intervals import mean_interval
from fairgym.training.courses import courses, few, status_vectors
from fairgym.training.evaluation import Evaluation

QUARTERS = 4  # of an episode, after which scores of schemes are shown


def scheme_table(env: Environment, columns: Columns) -> Table:
    """Scores of the schemes during the episode, and the status of each stakeholder."""
    rows: list[list[str]] = []
    evaluations = [one for (one,) in columns.values()]
    for heading, section in scheme_rows(env, evaluations).items():
        rows.append([heading])
        for label, values in section.items():
            rows.append([label, *(interval(Estimate(*mean_interval(value))) for value in values)])
    caption = (
        "mean [95% CI]; scores of schemes during the episode (the final ones are in the first"
        " table), then the status of each stakeholder that they score"
    )
    return Table(["", *columns], rows, caption, "Fairness over an episode")


def scheme_rows(
    env: Environment, evaluations: Sequence[Evaluation]
) -> dict[str, dict[str, list[np.ndarray]]]:
    """Return rows in sections: heading -> label -> for each policy one value per episode.

    A section per scheme has its score after each quarter of the episode but the last. A section
    per status vector has the status of each stakeholder at the end.

    Args:
        env: Environment with the schemes.
        evaluations: One evaluation per policy, made with `trace=True`.
    """
    found = [courses(evaluation, env.spec.schemes) for evaluation in evaluations]
    quarters = (env.horizon * quarter // QUARTERS for quarter in range(1, QUARTERS))
    ends = [end for end in dict.fromkeys(quarters) if end]
    sections: dict[str, dict[str, list[np.ndarray]]] = {}
    for name, scheme in env.spec.schemes.items() if ends else ():
        heading = f"{scheme.title or name.replace('_', ' ')}, so far ↑"
        sections[heading] = {
            f"  after {end} of {env.horizon} {env.spec.time_unit}": [
                course[name].scores[:, end - 1] for course in found
            ]
            for end in ends
        }
    for vector in status_vectors(env, found[0]):
        heading = f"{vector.title}{f' ({vector.unit})' if vector.unit else ''}, at the end"
        ends_of = (course[vector.schemes[0]].status[:, -1].astype(np.float64) for course in found)
        several = [few(status, vector.stakeholders) for status in ends_of]
        sections[heading] = {
            f"  {who}": [values[:, place] for values, _ in several]
            for place, who in enumerate(several[0][1])
        }
    return sections
