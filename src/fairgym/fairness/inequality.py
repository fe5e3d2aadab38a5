"""Inequality coefficients over the groups' rates: Gini, Theil and Atkinson.

All groups have the same weight, whatever their size. Multiplying all rates by one number changes no
coefficient. Rates must not be negative.
"""

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.core import Counts, FairgymError
from fairgym.core.errors import is_number
from fairgym.fairness.disparities import Relative
from fairgym.fairness.metrics import FairMetric, Rate, metric_classes, ratio

MOST_AVERSE = 1000.0  # epsilon of Atkinson; beyond it the index is 1 - lowest rate / mean


@metric_classes.register("Gini")
@dataclasses.dataclass(frozen=True)
class Gini(Relative, FairMetric):
    """Gini coefficient over the groups' rates, G = sum_gh |r_g - r_h| / (2 n sum_g r_g).

    After C. Gini, Variabilità e mutabilità, 1912, as half of the relative mean absolute difference
    (A. Sen, On Economic Inequality, 1973). The n groups have the same weight, whatever their size.
    0 is parity and 1 - 1/n the maximum. Rates must not be negative.

    Attributes:
        rate: Rate to compare; its sign does not matter.
        title: Title of the coefficient; "" for the metric's name.
        unit: Unit of the value; "" for none.

    Examples:
        >>> from types import SimpleNamespace
        >>> import jax.numpy as jnp
        >>> from fairgym.fairness import Gini, Rate
        >>> totals = SimpleNamespace(admitted=jnp.array([6.0, 1.0]), applied=jnp.array([8.0, 4.0]))
        >>> float(Gini(Rate("admitted", "applied")).value(totals))
        -0.25
    """

    rate: Rate

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Return minus the coefficient; 0/0 counts as 0."""
        rates = self.rate.per_group(totals)
        differences = jnp.sum(jnp.abs(rates[:, None] - rates[None, :]))
        return -ratio(differences, 2 * rates.shape[0] * jnp.sum(rates))


@metric_classes.register("Theil")
@dataclasses.dataclass(frozen=True)
class Theil(Relative, FairMetric):
    """Theil index over the groups' rates, T = mean_g (r_g / m) log(r_g / m), m the mean rate.

    After H. Theil, Economics and Information Theory, 1967; the generalised entropy index of order
    1. The n groups have the same weight, whatever their size. 0 is parity and log n the maximum. A
    rate of 0 adds nothing; its gradient would be infinite and is left out.

    Attributes:
        rate: Rate to compare, not negative; its sign does not matter.
        title: Title of the index; "" for the metric's name.
        unit: Unit of the value; "" for none.

    Examples:
        >>> from types import SimpleNamespace
        >>> import jax.numpy as jnp
        >>> from fairgym.fairness import Rate, Theil
        >>> totals = SimpleNamespace(admitted=jnp.array([6.0, 1.0]), applied=jnp.array([8.0, 4.0]))
        >>> round(float(Theil(Rate("admitted", "applied")).value(totals)), 4)
        -0.1308
    """

    rate: Rate

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Return minus the index; 0 if all rates are 0."""
        shares, above, logs = _around_the_mean(self.rate.per_group(totals))
        # The mean of x log x - (x - 1) is the same and stays exact near parity.
        return -jnp.maximum(jnp.mean(shares * logs - above), 0.0)


@metric_classes.register("Atkinson")
@dataclasses.dataclass(frozen=True)
class Atkinson(Relative, FairMetric):
    """Atkinson index over the groups' rates, A = 1 - (mean_g r_g^(1 - e))^(1 / (1 - e)) / m.

    After A. B. Atkinson, On the Measurement of Inequality, 1970, with m the mean rate. For e = 1
    it is 1 minus the geometric mean divided by m. It is the share of the mean rate that could be
    given up if all groups had the same rate instead: m (1 - A) orders as `AlphaFair(e, plus=0)`.
    All groups have the same weight, whatever their size. 0 is parity. If a group's rate is 0, A is
    1 for e of 1 or more. For smaller e the gradient of that rate would be infinite and is left out.

    Attributes:
        rate: Rate to compare, not negative; its sign does not matter.
        epsilon: Aversion to inequality e, above 0; a larger e gives low rates more weight.
        title: Title of the index; "" for the metric's name.
        unit: Unit of the value; "" for none.

    Raises:
        FairgymError: If epsilon is out of range.

    Examples:
        >>> from types import SimpleNamespace
        >>> import jax.numpy as jnp
        >>> from fairgym.fairness import Atkinson, Rate
        >>> totals = SimpleNamespace(admitted=jnp.array([6.0, 1.0]), applied=jnp.array([8.0, 4.0]))
        >>> access = Rate("admitted", "applied")
        >>> [round(float(Atkinson(access, e).value(totals)), 4) for e in (0.5, 1.0, 2.0)]
        [-0.067, -0.134, -0.25]
    """

    rate: Rate
    epsilon: float = 0.5

    def __post_init__(self) -> None:
        """Check the aversion."""
        if not is_number(self.epsilon) or not 0.0 < self.epsilon <= MOST_AVERSE:
            raise FairgymError(
                f"epsilon must be a number above 0 and at most {MOST_AVERSE:g}, got"
                f" {self.epsilon!r}"
            )

    def value(self, totals: Counts) -> Float[Array, ""]:
        """Return minus the index; 0 if all rates are 0."""
        shares, above, logs = _around_the_mean(self.rate.per_group(totals))
        some, power = shares > 0, 1.0 - self.epsilon
        if power == 0.0:
            log_mean = jnp.mean(logs)
        else:  # the log of the power mean, relative to its largest term to avoid overflow
            terms = jnp.where(some, power * logs, -jnp.inf if power > 0.0 else 0.0)
            largest = jnp.max(terms)
            log_mean = (largest + jnp.log1p(jnp.mean(jnp.expm1(terms - largest)))) / power
        # Subtract the rounding error in the mean of r / m, so that it is exact near parity.
        index = jnp.maximum(-jnp.expm1(log_mean - jnp.log1p(jnp.mean(above))), 0.0)
        return -(index if power > 0.0 else jnp.where(jnp.all(some), index, 1.0))


def _around_the_mean(rates: Float[Array, " groups"]) -> tuple[Array, Array, Array]:
    """Return the ratio x of each rate to the mean, x - 1, and log x (0 for x = 0).

    If all rates are 0, each ratio is 1. Infinite slopes at a rate of 0 are left out.
    """
    rates = jnp.where(rates > 0, rates, 0.0)
    mean = jnp.mean(rates)
    some = mean > 0
    mean = jnp.where(some, mean, 1.0)
    shares, above = jnp.where(some, rates / mean, 1.0), jnp.where(some, (rates - mean) / mean, 0.0)
    near = shares > 0.5  # where x - 1 has more digits than x
    far = jnp.log(jnp.where(near | (shares == 0), 1.0, shares))
    return shares, above, jnp.where(near, jnp.log1p(jnp.where(near, above, 0.0)), far)
