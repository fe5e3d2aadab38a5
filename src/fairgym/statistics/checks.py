"""Checks of claims about numbers: kinds, outcomes, and the verdict on several checks."""

import dataclasses
import math
from collections import Counter
from typing import Literal

import numpy as np

from fairgym.statistics.comparisons import paired_test, welch_test
from fairgym.statistics.intervals import FEW_SEEDS, Numbers, mean_interval
from fairgym.statistics.shares import TwoOutcomes, two_outcomes

Kind = Literal["predicted", "own prediction", "calibrated", "by construction"]
KINDS: tuple[Kind, ...] = ("predicted", "own prediction", "calibrated", "by construction")
# Share of two-sided 95% intervals that lie entirely above the true number.
CHANCE = 0.025
SIDES = ("first", "second")  # names of what is compared, in the detail of a check


@dataclasses.dataclass(frozen=True)
class Check:
    """The claim that a number lies between two limits; most claims have only one limit.

    Checks of values over seeds take Student's t interval of the mean. Where the seeds have two
    outcomes (`two_outcomes`), the interval is that of the share of seeds with the higher outcome.
    Comparisons of independent samples keep Welch's interval.

    Attributes:
        statement: Claim in words.
        estimate: Estimate of the number.
        low: Lower limit of its 95% interval over seeds; NaN without an interval.
        high: Upper limit of the interval. The interval of an exact number has no width.
        lowest: Limit that the number is claimed to exceed.
        highest: Limit that the number is claimed not to reach.
        kind: "predicted" if nothing was chosen to make it hold; "own prediction" if this also
            holds, but the claim is not that of the publication; "calibrated" if an unpublished
            number, or the claim itself, was chosen with it in view; "by construction" if it
            cannot fail in practice.
        detail: Further results of the test, such as a p-value.
    """

    statement: str
    estimate: float
    low: float
    high: float
    lowest: float = -math.inf
    highest: float = math.inf
    kind: Kind = "predicted"
    detail: str = ""

    @property
    def outcome(self) -> str:
        """Outcome according to the interval.

        "holds" if the whole interval is between the limits, "contradicted" if no part of it is,
        otherwise "undecided", also without an interval. The limits themselves do not count as
        between.
        """
        if self.lowest < self.low and self.high < self.highest:
            return "holds"
        if self.high <= self.lowest or self.highest <= self.low:
            return "contradicted"
        return "undecided"

    @classmethod
    def above(
        cls, statement: str, values: Numbers, limit: float = 0.0, kind: Kind = "predicted"
    ) -> "Check":
        """Check that the mean over seeds is above a limit."""
        return cls.between(statement, values, limit, kind=kind)

    @classmethod
    def below(
        cls, statement: str, values: Numbers, limit: float, kind: Kind = "predicted"
    ) -> "Check":
        """Check that the mean over seeds is below a limit."""
        return cls.between(statement, values, highest=limit, kind=kind)

    @classmethod
    def between(
        cls,
        statement: str,
        values: Numbers,
        lowest: float = -math.inf,
        highest: float = math.inf,
        kind: Kind = "predicted",
    ) -> "Check":
        """Check that the mean over seeds is between two limits."""
        interval, detail = _over_seeds(values)
        return cls(statement, *interval, lowest, highest, kind, detail)

    @classmethod
    def higher(cls, statement: str, a: Numbers, b: Numbers, kind: Kind = "predicted") -> "Check":
        """Check that a is above b, by the interval of their paired differences over seeds."""
        interval, outcomes = _over_seeds(np.asarray(a, np.float64) - np.asarray(b, np.float64))
        detail = "; ".join(filter(None, (f"p = {paired_test(a, b).p:.3g}", outcomes)))
        return cls(statement, *interval, lowest=0.0, kind=kind, detail=detail)

    @classmethod
    def greater(
        cls,
        statement: str,
        a: Numbers,
        b: Numbers,
        kind: Kind = "predicted",
        *,
        margin: float = 0.0,
        names: tuple[str, str] = SIDES,
    ) -> "Check":
        """Check that a is above b where seeds are independent, by Welch's t interval.

        With a margin, a may be lower by less than the margin (non-inferiority). Where the seeds of
        a side have two outcomes, the detail tells them after its name; the interval is the same.
        """
        test = welch_test(a, b)
        found = (test.difference, test.low, test.high)
        limit = [f"margin {margin:.3g}"] if margin else []
        detail = "; ".join([f"p = {test.p:.3g}", *limit, *_of_sides(names, (a, b))])
        return cls(statement, *found, lowest=-margin, kind=kind, detail=detail)

    @classmethod
    def alike(
        cls,
        statement: str,
        a: Numbers,
        b: Numbers,
        margin: float,
        kind: Kind = "predicted",
        *,
        names: tuple[str, str] = SIDES,
    ) -> "Check":
        """Check that a and b differ by less than a margin, by Welch's t interval.

        This is an equivalence test: two one-sided tests at 2.5% each. Two outcomes of a side are
        told as by `greater`.
        """
        test = welch_test(a, b)
        found = (test.difference, test.low, test.high)
        detail = "; ".join([f"margin {margin:.3g}", *_of_sides(names, (a, b))])
        return cls(statement, *found, -margin, margin, kind, detail)


