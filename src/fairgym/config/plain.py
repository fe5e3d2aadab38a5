"""Objectives as plain data, as in configuration files.

An objective has weights by metric, `{"profit": 1, "wait_disparity": 2}`. It may also define custom
metrics, made from the environment's components by the classes in `fairgym.fairness.metric_classes`:

    {"weights": {"profit": 1, "worst_access": 2},
     "metrics": {"worst_access": {"type": "WorstGroup",
                                  "rate": {"numerator": "disbursed", "denominator": "applied"}}}}

A rate may also be the name of a metric of the environment: `"rate": "admission_rate"`.
"""

import dataclasses
import math
import re
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

from fairgym.config.settings import check_kind, describe_kind, field_types
from fairgym.config.text import slug_of, split_list, split_pair
from fairgym.core import Environment, FairgymError
from fairgym.core.errors import is_number
from fairgym.fairness import Metric, Rate, metric_classes
from fairgym.fairness.metrics import rates_of
from fairgym.fairness.objective import Objective
from fairgym.fairness.schemes import Scheme
from fairgym.fairness.welfare import welfare_scheme
from fairgym.fairness.welfare_names import is_welfare
from fairgym.utils.changes import read_number, unknown

WEIGHTS, METRICS, TYPE = "weights", "metrics", "type"
_TAKES = "a name, or weights by metric such as {profit: 1, wait_disparity: 2}"
_COMPONENTS = ("component", "numerator", "denominator")
_TEXT = 200  # longest title or unit


# ---------------------------------------------------------------- reading


def read_objective(env: Environment, given: Any, further: Mapping[str, Metric]) -> Objective:
    """Return an objective from its name or its weights.

    Args:
        env: The environment, without custom metrics.
        given: A name that `Objective.named` takes, or plain data.
        further: Custom metrics (`read_metrics`).

    Raises:
        FairgymError: A name or metric is unknown, a weight is no number, or there is no weight.
    """
    metrics = {**env.metrics, **further}
    if isinstance(given, str):
        named = Objective.named(env, given)
        return dataclasses.replace(named, metrics=metrics) if further else named
    weights, _ = _parts(given)
    schemes = {**env.spec.schemes, **read_schemes(env, [given])}
    known = {**metrics, **schemes}
    for name, weight in weights.items():
        if name not in known:
            raise unknown("metric", name, known, "there are", f" in the objective for {env.name}")
        if not is_number(weight):
            raise FairgymError(f"the weight of {name!r} must be a number, got {_short(weight)}")
    # in the order of the metrics, so that equal weights give the same bits
    ordered = {name: float(weights[name]) for name in known if name in weights}
    return Objective(metrics, ordered, schemes=schemes)


def check_objective(what: str, given: object) -> None:
    """Raise a FairgymError that names `what` unless the value is a name or a mapping."""
    if not isinstance(given, str | Mapping):
        raise FairgymError(f"{what} must be {_TAKES}, got {_short(given)}")


def complete_objective(env: Environment, given: Any) -> str | dict[str, Any]:
    """Return the same name, or plain data with all defaults filled in."""
    if isinstance(given, str):
        return given
    return plain_objective(env, read_objective(env, given, read_metrics(env, [given])))


def read_metrics(env: Environment, given: Iterable[Any]) -> dict[str, Metric]:
    """Return the custom metrics that objectives define, sorted by name.

    Args:
        env: The environment whose components they are made of.
        given: Names of objectives, or plain data.

    Raises:
        FairgymError: A class, field or component is unknown, or a name is invalid or given twice.
    """
    found: dict[str, Metric] = {}
    for objective in given:
        for name, data in ({} if isinstance(objective, str) else _parts(objective)[1]).items():
            if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
                raise FairgymError(
                    "the name of a metric must be lower-case letters, digits and underscores, 64"
                    f" at most, got {_short(name)}"
                )
            metric = _read_metric(env, name, data)
            if name in env.metrics or found.get(name, metric) != metric or name in _RESERVED:
                raise FairgymError(f"the metric {name!r} exists already; choose another name")
            found[name] = metric
    return {name: found[name] for name in sorted(found)}


def read_schemes(env: Environment, given: Iterable[Any]) -> dict[str, Scheme]:
    """Return the welfare schemes that objectives name, sorted by name.

    Args:
        env: The environment whose components they are made of.
        given: Names of objectives, or plain data.

    Raises:
        FairgymError: The environment has no component for a welfare.
    """
    names: set[str] = set()
    for objective in given:
        if isinstance(objective, str):
            names.add(objective)
        else:
            weights, further = _parts(objective)
            names |= {name for name in weights if isinstance(name, str)} - set(further)
    names -= {*env.metrics, *env.spec.schemes}
    return {name: welfare_scheme(env, name) for name in sorted(names) if is_welfare(name)}


