"""Metrics: pure functions of components, summed over an episode or of a single step.

Every metric is written so that more is better (MAFE, appendix B): a rate that should be low has
`sign=-1`, and a disparity is never above 0.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal, Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.core import ComponentInfo, Counts, EnvironmentSpec, FairgymError
from fairgym.utils.registry import Registry

metric_classes = Registry(
    "fairgym.fairness.metrics",
    "class of metric",
    members=("kind", "sign", "title", "unit_in", "value", "normalised", "defined"),
    defaults=False,
    modules=tuple(
        f"fairgym.fairness.{name}" for name in ("metrics", "disparities", "inequality", "distances")
    ),
)

Kind = Literal["direct", "rate", "fair"]


def label() -> Any:
    """A field that only names the metric: metrics that differ in it share compiled programs."""
    return dataclasses.field(default="", compare=False)


@runtime_checkable
class Metric(Protocol):
    """Interface of every metric."""

    @property
    def kind(self) -> Kind:
        """One of: "direct" for sums, "rate" for ratios, "fair" for disparities."""
        ...

    @property
    def sign(self) -> int:
        """-1 if less is better of the number as a reader knows it, which is minus the value."""
        ...

    @property
    def title(self) -> str:
        """The metric in words; "" for those of its name."""
        ...

    def unit_in(self, info: Mapping[str, ComponentInfo]) -> str:
        """The unit of the value, given the declared components; "" for a number without one."""
        ...

    def value(self, totals: Counts) -> Float[Array, ""]:
        """The metric of these component sums."""
        ...

    def normalised(self, totals: Counts) -> Float[Array, ""]:
        """The metric divided by its normaliser, of order 1."""
        ...

    def defined(self, totals: Counts) -> Array:
        """False where the value is 0/0, which counts as 0."""
        ...


def ratio(numerator: Array, denominator: Array) -> Array:
    """Numerator / denominator, and 0 for 0/0."""
    return jnp.where(denominator > 0, numerator / jnp.where(denominator > 0, denominator, 1.0), 0.0)


@metric_classes.register("Direct")
@dataclasses.dataclass(frozen=True)
class Direct:
    """A sum of a component over time, such as profit (MAFE, equation 2, first term).

    Attributes:
        component: name of the component; entries per group are added up.
        normaliser: divisor that brings the value to order 1.
        sign: -1 if less is better.
        title: the metric in words; "" for those of its name.
        unit: unit of the value; "" for the component's.

    Examples:
        >>> from types import SimpleNamespace
        >>> import jax.numpy as jnp
        >>> from fairgym.fairness import Direct
        >>> totals = SimpleNamespace(cost=jnp.array(50.0))
        >>> cost = Direct("cost", normaliser=100.0, sign=-1)
        >>> float(cost.value(totals)), float(cost.normalised(totals))
        (-50.0, -0.5)
    """

    component: str
    normaliser: float = 1.0
    sign: int = 1
    kind: Kind = dataclasses.field(default="direct", init=False)
    title: str = label()
    unit: str = label()

    def unit_in(self, info: Mapping[str, ComponentInfo]) -> str:
        """The declared unit, else the component's."""
        return self.unit or info[self.component].unit

    def value(self, totals: Counts) -> Float[Array, ""]:
        """The (signed) sum, in the component's unit."""
        return self.sign * jnp.sum(getattr(totals, self.component))

    def normalised(self, totals: Counts) -> Float[Array, ""]:
        """The sum divided by the normaliser."""
        return self.value(totals) / self.normaliser

    def defined(self, totals: Counts) -> Array:
        """Always True."""
        return jnp.array(True)


