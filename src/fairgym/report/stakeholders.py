"""Tables of what each stakeholder has got, and of who waits when an episode ends."""

from collections.abc import Mapping, Sequence

import numpy as np

from fairgym.core import Environment
from fairgym.report.template import escaped, estimate_cell, table
from fairgym.results.estimates import Result, courses_of, wait_courses
from fairgym.results.labels import capital, has_population, listed, scheme_title, words
from fairgym.results.numbers import estimate, interval, limits_of
from fairgym.training.courses import StatusVector, few, status_vectors


def status_sections(results: Mapping[str, Result], env: Environment) -> list[tuple[str, str, str]]:
    """A table for each status vector, as one section of a page: id, heading, content.

    Args:
        results: name -> policy, whose evaluations have traces.
        env: the environment whose schemes judge the status.

    Returns:
        One section; none for an environment without schemes.
    """
    if not env.spec.schemes:
        return []
    found = {name: courses_of(result, env) for name, result in results.items()}
    first = next(iter(found.values()))
    vectors = status_vectors(env, {name: several[0] for name, several in first.items()})
    parts = []
    for vector in vectors:
        status = {
            name: [one.status[:, -1].astype(np.float64) for one in course[vector.schemes[0]]]
            for name, course in found.items()
        }
        judged = listed([f"“{scheme_title(env, name)}”" for name in vector.schemes])
        note = (
            f"{capital(vector.title)}{f' ({vector.unit})' if vector.unit else ''}: what each"
            f" {vector.axis} has got at the end of an episode, by which {judged}"
            f" {'judges' if len(vector.schemes) == 1 else 'judge'}; brackets hold the 95% interval"
            " of the mean. Apart: from the one who has least to the one who has most."
        )
        parts.append(status_table(status, vector) + f'<p class="note">{escaped(note)}</p>')
    return [("stakeholders", f"Status per {vectors[0].axis}", "".join(parts))]


def status_table(status: Mapping[str, Sequence[np.ndarray]], vector: StatusVector) -> str:
    """Status at the end of an episode, a row per policy and a column per stakeholder.

    Args:
        status: policy -> for each seed the status at the end, (episodes, stakeholders).
        vector: whose status it is.
    """
    rows, names = [], list(vector.stakeholders)
    low = 0.0 if vector.nonnegative else -np.inf
    for policy, seeds in status.items():
        shown = [few(last, vector.stakeholders) for last in seeds]
        names = shown[0][1]
        values = [
            estimate([columns[:, place] for columns, _ in shown]).within(low, np.inf)
            for place in range(len(names))
        ]
        apart = estimate([np.ptp(last, axis=1) for last in seeds]).within(0.0, np.inf)
        cells = [estimate_cell(interval(value)) for value in (*values, apart)]
        rows.append([f'<span class="wrap">{escaped(policy)}</span>', *cells])
    return table(["", *map(escaped, names), "apart"], rows, "results groups")


_NOTE = (
    "People who wait when an episode ends, as a share of all, and the median of the times that they"
    " have waited so far; brackets hold the 95% interval of the mean over episodes, of medians over"
    " those in which somebody waits. A measure that counts a wait when it ends leaves these people"
    " out: by it a policy looks quick that lets some wait for ever."
)


def wait_table(results: Mapping[str, Result], env: Environment, stage: str) -> str:
    """Share of people who wait at the end, and median of their times so far, by group.

    Args:
        results: policies by name; evaluations made with `trace=True`.
        env: the environment.
        stage: a key of `env.spec.waits`.
    """
    headings = {
        "share": f"People who are {escaped(words(stage))}<small>%</small>",
        "median": f"Median of their times so far<small>{escaped(env.spec.time_unit)}</small>",
    }
    rows = []
    for column, heading in headings.items():
        limits = limits_of(column)
        for i, (name, result) in enumerate(results.items()):
            pairs = zip(wait_courses(result, stage)[column], result.evaluations, strict=True)
            ends = [course[np.arange(e.episodes), e.lengths] for course, e in pairs]
            parts = range(len(env.spec.groups) + 1)
            values = [estimate([end[:, part] for end in ends]).within(*limits) for part in parts]
            policy = f'<span class="wrap">{escaped(name)}</span>'
            cells = [estimate_cell(interval(value, column)) for value in values]
            rows.append([None if i else heading, policy, *cells])
    names = [escaped(words(group)) for group in env.spec.groups]
    return table(["", "policy", *names, "everybody"], rows, "results groups", headings=2)


def wait_sections(results: Mapping[str, Result], env: Environment) -> list[tuple[str, str, str]]:
    """Sections on who waits at the end, one for each stage of waiting: id, heading, content.

    Args:
        results: policies by name; evaluations made with `trace=True`.
        env: the environment.
    """
    stages = env.spec.waits if has_population(env) else ()
    return [
        (
            f"{stage.replace(' ', '-')}-at-the-end",
            f"Who is {words(stage)} at the end",
            f'{wait_table(results, env, stage)}<p class="note">{escaped(_NOTE)}</p>',
        )
        for stage in stages
    ]
