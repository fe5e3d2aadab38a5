"""Tables of what each stakeholder has received, and of who waits when an episode ends."""

from collections.abc import Mapping, Sequence

import numpy as np

from fairgym.core import Environment
from fairgym.report.template import escaped, estimated, noted, table, wrapped
from fairgym.results.estimates import Result, courses_of, wait_courses, waits_of
from fairgym.results.labels import capital, listed, scheme_title, words
from fairgym.results.numbers import estimate, limits_of, number_in
from fairgym.statistics.survival import WaitCourse, common_end, left_after, quantile
from fairgym.training.courses import StatusVector, few, status_vectors


def status_section(results: Mapping[str, Result], env: Environment) -> tuple[str, str]:
    """Return a heading, and a table for each status vector of an environment with schemes.

    Args:
        results: Name -> policy, whose evaluations have traces.
        env: The environment whose schemes score the status.
    """
    found = {name: courses_of(result, env) for name, result in results.items()}
    first = next(iter(found.values()))
    vectors = status_vectors(env, {name: several[0] for name, several in first.items()})
    parts = []
    for vector in vectors:
        status = {
            name: [one.status[:, -1].astype(np.float64) for one in course[vector.schemes[0]]]
            for name, course in found.items()
        }
        scored = listed([f"“{scheme_title(env, name)}”" for name in vector.schemes])
        note = (
            f"{capital(vector.title)}{f' ({vector.unit})' if vector.unit else ''}: what each"
            f" {vector.axis} has received by the end of an episode, which {scored}"
            f" {'scores' if len(vector.schemes) == 1 else 'score'}. [a, b]: 95% CI of the mean."
            " Range: the largest minus the smallest."
        )
        parts.append(status_table(status, vector) + noted(note))
    return f"Status per {vectors[0].axis}", "".join(parts)


def status_table(status: Mapping[str, Sequence[np.ndarray]], vector: StatusVector) -> str:
    """Return the status at the end of an episode, a row per policy, a column per stakeholder.

    Args:
        status: Policy -> the status at the end for each seed, (episodes, stakeholders).
        vector: Description of the status.
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
        cells = [estimated(value) for value in (*values, apart)]
        rows.append([wrapped(policy), *cells])
    return table(["", *map(escaped, names), "range"], rows, "results groups")


_NOTE = (
    "Lengths of waits are Kaplan-Meier estimates over all episodes: somebody who still waits at an"
    " episode's end counts as waiting at least that long. A wait ends when somebody is served, or"
    " for another reason, such as a cure or death in health. The last rows are the people who wait"
    " when an episode ends, and the median of their waits so far, over the episodes in which"
    " somebody waits. [a, b]: 95% CI of the mean over episodes. A measure that"
    " counts only ended waits leaves these people out, so a policy that lets some wait for ever"
    " looks quick."
)
_QUARTERS = {0.25: "A quarter of waits end", 0.5: "Half of waits end", 0.75: "Three quarters end"}


def wait_section(results: Mapping[str, Result], env: Environment, stage: str) -> str:
    """Return tables of how long people wait, and who still waits at the end, by group.

    Args:
        results: Policies by name; evaluations made with `trace=True`.
        env: The environment.
        stage: A key of `env.spec.waits`.
    """
    unit = env.spec.time_unit
    rows = _course_rows(results, env, stage)
    headings = {
        "share": f"People who are {escaped(words(stage))} at the end<small>%</small>",
        "median": f"Median of their times so far<small>{escaped(unit)}</small>",
    }
    for column, heading in headings.items():
        limits = limits_of(column)
        for i, (name, result) in enumerate(results.items()):
            pairs = zip(wait_courses(result, stage)[column], result.evaluations, strict=True)
            ends = [course[np.arange(e.episodes), e.lengths] for course, e in pairs]
            parts = range(len(env.spec.groups) + 1)
            values = [estimate([end[:, part] for end in ends]).within(*limits) for part in parts]
            cells = [estimated(value, column) for value in values]
            rows.append([None if i else heading, wrapped(name), *cells])
    names = [escaped(words(group)) for group in env.spec.groups]
    head = ["", "policy", *names, "everybody"]
    return table(head, rows, "results groups", headings=2) + noted(_NOTE)


def _course_rows(
    results: Mapping[str, Result], env: Environment, stage: str
) -> list[list[str | None]]:
    """Return rows on the waits: the share that lasts to the end, and quantiles."""
    codes = range(len(env.spec.groups))
    courses = {
        name: [waits_of(one.evaluations, stage, own) for own in (*([i] for i in codes), codes)]
        for name, one in results.items()
    }
    last = common_end([several[-1] for several in courses.values()])
    unit, rows = env.spec.time_unit, []
    for i, (name, several) in enumerate(courses.items()):
        left = [number_in(left_after(course, last), "share") for course in several]
        heading = f"Waits of {last} {escaped(unit)} or longer<small>%</small>"
        rows.append([None if i else heading, wrapped(name), *left])
    for share, text in _QUARTERS.items():
        for i, (name, several) in enumerate(courses.items()):
            cells = [_steps(course, share) for course in several]
            heading = f"{text} within<small>{escaped(unit)}</small>"
            rows.append([None if i else heading, wrapped(name), *cells])
    return rows


def _steps(course: WaitCourse, share: float) -> str:
    """Return a quantile as text: one number, a range, or how long people were followed."""
    low, high = quantile(course, share)
    if np.isfinite(high):
        return f"{high:.0f}" if low == high else f"{low:.0f} to {high:.0f}"
    return f"over {course[0][-1]}" if len(course[0]) > 1 else "undefined"
