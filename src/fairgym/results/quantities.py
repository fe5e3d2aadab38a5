"""Quantities of a policy: metrics, rates of groups, sums, and people at the end."""

import dataclasses
from collections.abc import Callable
from typing import Literal

import numpy as np

from fairgym.config.differences import words
from fairgym.core import Environment
from fairgym.fairness import Direct, Rate
from fairgym.results.labels import (
    OBJECTIVE,
    core_attribute_unit,
    display_order,
    has_people,
    metric_label,
    rate_title,
)
from fairgym.results.numbers import gaps_without_rounding, in_plain_unit, limits_of, ratio
from fairgym.training.evaluation import Evaluation

FAILED, LENGTH = "failed", "length"
Kind = Literal["measure", "rate", "count", "end"]


@dataclasses.dataclass(frozen=True)
class Quantity:
    """A quantity of every policy, with natural sign and in plain units.

    Attributes:
        kind: "measure" for quantities of all people (metrics, failed episodes, their length),
            "rate" for rates of groups and rates that are not metrics, "count" for sums over the
            episode, "end" for people at the end.
        name: Name of the metric, component, stage or attribute.
        title: Title in words, without the unit.
        group: Name of the group; "" for all people together.
        unit: Unit of the values; "share" for a share of 1.
        better: 1 if higher is better, -1 if lower is, 0 if neither.
        values: Function from an evaluation to the value of every episode, NaN where it is 0/0.
        limits: Range of the values.
        two_valued: Whether an episode's value is 0 or 1, such as whether it failed.
    """

    kind: Kind
    name: str
    title: str
    group: str
    unit: str
    better: int
    values: Callable[[Evaluation], np.ndarray]
    limits: tuple[float, float] = (-np.inf, np.inf)
    two_valued: bool = False


def measures(env: Environment, objective: str) -> list[Quantity]:
    """Return the quantities that compare policies: objective, failures, metrics and schemes.

    Args:
        env: Environment of the policies.
        objective: Objective in words, which must be the same for all policies.
    """

    def score(evaluation: Evaluation) -> np.ndarray:
        return np.zeros(0) if evaluation.objective is None else evaluation.objective

    first = Quantity("measure", OBJECTIVE.name, f"Objective ({objective})", "", "", 1, score)
    failed = _lasting(env)[0]
    names = (*display_order(env, env.metrics), *env.spec.schemes)
    return [first, failed, *(_measure(env, name) for name in names)]


def quantities(env: Environment) -> list[Quantity]:
    """Return all quantities of an environment's scenarios, in the order of the tables."""
    found = _lasting(env)
    for name, metric in env.metrics.items():
        found.append(_measure(env, name))
        if isinstance(metric, Rate):
            found += _rates(env, name, metric, metric_label(env, name).title)[1:]
        rate = getattr(metric, "rate", None)
        if isinstance(rate, Rate) and rate not in env.metrics.values():
            own = f"{rate.numerator}_per_{rate.denominator}"
            if own not in {quantity.name for quantity in found}:
                found += _rates(env, own, rate, rate_title(env, name))
    found += [_measure(env, name) for name in env.spec.schemes]
    shown = {metric.component for metric in env.metrics.values() if isinstance(metric, Direct)}
    for name, info in env.spec.component_info.items():
        distribution = info.level and len(info.axes) > 1  # whose sum has no meaning
        if (info.per or name not in shown) and not distribution:
            found += _counts(env, name)
    return found + (_ends(env) if has_people(env) else [])


# ---------------------------------------------------------------- quantities


def _lasting(env: Environment) -> list[Quantity]:
    """Share of failed episodes, and length of episodes."""
    return [
        Quantity(
            *("measure", FAILED, "episodes that fail", "", "share", -1),
            lambda evaluation: np.asarray(evaluation.terminated, np.float64),
            limits=(0.0, 1.0),
            two_valued=True,
        ),
        Quantity(
            *("measure", LENGTH, "length of the episode", "", env.spec.time_unit, 0),
            lambda evaluation: np.asarray(evaluation.lengths, np.float64),
        ),
    ]


