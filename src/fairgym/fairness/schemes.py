"""Fairness schemes (U, W_ex, B): status, extended aggregation, filter, and scores of traces.

After Alamdari et al. (2024), sections 4 and 5. A scheme is a `fairgym.core.Memory`, a fold over the
components of the steps. The same object can therefore score a rollout, give a learner its rewards,
score the components that a rollout returned, and score a table of logged decisions.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PyTree

from fairgym.core import Components, FairgymError, Struct
from fairgym.core.errors import is_number
from fairgym.fairness.aggregations import Aggregation, Last, Temporal
from fairgym.fairness.extended import (
    PLAIN_SUM,
    Extended,
    StakeholderFirst,
    TimepointFirst,
    require,
)
from fairgym.fairness.filters import Always, Counter, Filter
from fairgym.fairness.memories import Status

_EVERY_STEP = Always()


class SchemeState(Struct):
    """State of a scheme.

    Attributes:
        status: Memory of U.
        when: Memory of B.
        counts: Whether the last step was assessed.
        extended: Memory of W_ex.
    """

    status: Any
    when: Any
    counts: Bool[Array, ""]
    extended: Any


@dataclasses.dataclass(frozen=True)
class Scheme:
    """Fairness scheme (U, W_ex, B) (definition 4.5).

    Attributes:
        status: Status function U.
        extended: Extended aggregation W_ex.
        when: Filter B.
        normaliser: Divisor that brings the score of an episode to order 1, in objectives.
        title: Title of the scheme; "" for its name.

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
        """Check the type of each part."""
        require("status", self.status, Status, "a memory with a status, such as Full(component)")
        require("extended", self.extended, Extended, "TimepointFirst(...) or StakeholderFirst()")
        require("when", self.when, Filter, "a filter, such as Always() or Counter(12)")
        if not is_number(self.normaliser) or self.normaliser <= 0:
            raise FairgymError(
                f"normaliser of a scheme must be a number above 0, got {self.normaliser!r}"
            )

    # ---------------------------------------------------------------- the paper's notions

    @classmethod
    def long_term(cls, status: Status, aggregation: Aggregation) -> "Scheme":
        """Make a scheme of long-term fairness: W(U) at the end (definition 4.1)."""
        return cls(status, TimepointFirst(aggregation, Last()))

    @classmethod
    def periodic(
        cls, status: Status, aggregation: Aggregation, period: int, temporal: Temporal = PLAIN_SUM
    ) -> "Scheme":
        """Make a scheme of periodic fairness: W(U) after every `period` steps (definition 4.2)."""
        return cls(status, TimepointFirst(aggregation, temporal), Counter(period))

    @classmethod
    def anytime(
        cls, status: Status, aggregation: Aggregation, temporal: Temporal = PLAIN_SUM
    ) -> "Scheme":
        """Make a scheme of anytime fairness: W(U) after every step (definition 4.3)."""
        return cls(status, TimepointFirst(aggregation, temporal))

    @classmethod
    def bounded(
        cls, status: Status, aggregation: Aggregation, when: Filter, temporal: Temporal = PLAIN_SUM
    ) -> "Scheme":
        """Make a scheme of bounded fairness: W(U) after steps that a filter passes (def. 4.4)."""
        return cls(status, TimepointFirst(aggregation, temporal), when)

    # ---------------------------------------------------------------- as a memory

    def initial(self, like: Components) -> SchemeState:
        """Return the state before the first step.

        Args:
            like: Components of the right shapes.

        Raises:
            FairgymError: If a component is missing, or has no entry per stakeholder.
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
        """Return the state after a step."""
        status = self.status.update(scheme_state.status, components)
        when = self.when.update(scheme_state.when, components)
        counts = self.when.passes(when)
        extended = self.extended.update(scheme_state.extended, self.status.status(status), counts)
        return SchemeState(status=status, when=when, counts=counts, extended=extended)

    # ---------------------------------------------------------------- scores and rewards

    def score(self, scheme_state: SchemeState) -> Float[Array, ""]:
        """Return the fairness score so far (definition 4.7); 0 before the first assessment."""
        return self.extended.score(scheme_state.extended)

    def status_of(self, scheme_state: SchemeState) -> Float[Array, " stakeholders"]:
        """Return the status vector U of the steps so far."""
        return self.status.status(scheme_state.status)

    @property
    def reward_like(self) -> bool:
        """Whether the reward of a step is W(U) * B after it (definition 5.8).

        This holds if the scheme is timepoint-first with the plain sum over time. The discount of
        definition 5.6 is the learner's. Such a reward is a function of the state if the state
        includes the memory that determines U and B.
        """
        extended = self.extended
        return isinstance(extended, TimepointFirst) and extended.temporal == PLAIN_SUM

    def reward(
        self, status: Float[Array, " stakeholders"], counts: Bool[Array, ""]
    ) -> Float[Array, ""]:
        """Return R = W(U) * B of a reward-like scheme (definition 5.8), for any status vector.

        Args:
            status: U after the step, possibly a counterfactual one (equation 2).
            counts: B after the step.

        Raises:
            FairgymError: If the scheme is not reward-like.
        """
        if not isinstance(self.extended, TimepointFirst) or not self.reward_like:
            raise FairgymError(
                "a reward W(U) * B needs a scheme with TimepointFirst(aggregation, Sum()), got"
                f" {self.extended}"
            )
        return jnp.where(counts, self.extended.aggregation(status), 0.0)

    def gain(self, before: SchemeState, after: SchemeState) -> Float[Array, ""]:
        """Return the reward of a step: the change of the score.

        The rewards of an episode add up to its score, for any scheme. For a reward-like scheme the
        gain equals `reward`.

        Args:
            before: State before the step.
            after: State after the step.
        """
        if self.reward_like:
            return self.reward(self.status_of(after), after.counts)
        return self.score(after) - self.score(before)

    def of_trace(
        self, trace: PyTree, length: int | Int[Array, ""] | None = None
    ) -> tuple[Float[Array, ""], Float[Array, " steps"]]:
        """Score components recorded step by step; pure, so it vmaps over traces and lengths.

        Args:
            trace: Components stacked along a first axis: `Episode.trace`, or `component_rows`.
            length: Number of steps made; later rows are ignored. None for all rows.

        Returns:
            `(score, scores)`: the score at the end, and the score after each row.

        Raises:
            FairgymError: If the trace has no rows, or a component is missing.
        """
        scores, _ = self.course(trace, _length(trace, length))
        return scores[-1], scores

    @functools.partial(jax.jit, static_argnums=0)  # equal schemes are compiled once
    def course(
        self, trace: PyTree, length: Int[Array, ""]
    ) -> tuple[Float[Array, " steps"], Float[Array, "steps stakeholders"]]:
        """Return the score and the status vector U after each row of a trace.

        Args:
            trace: As for `of_trace`, with one row or more.
            length: Number of steps made; after them nothing changes.
        """

        def step(scheme_state: SchemeState, row: PyTree) -> tuple[SchemeState, tuple[Array, Array]]:
            components, number = row
            after = self.update(scheme_state, components)
            after = jax.tree.map(lambda a, b: jnp.where(number < length, a, b), after, scheme_state)
            return after, (self.score(after), self.status_of(after))

        rows = jax.tree.leaves(trace)[0].shape[0]
        start = self.initial(jax.tree.map(lambda x: x[0], trace))
        return lax.scan(step, start, (trace, jnp.arange(rows)))[1]

    # ---------------------------------------------------------------- who is treated unfairly

    def status_over_time(
        self, trace: PyTree, length: int | Int[Array, ""] | None = None
    ) -> Float[Array, "steps stakeholders"]:
        """Return the status vector U after each row of a trace; after its end it stays the same.

        `unfairness` of it is the unfairness to each stakeholder at each time (definition 4.10).

        Args:
            trace: As for `of_trace`.
            length: As for `of_trace`.

        Raises:
            FairgymError: As for `of_trace`.
        """
        return self.course(trace, _length(trace, length))[1]

    def overall_unfairness(
        self, trace: PyTree, length: int | Int[Array, ""] | None = None
    ) -> Float[Array, " stakeholders"]:
        """Return the overall unfairness to each stakeholder (definition 4.11).

        It is the sum of U_i - mean(U) over all steps, whatever W_ex and B are. Below 0, a
        stakeholder is treated unfairly overall; unfairness now and favour later cancel out.

        Args:
            trace: As for `of_trace`.
            length: As for `of_trace`.

        Raises:
            FairgymError: As for `of_trace`.
        """
        every_step = dataclasses.replace(self, extended=StakeholderFirst(), when=_EVERY_STEP)
        last = every_step.after(trace, _length(trace, length))
        return StakeholderFirst().overall(last.extended)

    @functools.partial(jax.jit, static_argnums=0)
    def after(self, trace: PyTree, length: Int[Array, ""]) -> SchemeState:
        """Return the state after a trace.

        Args:
            trace: As for `of_trace`, with one row or more.
            length: Number of steps made.
        """

        def step(scheme_state: SchemeState, row: PyTree) -> tuple[SchemeState, None]:
            components, number = row
            after = self.update(scheme_state, components)
            return jax.tree.map(
                lambda a, b: jnp.where(number < length, a, b), after, scheme_state
            ), None

        rows = jax.tree.leaves(trace)[0].shape[0]
        start = self.initial(jax.tree.map(lambda x: x[0], trace))
        return lax.scan(step, start, (trace, jnp.arange(rows)))[0]


def _length(trace: PyTree, length: int | Int[Array, ""] | None) -> Int[Array, ""]:
    """Return the number of steps of a trace, which must have rows."""
    rows = jax.tree.leaves(trace)[0].shape[0]
    if not rows:
        raise FairgymError("the trace must have one or more rows, got none")
    return jnp.asarray(rows if length is None else length)