@metric_classes.register("Rate")
@dataclasses.dataclass(frozen=True)
class Rate:
    """A ratio of two summed components (MAFE, equation 2, second term).

    Attributes:
        numerator: name of the component counted.
        denominator: name of the component that it is a share of.
        sign: -1 if less is better.
        offset: number added to the denominator, as the 1 of Hu, Lear and Zhang (2023), equation 10.
        title: the rate in words; "" for those of the metric's name.
        unit: unit of the value; "" for a share, which takes components of equal units.

    Examples:
        >>> from types import SimpleNamespace
        >>> import jax.numpy as jnp
        >>> from fairgym.fairness import Rate
        >>> totals = SimpleNamespace(admitted=jnp.array([6.0, 1.0]), applied=jnp.array([8.0, 6.0]))
        >>> float(Rate("admitted", "applied").value(totals))
        0.5
    """

    numerator: str
    denominator: str
    sign: int = 1
    offset: float = 0.0
    kind: Kind = dataclasses.field(default="rate", init=False)
    title: str = label()
    unit: str = label()

    def __post_init__(self) -> None:
        """Check the offset."""
        if not 0.0 <= self.offset < math.inf:
            raise FairgymError(f"offset is {self.offset!r}; it takes a number from 0")

    def unit_in(self, info: Mapping[str, ComponentInfo]) -> str:
        """The declared unit, else "share".

        Raises:
            FairgymError: no unit is declared and the components have different ones.
        """
        above, below = info[self.numerator].unit, info[self.denominator].unit
        if not self.unit and above != below:
            raise FairgymError(
                f"the rate of {self.numerator!r} ({above!r}) to {self.denominator!r} ({below!r})"
                " declares no unit; components of different units take one, as in"
                " Rate(..., unit='months')"
            )
        return self.unit or "share"

    def value(self, totals: Counts) -> Float[Array, ""]:
        """The (signed) ratio over everybody; 0/0 is 0."""
        everybody = jnp.sum(getattr(totals, self.denominator))
        return self.sign * ratio(
            jnp.sum(getattr(totals, self.numerator)), self._with_offset(everybody)
        )

    def normalised(self, totals: Counts) -> Float[Array, ""]:
        """The same: a rate is of order 1 already."""
        return self.value(totals)

    def parts_in(self, spec: EnvironmentSpec) -> tuple[str, ...]:
        """Names of the groups, or of the people, that have a rate each, in the order of them."""
        axis = spec.component_info[self.numerator].per
        return spec.parts_of(axis if isinstance(axis, str) else "group")

    def per_group(self, totals: Counts) -> Float[Array, " groups"]:
        """The unsigned ratio of each group; 0/0 is 0."""
        return ratio(getattr(totals, self.numerator), self.denominators(totals))

    def denominators(self, totals: Counts) -> Float[Array, " groups"]:
        """Divisor of each group's count."""
        return self._with_offset(getattr(totals, self.denominator))

    def defined(self, totals: Counts) -> Array:
        """True if the denominator is positive."""
        return self._with_offset(jnp.sum(getattr(totals, self.denominator))) > 0

    def _with_offset(self, denominator: Array) -> Array:
        return denominator + self.offset if self.offset else denominator


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparison:
    """Base of measures that compare groups or places, whose value is of order 1 already.

    Attributes:
        title: the measure in words; "" for those of the metric's name.
        unit: unit of the value; "" for that of what is compared.
    """

    title: str = label()
    unit: str = label()

    def value(self, totals: Counts) -> Float[Array, ""]:
        """The measure of these component sums."""
        raise NotImplementedError

    def normalised(self, totals: Counts) -> Float[Array, ""]:
        """The same: the value is of order 1 already."""
        return self.value(totals)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FairMetric(Comparison):
    """Base of measures of how far apart groups or places are, never above 0; 0 is parity.

    Attributes:
        kind: always "fair".
        sign: always -1: what a reader knows is minus the value, and better the smaller it is.
    """

    kind: Kind = dataclasses.field(default="fair", init=False)
    sign: int = dataclasses.field(default=-1, init=False, repr=False)


def rates_of(metric: Metric) -> tuple[Rate, ...]:
    """The rates that a metric is made of: itself, its `rate` or its `rates`."""
    several = getattr(metric, "rates", (metric, getattr(metric, "rate", None)))
    return tuple(rate for rate in several if isinstance(rate, Rate))


def components_of(metric: Metric) -> tuple[str, ...]:
    """Names of the components that a metric is made of, each once; () of one that names none."""
    rates = [name for rate in rates_of(metric) for name in (rate.numerator, rate.denominator)]
    return tuple(filter(None, dict.fromkeys([*rates, getattr(metric, "component", "")])))