_RESERVED = ("objective", "survived")


def _parts(given: Mapping[Any, Any]) -> tuple[Mapping[Any, Any], Mapping[Any, Any]]:
    """Return the weights and the custom metrics of an objective's plain data."""
    full = any(isinstance(given.get(key), Mapping) for key in (WEIGHTS, METRICS))
    weights, metrics = (given.get(WEIGHTS), given.get(METRICS, {})) if full else (given, {})
    wrong = [key for key in given if key not in (WEIGHTS, METRICS)] if full else []
    if wrong:
        raise FairgymError(
            f"unknown key {_short(wrong[0])} of an objective with custom metrics; its keys are:"
            f" {WEIGHTS}, {METRICS}"
        )
    if not isinstance(weights, Mapping) or not isinstance(metrics, Mapping):
        raise FairgymError(f"objective must be {_TAKES}, got {_short(given)}")
    if not weights:
        raise FairgymError(f"objective must be {_TAKES}, got {_short(given)} without a weight")
    return weights, metrics


def _read_metric(env: Environment, name: str, data: Any) -> Metric:
    if not isinstance(data, Mapping):
        raise FairgymError(
            f"the metric {name!r} must have a type and the fields of that type, got {_short(data)}"
        )
    data = dict(data)
    kind = data.pop(TYPE, None)
    if not isinstance(kind, str) or kind not in metric_classes:
        raise FairgymError(
            f"the type of the metric {name!r} must be one of {', '.join(metric_classes.names())},"
            f" got {_short(kind)}"
        )
    metric = _make(env, f"the metric {name!r}", metric_classes.get(kind), data)
    compared = rates_of(metric) if type(metric) is not Rate else ()
    for part in (p for rate in compared for p in (rate.numerator, rate.denominator)):
        if not env.spec.component_info[part].per:
            raise FairgymError(
                f"the metric {name!r} compares groups, but {part!r} is one number for all; use one"
                f" of {', '.join(n for n, info in env.spec.component_info.items() if info.per)}"
            )
    try:
        metric.unit_in(env.spec.component_info)
    except FairgymError as error:
        raise FairgymError(f"the metric {name!r}: {error}") from error
    return metric


def _make(env: Environment, what: str, cls: type, data: Mapping[Any, Any]) -> Any:
    """Return a metric of a class with the given fields."""
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    needed = [n for n, field in fields.items() if field.default is dataclasses.MISSING]
    kinds = field_types(cls)
    wrong = [key for key in data if key not in fields]
    if wrong or not set(needed) <= set(data):
        problem = f"has the unknown key {_short(wrong[0])}" if wrong else "is not complete"
        raise FairgymError(
            f"{what} {problem}; {cls.__name__} takes: {', '.join(needed)}, and optionally"
            f" {', '.join(name for name in fields if name not in needed)}"
        )
    values = {key: _field(env, what, key, value, kinds[key]) for key, value in data.items()}
    try:
        return cls(**values)
    except FairgymError as error:
        raise FairgymError(f"{what}: {error}") from error


def _field(env: Environment, what: str, key: str, value: object, kind: object) -> Any:
    """Return the checked value of one field of a metric."""
    named, got = f"{key} of {what} must be", f", got {_short(value)}"
    if kind is Rate:
        if isinstance(value, Mapping):
            return _make(env, f"the rate of {what}", Rate, value)
        rates = {name: m for name, m in env.metrics.items() if isinstance(m, Rate)}
        if not isinstance(value, str) or value not in rates:
            raise FairgymError(
                f"{named} a numerator and a denominator, or one of {', '.join(rates)}{got}"
            )
        return rates[value]
    if key in _COMPONENTS:
        if not isinstance(value, str) or value not in env.spec.component_info:
            known = ", ".join(env.spec.component_info)
            raise FairgymError(f"{named} a component ({known}){got}")
    elif key == "sign":
        if isinstance(value, bool) or value not in (1, -1):
            raise FairgymError(f"{named} 1 or -1{got}")
    elif key == "normaliser":
        if not is_number(value) or value <= 0:
            raise FairgymError(f"{named} a number above 0{got}")
    elif isinstance(value, str) and len(value) > _TEXT:
        raise FairgymError(f"{named} a text of at most {_TEXT} letters{got}")
    try:
        return check_kind(key, value, kind)
    except FairgymError as error:
        raise FairgymError(f"{named} {describe_kind(kind)}{got}") from error


