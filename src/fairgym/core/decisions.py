"""Declaration of an environment's decisions about persons or places, for logs of decisions."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import NamedTuple

from jaxtyping import Array, Float, PyTree


class Moment(NamedTuple):
    """One step, from which a row per person or place is logged.

    Attributes:
        before: State before the step.
        people: Every feature of every person in this state, by name; empty without people.
        actions: Clipped action of every agent. It has no effect in steps in which the agent does
            not act (`EnvironmentSpec.periods`).
        components: Components of the step, with one number per person instead of per group if the
            environment counts people (`EnvironmentSpec.counts_people`).
        after: State after the step.
        params: Parameters of the environment.
    """

    before: PyTree
    people: Mapping[str, Float[Array, " people"]]
    actions: Mapping[str, Array]
    components: PyTree
    after: PyTree
    params: PyTree


@dataclasses.dataclass(frozen=True, kw_only=True)
class Decision:
    """A kind of decision of an environment: what one row of its log is, and which columns it has.

    A log has a row for each entry (person, place) and step in which a decision was made. It also
    has columns for the episode, the step, the person and the person's groups.

    Attributes:
        about: What one row is, and what its amount is.
        left_out: Decisions of the environment that its log does not have, and why; "" if none.
        decision: Column that says whether the decision was favourable.
        rows: Pure function of a step that returns columns by name, each with one number per entry.
            "asked" is above 0 where a decision was made, the decision's column where it was
            favourable. With an outcome, "settled" is above 0 where an outcome becomes known in
            this step: that of the entry's latest favourable decision, or of the decision in the
            same step. All other columns are logged as they are.
        outcome: Column that is above 0 where the outcome that becomes known is good; "" if no
            outcome is logged.
        score: Column with the score that the decision is based on, higher is better; "" for none.
        amount: Column with an amount; "" for none.
        groups: Columns with the groups to compare; by default the person's group, and the
            attributes in `EnvironmentSpec.partitions`.
        names: Names of the codes 0, 1, 2, ... in a column, for columns other than the axes of the
            environment (`EnvironmentSpec.axes`).
    """

    about: str
    left_out: str = ""
    decision: str
    rows: Callable[[Moment], Mapping[str, Array]]
    outcome: str = ""
    score: str = ""
    amount: str = ""
    groups: tuple[str, ...] = ()
    names: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
