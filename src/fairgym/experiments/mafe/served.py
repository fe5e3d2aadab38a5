"""Objectives that include everybody who waits: who is served, and at what profit."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

from fairgym.experiments import _parts as ex
from fairgym.experiments.mafe._readings import COLUMNS, queue, served
from fairgym.fairness import Objective

CAPS = (0.01, 0.02)  # payouts per month as a share of the people
# Terms of MAFE, table 1.
TERMS: dict[str, float] = dict.fromkeys(
    (
        "profit",
        "admission_rate",
        "default_rate",
        "admission_disparity",
        "wait_disparity",
        "default_disparity",
    ),
    1.0,
)
PUBLISHED, SERVED, TIME, BOTH = (
    "published terms",
    "and the share served",
    "and the time in the queue",
    "both, and even",
)
RANDOM, FIRST = "published terms, random queue", "published terms, first come"
MONTHS = 0.01  # weight of a month in the queue: 100 months count as much as 1 of a rate
EVEN = {"served_disparity": 1.0, "queue_disparity": 1.0}
# Label -> objective, and policies that are not trained.
OBJECTIVES: dict[str, tuple[dict[str, float], dict[str, str]]] = {
    PUBLISHED: (TERMS, {}),
    SERVED: (TERMS | {"served_rate": 1.0}, {}),
    TIME: (TERMS | {"queue_time": MONTHS}, {}),
    BOTH: (TERMS | EVEN | {"served_rate": 1.0, "queue_time": MONTHS}, {}),
    RANDOM: (TERMS, {"disbursement": "random"}),
    FIRST: (TERMS, {"disbursement": "first-come"}),
}
ALL = 0.95  # share of the approved people
LITTLE = 0.1  # share of the profit
PROFIT, SURVIVED, WAIT = "profit", "survived", "nine tenths of waits end within"
NEVER = "never paid out"


@ex.experiments.register("mafe-served")
class MafeServed(ex.ComparisonFigure):
    """F-MACEM on loan with objectives that include people who are never served."""

    title = "Beyond MAFE: objectives that include everybody who waits"
    source = "beyond MAFE, table 1 and figure 8"
    claim = (
        "MAFE's wait counts people when they are paid out; a queue that never pays some of them"
        " looks short. With the share of the approved who are ever paid out, or everybody's time in"
        " the queue, among the rewards, a policy exists that serves all of them at little cost"
    )
    height = 3.2
    rotation = 35
    legend = (f"{NEVER}, share of the approved", "profit, normalised")
    sizes: ClassVar = {"paper": ex.STUDY, "quick": dataclasses.replace(ex.QUICK, seeds=3)}

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return every objective with every payout cap."""
        assert size.people is not None
        found = {}
        for cap in CAPS:
            for label, (objective, fixed) in OBJECTIVES.items():
                given: dict[str, Any] = {"population": size.people}
                if cap != CAPS[0]:  # the default is left out, so that figures share runs
                    given["disbursement_cap"] = round(cap * size.people)
                weights = "uniform" if objective == TERMS else objective
                more = {"environment_args": given, "fixed": fixed}
                found[f"{place_of(cap)}/{label}"] = ex.run_config("loan", size, weights, **more)
        return found

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> ex.Columns:
        """Return survival, profit, and the measures of the queue."""
        env = runs[0].env
        return {
            SURVIVED: ex.survival(ends),
            PROFIT: ex.score(ends, Objective.direct(env)),
            NEVER: 1.0 - served(ends),
            **queue(env, ends),
        }

    def checks(self, data: ex.Compared) -> list[ex.Check]:
        """Check that such objectives serve more people, serve nearly all, and what that costs.

        Only with the smaller cap: with the larger one there is no queue.
        """
        place = place_of(CAPS[0])
        checks, found = [], data[place]
        start = f"payout cap of {place}"
        published = found[PUBLISHED]
        for label in (SERVED, TIME, BOTH):
            own, name = found[label], f"“{label}”"
            checks += [
                ex.Check.higher(
                    f"{start}: fewer are never paid out with {name} than with {PUBLISHED}",
                    published[NEVER],
                    own[NEVER],
                ),
                ex.Check.below(
                    f"{start}: with {name} nearly all are paid out (never: below {1 - ALL:.2g})",
                    own[NEVER],
                    1 - ALL,
                ),
                ex.Check.higher(
                    f"{start}: {name} costs less than a tenth of the profit (margin)",
                    own[PROFIT],
                    (1 - LITTLE) * published[PROFIT],
                ),
            ]
        return checks

    def tables(self, data: ex.Compared) -> list[ex.Table]:
        """Return the measures of every objective, a table per cap."""
        head = (
            "“Published terms” are the six of table 1; the other objectives add terms to them:"
            f" `served_rate` 1, `queue_time` {MONTHS:g} per month, or both with the disparities of"
            " both. In the last two rows the order of the queue is not learned."
        )
        return [
            ex.columns_table(
                "objective",
                found,
                f"**Payout cap of {place} of the people per month.** {head} Profit is normalised."
                f" {COLUMNS} {ex.NULL_NOTE}",
            )
            for place, found in data.items()
        ]

    def panels(self, data: ex.Compared) -> list[ex.Panel]:
        """Return who is never paid out, and the profit, a panel per cap."""
        return [
            ex.Panel(found, [NEVER, PROFIT], f"Payout cap of {place}")
            for place, found in data.items()
        ]


def place_of(cap: float) -> str:
    """Return the words for a payout cap."""
    return f"{cap:.0%}"
