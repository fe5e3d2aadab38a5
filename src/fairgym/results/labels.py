"""Labels of metrics, groups and budgets, and names in a reader's words.

Inside the program every metric is written so that more is better: default rates and disparities
carry a minus sign. Reports show them as plain rates and gaps, marked "lower is better".
"""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from fairgym.algorithms import log_keys
from fairgym.config.differences import words
from fairgym.core import ActionSpace, Element, Environment, PopulationEnvironment
from fairgym.fairness import Disparity, Rate
from fairgym.results.numbers import limits_of
from fairgym.statistics.intervals import Numbers


def title(name: str) -> str:
    """A name in code as words, with a capital at the start."""
    return capital(words(name))


def capital(text: str) -> str:
    """The text with a capital at the start."""
    return text[:1].upper() + text[1:]


def those(group: str) -> str:
    """A group within a sentence: "the advantaged", but "site 0", whose number is its name."""
    return words(group) if group[-1:].isdigit() else f"the {words(group)}"


def listed(names: Iterable[str]) -> str:
    """Names in a row: "a, b and c"."""
    *most, last = list(names)
    return f"{', '.join(most)} and {last}" if most else last


@dataclasses.dataclass(frozen=True)
class MetricLabel:
    """One metric or scheme, or the objective, as it is shown.

    Attributes:
        name: as in `env.metrics` or `env.spec.schemes`; "objective" for the objective.
        title: in words.
        unit: unit of the shown value; "" for a number without one.
        flipped: whether the shown value is minus the program's.
        kind: "objective", "direct", "rate", "fair" or "scheme".
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
        """Key in the training log."""
        own = self.kind == "objective"
        return log_keys.OBJECTIVE if own else log_keys.metric(self.name)

    @property
    def better(self) -> str:
        """Better side of the shown value, in words."""
        return "lower is better" if self.flipped else "higher is better"

    @property
    def arrow(self) -> str:
        """Better side of the shown value, as a sign."""
        return "↓" if self.flipped else "↑"

    @property
    def limits(self) -> tuple[float, float]:
        """Range of the shown value: a share lies in [0, 1], a gap is not below 0."""
        return limits_of(self.unit, self.nonnegative)

    @property
    def axis_label(self) -> str:
        """Unit for an axis."""
        return self.unit or ("score" if self.kind in ("objective", "scheme") else "")

    def shown(self, values: Numbers | float) -> np.ndarray:
        """Values of the program as they are shown."""
        values = np.asarray(values, np.float64)
        return np.asarray(0.0 - values) if self.flipped else values


OBJECTIVE = MetricLabel("objective", "Objective", "", False, "objective")


def metric_labels(env: Environment) -> list[MetricLabel]:
    """Labels of the objective and of every metric and scheme of an environment, in its order."""
    return [OBJECTIVE, *(metric_label(env, name) for name in (*env.metrics, *env.spec.schemes))]


def metric_label(env: Environment, name: str) -> MetricLabel:
    """Label of one metric or scheme of an environment."""
    if name in env.spec.schemes:
        return MetricLabel(name, scheme_title(env, name), "", False, "scheme")
    metric, info = env.metrics[name], env.spec.component_info
    counted = getattr(getattr(metric, "rate", metric), "numerator", None)
    counted = counted or getattr(metric, "component", None)
    nonnegative = metric.kind == "fair" or (counted is not None and info[counted].nonnegative)
    return MetricLabel(
        name,
        metric.title or title(name),
        metric.unit_in(info),
        metric.sign < 0,
        metric.kind,
        nonnegative,
    )


def rate_title(env: Environment, name: str) -> str:
    """Rate that a disparity compares, in words.

    Its own title if it declares one, else that of the metric that it is, else what is counted per
    what.
    """
    rate = env.metrics[name].rate
    if rate.title:
        return rate.title
    for other, metric in env.metrics.items():
        if metric == rate:
            return metric_label(env, other).title
    return title(f"{words(rate.numerator)} per {words(rate.denominator)}")


def scheme_title(env: Environment, name: str) -> str:
    """Title of a scheme: its own, else its name in words."""
    own = env.spec.schemes[name].title
    return capital(own) if own else title(name)


def disparities(env: Environment) -> dict[str, Disparity]:
    """Differences of a rate between groups, or between people who are told apart, by name."""
    return {name: m for name, m in env.metrics.items() if isinstance(m, Disparity)}


def axis_of(env: Environment, component: str) -> str:
    """The word for what a component has entries for: "group", "region", "person"."""
    axis = env.spec.component_info[component].per
    return env.spec.group_word if axis == "group" or not isinstance(axis, str) else axis


def rate_parts(env: Environment, rate: Rate) -> tuple[str, ...]:
    """Names of the groups, or of the people, whose rates are compared."""
    return env.spec.parts_of(axis_of(env, rate.numerator))


# ---------------------------------------------------------------- people


def has_people(env: Environment) -> bool:
    """True for an environment of people, with stages, partitions and a core attribute."""
    return isinstance(env.unwrapped, PopulationEnvironment)


def has_population(env: Environment) -> bool:
    """True where groups are made of many people, of whom nobody has a name.

    False where the people themselves are told apart, as are their numbers: then there is no
    distribution of theirs to look at.
    """
    return has_people(env) and "person" not in env.spec.axes


def core_attribute_unit(env: Environment) -> str:
    """Unit of the core attribute as agents observe it; "" if it has none or nobody observes it."""
    features = (f for agent in env.agents for f in env.observation_space(agent).features)
    return next((f.unit for f in features if f.name == env.spec.core_attribute), "")


# ---------------------------------------------------------------- shares of a budget


def whole(space: ActionSpace, block: Sequence[Element]) -> str:
    """Name, in words, of the share that a block splits further."""
    return words(next(e.title for e in space.elements if e.name == block[0].of))


def row_label(element: Element) -> str:
    """Name, in words, of a share within its block."""
    return words((element.of and element.group) or element.title)


def parts_word(env: Environment, parts: Sequence[str]) -> str:
    """The word for these parts, such as "region"; "" if they are no declared partition."""
    if tuple(parts) == tuple(env.spec.groups):
        return env.spec.group_word
    partitions = env.spec.partitions if has_people(env) else {}
    return next((words(name) for name, of in partitions.items() if tuple(of) == tuple(parts)), "")
