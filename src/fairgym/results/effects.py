"""Effects of scenarios: what changes, for whom, in people and dollars."""

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import numpy as np

from fairgym.config.settings import environment_settings
from fairgym.core import Environment
from fairgym.fairness import Direct, Rate
from fairgym.results.estimates import Estimate, estimate, ratio
from fairgym.results.labels import core_attribute_unit, has_people, metric_label, rate_title, words
from fairgym.training.evaluation import Evaluation
from fairgym.training.scenarios import Built, Simulation

Kind = Literal["measure", "rate", "count", "end"]
# Multiples of a unit that readers know by itself.
_MULTIPLES = {"thousand ": 1e3, "million ": 1e6}


@dataclasses.dataclass(frozen=True)
class Quantity:
    """Something that is told of every scenario.

    Attributes:
        kind: "measure" for what is told of everybody (metrics, failed episodes, their length),
            "rate" for a group's rate and for rates that are no metric, "count" for what is
            counted over the episode, "end" for where people are at the end.
        name: metric, component, stage or attribute.
        title: in words, without the unit.
        group: the group that it is of; "" for everybody together.
        unit: unit of the values; "share" for a share of 1.
        better: 1 if more is better, -1 if less is, 0 where that is not said.
        values: value of every episode, NaN where it is 0/0.
    """

    kind: Kind
    name: str
    title: str
    group: str
    unit: str
    better: int
    values: Callable[[Evaluation], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Effect:
    """A quantity under the reference, and how other scenarios differ from it.

    Attributes:
        quantity: what is told.
        means: name of a scenario, the reference included -> its mean over the episodes.
        differences: name of another scenario -> mean paired difference from the reference.
    """

    quantity: Quantity
    means: dict[str, Estimate]
    differences: dict[str, Estimate]

    @property
    def undefined(self) -> dict[str, int]:
        """Name of a scenario -> number of episodes in which the quantity is 0/0, if there are."""
        return {name: mean.undefined for name, mean in self.means.items() if mean.undefined}

    @property
    def unchanged(self) -> bool:
        """True if there are other scenarios, and none of them differs in any episode."""
        return bool(self.differences) and all(
            one.mean == one.low == one.high == 0.0 for one in self.differences.values()
        )


class Change(NamedTuple):
    """A setting of a scenario that differs from the reference.

    Attributes:
        section: "environment_args", "params" or "fixed".
        what: the setting in words.
        unit: unit of the values; "" for a number without one.
        old: the reference's value.
        new: the scenario's value.
    """

    section: str
    what: str
    unit: str
    old: object
    new: object


def effects(simulation: Simulation) -> list[Effect]:
    """Every quantity of a simulation: measures, groups' rates, counts, and where people end up."""
    found = []
    for quantity in quantities(simulation.base.env):
        means = {
            name: estimate([np.asarray(quantity.values(evaluation), np.float64)])
            for name, evaluation in simulation.evaluations.items()
        }
        differences = {
            one.name: Estimate(*simulation.difference(one.name, quantity.values))
            for one in simulation.others
        }
        found.append(Effect(quantity, means, differences))
    return found


def quantities(env: Environment) -> list[Quantity]:
    """Everything that is told of an environment's scenarios, in reading order."""
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
        distribution = info.level and len(info.axes) > 1  # of which a sum tells nothing
        if (info.per or name not in shown) and not distribution:
            found += _counts(env, name)
    return found + (_ends(env) if has_people(env) else [])


def changes(simulation: Simulation, one: Built) -> list[Change]:
    """Settings in which a scenario differs from the reference, old and new."""
    base = simulation.base
    found = []
    for setting in environment_settings(simulation.environment):
        old, new = (getattr(built.env.unwrapped, setting.name) for built in (base, one))
        if old != new:
            found.append(Change("environment_args", words(setting.name), "", old, new))
    return found + _changed_params(base, one) + _changed_policies(base, one)


def in_plain_unit(unit: str) -> tuple[str, float]:
    """A unit without multiples, and the factor: "thousand dollars" -> ("dollars", 1000.0)."""
    for multiple, factor in _MULTIPLES.items():
        if unit.startswith(multiple):
            return unit.removeprefix(multiple), factor
    return unit, 1.0


# ---------------------------------------------------------------- quantities


def _lasting(env: Environment) -> list[Quantity]:
    """The share of failed episodes, and their length."""
    return [
        Quantity(
            *("measure", "failed", "episodes that fail", "", "share", -1),
            lambda evaluation: np.asarray(evaluation.terminated, np.float64),
        ),
        Quantity(
            *("measure", "length", "length of the episode", "", env.spec.time_unit, 0),
            lambda evaluation: np.asarray(evaluation.lengths, np.float64),
        ),
    ]


def _measure(env: Environment, name: str) -> Quantity:
    label = metric_label(env, name)
    unit, factor = in_plain_unit(label.unit)

    def values(evaluation: Evaluation) -> np.ndarray:
        shown = factor * label.shown(evaluation.metrics[name])
        return np.where(evaluation.defined[name], shown, np.nan)

    return Quantity("measure", name, label.title, "", unit, -1 if label.flipped else 1, values)


def _rates(env: Environment, name: str, rate: Rate, title: str) -> list[Quantity]:
    """A rate of everybody, then of each group."""
    unit, factor = in_plain_unit(rate.unit_in(env.spec.component_info))

    def of(code: int | None) -> Callable[[Evaluation], np.ndarray]:
        def values(evaluation: Evaluation) -> np.ndarray:
            above, below = (
                _total(evaluation, part, code) for part in (rate.numerator, rate.denominator)
            )
            return factor * ratio(above, below + rate.offset)

        return values

    return [
        Quantity("rate", name, title, group, unit, rate.sign, of(code))
        for code, group in [(None, ""), *enumerate(_groups(env, rate.numerator))]
    ]


def _total(evaluation: Evaluation, name: str, code: int | None) -> np.ndarray:
    """A component of every episode: of everybody, or of one group."""
    totals = np.asarray(getattr(evaluation.totals, name), np.float64)
    totals = totals.reshape(evaluation.episodes, -1)
    return totals.sum(axis=1) if code is None else totals[:, code]


def _counts(env: Environment, name: str) -> list[Quantity]:
    """A component over the episode: everybody's, then each group's; of a state the mean step's."""
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
    """The groups that a component has an entry for each of; none if it has other entries."""
    own = env.spec.component_info[component].axes in (("group",), (env.spec.group_word,))
    return env.spec.groups if own else ()


def _ends(env: Environment) -> list[Quantity]:
    """People of each stage, and the mean core attribute, at the end."""

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


# ---------------------------------------------------------------- changes


def _changed_params(base: Built, one: Built) -> list[Change]:
    found = []
    for name, info in base.params.info().items():
        old, new = (np.asarray(getattr(built.params, name), np.float64) for built in (base, one))
        if old.ndim == new.ndim == 0:
            parts: Iterable[tuple[str, np.ndarray, np.ndarray]] = [("", old, new)]
        else:
            old, new = np.broadcast_arrays(old, new)
            names = base.env.spec.parts_of(info.per) if info.per else range(1, len(old) + 1)
            parts = zip(map(str, names), old, new, strict=True)
        for part, before, after in parts:
            if not math.isclose(before, after, rel_tol=1e-6):  # float32 and float64 alike
                what = words(name) + (f", {words(part)}" if part else "")
                found.append(Change("params", what, info.unit, float(before), float(after)))
    return found


def _changed_policies(base: Built, one: Built) -> list[Change]:
    """Elements of constant actions that differ; a rule as a whole."""
    found = []
    for agent in base.env.agents:
        old, new = (_constant(built, agent) for built in (base, one))
        if old is None or new is None:
            texts = [_policy_text(built, agent) for built in (base, one)]
            if texts[0] != texts[1]:
                found.append(Change("fixed", words(agent), "", *texts))
            continue
        elements = base.env.action_space(agent).elements
        for element, before, after in zip(elements, old, new, strict=True):
            if not math.isclose(before, after, rel_tol=1e-6, abs_tol=1e-9):
                what = f"{words(agent)}: {words(element.title)}"
                found.append(Change("fixed", what, element.unit, float(before), float(after)))
    return found


def _constant(built: Built, agent: str) -> np.ndarray | None:
    """The numbers of a constant action, one per element; None for a rule or a choice."""
    action = getattr(built.policies[agent], "action", None)
    if action is None or built.env.action_space(agent).discrete:
        return None
    return np.asarray(action, np.float64)[: len(built.env.action_space(agent).elements)]


def _policy_text(built: Built, agent: str) -> str:
    constant, space = _constant(built, agent), built.env.action_space(agent)
    chosen = getattr(built.policies[agent], "action", None)
    if space.discrete and chosen is not None:
        return space.names[int(chosen)]
    if constant is None:
        return str(built.specification[agent])
    return ", ".join(f"{value:g}" for value in constant)
