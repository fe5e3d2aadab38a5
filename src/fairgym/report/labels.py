"""Metrics as a reader meets them: a title, a unit, and which way is better.

Inside the program every metric is written so that more is better: default rates and disparities
carry a minus sign. Reports show them as plain rates and gaps, marked "lower is better".
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairgym.core import ComponentInfo, Environment
from fairgym.report.words import title, words


@dataclasses.dataclass(frozen=True)
class MetricLabel:
    """One metric, or the objective, as it is shown.

    Attributes:
        name: as in `env.metrics`; "objective" for the objective.
        title: in words.
        unit: of the shown value; "" for a number without unit.
        flipped: whether the shown value is minus the program's.
        kind: "objective", "direct", "rate" or "fair".
        nonnegative: whether the shown value cannot be below 0.
    """

    name: str
    title: str
    unit: str
    flipped: bool
    kind: str
    nonnegative: bool = False

    @property
    def key(self) -> str:
        """Its key in the metrics of a run."""
        return "objective" if self.kind == "objective" else f"metrics/{self.name}"

    @property
    def better(self) -> str:
        """Which way is better, for the shown value."""
        return "lower is better" if self.flipped else "higher is better"

    @property
    def arrow(self) -> str:
        """The same as a sign."""
        return "↓" if self.flipped else "↑"

    @property
    def limits(self) -> tuple[float, float]:
        """What the shown value can be: a share lies in [0, 1], a gap is not below 0."""
        low = 0.0 if self.nonnegative else -np.inf
        return low, 1.0 if self.unit == "share" else np.inf

    @property
    def axis_label(self) -> str:
        """Unit for an axis."""
        return self.unit or ("score" if self.kind == "objective" else "")

    def shown(self, values: Any) -> Any:
        """The program's values as they are shown."""
        values = np.asarray(values, np.float64)
        return 0.0 - values if self.flipped else values


OBJECTIVE = MetricLabel("objective", "Objective", "", False, "objective")


def metric_labels(env: Environment) -> list[MetricLabel]:
    """The objective and every metric of an environment, in its order."""
    return [OBJECTIVE, *(metric_label(env, name) for name in env.metrics)]


def metric_label(env: Environment, name: str) -> MetricLabel:
    """One metric of an environment."""
    metric = env.metrics[name]
    rate = getattr(metric, "rate", metric)
    info = env.component_info
    nonnegative = metric.kind == "fair"
    if hasattr(rate, "numerator"):
        unit = rate_unit(info, rate)
        nonnegative = nonnegative or info[rate.numerator].nonnegative
    else:
        unit = info[metric.component].unit if hasattr(metric, "component") else ""
    flipped = metric.kind == "fair" or getattr(metric, "sign", 1) < 0
    return MetricLabel(name, title(name), unit, flipped, metric.kind, nonnegative)


def rate_unit(info: Mapping[str, ComponentInfo], rate: Any) -> str:
    """The unit of a ratio of two components: a share, or what is left after cancelling."""
    above, below = info[rate.numerator].unit, info[rate.denominator].unit
    if above == below:
        return "share"
    if above.startswith(f"{below} x "):
        return above.removeprefix(f"{below} x ")
    return f"{above} per {'person' if below == 'people' else below.removesuffix('s')}"


def rate_title(env: Environment, name: str) -> str:
    """The rate that a disparity compares, in words.

    It goes by the name of the metric that it is; else by the disparity's own name
    (`wait_disparity` compares "Wait"), or by what is counted per what.
    """
    rate = env.metrics[name].rate
    for other, metric in env.metrics.items():
        if getattr(metric, "numerator", None) == rate.numerator and (
            getattr(metric, "denominator", None) == rate.denominator
        ):
            return title(other)
    base, found, _ = name.rpartition("_disparity")
    return title(base) if found else title(f"{words(rate.numerator)} per {words(rate.denominator)}")


def disparities(env: Environment) -> dict[str, Any]:
    """The metrics that compare groups, by name."""
    return {name: metric for name, metric in env.metrics.items() if hasattr(metric, "rate")}


def time_unit(env: Environment) -> str:
    """What one step is: the unit of the observed time, such as "months"; "steps" if unknown."""
    for agent in env.agents:
        for feature in env.observation_space(agent).context:
            if feature.name == "time" and feature.unit:
                return feature.unit
    return "steps"


def attribute_unit(env: Environment, name: str) -> str:
    """The unit of an observed feature; "" if it has none or nobody observes it."""
    for agent in env.agents:
        for feature in env.observation_space(agent).features:
            if feature.name == name:
                return feature.unit
    return ""


def action_unit(env: Environment, name: str) -> str:
    """The unit of a number in [0, 1] that an agent sets for every person.

    A number by the name of a feature that people have (their premium, their salary) is an amount
    as a share of its maximum; others (a score, a priority) only rank people.
    """
    features = (f.name for agent in env.agents for f in env.observation_space(agent).features)
    return "share of the maximum" if name in features else "0 to 1"


def variable(env: Environment, names: Sequence[str]) -> str:
    """What these names are the values of, such as "region"; "" if that is not known.

    It is a partition of the people, or the source's variable that has a column for each of them
    among what an agent observes.
    """
    for word, codes in env.partitions.items():
        if tuple(codes) == tuple(names):
            return words(word)
    for agent in env.agents:
        sources = {f.name: f.source for f in env.observation_space(agent).features}
        found = {sources.get(name, "").partition(";")[0].strip().lower() for name in names}
        if len(found) == 1 and "" not in found and len(names) > 1:
            return words(found.pop())
    return ""


# ---------------------------------------------------------------- actions


@dataclasses.dataclass(frozen=True)
class Section:
    """Rows of a heat map that sum to 1.

    Attributes:
        head: what is divided, "" for the budget.
        elements: the names in the action space.
        labels: what each row is called.
    """

    head: str
    elements: tuple[str, ...]
    labels: tuple[str, ...]


def section(block: Sequence[str]) -> Section:
    """One simplex: a split of something if all names begin with it and a comma."""
    parts = [name.rpartition(",") for name in block]
    heads = {head.strip() for head, _, _ in parts}
    if len(heads) == 1 and "" not in heads:
        labels = tuple(last.strip() for _, _, last in parts)
        return Section(heads.pop(), tuple(block), labels)
    return Section("", tuple(block), tuple(words(name) for name in block))


def split_group(name: str, groups: Sequence[str]) -> tuple[str, str]:
    """What an element means and the group that it is for: "threshold, rich" -> two parts.

    The second is "" for an element that is not for one group.
    """
    base, comma, last = name.rpartition(",")
    if comma and last.strip() in groups:
        return base.strip(), last.strip()
    return name, ""
