"""Rows of a table: a quantity of every policy, and paired differences from the reference."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from fairgym.config.differences import words
from fairgym.results.numbers import Estimate, estimate, rounded_away, unit_text
from fairgym.results.quantities import Quantity, quantities
from fairgym.statistics.intervals import paired_interval
from fairgym.statistics.shares import share_difference, share_interval
from fairgym.training.evaluation import Evaluation
from fairgym.training.scenarios import Simulation


@dataclasses.dataclass(frozen=True)
class Row:
    """A quantity of all policies, and the paired differences from the reference.

    Attributes:
        quantity: The quantity.
        means: Policy name, reference included -> mean over the episodes.
        differences: Name of another policy -> mean paired difference from the reference.
    """

    quantity: Quantity
    means: dict[str, Estimate]
    differences: dict[str, Estimate]

    @property
    def label(self) -> str:
        """Quantity in words with its unit and an arrow, or the group."""
        if self.quantity.group:
            return f"  {words(self.quantity.group)}"
        arrow = {1: " ↑", -1: " ↓", 0: ""}[self.quantity.better]
        return f"{self.quantity.title}{unit_text(self.quantity.unit)}{arrow}"

    @property
    def name(self) -> str:
        """Quantity in words, with its group."""
        title, group = self.quantity.title, self.quantity.group
        return f"{title}, {words(group)}" if group else title

    @property
    def undefined(self) -> dict[str, int]:
        """Policy name -> number of episodes in which the quantity is 0/0, if there are any."""
        return {name: mean.undefined for name, mean in self.means.items() if mean.undefined}

    @property
    def unchanged(self) -> bool:
        """Whether there are other policies, and none of them differs in any episode."""
        return bool(self.differences) and all(
            one.mean == one.low == one.high == 0.0 for one in self.differences.values()
        )


def effects(simulation: Simulation) -> list[Row]:
    """Return every quantity of a simulation."""
    evaluations = {name: [one] for name, one in simulation.evaluations.items()}
    return rows_of(quantities(simulation.base.env), evaluations, simulation.reference)


def rows_of(
    told: Sequence[Quantity],
    evaluations: Mapping[str, Sequence[Evaluation]],
    reference: str,
) -> list[Row]:
    """Return quantities of several policies in the same episodes.

    Args:
        told: Quantities to compute.
        evaluations: Policy name -> one evaluation per seed.
        reference: Name of the policy that the others are compared with.
    """
    rows = []
    for quantity in told:
        values = {
            name: [np.asarray(quantity.values(one), np.float64) for one in several]
            for name, several in evaluations.items()
        }
        means = {name: _mean(quantity, own) for name, own in values.items()}
        differences = {
            name: _difference(quantity, own, values[reference])
            for name, own in values.items()
            if name != reference
        }
        for name, one in differences.items():
            size = max(abs(means[name].mean), abs(means[reference].mean))
            differences[name] = rounded_away(one, size)
        rows.append(Row(quantity, means, differences))
    return rows


def _mean(quantity: Quantity, values: Sequence[np.ndarray]) -> Estimate:
    found = estimate(values)
    if quantity.two_valued:
        mean, low, high = share_interval(values)
        found = dataclasses.replace(found, mean=mean, low=low, high=high)
    return found.within(*quantity.limits)


def _difference(
    quantity: Quantity, ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]
) -> Estimate:
    """Mean paired difference, with an interval within the possible range."""
    if quantity.two_valued and all(np.array_equal(one, ours[0]) for one in (*ours, *theirs)):
        return Estimate(0.0, 0.0, 0.0)  # no difference in any episode
    compared = share_difference if quantity.two_valued else paired_interval
    low, high = quantity.limits
    most = high - low if math.isfinite(high - low) else math.inf
    return Estimate(*compared(ours, theirs)).within(-most, most)
