"""Which column of a table of decisions plays which role, and the settings of an audit."""

import dataclasses

from fairgym.core import FairgymError, check_shape
from fairgym.core.errors import require_number

CROSS = " × "  # between the columns of crossed groups
REFERENCES = ("best", "largest", "pooled")
EVERY = ("day", "week", "month", "quarter", "year")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Roles:
    """Roles of the columns of a table with one row per decision, and the settings of an audit.

    A role without a column is "" or ().

    Attributes:
        decision: Column with the decisions.
        favourable: Values of the decision that are favourable, as texts; () where the column says
            so itself (yes/no, true/false, 1/0).
        unfavourable: Values that are unfavourable; () for all that are not favourable. If given,
            rows with any other value are dropped.
        groups: Columns with the groups of people.
        unknown: Values of the groups that stand for an unknown group, beside empty cells.
        cross: Whether to compare also the groups that the columns make together.
        time: Column with the times: dates, months, years, or steps.
        every: Length of a period if the times are dates: "day", "week", "month", "quarter" or
            "year". By default every distinct time is a period.
        outcome: Column with what came of the decision, perhaps known for the accepted only.
        good: Values of the outcome that are good, as `favourable`.
        score: Column with the score that the decision was based on. Higher is better for people.
        legit: Columns that may account for a gap: adjusted for, or used as strata.
        person: Column that tells people apart, if a person has several decisions.
        cluster: Column whose values share something: branch, officer, episode.
        weight: Column with weights of the rows, at least 0.
        amount: Column with an amount per decision, such as the sum of a loan.
        reference: Group that the others are compared with: its name, "best" (the highest rate),
            "largest" (the most decisions), or "pooled" (all other groups together). By default that
            of the profile, else the largest one.
        min_n: Smallest number of decisions of a group that is compared.
        min_share: Smallest share of all decisions of a group that is compared.
        line: Ratio of rates that a profile draws as a line; 0 for none.
        suppress: Groups with fewer decisions are listed without numbers.
        profile: Standard to report by: the name of a built-in one, or a TOML file.
        fail_if: Condition on the gaps, such as "ratio<0.8"; "" for none.
        level: Confidence level of intervals.
        resamples: Number of resamples of persons, clusters or periods.
        seed: Seed of the resampling.
    """

    decision: str
    favourable: tuple[str, ...] = ()
    unfavourable: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    cross: bool = False
    time: str = ""
    every: str = ""
    outcome: str = ""
    good: tuple[str, ...] = ()
    score: str = ""
    legit: tuple[str, ...] = ()
    person: str = ""
    cluster: str = ""
    weight: str = ""
    amount: str = ""
    reference: str = ""
    min_n: int = 30
    min_share: float = 0.0
    line: float = 0.0
    suppress: int = 10
    profile: str = "plain"
    fail_if: str = ""
    level: float = 0.95
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            FairgymError: No decision or group is named, or a setting is out of range.
        """
        if not self.decision:
            raise FairgymError("decision is not given; name the column with the decisions")
        if not self.groups:
            raise FairgymError("group is not given; name one or more columns with the groups")
        for name in ("groups", "legit"):
            given = getattr(self, name)
            if len(set(given)) < len(given):
                raise FairgymError(f"{name} must name each column once, got {', '.join(given)}")
        if not all(self.unknown):
            raise FairgymError(
                f"unknown must name values, such as 'Not stated', got {','.join(self.unknown)!r}"
            )
        if self.every and self.every not in EVERY:
            raise FairgymError(f"every must be {', '.join(EVERY)}, got {self.every!r}")
        check_shape("min_n", self.min_n, 1, 10**9)
        check_shape("suppress", self.suppress, 0, 10**9)
        check_shape("resamples", self.resamples, 1, 10**6)
        check_shape("seed", self.seed, 0, 2**32 - 1)
        require_number("min_share", self.min_share, 0.0, 1.0)
        require_number("line", self.line, 0.0, 1.0)
        if not 0.5 <= self.level < 1.0:
            raise FairgymError(f"level must be a number from 0.5 to below 1, got {self.level!r}")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns that have a role, each once."""
        single = (self.time, self.outcome, self.score, self.person, self.cluster)
        named = (self.decision, *self.groups, *single, self.weight, self.amount, *self.legit)
        return tuple(dict.fromkeys(name for name in named if name))

    @property
    def crossed(self) -> str:
        """Name of the crossed grouping; "" if no groups are crossed."""
        return CROSS.join(self.groups) if self.cross and len(self.groups) > 1 else ""
