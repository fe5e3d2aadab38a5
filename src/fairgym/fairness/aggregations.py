"""Aggregations: W of a status vector over stakeholders, W_temporal of such values over time.

Higher is better (Alamdari et al. 2024, sections 2 and 4). All are frozen dataclasses of plain
numbers; an aggregation of one's own is any frozen, hashable callable on a vector.
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
    """W: a number of a status vector."""

    def __call__(self, status: Float[Array, " stakeholders"]) -> Float[Array, ""]:
        """The aggregate; more is fairer."""
        ...


@dataclasses.dataclass(frozen=True)
class Utilitarian:
    """Utilitarian welfare, the sum over the stakeholders (section 2)."""

    def __call__(self, status: Float[Array, " stakeholders"]) -> Float[Array, ""]:
        """The sum."""
        return jnp.sum(status)


@dataclasses.dataclass(frozen=True)
class Rawlsian:
    """Rawlsian welfare, that of the stakeholder who fares worst: maximin (section 2)."""

    def __call__(self, status: Float[Array, " stakeholders"]) -> Float[Array, ""]:
        """The minimum."""
        return jnp.min(status)


@dataclasses.dataclass(frozen=True)
class AlphaFair:
    """Alpha-fair welfare, sum_i ((u_i + plus)^(1 - alpha) - 1) / (1 - alpha); logs for alpha 1.

    J. Mo and J. Walrand (2000), with the utility of A. B. Atkinson (1970): alpha says how averse it
    is to inequality. 0 is utilitarian, 1 is log-Nash, and the larger, the nearer to max-min.

    Attributes:
        alpha: aversion to inequality, 0 or more.
        plus: what is added to every status, so that nothing is a number, too.

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
        """The sum of utilities; -inf if alpha is 1 or more and somebody has -plus or less."""
        logs = jnp.log(jnp.maximum(status + self.plus, 0.0))
        power = 1.0 - self.alpha
        # (x^p - 1) / p in a form that stays exact as p goes to 0
        return jnp.sum(jnp.expm1(power * logs) / power if power else logs)


@dataclasses.dataclass(frozen=True)
class Nash:
    """Log of Nash welfare, sum_i log(u_i + plus) (section 2; A.4.1 adds 1 to each status).

    The log orders as the product does, and does not overflow.

    Attributes:
        plus: what is added to every status. With 0, somebody who has nothing makes it -inf.
    """

    plus: float = 1.0

    def __post_init__(self) -> None:
        """Check the number."""
        require_number("plus", self.plus, 0.0)

    def __call__(self, status: Float[Array, " stakeholders"]) -> Float[Array, ""]:
        """The sum of logs."""
        return AlphaFair(1.0, self.plus)(status)


@dataclasses.dataclass(frozen=True)
class GeneralisedGini:
    """Generalised Gini welfare: sum_i w_i u_(i), u sorted from worst to best, w not increasing.

    J. A. Weymark (1981); in reinforcement learning U. Siddique et al. (2020). Without weights they
    are (2 (n - i) + 1) / n^2, i from 1: the mean times one minus the Gini coefficient.

    Attributes:
        weights: one per stakeholder, from the worst off to the best; empty for Gini's.

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
                f"weights of GeneralisedGini are {self.weights}, which increase; it takes those of"
                " the worst off first and no larger ones after them"
            )

    def __call__(self, status: Float[Array, " stakeholders"]) -> Float[Array, ""]:
        """The weighted sum.

        Raises:
            FairgymError: another number of stakeholders than of weights.
        """
        n = status.shape[0]
        weights = self.weights or tuple((2 * (n - i) - 1) / n**2 for i in range(n))
        if len(weights) != n:
            raise FairgymError(
                f"GeneralisedGini has {len(weights)} weights for {n} stakeholders; it takes {n}"
            )
        return jnp.sum(jnp.asarray(weights, status.dtype) * jnp.sort(status))


@dataclasses.dataclass(frozen=True)
class RelaxedParity:
    """Relaxed demographic parity: minus the absolute difference of two groups' sums (section 6.2).

    Of more than two groups: minus the difference of the largest and the smallest sum.

    Attributes:
        groups: group of each stakeholder, numbered from 0; empty if each is a group by itself.
    """

    groups: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Check the numbers of the groups."""
        if self.groups and set(self.groups) != set(range(max(self.groups) + 1)):
            raise FairgymError(
                f"groups of RelaxedParity are {self.groups}; it takes numbers from 0 on, each of"
                " them for one stakeholder at least"
            )

    def __call__(self, status: Float[Array, " stakeholders"]) -> Float[Array, ""]:
        """Minus the difference.

        Raises:
            FairgymError: another number of stakeholders than of groups' numbers.
        """
        if not self.groups:
            return jnp.min(status) - jnp.max(status)
        if len(self.groups) != status.shape[0]:
            raise FairgymError(
                f"RelaxedParity has the groups of {len(self.groups)} stakeholders; it takes those"
                f" of {status.shape[0]}"
            )
        sums = jnp.zeros((max(self.groups) + 1,), status.dtype)
        sums = sums.at[jnp.asarray(self.groups)].add(status)
        return jnp.min(sums) - jnp.max(sums)


