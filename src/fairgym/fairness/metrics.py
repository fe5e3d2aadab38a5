"""Metrics: pure functions of components, summed over an episode or of a single step.

For every metric more is better (MAFE, appendix B): a rate that should be low has `sign=-1`, and a
disparity is never above 0.
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
    """Declare a field that only names the metric: it does not enter comparison or compilation."""
    return dataclasses.field(default="", compare=False)


@runtime_checkable
class Metric(Protocol):
    """Interface of every metric."""

    @property
    def kind(self) -> Kind:
        """Kind of the metric: "direct" for sums, "rate" for ratios, "fair" for disparities."""
        ...

    @property
    def sign(self) -> int:
        """-1 if tables show minus the value, where less is better; else 1."""
        ...

    @property
    def title(self) -> str:
        """Title of the metric; "" for its name."""
        ...

    def unit_in(self, info: Mapping[str, ComponentInfo]) -> str:
        """Return the unit of the value, given the declared components; "" for none."""
        ...

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Return the metric of these component sums."""
        ...

    def normalised(self, totals: Counts) -> Float[Array, ""]:
        """Return the metric divided by its normaliser, of order 1."""
        ...

    def defined(self, totals: Counts) -> Array:
        """Return False where the value is 0/0, which counts as 0."""
        ...


def ratio(numerator: Array, denominator: Array) -> Array:
    """Return numerator / denominator, and 0 for 0/0."""
    return jnp.where(denominator > 0, numerator / jnp.where(denominator > 0, denominator, 1.0), 0.0)


@metric_classes.register("Direct")
@dataclasses.dataclass(frozen=True)
class Direct:
    """Sum of a component over time, such as profit (MAFE, equation 2, first term).

    Attributes:
        component: Name of the component; entries per group are added.
        normaliser: Divisor that brings the value to order 1.
        sign: -1 if less is better.
        title: Title of the metric; "" for its name.
        unit: Unit of the value; "" for the component's.

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
        """Return the declared unit, else the component's."""
        return self.unit or info[self.component].unit

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Return the signed sum, in the component's unit."""
        return self.sign * jnp.sum(getattr(totals, self.component))

    def normalised(self, totals: Counts) -> Float[Array, ""]:
        """Return the sum divided by the normaliser."""
        return self.value(totals) / self.normaliser

    def defined(self, totals: Counts) -> Array:
        """Return True."""
        return jnp.array(True)


@metric_classes.register("Rate")
@dataclasses.dataclass(frozen=True)
class Rate:
    """Ratio of two summed components (MAFE, equation 2, second term).

    Attributes:
        numerator: Name of the component in the numerator.
        denominator: Name of the component in the denominator.
        sign: -1 if less is better.
        offset: Number added to the denominator, as the 1 of Hu, Lear and Zhang (2023), equation 10.
        title: Title of the rate; "" for the metric's name.
        unit: Unit of the value; "" for a share, which needs components of equal units.

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
            raise FairgymError(f"offset must be a number from 0, got {self.offset!r}")

    def unit_in(self, info: Mapping[str, ComponentInfo]) -> str:
        """Return the declared unit, else "share".

        Raises:
            FairgymError: If no unit is declared and the components' units differ.
        """
        above, below = info[self.numerator].unit, info[self.denominator].unit
        if not self.unit and above != below:
            raise FairgymError(
                f"the rate of {self.numerator!r} ({above!r}) to {self.denominator!r} ({below!r})"
                " must declare a unit, since its components have different units, as in"
                " Rate(..., unit='months')"
            )
        return self.unit or "share"

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Return the signed ratio over everybody; 0/0 counts as 0."""
        everybody = jnp.sum(getattr(totals, self.denominator))
        return self.sign * ratio(
            jnp.sum(getattr(totals, self.numerator)), self._with_offset(everybody)
        )

    def normalised(self, totals: Counts) -> Float[Array, ""]:
        """Return the value, which is already of order 1."""
        return self.value(totals)

    def parts_in(self, spec: EnvironmentSpec) -> tuple[str, ...]:
        """Return the names of the groups, or of the people, in the order of their rates."""
        axis = spec.component_info[self.numerator].per
        return spec.parts_of(axis if isinstance(axis, str) else "group")

    def per_group(self, totals: Counts) -> Float[Array, " groups"]:
        """Return the unsigned ratio of each group; 0/0 counts as 0."""
        return ratio(getattr(totals, self.numerator), self.denominators(totals))

    def denominators(self, totals: Counts) -> Float[Array, " groups"]:
        """Return each group's denominator."""
        return self._with_offset(getattr(totals, self.denominator))

    def defined(self, totals: Counts) -> Array:
        """Return whether the denominator is positive."""
        return self._with_offset(jnp.sum(getattr(totals, self.denominator))) > 0

    def _with_offset(self, denominator: Array) -> Array:
        return denominator + self.offset if self.offset else denominator


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparison:
    """Base of metrics that compare groups or places; their value is of order 1.

    Attributes:
        title: Title of the metric; "" for its name.
        unit: Unit of the value; "" for the unit of what is compared.
    """

    title: str = label()
    unit: str = label()

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Return the metric of these component sums."""
        raise NotImplementedError

    def normalised(self, totals: Counts) -> Float[Array, ""]:
        """Return the value, which is already of order 1."""
        return self.value(totals)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FairMetric(Comparison):
    """Base of metrics of how far apart groups or places are: at most 0, and 0 is parity.

    Attributes:
        kind: Always "fair".
        sign: Always -1: tables show minus the value, where less is better.
    """

    kind: Kind = dataclasses.field(default="fair", init=False)
    sign: int = dataclasses.field(default=-1, init=False, repr=False)


def rates_of(metric: Metric) -> tuple[Rate, ...]:
    """Return the rates that a metric uses: itself, its `rate` or its `rates`."""
    several = getattr(metric, "rates", (metric, getattr(metric, "rate", None)))
    return tuple(rate for rate in several if isinstance(rate, Rate))


def components_of(metric: Metric) -> tuple[str, ...]:
    """Return the names of the components that a metric uses, each once; () if it names none."""
    rates = [name for rate in rates_of(metric) for name in (rate.numerator, rate.denominator)]
    return tuple(filter(None, dict.fromkeys([*rates, getattr(metric, "component", "")])))