def _over_seeds(values: Numbers) -> tuple[tuple[float, float, float], str]:
    """Return the mean over seeds with its interval, and what it hides in words.

    These are the two outcomes of the seeds, or the values of two or three seeds, of which an
    interval says little.
    """
    found, several = two_outcomes(values), np.asarray(values, np.float64).reshape(-1)
    if found is None:
        few = 2 <= several.size <= FEW_SEEDS and np.ptp(several) > 0.0
        told = ", ".join(map(_short, several))
        return mean_interval(values), f"seeds: {told}" if few else ""
    return found.interval(), _words(found)


def _of_sides(names: tuple[str, str], sides: tuple[Numbers, Numbers]) -> list[str]:
    """Return the outcomes of each side whose seeds have two, after its name."""
    both = zip(names, map(two_outcomes, sides), strict=True)
    return [f"{name}: {_words(found)}" for name, found in both if found is not None]


def _words(found: TwoOutcomes) -> str:
    below = found.total - found.high
    return f"{_short(found.lower)} with {below} seeds, {_short(found.upper)} with {found.high}"


def _short(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


class Tally(Counter[tuple[str, str]]):
    """Numbers of checks by kind and outcome, and the verdict on them.

    Examples:
        >>> from fairgym.statistics.checks import Tally
        >>> found = Tally([("predicted", "holds"), ("predicted", "undecided")])
        >>> print(f"{found.verdict}: {found.words}")
        holds in part: 1 of 2 predicted checks hold, 1 undecided
    """

    def of(self, kind: Kind) -> int:
        """Return the number of checks of a kind."""
        return sum(number for (its, _), number in self.items() if its == kind)

    @property
    def verdict(self) -> str:
        """Verdict on the predicted checks; other kinds do not count.

        "holds" if all of them hold, "holds in part" if some do. If none holds, "contradicted" if at
        least one is contradicted, otherwise "undecided". "no prediction" without predicted checks.
        """
        predicted, held = self.of("predicted"), self["predicted", "holds"]
        if not predicted:
            return "no prediction"
        if held:
            return "holds" if held == predicted else "holds in part"
        return "contradicted" if self["predicted", "contradicted"] else "undecided"

    @property
    def words(self) -> str:
        """Numbers of the outcomes of predicted checks, and of checks of other kinds.

        For example "5 of 6 predicted checks hold, 1 undecided; not counted: 2 calibrated".
        """
        others = ", ".join(self._told(kind) for kind in KINDS[1:] if self.of(kind))
        if not (predicted := self.of("predicted")):
            return f"checks: {others}" if others else "no checks"
        found = f"{self['predicted', 'holds']} of {predicted} predicted checks hold"
        for outcome in ("contradicted", "undecided"):
            if number := self["predicted", outcome]:
                found += f", {number} {outcome}"
        return f"{found}; not counted: {others}" if others else found

    def _told(self, kind: Kind) -> str:
        """Return the number of checks of a kind, for our own predictions with those that hold."""
        number = self.of(kind)
        if kind != "own prediction":
            return f"{number} {kind}"
        return f"{self[kind, 'holds']} of {number} {kind}s hold"

    @property
    def chance_words(self) -> str:
        """Expected number of predicted checks that would hold by chance, and its derivation."""
        number = CHANCE * self.of("predicted")
        return (
            f"by chance about {number:.1f} would hold: where the true number is the limit itself,"
            f" {CHANCE:.1%} of two-sided 95% intervals lie wholly on the claimed side"
        )
