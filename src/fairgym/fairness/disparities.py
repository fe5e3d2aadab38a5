"""Metrics that compare the groups' rates, or take the rate of the worst-off group."""

import dataclasses
from collections.abc import Mapping

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.core import ComponentInfo, Counts, FairgymError
from fairgym.fairness.metrics import Comparison, FairMetric, Kind, Rate, metric_classes, ratio

AGGREGATES = ("worst_case", "mean")


class _OfGroups(Comparison):
    """Metric of the groups' rates, by default in the unit of the rate."""

    rate: Rate

    def unit_in(self, info: Mapping[str, ComponentInfo]) -> str:
        """Return the declared unit, else the rate's."""
        return self.unit or self.rate.unit_in(info)

    def defined(self, totals: Counts) -> Array:
        """Return whether every group's denominator is positive."""
        return jnp.all(self.rate.denominators(totals) > 0)


@metric_classes.register("Disparity")
@dataclasses.dataclass(frozen=True)
class Disparity(_OfGroups, FairMetric):
    """Difference of a rate between groups (MAFE, equations 3 and 4); 0 is parity.

    For two groups it is minus the absolute difference, for more groups minus the population
    standard deviation. For a rate of positive decisions it is the demographic parity difference;
    for such a rate among the qualified, the equal opportunity difference.

    Attributes:
        rate: Rate to compare.
        normalise_by_sum: Whether to divide by the sum of the groups' rates (table 8: waits,
            salaries).
        title: Title of the disparity; "" for the metric's name.
        unit: Unit of the value; "" for the rate's.

    Examples:
        >>> from types import SimpleNamespace
        >>> import jax.numpy as jnp
        >>> from fairgym.fairness import Disparity, Rate
        >>> totals = SimpleNamespace(admitted=jnp.array([6.0, 1.0]), applied=jnp.array([8.0, 4.0]))
        >>> float(Disparity(Rate("admitted", "applied")).value(totals))
        -0.5
    """

    rate: Rate
    normalise_by_sum: bool = False

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Return the disparity, at most 0, in the unit of the rate."""
        rates = self.rate.per_group(totals)
        if rates.shape[0] == 2:
            return -jnp.abs(rates[0] - rates[1])
        return -jnp.std(rates)

    def normalised(self, totals: Counts) -> Float[Array, ""]:
        """Return the disparity, divided by the sum of the rates if `normalise_by_sum`."""
        if not self.normalise_by_sum:
            return self.value(totals)
        return -ratio(-self.value(totals), jnp.sum(self.rate.per_group(totals)))


@metric_classes.register("LargestGap")
@dataclasses.dataclass(frozen=True)
class LargestGap(_OfGroups, FairMetric):
    """Largest difference of a rate between two groups, max_g r_g - min_g r_g; 0 is parity.

    It is fairlearn's difference between groups. For a rate of positive decisions it is the
    demographic parity difference; for such a rate among the qualified, the equal opportunity
    difference, with any number of groups. For two groups it equals `Disparity`.

    Attributes:
        rate: Rate to compare; its sign does not matter.
        title: Title of the gap; "" for the metric's name.
        unit: Unit of the value; "" for the rate's.

    Examples:
        >>> from types import SimpleNamespace
        >>> import jax.numpy as jnp
        >>> from fairgym.fairness import LargestGap, Rate
        >>> totals = SimpleNamespace(
        ...     admitted=jnp.array([6.0, 1.0, 2.0]), applied=jnp.array([8.0, 4.0, 4.0])
        ... )
        >>> float(LargestGap(Rate("admitted", "applied")).value(totals))
        -0.5
    """

    rate: Rate

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Return minus the gap, in the unit of the rate; a group's 0/0 counts as 0."""
        return -_range(self.rate.per_group(totals))


def _range(rates: Float[Array, " groups"]) -> Float[Array, ""]:
    """Return the difference of the largest and the smallest rate."""
    return jnp.max(rates) - jnp.min(rates)


