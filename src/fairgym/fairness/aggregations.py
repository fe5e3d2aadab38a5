"""Aggregations: W over the stakeholders of a status vector, W_temporal over time.

Higher is better (Alamdari et al. 2024, sections 2 and 4). All are frozen dataclasses of plain
numbers. A custom aggregation is any frozen, hashable callable that maps a vector to a number.
"""

import dataclasses
import itertools
from typing import Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from fairgym.core import FairgymError
from fairgym.core.components import add_compensated
from fairgym.core.errors import require_number

# ---------------------------------------------------------------- over stakeholders


@runtime_checkable
class Aggregation(Protocol):
    """W: a function from a status vector to a number."""

    def __call__(self, status: Float[Array, " stakeholders"]) -> Float[Array, ""]:
        """Return the aggregate; more is fairer."""
        ...


@dataclasses.dataclass(frozen=True)
class Utilitarian:
    """Utilitarian welfare: the sum over the stakeholders (section 2)."""

    def __call__(self, status: Float[Array, " stakeholders"]) -> Float[Array, ""]:
        """Return the sum."""
        return jnp.sum(status)


@dataclasses.dataclass(frozen=True)
class Rawlsian:
    """Rawlsian (maximin) welfare: the status of the worst-off stakeholder (section 2)."""

    def __call__(self, status: Float[Array, " stakeholders"]) -> Float[Array, ""]:
        """Return the minimum."""
        return jnp.min(status)


@dataclasses.dataclass(frozen=True)
class AlphaFair:
    """Alpha-fair welfare, sum_i ((u_i + plus)^(1 - alpha) - 1) / (1 - alpha).

    For alpha 1 it is the sum of logs. After J. Mo and J. Walrand (2000), with the utility of A. B.
    Atkinson (1970). Alpha is the aversion to inequality: 0 is utilitarian, 1 is log Nash welfare,
    and large values approach max-min.

    Attributes:
        alpha: Aversion to inequality, 0 or more.
        plus: Number added to every status, so that a status of 0 has a finite welfare.

    Examples:
        >>> import jax.numpy as jnp
        >>> from fairgym.fairness import AlphaFair
        >>> u = jnp.array([0.0, 3.0])
        >>> [round(float(AlphaFair(alpha)(u)), 3) for alpha in (0, 1, 2)]
        [3.0, 1.386, 0.75]
    """

    alpha: float
    plus: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        require_number("alpha", self.alpha, 0.0)
        require_number("plus", self.plus, 0.0)

    def __call__(self, status: Float[Array, " stakeholders"]) -> Float[Array, ""]:
        """Return the sum of utilities; -inf if alpha >= 1 and a status is -plus or less."""
        logs = jnp.log(jnp.maximum(status + self.plus, 0.0))
        power = 1.0 - self.alpha
        # (x^p - 1) / p, in a form that stays exact as p approaches 0
        return jnp.sum(jnp.expm1(power * logs) / power if power else logs)


@dataclasses.dataclass(frozen=True)
class Nash:
    """Log of Nash welfare, sum_i log(u_i + plus) (section 2; A.4.1 adds 1 to each status).

    The log orders status vectors as the product does, and does not overflow.

    Attributes:
        plus: Number added to every status. With 0, a status of 0 makes the welfare -inf.
    """

    plus: float = 1.0

    def __post_init__(self) -> None:
        """Check the number."""
        require_number("plus", self.plus, 0.0)

    def __call__(self, status: Float[Array, " stakeholders"]) -> Float[Array, ""]:
        """Return the sum of logs."""
        return AlphaFair(1.0, self.plus)(status)


