"""Claims about courses: orders of learners, published values, and outcomes of single seeds."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import PyTree

from fairgym.experiments._showing import interval_text, iqm_text
from fairgym.results.numbers import number
from fairgym.results.table import Table
from fairgym.statistics.checks import Check, Kind
from fairgym.statistics.shares import share_interval

SHORT, LONG, REWARD = "short-term unfairness", "long-term unfairness", "reward"
CRITERION = (
    "Seeds of different learners are independent. Estimates are means over seeds; a comparison of"
    " two learners has Welch's t interval of the difference and the p-value of his test. A claim"
    " that two are alike is an equivalence test; its margin, and that of a claim of no less, stands"
    " in the test's column. A comparison of one learner with a limit has Student's t interval. A"
    " comparison of two times of one learner has that of the paired difference, and p from a"
    " sign-flip test. Where the seeds of a learner have two outcomes, the test says how many have"
    " each; the interval of a comparison with a limit, or of two times, is then the exact one of"
    " that share."
)


@dataclasses.dataclass(frozen=True)
class Courses:
    """Measured courses, and checks of claims about them.

    Attributes:
        courses: Label -> panel -> one row per seed.
        names: `SHORT`, `LONG`, `REWARD` and others -> label of the panel.
    """

    courses: Mapping[str, Mapping[str, np.ndarray]]
    names: Mapping[str, str]

    @classmethod
    def of(cls, data: Mapping[str, PyTree]) -> "Courses":
        """Return the courses from the result of `CourseFigure.measure`."""
        return cls(data["courses"], {what: label for label, what in data["panels"].items()})

    def mean(self, label: str, what: str) -> np.ndarray:
        """Return the mean over the steps, (seeds,)."""
        return np.mean(self.courses[label][self.names[what]], axis=1)

    def last(self, label: str, what: str) -> np.ndarray:
        """Return the mean over the last tenth of the steps, (seeds,)."""
        course = self.courses[label][self.names[what]]
        return np.mean(course[:, -max(1, course.shape[1] // 10) :], axis=1)

    def first(self, label: str, what: str) -> np.ndarray:
        """Return the first step, (seeds,)."""
        return self.courses[label][self.names[what]][:, 0]

    def final(self, label: str, what: str) -> np.ndarray:
        """Return the last step, (seeds,)."""
        return self.courses[label][self.names[what]][:, -1]

    def lower(
        self,
        what: str,
        label: str,
        others: Sequence[str],
        *,
        at_end: bool = False,
        kind: Kind = "predicted",
    ) -> list[Check]:
        """Check that one mean (of all steps, or of the last tenth) is below each of the others."""
        return [self._order(what, label, "less", other, at_end, kind) for other in others]

    def more(
        self, what: str, label: str, others: Sequence[str], *, at_end: bool = False
    ) -> list[Check]:
        """Check that one mean (of all steps, or of the last tenth) is above each of the others."""
        return [self._order(what, label, "more", other, at_end) for other in others]

    def _order(
        self,
        what: str,
        label: str,
        way: str,
        other: str,
        at_end: bool,
        kind: Kind = "predicted",
    ) -> Check:
        of, when = (self.last, " at the end") if at_end else (self.mean, "")
        high, low = (label, other) if way == "more" else (other, label)
        return Check.greater(
            f"{label} has {way} {what} than {other}{when}",
            of(high, what),
            of(low, what),
            kind,
            names=(high, low),
        )


class Order(NamedTuple):
    """Published order of policies at the end of an episode.

    Attributes:
        what: Name of the panel.
        ranks: Labels from the lowest to the highest; labels of one rank are not compared.
    """

    what: str
    ranks: Sequence[Sequence[str]]

    def seeds(self, found: Courses) -> tuple[int, int]:
        """Return the number of seeds with this order in the last tenth, and of all seeds.

        A seed counts if every policy is below all those of later ranks.
        """
        ends = [np.stack([found.last(label, self.what) for label in rank]) for rank in self.ranks]
        pairs = itertools.pairwise(ends)
        held = np.all([low.max(axis=0) < high.min(axis=0) for low, high in pairs], axis=0)
        return int(held.sum()), held.size

    @property
    def words(self) -> str:
        """Order in words."""
        return " < ".join(" and ".join(rank) for rank in self.ranks)


def orders_table(found: Courses, orders: Sequence[Order]) -> Table:
    """Return a table of published orders and the number of seeds that have them."""
    rows = []
    for order in orders:
        held, seeds = order.seeds(found)
        rows.append([found.names[order.what], order.words, f"{held} of {seeds} seeds"])
    caption = "Published orders at the end of the episode, and in how many seeds they occur."
    return Table(["measure", "published order", "as published in"], rows, caption)


def published_table(found: Courses, published: Mapping[str, Mapping[str, str]]) -> Table:
    """Return a table of measured and published values at the end of the episode.

    Args:
        found: Measured courses.
        published: Label -> panel -> value, read off the published picture.
    """
    rows = [
        [label, found.names[what], iqm_text(found.last(label, what)), value]
        for label, own in published.items()
        for what, value in own.items()
    ]
    caption = (
        "Values at the end of the episode: here (last tenth; interquartile mean over seeds [95%"
        " CI]) and published (read off the picture)."
    )
    return Table(["policy", "measure", "here", "published"], rows, caption)


# Name of an outcome -> whether each seed of a policy has it, (seeds,).
Outcomes = Mapping[str, Callable[[Courses, str], np.ndarray]]


def outcomes_table(found: Courses, labels: Sequence[str], outcomes: Outcomes) -> Table:
    """Return a table of the seeds of each policy that have an outcome, with the exact interval."""
    rows = []
    for label in labels:
        row = [label]
        for has in outcomes.values():
            own = np.asarray(has(found, label), bool)
            share, low, high = share_interval(own)
            row.append(f"{own.sum()} of {own.size}, {number(share)} {interval_text(low, high)}")
        rows.append(row)
    caption = (
        "Outcomes of single seeds: number of seeds, their share and the exact 95% interval. A mean"
        " over seeds hides them."
    )
    return Table(["policy", *outcomes], rows, caption)
