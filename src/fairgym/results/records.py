"""Results of policies as flat records, for `--json` and `--csv FILE`.

The fields are documented in docs/command-line.md, "Results as JSON and CSV".
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fairgym.core import Environment
from fairgym.results.changes import changes
from fairgym.results.gaps import gaps_of
from fairgym.results.labels import OBJECTIVE, MetricLabel, metric_label, scheme_title
from fairgym.results.numbers import Estimate, in_plain_unit
from fairgym.results.rows import Row, effects
from fairgym.results.what_if import decomposition_records, rival_records, sensitivity_records
from fairgym.statistics.intervals import mean_interval
from fairgym.training.comparison import Comparison
from fairgym.training.courses import courses, status_vectors
from fairgym.training.decomposition import Decomposition
from fairgym.training.evaluation import SURVIVED, Evaluation
from fairgym.training.scenarios import Simulation
from fairgym.training.sensitivity import Sensitivity

LEVEL = 0.95
Record = dict[str, Any]
_UNKNOWN = Estimate(math.nan, math.nan, math.nan)


def comparison_results(
    comparisons: Sequence[Comparison], settings: Sequence[str]
) -> dict[str, Any]:
    """Return policies and their differences from the first one, in raw values: more is better.

    Args:
        comparisons: Evaluations of each policy, one comparison per setting.
        settings: What each setting differs in from the others, in words.

    Returns:
        The members "level", "policies" and "results" of the document.
    """
    policies, results = [], []
    for comparison, setting in zip(comparisons, settings, strict=True):
        first, *others = (
            _Measured(one.name, comparison.run.env, one.evaluations[0])
            for one in comparison.policies
        )
        several = [first, *(dataclasses.replace(one, reference=first) for one in others)]
        where = {"setting": setting or None}
        for one, compared in zip(several, comparison.policies, strict=True):
            run = str(compared.runs[0].folder) if compared.learned else None
            origin = {"environment": comparison.run.config.environment, "run": run}
            policies.append(one.about | origin | where)
            for rows in (one.measures(), one.gaps(), one.actions(), one.schemes()):
                results += [where | row for row in rows]
    return {"level": LEVEL, "policies": policies, "results": results}


def simulation_results(
    simulation: Simulation,
    sensitivities: Sequence[Sensitivity] = (),
    decompositions: Sequence[Decomposition] = (),
) -> dict[str, Any]:
    """Return scenarios with natural signs and plain units, then gaps and changed settings.

    Differences in rival worlds, sensitivities and decompositions follow.

    Returns:
        The members "level", "policies" and "results" of the document.
    """
    built = (simulation.base, *simulation.others)
    first, *others = (
        _Measured(one.name, one.env, simulation.evaluations[one.name]) for one in built
    )
    several = [first, *(dataclasses.replace(one, reference=first) for one in others)]
    rows = effects(simulation)
    results = [one.effect(row) for row in rows for one in several]
    for one in several:
        results += one.gaps()
    for one in simulation.others:
        for change in changes(simulation, one):
            identity = {"policy": one.name, "reference": first.name, "kind": "change"}
            told = {"measure": change.section, "title": change.what, "unit": change.unit}
            results.append(identity | told | {"old": change.old, "new": change.new})
    results += rival_records(simulation, rows)
    for found in sensitivities:
        results += sensitivity_records(simulation.base.env, found)
    for parts in decompositions:
        results += decomposition_records(simulation.base.env, parts)
    policies = [
        one.about
        | {"environment": simulation.environment, "baseline": scenario.baseline}
        | {"same_people": simulation.same_people(one.name)}
        | {"world": None if simulation.world is None else simulation.world.name}
        for one, scenario in zip(several, built, strict=True)
    ]
    return {"level": LEVEL, "policies": policies, "results": results}


@dataclasses.dataclass(frozen=True)
class _Measured:
    """Records of one policy.

    Attributes:
        name: Name of the policy or scenario.
        env: Environment of the policy.
        evaluation: Evaluation of the policy.
        reference: Records of the reference; None for the reference itself.
    """

    name: str
    env: Environment
    evaluation: Evaluation
    reference: "_Measured | None" = None

    @property
    def about(self) -> Record:
        """Size, horizon and episodes of the measurement."""
        return {
            "policy": self.name,
            "reference": None if self.reference is None else self.reference.name,
            "size": self.env.spec.size_text,
            "horizon": self.env.horizon,
            "time_unit": self.env.spec.time_unit,
            "episodes": self.evaluation.episodes,
            "failed_episodes": int(self.evaluation.terminated.sum()),
        }

    def record(
        self,
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
        """Return the record of one quantity.

        Args:
            kind: Kind of the quantity.
            measure: Name of the quantity in code.
            mean: Mean over the episodes.
            title: Title in words.
            part: Group or element of the quantity; "" for all people.
            unit: Unit of the mean.
            better: 1 if higher is better, -1 if lower is, 0 if neither.
            base: Mean under the reference.
            difference: Mean paired difference from the reference.
            **more: Further fields, or other values of these.
        """
        change = difference or _UNKNOWN
        return {
            "policy": self.name,
            "reference": None if self.reference is None else self.reference.name,
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
            "episodes": self.evaluation.episodes,
            "reference_mean": None if base is None else base.mean,
            "difference": change.mean,
            "difference_low": change.low,
            "difference_high": change.high,
            "clear": None if difference is None else difference.clear,
            **more,
        }

    def effect(self, row: Row) -> Record:
        """Return a quantity of a scenario; of a disparity with its null distribution."""
        quantity, other, null = row.quantity, self.reference, {}
        if quantity.kind == "measure" and quantity.name in self.evaluation.nulls:
            label = metric_label(self.env, quantity.name)
            factor = in_plain_unit(label.unit)[1] * (-1.0 if label.flipped else 1.0)
            null = self.null(quantity.name, factor)
        return self.record(
            quantity.kind,
            quantity.name,
            row.means[self.name],
            title=quantity.title,
            part=quantity.group,
            unit=quantity.unit,
            better=quantity.better,
            base=None if other is None else row.means[other.name],
            difference=row.differences.get(self.name),
            **null,
        )

    def measures(self) -> Iterator[Record]:
        """Yield the objective, metrics, schemes, and the share of episodes that do not fail."""
        evaluation, other = self.evaluation, self.reference
        labels = [
            OBJECTIVE,
            *(metric_label(self.env, name) for name in evaluation.metrics),
            MetricLabel(SURVIVED, "episodes that do not fail", "share", False, "direct"),
        ]
        for label in labels:
            name = label.name
            base, difference = None, None
            if other is not None:
                base = Estimate(*other.evaluation.interval(name, LEVEL))
                difference = Estimate(*evaluation.difference(other.evaluation, name, LEVEL))
            yield self.record(
                "measure",
                name,
                Estimate(*evaluation.interval(name, LEVEL), evaluation.undefined(name)),
                title=label.title,
                unit=label.unit,
                better=1,
                base=base,
                difference=difference,
                **(self.null(name) if name in evaluation.nulls else {}),
            )

    def null(self, name: str, factor: float = 1.0) -> Record:
        """Return a disparity's null distribution, in its unit times a factor."""
        null = self.evaluation.null(name, LEVEL)
        return {
            "null_mean": factor * null.mean,
            "null_bound": factor * null.bound,
            "null_excess": factor * null.excess,
            "null_clear": null.clear,
        }

    def gaps(self) -> Iterator[Record]:
        """Yield every pair of groups in every compared rate, with the test of all pairs."""
        against = None if self.reference is None else [self.reference.evaluation]
        for rate in gaps_of(self.env, [self.evaluation], against, LEVEL):
            for pair in rate.pairs:
                yield self.record(
                    "gap",
                    rate.name,
                    pair.gap,
                    title=rate.title,
                    part=pair.names[0],
                    unit=rate.unit,
                    better=rate.better,
                    difference=pair.change,
                    undefined_episodes=None,
                    against=pair.names[1],
                    worse_off=rate.worse_off(pair) if pair.gap.clear else None,
                    **({} if rate.test is None else rate.test._asdict()),
                )

    def actions(self) -> Iterator[Record]:
        """Yield the mean of each action element, or the share of each option."""
        for agent, action in self.evaluation.mean_actions.items():
            names, means = self.env.action_space(agent).names, action.mean(axis=0).tolist()
            for name, value in zip(names, means, strict=True):
                mean = Estimate(value, math.nan, math.nan)
                yield self.record("action", agent, mean, title=f"{agent}: {name}", part=name)

    def schemes(self) -> Iterator[Record]:
        """Yield each scheme's mean score after every step, and each stakeholder's final status."""
        schemes = self.env.spec.schemes
        found = courses(self.evaluation, schemes) if schemes else {}
        for vector in status_vectors(self.env, found) if found else ():
            for name in vector.schemes:
                title = scheme_title(self.env, name)
                scores = found[name].scores.mean(axis=0, dtype=np.float64).tolist()
                for step, value in enumerate(scores, 1):
                    mean = Estimate(value, math.nan, math.nan)
                    yield self.record("course", name, mean, title=title, better=1, step=step)
                status = found[name].status[:, -1].astype(np.float64)
                title, unit = vector.title, vector.unit
                for place, who in enumerate(vector.stakeholders):
                    mean = Estimate(*mean_interval(status[:, place]))
                    yield self.record("status", name, mean, title=title, part=who, unit=unit)
