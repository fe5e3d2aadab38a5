"""Measures of how far apart distributions are: of the groups, or of one thing over places."""

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
    """Distance between the groups' distributions over bins; of several pairs the largest.

    It is the 1-Wasserstein distance: of ordered bins, such as scores, with the difference of their
    numbers as the ground distance, sum_b |F_1(b) - F_2(b)| with F the cumulative distribution; of
    bins without an order, such as states of health, with distance 1 between any two, which makes it
    the total variation distance (Hu, Lear and Zhang 2023, section 3).

    Attributes:
        component: the component, with an entry per group and bin; each group's are divided by their
            sum. Of one step it is the distance then, of sums that of the mean distribution.
        order: "ordered" or "nominal".
        title: the distance in words; "" for those of the metric's name.
        unit: unit of the value; "" for a number of bins, or a share.

    Raises:
        FairgymError: another order.

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
            raise FairgymError(f"order is {self.order!r}; it takes {' or '.join(ORDERS)}")

    def unit_in(self, info: Mapping[str, ComponentInfo]) -> str:
        """The declared unit, else "share" of bins without an order.

        Raises:
            FairgymError: the component has not an entry per group and bin.
        """
        _require_axes(info, self.component, 2, "group and bin")
        return self.unit or ("share" if self.order == "nominal" else "")

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Minus the distance; of a group without anybody in it every share is 0."""
        counts = getattr(totals, self.component)
        shares = ratio(counts, jnp.sum(counts, axis=1, keepdims=True))
        each = jnp.cumsum(shares, axis=1) if self.order == "ordered" else shares
        apart = jnp.sum(jnp.abs(each[:, None] - each[None, :]), axis=2)
        return -jnp.max(apart if self.order == "ordered" else 0.5 * apart)

    def defined(self, totals: Counts) -> Array:
        """True if there is somebody in each group."""
        return jnp.all(jnp.sum(getattr(totals, self.component), axis=1) > 0)


@metric_classes.register("LargestDeviation")
@dataclasses.dataclass(frozen=True)
class LargestDeviation(FairMetric):
    """Largest deviation of an entry from the mean of all, max_k |x_k - mean x| / s.

    With s = sum x it is the largest deviation of a share from an even one, max_k |x_k / sum x -
    1/K| (Hu, Lear and Zhang 2023, equation 9).

    Attributes:
        component: the component, with one entry for each place.
        relative_to: what s is: "sum" or "largest" of the entries, or "none" for 1.
        title: the deviation in words; "" for those of the metric's name.
        unit: unit of the value; "" for a share, or for the component's with "none".

    Raises:
        FairgymError: relative to something else.

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
        """Check what it is relative to."""
        if self.relative_to not in SCALES:
            raise FairgymError(f"relative_to is {self.relative_to!r}; it takes {', '.join(SCALES)}")

    def unit_in(self, info: Mapping[str, ComponentInfo]) -> str:
        """The declared unit, else "share", or the component's if it is relative to nothing.

        Raises:
            FairgymError: the component has not one entry for each place.
        """
        _require_axes(info, self.component, 1, "place")
        return self.unit or (info[self.component].unit if self.relative_to == "none" else "share")

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Minus the deviation; 0/0 is 0."""
        entries = getattr(totals, self.component)
        largest = jnp.max(jnp.abs(entries - jnp.mean(entries)))
        if self.relative_to == "none":
            return -largest
        return -ratio(largest, self._scale(entries))

    def defined(self, totals: Counts) -> Array:
        """True if there is something to be relative to."""
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
            f"component is {component!r}; it takes one with an entry per {words}:"
            f" {', '.join(there) or 'there is none'}"
        )