@dataclasses.dataclass(frozen=True)
class GeneralisedGini:
    """Generalised Gini welfare, sum_i w_i u_(i), with u sorted from worst to best.

    After J. A. Weymark (1981); in reinforcement learning U. Siddique et al. (2020). The weights do
    not increase. The default weights are (2 (n - i) + 1) / n^2, i from 1: the mean times one minus
    the Gini coefficient.

    Attributes:
        weights: One weight per stakeholder, from the worst off to the best off; empty for Gini's.

    Examples:
        >>> import jax.numpy as jnp
        >>> from fairgym.fairness import GeneralisedGini
        >>> float(GeneralisedGini()(jnp.array([3.0, 1.0])))
        1.5
    """

    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check the weights."""
        for weight in self.weights:
            require_number("a weight of GeneralisedGini", weight, 0.0)
        if any(low < high for low, high in itertools.pairwise(self.weights)):
            raise FairgymError(
                f"weights of GeneralisedGini must not increase (the worst off come first), got"
                f" {self.weights}"
            )

    def __call__(self, status: Float[Array, " stakeholders"]) -> Float[Array, ""]:
        """Return the weighted sum.

        Raises:
            FairgymError: If the number of weights differs from the number of stakeholders.
        """
        n = status.shape[0]
        weights = self.weights or tuple((2 * (n - i) - 1) / n**2 for i in range(n))
        if len(weights) != n:
            raise FairgymError(
                f"GeneralisedGini must have one weight for each of {n} stakeholders, got"
                f" {len(weights)}"
            )
        return jnp.sum(jnp.asarray(weights, status.dtype) * jnp.sort(status))


@dataclasses.dataclass(frozen=True)
class RelaxedParity:
    """Relaxed demographic parity: minus the absolute difference of two groups' sums (section 6.2).

    For more than two groups it is minus the difference of the largest and the smallest sum.

    With groups, statuses are rounded to float32 before they are summed by group. So equal totals of
    tens of millions with different members can differ by a rounding error.

    Attributes:
        groups: Group of each stakeholder, numbered from 0; empty if each is its own group.
    """

    groups: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Check the group numbers."""
        if self.groups and set(self.groups) != set(range(max(self.groups) + 1)):
            raise FairgymError(
                "groups of RelaxedParity must be numbers from 0 on, each used at least once, got"
                f" {self.groups}"
            )

    def __call__(self, status: Float[Array, " stakeholders"]) -> Float[Array, ""]:
        """Return minus the difference.

        Raises:
            FairgymError: If the number of stakeholders differs from that of `groups`.
        """
        if not self.groups:
            return jnp.min(status) - jnp.max(status)
        if len(self.groups) != status.shape[0]:
            raise FairgymError(
                f"groups of RelaxedParity must have one number for each of {status.shape[0]}"
                f" stakeholders, got {len(self.groups)}"
            )
        sums = jnp.zeros((max(self.groups) + 1,), status.dtype)
        sums = sums.at[jnp.asarray(self.groups)].add(status)
        return jnp.min(sums) - jnp.max(sums)


@dataclasses.dataclass(frozen=True)
class AllEqual:
    """1 if all stakeholders have the same status, else 0 (section 4).

    Amounts such as 0.7 are rounded to float32, and sums of them. So statuses count as equal up to
    2^-22 of the largest that is not a whole number. Whole numbers are compared exactly.

    Attributes:
        tolerance: Difference up to which two status values count as equal, if it is larger.
    """

    tolerance: float = 0.0

    def __post_init__(self) -> None:
        """Check the number."""
        require_number("tolerance", self.tolerance, 0.0)

    def __call__(self, status: Float[Array, " stakeholders"]) -> Float[Array, ""]:
        """Return 1 or 0."""
        whole = status == jnp.round(status)
        rounding = 2.0**-22 * jnp.max(jnp.where(whole, 0.0, jnp.abs(status)))
        tolerance = jnp.maximum(self.tolerance, rounding)
        return (jnp.max(status) - jnp.min(status) <= tolerance).astype(jnp.float32)


# ---------------------------------------------------------------- over time


