"""Fairness schemes (U, W_ex, B): status, extended aggregation, filter, and how a trace is scored.

After Alamdari et al. (2024), sections 4 and 5. A scheme is a `fairgym.core.Memory`, a fold over the
components of the steps, so that the same object scores a rollout, gives a learner its rewards,
scores the components that a rollout returned, and scores a table of logged decisions.
"""

import dataclasses
import functools
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PyTree

from fairgym.core import Components, FairgymError, Struct
from fairgym.core.errors import is_number
from fairgym.fairness.aggregations import Aggregation, Last, Sum, Temporal, add_exactly
from fairgym.fairness.filters import Always, Filter
from fairgym.fairness.memories import Counter, Status

_EVERY_STEP = Always()
_PLAIN_SUM = Sum()


def unfairness(status: Float[Array, " stakeholders"]) -> Float[Array, " stakeholders"]:
    """Unfairness to each stakeholder, U_i - mean(U): below 0 it is to them, above in their favour.

    As definitions 4.10 and 4.11 say.
    """
    return status - jnp.mean(status)


@runtime_checkable
class Extended(Protocol):
    """W_ex as a fold over the status vectors of the assessments."""

    def initial(self, stakeholders: int) -> PyTree:
        """The fold of no assessment."""
        ...

    def update(
        self, memory: PyTree, status: Float[Array, " stakeholders"], counts: Bool[Array, ""]
    ) -> PyTree:
        """The fold after a step; its status is an assessment only if it counts."""
        ...

    def score(self, memory: PyTree) -> Float[Array, ""]:
        """The aggregate so far; 0 before the first assessment."""
        ...


@dataclasses.dataclass(frozen=True)
class TimepointFirst:
    """W_temporal(W(u_1), ..., W(u_k)): first over stakeholders, then over time (definition 4.9).

    Attributes:
        aggregation: W.
        temporal: W_temporal.
    """

    aggregation: Aggregation
    temporal: Temporal = _PLAIN_SUM

    def __post_init__(self) -> None:
        """Check that both are what they are to be."""
        _require("aggregation", self.aggregation, Aggregation, "a function of a status vector")
        _require("temporal", self.temporal, Temporal, "a fold, such as Sum(), Last(), Mean()")

    def initial(self, stakeholders: int) -> PyTree:
        """The fold over time of no assessment."""
        return self.temporal.initial()

    def update(
        self, memory: PyTree, status: Float[Array, " stakeholders"], counts: Bool[Array, ""]
    ) -> PyTree:
        """The fold over time after a step."""
        return self.temporal.update(memory, self.aggregation(status), counts)

    def score(self, memory: PyTree) -> Float[Array, ""]:
        """The aggregate over time."""
        return self.temporal.score(memory)


@dataclasses.dataclass(frozen=True)
class StakeholderFirst:
    """Minus the sum over stakeholders of their squared overall unfairness (section 4.2.1).

    Overall unfairness to a stakeholder is the sum over the assessments of `unfairness` (definition
    4.11), so that unfairness to somebody now and in their favour later cancel out.
    """

    def initial(self, stakeholders: int) -> dict[str, Array]:
        """No unfairness to anybody."""
        return {"total": jnp.zeros((stakeholders,)), "lost": jnp.zeros((stakeholders,))}

    def update(
        self,
        memory: dict[str, Array],
        status: Float[Array, " stakeholders"],
        counts: Bool[Array, ""],
    ) -> dict[str, Array]:
        """The sums after a step."""
        return add_exactly(memory, jnp.where(counts, unfairness(status), 0.0))

    def overall(self, memory: dict[str, Array]) -> Float[Array, " stakeholders"]:
        """Overall unfairness to each stakeholder so far."""
        return memory["total"] + memory["lost"]

    def score(self, memory: dict[str, Array]) -> Float[Array, ""]:
        """Minus the sum of the squares."""
        return 0.0 - jnp.sum(self.overall(memory) ** 2)


