"""Checks: claims as numbers, their kinds and outcomes, and the verdict on several of them."""

import dataclasses
import math
from collections import Counter
from typing import Literal

from fairgym.statistics.comparisons import paired_test
from fairgym.statistics.intervals import Numbers, mean_interval

Kind = Literal["predicted", "calibrated", "by construction"]
KINDS: tuple[Kind, ...] = ("predicted", "calibrated", "by construction")
# Share of two-sided 95% intervals that lie wholly above the true number.
CHANCE = 0.025


@dataclasses.dataclass(frozen=True)
class Check:
    """The claim that a number lies between two limits, only one of which most claims have.

    Attributes:
        statement: The claim in words.
        estimate: The number.
        low: Lower end of its 95% interval over seeds; NaN where there is none.
        high: Upper end. An exact number has an interval without width.
        lowest: Limit that the number is claimed to be above.
        highest: Limit that it is claimed to be below.
        kind: "predicted" if nothing was chosen by it; "calibrated" if a free number of the reading,
            or the claim itself, was chosen with it in view; "by construction" if it cannot fail in
            practice.
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
        """Outcome by the interval.

        "holds" if all of it is between the limits, "contradicted" if none of it is, and else
        "undecided", as an undefined interval is. The limits themselves are not claimed.
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
        """Check that the mean over seeds is above a limit, by Student's t interval."""
        return cls(statement, *mean_interval(values), lowest=limit, kind=kind)

    @classmethod
    def below(
        cls, statement: str, values: Numbers, limit: float, kind: Kind = "predicted"
    ) -> "Check":
        """Check that the mean over seeds is below a limit, by Student's t interval."""
        return cls(statement, *mean_interval(values), highest=limit, kind=kind)

    @classmethod
    def between(
        cls,
        statement: str,
        values: Numbers,
        lowest: float,
        highest: float,
        kind: Kind = "predicted",
    ) -> "Check":
        """Check that the mean over seeds is between two limits, by Student's t interval."""
        return cls(statement, *mean_interval(values), lowest, highest, kind)

    @classmethod
    def higher(cls, statement: str, a: Numbers, b: Numbers, kind: Kind = "predicted") -> "Check":
        """Check that a is above b, by the t interval of their differences seed by seed."""
        test = paired_test(a, b)
        found = (test.difference, test.low, test.high)
        return cls(statement, *found, lowest=0.0, kind=kind, detail=f"p = {test.p:.3g}")


class Tally(Counter[tuple[str, str]]):
    """Numbers of checks by kind and outcome, which verdicts are made from.

    Examples:
        >>> from fairgym.statistics.checks import Tally
        >>> found = Tally([("predicted", "holds"), ("predicted", "undecided")])
        >>> print(f"{found.verdict}: {found.words}")
        holds in part: 1 of 2 predicted checks hold, 1 undecided
    """

    def of(self, kind: Kind) -> int:
        """Number of checks of a kind."""
        return sum(number for (its, _), number in self.items() if its == kind)

    @property
    def verdict(self) -> str:
        """Verdict on the predicted checks, which alone count.

        "holds" if all of them hold, "holds in part" if some do; if none does, "contradicted" if one
        at least is contradicted, and else "undecided". "no prediction" without any.
        """
        predicted, held = self.of("predicted"), self["predicted", "holds"]
        if not predicted:
            return "no prediction"
        if held:
            return "holds" if held == predicted else "holds in part"
        return "contradicted" if self["predicted", "contradicted"] else "undecided"

    @property
    def words(self) -> str:
        """The three outcomes of the predicted checks, and how many checks of other kinds stand by.

        Such as "5 of 6 predicted checks hold, 1 undecided; beside them 2 calibrated".
        """
        others = ", ".join(f"{self.of(kind)} {kind}" for kind in KINDS[1:] if self.of(kind))
        if not (predicted := self.of("predicted")):
            return f"checks: {others}" if others else "no checks"
        found = f"{self['predicted', 'holds']} of {predicted} predicted checks hold"
        for outcome in ("contradicted", "undecided"):
            if number := self["predicted", outcome]:
                found += f", {number} {outcome}"
        return f"{found}; beside them {others}" if others else found

    @property
    def chance_words(self) -> str:
        """The number of predicted checks that would hold by chance, and how it is counted."""
        number = CHANCE * self.of("predicted")
        return (
            f"by chance about {number:.1f} would: where the true number is the limit itself,"
            f" {CHANCE:.1%} of two-sided 95% intervals lie wholly on the claimed side"
        )