@metric_classes.register("EqualisedOdds")
@dataclasses.dataclass(frozen=True)
class EqualisedOdds(FairMetric):
    """Equalised odds difference: how far apart the groups' error rates are; 0 is parity.

    Odds are equalised if the groups have equal rates of positive decisions among people with a
    good outcome, and also among people with a bad one (M. Hardt, E. Price, N. Srebro, Equality of
    Opportunity in Supervised Learning, 2016, definition 2.1). The measure is the larger of the
    largest gaps of the two rates, or their mean, as in fairlearn's `equalized_odds_difference`.

    Attributes:
        true_positive: Rate of positive decisions among people whose outcome is or would be good.
        false_positive: Rate of positive decisions among people whose outcome is or would be bad.
        agg: Aggregate of the two gaps: "worst_case" for the larger one, or "mean".
        title: Title of the difference; "" for the metric's name.
        unit: Unit of the value; "" for the rates'.

    Raises:
        FairgymError: If `agg` is anything else.

    Examples:
        >>> from types import SimpleNamespace
        >>> import jax.numpy as jnp
        >>> from fairgym.fairness import EqualisedOdds, Rate
        >>> totals = SimpleNamespace(
        ...     good=jnp.array([8.0, 4.0]), good_approved=jnp.array([6.0, 2.0]),
        ...     bad=jnp.array([2.0, 8.0]), bad_approved=jnp.array([1.0, 1.0]),
        ... )
        >>> odds = EqualisedOdds(Rate("good_approved", "good"), Rate("bad_approved", "bad"))
        >>> float(odds.value(totals))  # gaps of 1/4 and 3/8
        -0.375
    """

    true_positive: Rate
    false_positive: Rate
    agg: str = AGGREGATES[0]

    def __post_init__(self) -> None:
        """Check the aggregate."""
        if self.agg not in AGGREGATES:
            raise FairgymError(f"agg must be {' or '.join(AGGREGATES)}, got {self.agg!r}")

    @property
    def rates(self) -> tuple[Rate, Rate]:
        """The two rates."""
        return self.true_positive, self.false_positive

    def unit_in(self, info: Mapping[str, ComponentInfo]) -> str:
        """Return the declared unit, else that of the rates.

        Raises:
            FairgymError: If no unit is declared and the rates' units differ.
        """
        good, bad = (rate.unit_in(info) for rate in self.rates)
        if not self.unit and good != bad:
            raise FairgymError(f"both rates must have the same unit, got {good!r} and {bad!r}")
        return self.unit or good

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Return minus the difference; a group's 0/0 counts as 0."""
        gaps = jnp.stack([_range(rate.per_group(totals)) for rate in self.rates])
        return -(jnp.mean(gaps) if self.agg == "mean" else jnp.max(gaps))

    def defined(self, totals: Counts) -> Array:
        """Return whether every group has people with either outcome."""
        good, bad = (rate.denominators(totals) for rate in self.rates)
        return jnp.all(good > 0) & jnp.all(bad > 0)


@metric_classes.register("WorstGroup")
@dataclasses.dataclass(frozen=True)
class WorstGroup(_OfGroups):
    """Rate of the worst-off group: min_g r_g, or max_g r_g where less is better.

    This is the maximin criterion (J. Rawls, A Theory of Justice, 1971), in machine learning the
    worst-group performance (S. Sagawa et al., Distributionally Robust Neural Networks for Group
    Shifts, 2020).

    Attributes:
        rate: Rate of each group; its sign says which side is worse.
        title: Title of the metric; "" for its name.
        unit: Unit of the value; "" for the rate's.

    Examples:
        >>> from types import SimpleNamespace
        >>> import jax.numpy as jnp
        >>> from fairgym.fairness import Rate, WorstGroup
        >>> totals = SimpleNamespace(admitted=jnp.array([6.0, 1.0]), applied=jnp.array([8.0, 4.0]))
        >>> float(WorstGroup(Rate("admitted", "applied")).value(totals))
        0.25
        >>> float(WorstGroup(Rate("admitted", "applied", sign=-1)).value(totals))
        -0.75
    """

    rate: Rate
    kind: Kind = dataclasses.field(default="rate", init=False)

    @property
    def sign(self) -> int:
        """Sign of the rate."""
        return self.rate.sign

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Return the smallest of the signed rates; a group's 0/0 counts as 0."""
        return jnp.min(self.sign * self.rate.per_group(totals))


class Relative(_OfGroups):
    """Metric of the groups' rates relative to each other; no unit, undefined if all are 0."""

    def unit_in(self, info: Mapping[str, ComponentInfo]) -> str:
        """Return the declared unit."""
        return self.unit

    def defined(self, totals: Counts) -> Array:
        """Return whether all denominators and at least one group's rate are positive."""
        return super().defined(totals) & (jnp.max(self.rate.per_group(totals)) > 0)


@metric_classes.register("GroupRatio")
@dataclasses.dataclass(frozen=True)
class GroupRatio(Relative):
    """Ratio of a rate between groups: min_g r_g / max_g r_g, from 0 to 1; 1 is parity.

    For a rate of positive decisions it is the demographic parity ratio. The four-fifths rule
    requires at least 0.8 (Uniform Guidelines on Employee Selection Procedures, 1978, 29 CFR 1607.4
    D). The rates must not be negative.

    Attributes:
        rate: Rate to compare; its sign does not matter.
        title: Title of the ratio; "" for the metric's name.
        unit: Unit of the value; "" for none.

    Examples:
        >>> from types import SimpleNamespace
        >>> import jax.numpy as jnp
        >>> from fairgym.fairness import GroupRatio, Rate
        >>> totals = SimpleNamespace(admitted=jnp.array([6.0, 1.5]), applied=jnp.array([8.0, 4.0]))
        >>> float(GroupRatio(Rate("admitted", "applied")).value(totals))
        0.5
    """

    rate: Rate
    kind: Kind = dataclasses.field(default="rate", init=False)

    @property
    def sign(self) -> int:
        """Always 1: closer to 1 is better."""
        return 1

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Return the lowest rate divided by the highest; 0/0 counts as 0."""
        rates = self.rate.per_group(totals)
        return ratio(jnp.min(rates), jnp.max(rates))
