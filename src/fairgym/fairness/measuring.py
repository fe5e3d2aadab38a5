"""Environments that measure further metrics and schemes beside their own."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from fairgym.core import Environment, FairgymError
from fairgym.fairness.metrics import Metric
from fairgym.fairness.objective import Objective
from fairgym.fairness.schemes import Scheme
from fairgym.wrappers import Augmented, MoreMetrics


def measuring(env: Environment, objectives: Iterable[Objective]) -> Environment:
    """The environment with the metrics and schemes that objectives bring along beside its own.

    Args:
        env: the environment.
        objectives: objectives in it; a name that the environment has is its own.

    Raises:
        FairgymError: an objective weighs a scheme that has the name of another one, whose memory
            would be taken for its own.
    """
    objectives = tuple(objectives)
    schemes = {n: scheme for one in objectives for n, scheme in one.weighed_schemes.items()}
    schemes |= env.spec.schemes
    for one in objectives:
        for name, scheme in one.weighed_schemes.items():
            if _folds(scheme) != _folds(schemes[name]):
                raise FairgymError(
                    f"the objective weighs a scheme {name!r} that is another one than that of"
                    f" {env.name}; it takes another name"
                )
    return with_measures(
        env,
        {name: metric for one in objectives for name, metric in one.metrics.items()},
        {name: scheme for one in objectives for name, scheme in one.schemes.items()} | schemes,
    )


def _folds(scheme: Scheme) -> tuple[Any, ...]:
    """Parts of a scheme that its memory depends on: all but the normaliser."""
    return scheme.status, scheme.extended, scheme.when


def with_measures(
    env: Environment, metrics: Mapping[str, Metric], schemes: Mapping[str, Scheme]
) -> Environment:
    """The environment with those of these measures whose names it has not yet.

    In an augmented environment they stand inside, so that it stays one.
    """
    more = tuple((name, metric) for name, metric in metrics.items() if name not in env.metrics)
    too = tuple((name, scheme) for name, scheme in schemes.items() if name not in env.spec.schemes)
    if not more and not too:
        return env
    if isinstance(env, Augmented):
        return dataclasses.replace(env, env=MoreMetrics(env.env, more, too))
    return MoreMetrics(env, more, too)
