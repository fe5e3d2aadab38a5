"""Environments that measure further metrics and schemes in addition to their own."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from fairgym.core import Environment, FairgymError
from fairgym.fairness.metrics import Metric
from fairgym.fairness.objective import Objective
from fairgym.fairness.schemes import Scheme
from fairgym.wrappers import Augmented, MoreMetrics


def measuring(env: Environment, objectives: Iterable[Objective]) -> Environment:
    """Return the environment with the metrics and schemes that objectives add to its own.

    Args:
        env: Environment.
        objectives: Objectives in it. A name that the environment has refers to its own metric.

    Raises:
        FairgymError: If an objective weights a scheme whose name belongs to another scheme, since
            the memories of the two would be confused.
    """
    objectives = tuple(objectives)
    schemes = {n: scheme for one in objectives for n, scheme in one.weighed_schemes.items()}
    schemes |= env.spec.schemes
    for one in objectives:
        for name, scheme in one.weighed_schemes.items():
            if _folds(scheme) != _folds(schemes[name]):
                raise FairgymError(
                    f"scheme {name!r} of the objective must have another name, since {env.name}"
                    " has a different scheme of that name"
                )
    return with_measures(
        env,
        {name: metric for one in objectives for name, metric in one.metrics.items()},
        {name: scheme for one in objectives for name, scheme in one.schemes.items()} | schemes,
    )


def _folds(scheme: Scheme) -> tuple[Any, ...]:
    """Return the parts that a scheme's memory depends on: all but the normaliser."""
    return scheme.status, scheme.extended, scheme.when


def with_measures(
    env: Environment, metrics: Mapping[str, Metric], schemes: Mapping[str, Scheme]
) -> Environment:
    """Return the environment with the measures whose names it does not have yet.

    They go inside an augmented environment, so that it stays augmented.
    """
    more = tuple((name, metric) for name, metric in metrics.items() if name not in env.metrics)
    too = tuple((name, scheme) for name, scheme in schemes.items() if name not in env.spec.schemes)
    if not more and not too:
        return env
    if isinstance(env, Augmented):
        return dataclasses.replace(env, env=MoreMetrics(env.env, more, too))
    return MoreMetrics(env, more, too)