@dataclasses.dataclass(frozen=True)
class AllEqual:
    """1 if all stakeholders have the same, else 0 (section 4).

    Attributes:
        tolerance: difference up to which they count as equal.
    """

    tolerance: float = 0.0

    def __post_init__(self) -> None:
        """Check the number."""
        require_number("tolerance", self.tolerance, 0.0)

    def __call__(self, status: Float[Array, " stakeholders"]) -> Float[Array, ""]:
        """1 or 0."""
        return (jnp.max(status) - jnp.min(status) <= self.tolerance).astype(jnp.float32)


# ---------------------------------------------------------------- over time


@runtime_checkable
class Temporal(Protocol):
    """W_temporal as a fold over the values of the assessments (definition 4.9)."""

    def initial(self) -> PyTree:
        """The fold of no assessment."""
        ...

    def update(self, memory: PyTree, value: Float[Array, ""], counts: Bool[Array, ""]) -> PyTree:
        """The fold after a step; its value is an assessment only if it counts."""
        ...

    def score(self, memory: PyTree) -> Float[Array, ""]:
        """The aggregate so far; 0 before the first assessment."""
        ...


_Numbers = dict[str, Array]


def add_exactly(memory: _Numbers, value: Array) -> _Numbers:
    """Sum with what rounding has lost kept beside it (`add_compensated`)."""
    total, lost = add_compensated(memory["total"], memory["lost"], value)
    return {"total": total, "lost": jnp.where(jnp.isfinite(total), lost, 0.0)}


@dataclasses.dataclass(frozen=True)
class Sum:
    """Discounted sum, sum_k gamma^(k-1) w_k: the values as rewards (section 4.2).

    Attributes:
        discount: gamma, per assessment.
    """

    discount: float = 1.0

    def __post_init__(self) -> None:
        """Check the number."""
        require_number("discount", self.discount, 0.0, 1.0)

    def initial(self) -> _Numbers:
        """No sum, and the weight of the first assessment."""
        return {"total": jnp.zeros(()), "lost": jnp.zeros(()), "weight": jnp.ones(())}

    def update(
        self, memory: _Numbers, value: Float[Array, ""], counts: Bool[Array, ""]
    ) -> _Numbers:
        """The sum after a step."""
        weight = memory["weight"]
        added = add_exactly(memory, jnp.where(counts, weight * value, 0.0))
        return {**added, "weight": jnp.where(counts, self.discount * weight, weight)}

    def score(self, memory: _Numbers) -> Float[Array, ""]:
        """The sum."""
        return memory["total"] + memory["lost"]


@dataclasses.dataclass(frozen=True)
class Last:
    """Value of the last assessment: long-term fairness (section 4.2)."""

    def initial(self) -> Float[Array, ""]:
        """No value."""
        return jnp.zeros(())

    def update(
        self, memory: Float[Array, ""], value: Float[Array, ""], counts: Bool[Array, ""]
    ) -> Float[Array, ""]:
        """The value of this step if it counts."""
        return jnp.where(counts, value, memory)

    def score(self, memory: Float[Array, ""]) -> Float[Array, ""]:
        """The value."""
        return memory


@dataclasses.dataclass(frozen=True)
class Mean:
    """Mean over the assessments (section 4.2)."""

    def initial(self) -> _Numbers:
        """No sum, of no assessment."""
        return {"total": jnp.zeros(()), "lost": jnp.zeros(()), "count": jnp.zeros(())}

    def update(
        self, memory: _Numbers, value: Float[Array, ""], counts: Bool[Array, ""]
    ) -> _Numbers:
        """Sum and number after a step."""
        added = add_exactly(memory, jnp.where(counts, value, 0.0))
        return {**added, "count": memory["count"] + counts}

    def score(self, memory: _Numbers) -> Float[Array, ""]:
        """The mean."""
        return (memory["total"] + memory["lost"]) / jnp.maximum(memory["count"], 1.0)


@dataclasses.dataclass(frozen=True)
class Least:
    """Smallest value of all assessments: Rawlsian with respect to time (section 4.2)."""

    def initial(self) -> _Numbers:
        """No value."""
        return {"least": jnp.full((), jnp.inf), "any": jnp.array(False)}

    def update(
        self, memory: _Numbers, value: Float[Array, ""], counts: Bool[Array, ""]
    ) -> _Numbers:
        """The smaller one."""
        least = jnp.where(counts, jnp.minimum(memory["least"], value), memory["least"])
        return {"least": least, "any": memory["any"] | counts}

    def score(self, memory: _Numbers) -> Float[Array, ""]:
        """The smallest value."""
        return jnp.where(memory["any"], memory["least"], 0.0)