# ---------------------------------------------------------------- writing


def plain_objective(env: Environment, objective: Objective) -> dict[str, Any]:
    """Return an objective as plain data, which `read_objective` can read.

    Args:
        env: The environment, without custom metrics.
        objective: Weights of its metrics, and custom metrics made of its components.

    Raises:
        FairgymError: The objective has bounds, a metric of an unregistered class, or a metric with
            the name of another one of the environment.
    """
    if objective.bounds:
        raise FairgymError(
            f"objective has bounds of {', '.join(objective.bounds)}; give them as bounds of the run"
        )
    further = {}
    for name, metric in objective.metrics.items():
        if name not in env.metrics:
            further[name] = _plain_metric(name, metric)
        elif metric != env.metrics[name]:
            raise FairgymError(
                f"the objective's metric {name!r} differs from that of {env.name}; choose another"
                " name"
            )
    weights = {name: float(weight) for name, weight in objective.weights.items()}
    there = {**env.spec.schemes, **read_schemes(env, [weights])}
    for name, scheme in objective.weighed_schemes.items():
        if there.get(name) != scheme:
            raise FairgymError(
                f"the objective weighs a custom scheme {name!r}, which a configuration cannot"
                f" hold; use schemes of {env.name} and welfare functions by name"
            )
    return {WEIGHTS: weights, METRICS: further} if further else weights


def _plain_metric(name: str, metric: Metric) -> dict[str, Any]:
    kind = metric_classes.name_of(type(metric))
    if kind is None:
        raise FairgymError(
            f"the metric {name!r} is of the class {type(metric).__name__}, which a configuration"
            " cannot hold; use a class in fairgym.fairness.metric_classes:"
            f" {', '.join(metric_classes.names())}"
        )
    return {TYPE: kind, **_plain_fields(name, metric)}


def _plain_fields(name: str, metric: Any) -> dict[str, Any]:
    """Return the fields of a metric that differ from their defaults."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(metric):
        value = getattr(metric, field.name)
        if not field.init or value == field.default:
            continue
        if type(value) is Rate:
            found[field.name] = _plain_fields(name, value)
        elif isinstance(value, str | int | float):
            found[field.name] = value
        else:
            raise FairgymError(
                f"{field.name} of the metric {name!r} is {_short(value)}, which a configuration"
                " cannot hold; use plain numbers and texts"
            )
    return found


def objective_text(given: Any) -> str:
    """Return an objective in one line: its name, or weights as the command line takes them."""
    if isinstance(given, str):
        return given
    weights = _parts(given)[0]
    return ",".join(f"{name}={repr(weight).removesuffix('.0')}" for name, weight in weights.items())


def further_data(given: Any) -> Mapping[str, Any]:
    """Return the custom metrics that an objective defines, as plain data by name."""
    return {} if isinstance(given, str) else _parts(given)[1]


def metric_types(objectives: Iterable[object]) -> list[str]:
    """Return the names of the classes of custom metrics in objectives, each once.

    Args:
        objectives: Names, or plain data that may be incomplete.
    """
    further = [o.get(METRICS) for o in objectives if isinstance(o, Mapping)]
    data = [one for m in further if isinstance(m, Mapping) for one in m.values()]
    types = [one.get(TYPE) for one in data if isinstance(one, Mapping)]
    return list(dict.fromkeys(kind for kind in types if isinstance(kind, str)))


def parse_objective(text: str) -> str | dict[str, float]:
    """Return the objective of a text: a name, or METRIC=WEIGHT,METRIC=WEIGHT.

    Raises:
        FairgymError: A part is no weight, or a metric is given twice.
    """
    if "=" not in text:
        return text
    weights: dict[str, float] = {}
    for part in split_list(text):
        name, number = split_pair(part)
        try:
            weight = read_number(number)
        except ValueError:
            weight = math.nan
        if not name or not math.isfinite(weight):
            raise FairgymError(f"each part of objective must be METRIC=NUMBER, got {_short(part)}")
        if name in weights:
            raise FairgymError(f"objective must weigh each metric once, got {_short(name)} twice")
        weights[name] = weight
    return weights


def objective_slug(given: object) -> str:
    """Return an objective for a folder name: its name, or "weighted"."""
    return slug_of(given) if isinstance(given, str) else "weighted"


def _short(value: object) -> str:
    """Return a value as a text of bounded length."""
    return reprlib.repr(value)
