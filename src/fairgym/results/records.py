"""What policies achieve as flat records: the results of `--json`, and the rows of `--csv FILE`.

docs/command-line.md, "Results as JSON and CSV", has the fields.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fairgym.core import Environment
from fairgym.results.changes import changes
from fairgym.results.gaps import gaps_of
from fairgym.results.labels import OBJECTIVE, MetricLabel, metric_label, scheme_title
from fairgym.results.numbers import Estimate, in_plain_unit
from fairgym.results.rows import Row, effects
from fairgym.statistics.comparisons import Null
from fairgym.statistics.intervals import mean_interval
from fairgym.training.comparison import Comparison
from fairgym.training.courses import courses, status_vectors
from fairgym.training.evaluation import SURVIVED, Evaluation
from fairgym.training.scenarios import Simulation

LEVEL = 0.95
Record = dict[str, Any]
_UNKNOWN = Estimate(math.nan, math.nan, math.nan)


def record(
    policy: str,
    reference: str | None,
    kind: str,
    measure: str,
    mean: Estimate,
    *,
    title: str,
    part: str = "",
    unit: str = "",
    better: int = 0,
    base: Estimate | None = None,
    difference: Estimate | None = None,
    **more: object,
) -> Record:
    """One quantity of one policy.

    Args:
        policy: Name of the policy or scenario.
        reference: Name of the one that it is compared with; None for that one itself.
        kind: What sort of quantity it is.
        measure: Its name in code.
        mean: Its mean over the episodes.
        title: The quantity in words.
        part: Group or element that it is of; "" for everybody.
        unit: Unit of the mean.
        better: 1 if more is better, -1 if less is, 0 where that is not said.
        base: The mean under the reference.
        difference: Mean paired difference from the reference.
        **more: Further fields, or other values of these.
    """
    change = difference or _UNKNOWN
    return {
        "policy": policy,
        "reference": reference,
        "kind": kind,
        "measure": measure,
        "title": title,
        "part": part or None,
        "unit": unit,
        "better": better,
        "mean": mean.mean,
        "low": mean.low,
        "high": mean.high,
        "undefined_episodes": mean.undefined,
        "episodes": mean.episodes,
        "reference_mean": None if base is None else base.mean,
        "difference": change.mean,
        "difference_low": change.low,
        "difference_high": change.high,
        "clear": None if difference is None else difference.clear,
        **more,
    }


def comparison_results(
    comparisons: Sequence[Comparison], settings: Sequence[str]
) -> dict[str, Any]:
    """Policies beside the first one of each setting, in raw values: of all, more is better.

    Args:
        comparisons: One evaluation of each policy, for each setting.
        settings: Difference of each setting from the others, in words.

    Returns:
        The members "level", "policies" and "results" of the document.
    """
    policies, results = [], []
    for comparison, setting in zip(comparisons, settings, strict=True):
        env, (first, *_) = comparison.run.env, comparison.policies
        for one in comparison.policies:
            (evaluation,) = one.evaluations
            reference, against = first.name, first.evaluations[0]
            if one is first:
                reference = against = None
            own = functools.partial(record, one.name, reference)
            where = {"setting": setting or None}
            policies.append(
                _about(one.name, reference, env, evaluation)
                | {"environment": comparison.run.config.environment}
                | {"run": str(one.runs[0].folder) if one.learned else None}
                | where
            )
            for rows in (
                _raw(own, env, evaluation, against),
                _gaps(own, env, evaluation, against),
                _actions(own, env, evaluation),
                _schemes(own, env, evaluation),
            ):
                results += [where | row for row in rows]
    return {"level": LEVEL, "policies": policies, "results": results}


def simulation_results(simulation: Simulation) -> dict[str, Any]:
    """Scenarios as people tell them: natural signs in plain units; then gaps and changes.

    Returns:
        The members "level", "policies" and "results" of the document.
    """
    evaluations, base = simulation.evaluations, simulation.base
    references = {base.name: None} | {one.name: base.name for one in simulation.others}
    own = {name: functools.partial(record, name, other) for name, other in references.items()}
    results = [
        _effect(begun, row, simulation, name)
        for row in effects(simulation)
        for name, begun in own.items()
    ]
    for name, other in references.items():
        against = None if other is None else evaluations[other]
        results += _gaps(own[name], base.env, evaluations[name], against)
    for one in simulation.others:
        for change in changes(simulation, one):
            identity = {"policy": one.name, "reference": base.name, "kind": "change"}
            told = {"measure": change.section, "title": change.what, "unit": change.unit}
            results.append(identity | told | {"old": change.old, "new": change.new})
    policies = [
        _about(one.name, references[one.name], one.env, evaluations[one.name])
        | {"environment": simulation.environment, "baseline": one.baseline}
        | {"same_people": simulation.same_people(one.name)}
        for one in (base, *simulation.others)
    ]
    return {"level": LEVEL, "policies": policies, "results": results}


def _about(name: str, reference: str | None, env: Environment, evaluation: Evaluation) -> Record:
    """What a policy was measured in."""
    return {
        "policy": name,
        "reference": reference,
        "size": env.spec.size_text,
        "horizon": env.horizon,
        "time_unit": env.spec.time_unit,
        "episodes": evaluation.episodes,
        "failed_episodes": int(evaluation.terminated.sum()),
    }


def _effect(own: Callable[..., Record], row: Row, simulation: Simulation, name: str) -> Record:
    """A quantity of a scenario, of a disparity beside its null distribution."""
    quantity, evaluation = row.quantity, simulation.evaluations[name]
    null = {}
    if quantity.kind == "measure" and quantity.name in evaluation.nulls:
        label = metric_label(simulation.base.env, quantity.name)
        factor = in_plain_unit(label.unit)[1] * (-1.0 if label.flipped else 1.0)
        null = _null(evaluation.null(quantity.name, LEVEL), factor)
    return own(
        quantity.kind,
        quantity.name,
        row.means[name],
        title=quantity.title,
        part=quantity.group,
        unit=quantity.unit,
        better=quantity.better,
        base=None if name == simulation.reference else row.means[simulation.reference],
        difference=row.differences.get(name),
        **null,
    )


def _raw(
    own: Callable[..., Record], env: Environment, evaluation: Evaluation, against: Evaluation | None
) -> Iterator[Record]:
    """The objective, every metric and scheme, and the share of episodes that do not fail."""
    labels = [
        OBJECTIVE,
        *(metric_label(env, name) for name in evaluation.metrics),
        MetricLabel(SURVIVED, "episodes that do not fail", "share", False, "direct"),
    ]
    for label in labels:
        name = label.name
        mean = Estimate(*evaluation.interval(name, LEVEL))
        base, difference = None, None
        if against is not None:
            base = Estimate(*against.interval(name, LEVEL))
            difference = Estimate(*evaluation.difference(against, name, LEVEL))
        null = evaluation.null(name, LEVEL) if name in evaluation.nulls else None
        yield own(
            "measure",
            name,
            dataclasses.replace(
                mean, undefined=evaluation.undefined(name), episodes=evaluation.episodes
            ),
            title=label.title,
            unit=label.unit,
            better=1,
            base=base,
            difference=difference,
            **({} if null is None else _null(null, 1.0)),
        )


def _null(null: Null, factor: float) -> Record:
    return {
        "null_mean": factor * null.mean,
        "null_bound": factor * null.bound,
        "null_excess": factor * null.excess,
        "null_clear": null.clear,
    }


def _gaps(
    own: Callable[..., Record], env: Environment, evaluation: Evaluation, against: Evaluation | None
) -> Iterator[Record]:
    """Every pair of groups in every rate that is compared, with the test of all pairs together."""
    for rate in gaps_of(env, [evaluation], None if against is None else [against], LEVEL):
        test = {} if rate.test is None else rate.test._asdict()
        for pair in rate.pairs:
            yield own(
                "gap",
                rate.name,
                pair.gap,
                title=rate.title,
                part=pair.names[0],
                unit=rate.unit,
                better=rate.better,
                difference=pair.change,
                undefined_episodes=None,
                episodes=evaluation.episodes,
                against=pair.names[1],
                worse_off=rate.worse_off(pair) if pair.gap.clear else None,
                **test,
            )


def _actions(
    own: Callable[..., Record], env: Environment, evaluation: Evaluation
) -> Iterator[Record]:
    """The mean of each element of each agent's action; of a choice how often each option is."""
    for agent, action in evaluation.mean_actions.items():
        names, means = env.action_space(agent).names, action.mean(axis=0).tolist()
        for name, mean in zip(names, means, strict=True):
            yield own(
                "action", agent, _alone(mean, evaluation), title=f"{agent}: {name}", part=name
            )


def _schemes(
    own: Callable[..., Record], env: Environment, evaluation: Evaluation
) -> Iterator[Record]:
    """Each scheme's mean score after every step, and the status of every stakeholder at the end."""
    found = courses(evaluation, env.spec.schemes) if env.spec.schemes else {}
    for vector in status_vectors(env, found) if found else ():
        for name in vector.schemes:
            scores = found[name].scores.mean(axis=0, dtype=np.float64).tolist()
            title = scheme_title(env, name)
            for step, mean in enumerate(scores, 1):
                alone = _alone(mean, evaluation)
                yield own("course", name, alone, title=title, better=1, step=step)
            status = found[name].status[:, -1].astype(np.float64)
            for place, who in enumerate(vector.stakeholders):
                low_to_high = mean_interval(status[:, place])
                mean = Estimate(*low_to_high, 0, evaluation.episodes)
                yield own("status", name, mean, title=vector.title, part=who, unit=vector.unit)


def _alone(mean: float, evaluation: Evaluation) -> Estimate:
    """A mean without an interval."""
    return Estimate(mean, math.nan, math.nan, 0, evaluation.episodes)
