"""Data of a what-if page as records: who gains, what happens over time, and a grid of sizes."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fairgym.config.differences import words
from fairgym.core import Environment
from fairgym.results.estimates import cumulative_rates
from fairgym.results.gaps import compared_rates
from fairgym.results.labels import metric_label, rate_parts, rate_title
from fairgym.results.numbers import Estimate, in_plain_unit, rounded_away
from fairgym.results.what_if import Record, of_everybody
from fairgym.statistics.intervals import mean_interval, paired_interval
from fairgym.training.evaluation import Evaluation
from fairgym.training.gains import Cell
from fairgym.training.grids import Grid

MOST_STEPS = 60  # of a course


def gain_records(name: str, reference: str, cells: Sequence[Cell]) -> list[Record]:
    """Return where the people of each group and starting score end, as records of kind "people".

    Args:
        name: Name of the scenario.
        reference: Name of the reference.
        cells: As `fairgym.training.gains.gains` returns them.
    """
    return [
        {
            "policy": name,
            "reference": reference,
            "kind": "people",
            "measure": one.stage,
            "title": _people_title(one.stage),
            "part": one.group,
            "score": one.score,
            "unit": "people",
            "reference_mean": one.before,
            "mean": one.after,
            "difference": one.difference,
            "difference_low": one.low,
            "difference_high": one.high,
        }
        for one in cells
    ]


def _people_title(stage: str) -> str:
    if stage in ("more", "less"):
        return f"people who receive {stage} than under the reference"
    return f"people {words(stage)} at the end"


def course_records(
    env: Environment, name: str, reference: str, ours: Evaluation, theirs: Evaluation
) -> list[Record]:
    """Return rates by group and profits up to each step, as records of kind "time".

    Rates are those of all steps so far, as in reports; an episode that has ended keeps its last
    value. Of more than 60 steps, 60 are kept, the last one among them.

    Args:
        env: The environment.
        name: Name of the scenario.
        reference: Name of the reference.
        ours: Evaluation of the scenario with `trace=True`.
        theirs: Evaluation of the reference in the same episodes, likewise.
    """
    made: list[Record] = []
    for about, first, second in _courses(env, ours, theirs):
        for step in shown_steps(first.shape[1]):
            one, two = first[:, step], second[:, step]
            known = np.isfinite(one) & np.isfinite(two)
            mean, before = mean_interval(one[known])[0], mean_interval(two[known])[0]
            made.append(
                {
                    "policy": name,
                    "reference": reference,
                    "kind": "time",
                    **about,
                    "step": step + 1,
                    "reference_mean": before,
                    "mean": mean,
                    **_difference(one, two, max(abs(mean), abs(before))),
                }
            )
    return made


def shown_steps(count: int) -> list[int]:
    """Return the places of at most 60 steps, evenly apart, the last one among them."""
    return sorted({round(x) for x in np.linspace(0, count - 1, min(count, MOST_STEPS))})


def _courses(
    env: Environment, ours: Evaluation, theirs: Evaluation
) -> Iterator[tuple[dict[str, Any], np.ndarray, np.ndarray]]:
    """Yield every course: about it, and its values (episodes, steps) on both sides."""
    sides = (ours, theirs)
    for name, rate in compared_rates(env).items():
        unit, factor = in_plain_unit(rate.unit_in(env.spec.component_info))
        first, second = (factor * cumulative_rates(side.trace, rate) for side in sides)
        for place, group in enumerate(rate_parts(env, rate)):
            about = {
                "measure": name,
                "title": rate_title(env, name),
                "part": group,
                "unit": unit,
                "better": rate.sign,
            }
            yield about, first[..., place], second[..., place]
    for name, metric in env.metrics.items():
        component = getattr(metric, "component", None)
        info = env.spec.component_info.get(component or "")
        if info is None or info.axes:
            continue
        unit, factor = in_plain_unit(info.unit)
        first, second = (
            factor * np.cumsum(np.asarray(getattr(side.trace, str(component)), np.float64), axis=1)
            for side in sides
        )
        title = metric_label(env, name).title
        about = {"measure": name, "title": title, "part": None, "unit": unit}
        yield {**about, "better": metric.sign}, first, second


def grid_records(env: Environment, reference: str, found: Grid) -> list[Record]:
    """Return the differences in every cell of a grid, as records of kind "grid".

    `size` is the share of the reform, `factor_value` the value of the uncertain parameter.
    """
    made: list[Record] = []
    for quantity in of_everybody(env):
        theirs = np.asarray(quantity.values(found.reference), np.float64)
        for size, evaluation in zip(found.sizes, found.evaluations, strict=True):
            ours = np.asarray(quantity.values(evaluation), np.float64)
            for place, value in enumerate(found.values):
                here = slice(place * found.episodes, (place + 1) * found.episodes)
                largest = float(np.max(np.abs(np.nan_to_num([ours[here], theirs[here]]))))
                made.append(
                    {
                        "policy": found.name,
                        "reference": reference,
                        "kind": "grid",
                        "measure": quantity.name,
                        "title": quantity.title,
                        "unit": quantity.unit,
                        "better": quantity.better,
                        "size": size,
                        "factor": found.factor.name,
                        "factor_value": value,
                        **_difference(ours[here], theirs[here], largest),
                    }
                )
    return made


def _difference(ours: np.ndarray, theirs: np.ndarray, size: float) -> Record:
    """Return a mean paired difference with its limits; 0 if it is only rounding."""
    found = rounded_away(Estimate(*paired_interval(ours, theirs)), size)
    return {"difference": found.mean, "difference_low": found.low, "difference_high": found.high}
