"""Labels of metrics, groups and budgets, and names in words.

In the program, more of every metric is better: default rates and disparities have a minus sign.
Reports show them as plain rates and gaps, marked "lower is better".
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

# Words for people that need a noun, and ends of names that have one and take no article.
_OF_PEOPLE = frozenset({"white", "black", "asian", "hispanic", "native", "male", "female"})
_PLURALS = ("men", "people", "others", "customers")


def title(name: str) -> str:
    """Return a name in code as words, with a capital at the start."""
    return capital(words(name))


def capital(text: str) -> str:
    """Return the text with a capital at the start."""
    return text[:1].upper() + text[1:]


def those(group: str) -> str:
    """Return a group as it stands within a sentence.

    Examples:
        >>> from fairgym.results.labels import those
        >>> [those(group) for group in ("disadvantaged", "A", "site_0", "Black", "white_men")]
        ['the disadvantaged', 'group A', 'site 0', 'Black people', 'white men']
    """
    text = words(group)
    if len(text) == 1:
        return f"group {text}"
    if text.lower() in _OF_PEOPLE:
        return f"{text} people"
    return text if text[-1:].isdigit() or text.endswith(_PLURALS) else f"the {text}"


def listed(names: Iterable[str]) -> str:
    """Return names in a row: "a, b and c"."""
    *most, last = list(names)
    return f"{', '.join(most)} and {last}" if most else last


@dataclasses.dataclass(frozen=True)
class MetricLabel:
    """Label of one metric or scheme, or of the objective.

    Attributes:
        name: Name in `env.metrics` or `env.spec.schemes`; "objective" for the objective.
        title: Title in words.
        unit: Unit of the shown value; "" for a number without one.
        flipped: Whether the shown value is minus the program's.
        kind: "objective", "direct", "rate", "fair" or "scheme".
        nonnegative: Whether the shown value cannot be below 0.
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
        """Direction that is better for the shown value, in words."""
        return "lower is better" if self.flipped else "higher is better"

    @property
    def arrow(self) -> str:
        """Direction that is better for the shown value, as an arrow."""
        return "↓" if self.flipped else "↑"

    @property
    def limits(self) -> tuple[float, float]:
        """Range of the shown value: a share is in [0, 1], a gap is at least 0."""
        return limits_of(self.unit, self.nonnegative)

    @property
    def axis_label(self) -> str:
        """Unit for an axis."""
        return self.unit or ("score" if self.kind in ("objective", "scheme") else "")

    def shown(self, values: Numbers | float) -> np.ndarray:
        """Return values of the program as they are shown."""
        values = np.asarray(values, np.float64)
        return np.asarray(0.0 - values) if self.flipped else values


OBJECTIVE = MetricLabel("objective", "Objective", "", False, "objective")


def metric_labels(env: Environment) -> list[MetricLabel]:
    """Return labels of the objective and of every metric and scheme, in the environment's order."""
    return [OBJECTIVE, *(metric_label(env, name) for name in (*env.metrics, *env.spec.schemes))]


def display_order(env: Environment, names: Iterable[str]) -> list[str]:
    """Return names of metrics as tables and figures list them.

    Metrics of finished cases only, such as the wait of those served, come last: who is served
    stands before how long they wait. The others keep their order.
    """
    return sorted(names, key=lambda name: name in env.spec.finished_only)


def displayed_labels(env: Environment) -> list[MetricLabel]:
    """Return the labels of `metric_labels`, with the metrics in the order of display."""
    names = (*display_order(env, env.metrics), *env.spec.schemes)
    return [OBJECTIVE, *(metric_label(env, name) for name in names)]


def metric_label(env: Environment, name: str) -> MetricLabel:
    """Return the label of one metric or scheme of an environment."""
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
    """Return the rate that a disparity compares, in words.

    This is its title if it declares one, else the title of the metric with this rate, else
    numerator per denominator.
    """
    rate = env.metrics[name].rate
    if rate.title:
        return rate.title
    for other, metric in env.metrics.items():
        if metric == rate:
            return metric_label(env, other).title
    return title(f"{words(rate.numerator)} per {words(rate.denominator)}")


def scheme_title(env: Environment, name: str) -> str:
    """Return the title of a scheme, or its name in words if it has none."""
    own = env.spec.schemes[name].title
    return capital(own) if own else title(name)


def disparities(env: Environment) -> dict[str, Disparity]:
    """Return differences of a rate between groups, or between single people, by name."""
    return {name: m for name, m in env.metrics.items() if isinstance(m, Disparity)}


def axis_of(env: Environment, component: str) -> str:
    """Return the word for the entries of a component: "group", "region", "person"."""
    axis = env.spec.component_info[component].per
    return env.spec.group_word if axis == "group" or not isinstance(axis, str) else axis


def rate_parts(env: Environment, rate: Rate) -> tuple[str, ...]:
    """Return the names of the groups, or of the people, whose rates are compared."""
    return env.spec.parts_of(axis_of(env, rate.numerator))


# ---------------------------------------------------------------- people


def has_people(env: Environment) -> bool:
    """Whether an environment has people, with stages, subgroups and a core attribute."""
    return isinstance(env.unwrapped, PopulationEnvironment)


def has_population(env: Environment) -> bool:
    """Whether groups consist of many people without names.

    False if single people are distinguished in components: then there is no distribution to show.
    """
    return has_people(env) and "person" not in env.spec.axes


def core_attribute_unit(env: Environment) -> str:
    """Return the observed unit of the core attribute; "" if it has none or no agent observes it."""
    features = (f for agent in env.agents for f in env.observation_space(agent).features)
    return next((f.unit for f in features if f.name == env.spec.core_attribute), "")


# ---------------------------------------------------------------- shares of a budget


def whole(space: ActionSpace, block: Sequence[Element]) -> str:
    """Return the name, in words, of the share that a block splits further."""
    return words(next(e.title for e in space.elements if e.name == block[0].of))


def row_label(element: Element) -> str:
    """Return the name, in words, of a share within its block."""
    return words((element.of and element.group) or element.title)


def parts_word(env: Environment, parts: Sequence[str]) -> str:
    """Return the attribute of these subgroups, such as "region"; "" if they are not declared."""
    if tuple(parts) == tuple(env.spec.groups):
        return env.spec.group_word
    partitions = env.spec.partitions if has_people(env) else {}
    return next((words(name) for name, of in partitions.items() if tuple(of) == tuple(parts)), "")
