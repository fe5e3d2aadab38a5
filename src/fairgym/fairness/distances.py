"""Distances between the groups' distributions, and deviations from an even distribution."""

import dataclasses
from collections.abc import Mapping

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.core import ComponentInfo, Counts, FairgymError
from fairgym.fairness.metrics import FairMetric, metric_classes, ratio

ORDERS = ("ordered", "nominal")
SCALES = ("sum", "largest", "none")


@metric_classes.register("Distance")
@dataclasses.dataclass(frozen=True)
class Distance(FairMetric):
    """Distance between the groups' distributions over bins; for several pairs the largest.

    It is the 1-Wasserstein distance (Hu, Lear and Zhang 2023, section 3). For ordered bins, such
    as scores, the ground distance is the difference of their numbers: sum_b |F_1(b) - F_2(b)| with
    F the cumulative distribution. For bins without an order, such as states of health, any two
    bins have distance 1, which gives the total variation distance.

    Attributes:
        component: Name of the component, with an entry per group and bin. Each group's entries are
            divided by their sum. For one step it gives the current distance, for sums that of the
            mean distribution.
        order: "ordered" or "nominal".
        title: Title of the distance; "" for the metric's name.
        unit: Unit of the value; "" for a number of bins, or a share.

    Raises:
        FairgymError: If the order is anything else.

    Examples:
        >>> from types import SimpleNamespace
        >>> import jax.numpy as jnp
        >>> from fairgym.fairness import Distance
        >>> now = SimpleNamespace(scores=jnp.array([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]))
        >>> float(Distance("scores").value(now)), float(Distance("scores", "nominal").value(now))
        (-1.0, -0.5)
    """

    component: str
    order: str = "ordered"

    def __post_init__(self) -> None:
        """Check the order."""
        if self.order not in ORDERS:
            raise FairgymError(f"order must be {' or '.join(ORDERS)}, got {self.order!r}")

    def unit_in(self, info: Mapping[str, ComponentInfo]) -> str:
        """Return the declared unit, else "share" for bins without an order.

        Raises:
            FairgymError: If the component does not have an entry per group and bin.
        """
        _require_axes(info, self.component, 2, "group and bin")
        return self.unit or ("share" if self.order == "nominal" else "")

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Return minus the distance; every share of an empty group counts as 0."""
        counts = getattr(totals, self.component)
        shares = ratio(counts, jnp.sum(counts, axis=1, keepdims=True))
        each = jnp.cumsum(shares, axis=1) if self.order == "ordered" else shares
        apart = jnp.sum(jnp.abs(each[:, None] - each[None, :]), axis=2)
        return -jnp.max(apart if self.order == "ordered" else 0.5 * apart)

    def defined(self, totals: Counts) -> Array:
        """Return whether every group has people in it."""
        return jnp.all(jnp.sum(getattr(totals, self.component), axis=1) > 0)


@metric_classes.register("LargestDeviation")
@dataclasses.dataclass(frozen=True)
class LargestDeviation(FairMetric):
    """Largest deviation of an entry from the mean of all, max_k |x_k - mean x| / s.

    With s = sum x it is the largest deviation of a share from an even one, max_k |x_k / sum x -
    1/K| (Hu, Lear and Zhang 2023, equation 9).

    Attributes:
        component: Name of the component, with one entry per place.
        relative_to: Scale s: "sum" or "largest" of the entries, or "none" for 1.
        title: Title of the deviation; "" for the metric's name.
        unit: Unit of the value; "" for a share, or for the component's unit with "none".

    Raises:
        FairgymError: If `relative_to` is anything else.

    Examples:
        >>> from types import SimpleNamespace
        >>> import jax.numpy as jnp
        >>> from fairgym.fairness import LargestDeviation
        >>> now = SimpleNamespace(found=jnp.array([6.0, 1.0, 1.0]))
        >>> round(float(LargestDeviation("found").value(now)), 4)
        -0.4167
    """

    component: str
    relative_to: str = "sum"

    def __post_init__(self) -> None:
        """Check the scale."""
        if self.relative_to not in SCALES:
            raise FairgymError(
                f"relative_to must be one of {', '.join(SCALES)}, got {self.relative_to!r}"
            )

    def unit_in(self, info: Mapping[str, ComponentInfo]) -> str:
        """Return the declared unit, else "share", or the component's unit without a scale.

        Raises:
            FairgymError: If the component does not have one entry per place.
        """
        _require_axes(info, self.component, 1, "place")
        return self.unit or (info[self.component].unit if self.relative_to == "none" else "share")

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Return minus the deviation; 0/0 counts as 0."""
        entries = getattr(totals, self.component)
        largest = jnp.max(jnp.abs(entries - jnp.mean(entries)))
        if self.relative_to == "none":
            return -largest
        return -ratio(largest, self._scale(entries))

    def defined(self, totals: Counts) -> Array:
        """Return whether the scale is positive."""
        if self.relative_to == "none":
            return jnp.array(True)
        return self._scale(getattr(totals, self.component)) > 0

    def _scale(self, entries: Float[Array, " places"]) -> Float[Array, ""]:
        return jnp.sum(entries) if self.relative_to == "sum" else jnp.max(entries)


def _require_axes(info: Mapping[str, ComponentInfo], component: str, axes: int, words: str) -> None:
    """Raise a FairgymError unless the component has this number of axes."""
    if len(info[component].axes) != axes:
        there = [name for name, one in info.items() if len(one.axes) == axes]
        raise FairgymError(
            f"component must have an entry per {words} ({', '.join(there) or 'none has'}), got"
            f" {component!r}"
        )
