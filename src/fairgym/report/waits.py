"""Tables of who waits when an episode ends, and how long they have waited so far."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairgym.report.html_table import escaped, estimate_cell, table
from fairgym.report.labels import has_population
from fairgym.report.results import Result, estimate, interval, wait_courses
from fairgym.report.words import words

_NOTE = (
    "People who wait when an episode ends, as a share of all, and the median of the times that they"
    " have waited so far; brackets hold the 95% interval of the mean over episodes, of medians over"
    " those in which somebody waits. A measure that counts a wait when it ends leaves these people"
    " out: by it a policy looks quick that lets some wait for ever."
)


def wait_table(results: Mapping[str, Result], env: Any, stage: str) -> str:
    """Share of people who wait at the end, and median of their times so far, by group.

    Args:
        results: policies by name; evaluations made with `trace=True`.
        env: the environment.
        stage: a key of `env.waits`.
    """
    headings = {
        "share": f"People who are {escaped(words(stage))}<small>share</small>",
        "median": f"Median of their times so far<small>{escaped(env.time_unit)}</small>",
    }
    rows = []
    for column, heading in headings.items():
        limits = (0.0, 1.0 if column == "share" else np.inf)
        for i, (name, result) in enumerate(results.items()):
            pairs = zip(wait_courses(result, stage)[column], result.evaluations, strict=True)
            ends = [course[np.arange(e.episodes), e.lengths] for course, e in pairs]
            parts = range(len(env.groups) + 1)
            values = [estimate([end[:, part] for end in ends]).within(*limits) for part in parts]
            policy = f'<span class="wrap">{escaped(name)}</span>'
            cells = [estimate_cell(interval(value)) for value in values]
            rows.append([None if i else heading, policy, *cells])
    names = [escaped(words(group)) for group in env.groups]
    return table(["", "policy", *names, "everybody"], rows, "results groups", headings=2)


def wait_sections(results: Mapping[str, Result], env: Any) -> list[tuple[str, str, str]]:
    """Sections on who waits at the end, one for each stage of waiting: id, heading, content.

    Args:
        results: policies by name; evaluations made with `trace=True`.
        env: the environment.
    """
    stages = env.waits if has_population(env) else ()
    return [
        (
            f"{stage.replace(' ', '-')}-at-the-end",
            f"Who is {words(stage)} at the end",
            f'{wait_table(results, env, stage)}<p class="note">{escaped(_NOTE)}</p>',
        )
        for stage in stages
    ]
