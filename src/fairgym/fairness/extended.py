"""Extended aggregations W_ex: over the status vectors of all assessments (Alamdari et al. 2024)."""

import dataclasses
from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from fairgym.core import FairgymError
from fairgym.fairness.aggregations import Aggregation, Sum, Temporal, add_exactly

PLAIN_SUM = Sum()


def unfairness(
    status: Float[Array, "*times stakeholders"],
) -> Float[Array, "*times stakeholders"]:
    """Return the unfairness to each stakeholder, U_i - mean(U) (definitions 4.10 and 4.11).

    It is below 0 where a stakeholder is treated unfairly, and above 0 where they are favoured.

    Args:
        status: U, at one time or at several (`Scheme.status_over_time`).
    """
    return status - jnp.mean(status, axis=-1, keepdims=True)


@runtime_checkable
class Extended(Protocol):
    """W_ex as a fold over the status vectors of the assessments."""

    def initial(self, stakeholders: int) -> PyTree:
        """Return the fold before any assessment."""
        ...

    def update(
        self, memory: PyTree, status: Float[Array, " stakeholders"], counts: Bool[Array, ""]
    ) -> PyTree:
        """Return the fold after a step; its status is an assessment only if it counts."""
        ...

    def score(self, memory: PyTree) -> Float[Array, ""]:
        """Return the aggregate so far; 0 before the first assessment."""
        ...


@dataclasses.dataclass(frozen=True)
class TimepointFirst:
    """W_temporal(W(u_1), ..., W(u_k)): over stakeholders, then over time (definition 4.9).

    Attributes:
        aggregation: W.
        temporal: W_temporal.
    """

    aggregation: Aggregation
    temporal: Temporal = PLAIN_SUM

    def __post_init__(self) -> None:
        """Check the types of both parts."""
        require("aggregation", self.aggregation, Aggregation, "a function of a status vector")
        require("temporal", self.temporal, Temporal, "a fold, such as Sum(), Last(), Mean()")

    def initial(self, stakeholders: int) -> PyTree:
        """Return the fold over time before any assessment."""
        return self.temporal.initial()

    def update(
        self, memory: PyTree, status: Float[Array, " stakeholders"], counts: Bool[Array, ""]
    ) -> PyTree:
        """Return the fold over time after a step."""
        return self.temporal.update(memory, self.aggregation(status), counts)

    def score(self, memory: PyTree) -> Float[Array, ""]:
        """Return the aggregate over time."""
        return self.temporal.score(memory)


@dataclasses.dataclass(frozen=True)
class StakeholderFirst:
    """Minus the sum over stakeholders of their squared overall unfairness (section 4.2.1).

    Overall unfairness to a stakeholder is the sum of `unfairness` over all steps (definition 4.11).
    Here it is the sum over the assessments, as W_ex depends on no other steps. Unfairness to them
    now and in their favour later cancel out.
    """

    def initial(self, stakeholders: int) -> dict[str, Array]:
        """Return zero unfairness to everybody."""
        return {"total": jnp.zeros((stakeholders,)), "lost": jnp.zeros((stakeholders,))}

    def update(
        self,
        memory: dict[str, Array],
        status: Float[Array, " stakeholders"],
        counts: Bool[Array, ""],
    ) -> dict[str, Array]:
        """Return the sums after a step."""
        return add_exactly(memory, jnp.where(counts, unfairness(status), 0.0))

    def overall(self, memory: dict[str, Array]) -> Float[Array, " stakeholders"]:
        """Return the overall unfairness to each stakeholder so far."""
        return memory["total"] + memory["lost"]

    def score(self, memory: dict[str, Array]) -> Float[Array, ""]:
        """Return minus the sum of squares."""
        return 0.0 - jnp.sum(self.overall(memory) ** 2)


def require(what: str, value: Any, protocol: Any, takes: str) -> None:
    """Raise a FairgymError unless the value follows the protocol and is not a class."""
    if isinstance(value, type) or not isinstance(value, protocol):
        raise FairgymError(f"{what} must be {takes}, got {value!r}")