@runtime_checkable
class Temporal(Protocol):
    """W_temporal as a fold over the values of the assessments (definition 4.9)."""

    def initial(self) -> PyTree:
        """Return the fold before any assessment."""
        ...

    def update(self, memory: PyTree, value: Float[Array, ""], counts: Bool[Array, ""]) -> PyTree:
        """Return the fold after a step; its value is an assessment only if it counts."""
        ...

    def score(self, memory: PyTree) -> Float[Array, ""]:
        """Return the aggregate so far; 0 before the first assessment."""
        ...


_Numbers = dict[str, Array]


def add_exactly(memory: _Numbers, value: Array) -> _Numbers:
    """Add a value to a compensated sum, which keeps the rounding error (`add_compensated`)."""
    total, lost = add_compensated(memory["total"], memory["lost"], value)
    return {"total": total, "lost": jnp.where(jnp.isfinite(total), lost, 0.0)}


@dataclasses.dataclass(frozen=True)
class Sum:
    """Discounted sum, sum_k gamma^(k-1) w_k: the values as rewards (section 4.2).

    Attributes:
        discount: Discount factor gamma per assessment.
    """

    discount: float = 1.0

    def __post_init__(self) -> None:
        """Check the number."""
        require_number("discount", self.discount, 0.0, 1.0)

    def initial(self) -> _Numbers:
        """Return a sum of 0, and the weight of the first assessment."""
        return {"total": jnp.zeros(()), "lost": jnp.zeros(()), "weight": jnp.ones(())}

    def update(
        self, memory: _Numbers, value: Float[Array, ""], counts: Bool[Array, ""]
    ) -> _Numbers:
        """Return the sum after a step."""
        weight = memory["weight"]
        added = add_exactly(memory, jnp.where(counts, weight * value, 0.0))
        return {**added, "weight": jnp.where(counts, self.discount * weight, weight)}

    def score(self, memory: _Numbers) -> Float[Array, ""]:
        """Return the sum."""
        return memory["total"] + memory["lost"]


@dataclasses.dataclass(frozen=True)
class Last:
    """Value of the last assessment: long-term fairness (section 4.2)."""

    def initial(self) -> Float[Array, ""]:
        """Return 0: there is no value yet."""
        return jnp.zeros(())

    def update(
        self, memory: Float[Array, ""], value: Float[Array, ""], counts: Bool[Array, ""]
    ) -> Float[Array, ""]:
        """Return the value of this step if it counts, else the last one."""
        return jnp.where(counts, value, memory)

    def score(self, memory: Float[Array, ""]) -> Float[Array, ""]:
        """Return the value."""
        return memory


@dataclasses.dataclass(frozen=True)
class Mean:
    """Mean over the assessments (section 4.2)."""

    def initial(self) -> _Numbers:
        """Return a sum of 0 over 0 assessments."""
        return {"total": jnp.zeros(()), "lost": jnp.zeros(()), "count": jnp.zeros(())}

    def update(
        self, memory: _Numbers, value: Float[Array, ""], counts: Bool[Array, ""]
    ) -> _Numbers:
        """Return sum and count after a step."""
        added = add_exactly(memory, jnp.where(counts, value, 0.0))
        return {**added, "count": memory["count"] + counts}

    def score(self, memory: _Numbers) -> Float[Array, ""]:
        """Return the mean."""
        return (memory["total"] + memory["lost"]) / jnp.maximum(memory["count"], 1.0)


@dataclasses.dataclass(frozen=True)
class Least:
    """Smallest value of all assessments: Rawlsian over time (section 4.2)."""

    def initial(self) -> _Numbers:
        """Return the fold without any value."""
        return {"least": jnp.full((), jnp.inf), "any": jnp.array(False)}

    def update(
        self, memory: _Numbers, value: Float[Array, ""], counts: Bool[Array, ""]
    ) -> _Numbers:
        """Return the smaller value."""
        least = jnp.where(counts, jnp.minimum(memory["least"], value), memory["least"])
        return {"least": least, "any": memory["any"] | counts}

    def score(self, memory: _Numbers) -> Float[Array, ""]:
        """Return the smallest value."""
        return jnp.where(memory["any"], memory["least"], 0.0)
