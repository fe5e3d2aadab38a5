"""Fairness schemes in the output of `fairgym evaluate`: courses of scores, status at the end."""

from collections.abc import Sequence

import numpy as np

from fairgym.core import Environment
from fairgym.training.courses import courses, few, status_vectors
from fairgym.training.evaluation import Evaluation

CAPTION = (
    "mean ± half of the 95% interval; scores of schemes on the way, whose ends are in the first"
    " table; then what each of those concerned has got, which the schemes judge"
)
_QUARTERS = 4


def scheme_rows(
    env: Environment, evaluations: Sequence[Evaluation]
) -> dict[str, dict[str, list[np.ndarray]]]:
    """Rows of a table, in sections: heading -> label -> for each policy one value per episode.

    A section per scheme has its score after each quarter of the episode but the last; one per
    status vector has the status of each stakeholder at the end.

    Args:
        env: the environment whose schemes they are.
        evaluations: one per policy, made with `trace=True`.
    """
    found = [courses(evaluation, env.spec.schemes) for evaluation in evaluations]
    quarters = (env.horizon * quarter // _QUARTERS for quarter in range(1, _QUARTERS))
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