def _measure(env: Environment, name: str) -> Quantity:
    label = metric_label(env, name)
    unit, factor = in_plain_unit(label.unit)

    def values(evaluation: Evaluation) -> np.ndarray:
        raw = gaps_without_rounding(evaluation.metrics[name], evaluation.rates.get(name))
        shown = factor * label.shown(raw)
        return np.where(evaluation.defined[name], shown, np.nan)

    better, limits = -1 if label.flipped else 1, label.limits
    return Quantity("measure", name, label.title, "", unit, better, values, limits)


def _rates(env: Environment, name: str, rate: Rate, title: str) -> list[Quantity]:
    """Return a rate of all people, then of each group."""
    unit, factor = in_plain_unit(rate.unit_in(env.spec.component_info))
    limits = limits_of(unit, env.spec.component_info[rate.numerator].nonnegative)

    def of(code: int | None) -> Callable[[Evaluation], np.ndarray]:
        def values(evaluation: Evaluation) -> np.ndarray:
            above, below = (
                _total(evaluation, part, code) for part in (rate.numerator, rate.denominator)
            )
            return factor * ratio(above, below + rate.offset)

        return values

    return [
        Quantity("rate", name, title, group, unit, rate.sign, of(code), limits)
        for code, group in [(None, ""), *enumerate(_groups(env, rate.numerator))]
    ]


def _total(evaluation: Evaluation, name: str, code: int | None) -> np.ndarray:
    """Return a component of every episode: of all people, or of one group."""
    totals = np.asarray(getattr(evaluation.totals, name), np.float64)
    totals = totals.reshape(evaluation.episodes, -1)
    return totals.sum(axis=1) if code is None else totals[:, code]


def _counts(env: Environment, name: str) -> list[Quantity]:
    """Return a component over the episode, of all, then of each group: sums, means of levels."""
    info = env.spec.component_info[name]
    unit, factor = in_plain_unit(info.unit)
    title = f"{info.description}, on average" if info.level else info.description

    def of(code: int | None) -> Callable[[Evaluation], np.ndarray]:
        def values(evaluation: Evaluation) -> np.ndarray:
            total = _total(evaluation, name, code)
            return factor * (ratio(total, evaluation.lengths) if info.level else total)

        return values

    return [
        Quantity("count", name, title, group, unit, 0, of(code))
        for code, group in [(None, ""), *enumerate(_groups(env, name))]
    ]


def _groups(env: Environment, component: str) -> tuple[str, ...]:
    """Return groups of a component that has one entry per group; none for other components."""
    own = env.spec.component_info[component].axes in (("group",), (env.spec.group_word,))
    return env.spec.groups if own else ()


def _ends(env: Environment) -> list[Quantity]:
    """Return number of people in each stage and mean core attribute, at the end."""

    def count(stage: str, code: int | None) -> Callable[[Evaluation], np.ndarray]:
        return lambda evaluation: _at_end(evaluation, stage, code)

    def mean(code: int | None) -> Callable[[Evaluation], np.ndarray]:
        return lambda evaluation: ratio(
            _at_end(evaluation, env.spec.core_attribute, code), _at_end(evaluation, "people", code)
        )

    places = [(None, ""), *enumerate(env.spec.groups)]
    found = [
        Quantity("end", stage, f"people {words(stage)}", group, "people", 0, count(stage, code))
        for stage in env.spec.stages
        for code, group in places
    ]
    core, unit = env.spec.core_attribute, core_attribute_unit(env)
    return found + [
        Quantity("end", core, f"mean {words(core)}", group, unit, 0, mean(code))
        for code, group in places
    ]


def _at_end(evaluation: Evaluation, column: str, code: int | None) -> np.ndarray:
    values = np.asarray(evaluation.ends[column], np.float64)[:, 1]
    return values.sum(axis=1) if code is None else values[:, code]