class SchemeState(Struct):
    """Memory of a scheme.

    Attributes:
        status: memory of U.
        when: memory of B.
        counts: True if the last step was assessed.
        extended: memory of W_ex.
    """

    status: Any
    when: Any
    counts: Bool[Array, ""]
    extended: Any


@dataclasses.dataclass(frozen=True)
class Scheme:
    """A fairness scheme (U, W_ex, B) (definition 4.5).

    Attributes:
        status: U.
        extended: W_ex.
        when: B.
        normaliser: divisor that brings the score of an episode to order 1, in objectives.
        title: the scheme in words; "" for those of its name.

    Examples:
        >>> from fairgym.fairness import Full, Rawlsian, Scheme, component_rows
        >>> log = {"time": [0, 1, 2, 3], "country": ["A", "A", "B", "B"], "vaccines": [20] * 4}
        >>> rows = component_rows(log, ["vaccines"], stakeholder="country")
        >>> worst_off = Scheme.long_term(Full("vaccines"), Rawlsian())
        >>> score, course = worst_off.of_trace(rows)
        >>> float(score), course.tolist()
        (40.0, [0.0, 0.0, 20.0, 40.0])
    """

    status: Status
    extended: Extended
    when: Filter = _EVERY_STEP
    normaliser: float = 1.0
    title: str = dataclasses.field(default="", compare=False)

    def __post_init__(self) -> None:
        """Check that each part is what it is to be."""
        _require("status", self.status, Status, "a memory with a status, such as Full(component)")
        _require("extended", self.extended, Extended, "TimepointFirst(...) or StakeholderFirst()")
        _require("when", self.when, Filter, "a filter, such as Always() or Counter(12)")
        if not is_number(self.normaliser) or self.normaliser <= 0:
            raise FairgymError(
                f"normaliser of a scheme is {self.normaliser!r}; it takes a number above 0"
            )

    # ---------------------------------------------------------------- as the paper names them

    @classmethod
    def long_term(cls, status: Status, aggregation: Aggregation) -> "Scheme":
        """Long-term fairness: W(U) at the end (definition 4.1)."""
        return cls(status, TimepointFirst(aggregation, Last()))

    @classmethod
    def periodic(
        cls, status: Status, aggregation: Aggregation, period: int, temporal: Temporal = _PLAIN_SUM
    ) -> "Scheme":
        """Periodic fairness: W(U) after every `period` steps (definition 4.2)."""
        return cls(status, TimepointFirst(aggregation, temporal), Counter(period))

    @classmethod
    def anytime(
        cls, status: Status, aggregation: Aggregation, temporal: Temporal = _PLAIN_SUM
    ) -> "Scheme":
        """Anytime fairness: W(U) after every step (definition 4.3)."""
        return cls(status, TimepointFirst(aggregation, temporal))

    @classmethod
    def bounded(
        cls, status: Status, aggregation: Aggregation, when: Filter, temporal: Temporal = _PLAIN_SUM
    ) -> "Scheme":
        """Bounded fairness: W(U) after the steps that a filter lets pass (definition 4.4)."""
        return cls(status, TimepointFirst(aggregation, temporal), when)

    # ---------------------------------------------------------------- as a memory

    def initial(self, like: Components) -> SchemeState:
        """The memory before the first step.

        Args:
            like: components of the right shapes.

        Raises:
            FairgymError: a component is not there, or has not one entry per stakeholder.
        """
        like = jax.tree.map(lambda x: jnp.zeros(jnp.shape(x), jnp.float32), like)
        status = self.status.initial(like)
        size = jax.eval_shape(self.status.status, status).shape[0]
        return SchemeState(
            status=status,
            when=self.when.initial(like),
            counts=jnp.array(False),
            extended=self.extended.initial(size),
        )

    def update(self, scheme_state: SchemeState, components: Components) -> SchemeState:
        """The memory after a step."""
        status = self.status.update(scheme_state.status, components)
        when = self.when.update(scheme_state.when, components)
        counts = self.when.passes(when)
        extended = self.extended.update(scheme_state.extended, self.status.status(status), counts)
        return SchemeState(status=status, when=when, counts=counts, extended=extended)

    # ---------------------------------------------------------------- scores and rewards

    def score(self, scheme_state: SchemeState) -> Float[Array, ""]:
        """Fairness score of the steps so far (definition 4.7); 0 before the first assessment."""
        return self.extended.score(scheme_state.extended)

    def status_of(self, scheme_state: SchemeState) -> Float[Array, " stakeholders"]:
        """The status vector U of the steps so far."""
        return self.status.status(scheme_state.status)

    @property
    def reward_like(self) -> bool:
        """True if the reward of a step is W(U) * B after it (definition 5.8).

        That is: timepoint-first with the plain sum over time. The discount of definition 5.6 is the
        learner's. Such a reward is a function of the state where U and B are functions of the
        memory that is a part of the state.
        """
        extended = self.extended
        return isinstance(extended, TimepointFirst) and extended.temporal == _PLAIN_SUM

    def reward(
        self, status: Float[Array, " stakeholders"], counts: Bool[Array, ""]
    ) -> Float[Array, ""]:
        """R = W(U) * B of a reward-like scheme (definition 5.8), for any status vector.

        Args:
            status: U after the step, also a counterfactual one (equation 2).
            counts: B after the step.

        Raises:
            FairgymError: the scheme is not reward-like.
        """
        if not isinstance(self.extended, TimepointFirst) or not self.reward_like:
            raise FairgymError(
                f"the scheme aggregates by {self.extended}; a reward W(U) * B takes"
                " TimepointFirst(aggregation, Sum())"
            )
        return jnp.where(counts, self.extended.aggregation(status), 0.0)

    def gain(self, before: SchemeState, after: SchemeState) -> Float[Array, ""]:
        """Reward of a step: the change of the score.

        The rewards of an episode add up to its score, whatever the scheme; of a reward-like one it
        is `reward`.

        Args:
            before: the memory before the step.
            after: the memory after the step.
        """
        if self.reward_like:
            return self.reward(self.status_of(after), after.counts)
        return self.score(after) - self.score(before)

    def of_trace(
        self, trace: PyTree, length: int | Int[Array, ""] | None = None
    ) -> tuple[Float[Array, ""], Float[Array, " steps"]]:
        """Score of components recorded step by step. Pure: it vmaps over traces and lengths.

        Args:
            trace: components stacked along a first axis: `Episode.trace`, or `component_rows`.
            length: number of steps made; what comes after them is passed over. None for all rows.

        Returns:
            `(score, scores)`: the score at the end, and the score after each row.

        Raises:
            FairgymError: the trace has no rows, or no such component.
        """
        rows = jax.tree.leaves(trace)[0].shape[0]
        if not rows:
            raise FairgymError("the trace has no rows; a score takes one or more")
        scores, _ = self.course(trace, jnp.asarray(rows if length is None else length))
        return scores[-1], scores

    @functools.partial(jax.jit, static_argnums=0)  # equal schemes are compiled once
    def course(
        self, trace: PyTree, length: Int[Array, ""]
    ) -> tuple[Float[Array, " steps"], Float[Array, "steps stakeholders"]]:
        """Score and status vector U after each row of a trace.

        Args:
            trace: as for `of_trace`, of one row or more.
            length: number of steps made; after them all stays as it was.
        """

        def step(scheme_state: SchemeState, row: PyTree) -> tuple[SchemeState, tuple[Array, Array]]:
            components, number = row
            after = self.update(scheme_state, components)
            after = jax.tree.map(lambda a, b: jnp.where(number < length, a, b), after, scheme_state)
            return after, (self.score(after), self.status_of(after))

        rows = jax.tree.leaves(trace)[0].shape[0]
        start = self.initial(jax.tree.map(lambda x: x[0], trace))
        return lax.scan(step, start, (trace, jnp.arange(rows)))[1]


def _require(what: str, value: Any, protocol: Any, takes: str) -> None:
    """Raise a FairgymError unless a value follows a protocol and is no class."""
    if isinstance(value, type) or not isinstance(value, protocol):
        raise FairgymError(f"{what} is {value!r}; it takes {takes}")
