"""What an experiment is: the runs it takes, what is measured in them, and what a claim is held to.

An experiment has three parts, so that each can be read and tested alone: `grid` names the runs,
`measure` turns finished runs into plain arrays, and `conclude` turns these arrays into figures,
tables and checks.
"""

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from fairgym.core import FairgymError, Registry
from fairgym.training.config import RunConfig
from fairgym.training.statistics import mean_interval, paired_test

experiments = Registry("fairgym.experiments", "experiment", grouped=True)

# Setting of a `Size` -> how it is told.
_WORDS = {
    "people": "{} people",
    "epochs": "{} epochs",
    "episodes": "{} episodes per epoch",
    "held_out": "{} held-out episodes for each policy",
    "weights": "weights {}",
    "seeds": "{} seeds",  # last: the page adds which
}


@dataclasses.dataclass(frozen=True)
class Size:
    """How large an experiment is; what does not apply to it is None.

    Attributes:
        people: in every environment.
        epochs: of training.
        episodes: per epoch of training.
        held_out: episodes in which a learned policy is measured, that it was not trained in.
        weights: the values of a weight that is gone through.
        seeds: how many: 0, 1, ...
    """

    people: int | None = None
    epochs: int | None = None
    episodes: int | None = None
    held_out: int | None = None
    weights: tuple[float, ...] | None = None
    seeds: int = 5

    def words(self) -> list[str]:
        """Every setting in words."""
        return [_WORDS[name].format(_plain(value)) for name, value in self._given()]

    def cuts(self, full: "Size") -> list[str]:
        """Where this is less than the full size, in words."""
        whole = dict(full._given())
        return [
            f"{_WORDS[name].format(_plain(value))} instead of "
            + (_plain(whole[name]) if name in whole else "its own")
            for name, value in self._given()
            if value != whole.get(name)
        ]

    def _given(self) -> list[tuple[str, Any]]:
        pairs = [(name, getattr(self, name)) for name in _WORDS]
        return [(name, value) for name, value in pairs if value is not None]

    def training(self) -> dict[str, int]:
        """Hyperparameters of F-MACEM and of the gradient learners that say how long they train."""
        assert self.epochs is not None and self.episodes is not None
        return {"epochs": self.epochs, "episodes_per_epoch": self.episodes}


def run_config(environment: str, size: Size, objective: str = "uniform", **more: Any) -> RunConfig:
    """A run of this size.

    Args:
        environment: its name.
        size: people, epochs and episodes.
        objective: its name; "uniform" is the sum of all terms.
        **more: further fields of `RunConfig`.
    """
    given = {} if size.people is None else {"population": size.people}
    return RunConfig(
        environment,
        **{"environment_args": given, "algorithm_args": size.training(), "objective": objective}
        | more,
    )


# 40 epochs of 100 episodes are table 8's, five seeds are those of figure 6. The quick size keeps
# the seeds, without which no interval is narrow, and the horizon.
PAPER = Size(people=1_000, epochs=40, episodes=100, held_out=32, seeds=5)
QUICK = Size(people=400, epochs=15, episodes=40, held_out=16, seeds=5)


@dataclasses.dataclass(frozen=True)
class Check:
    """A claim as a number that is above a limit or not.

    Attributes:
        statement: what is claimed, in words.
        estimate: the number.
        low: lower end of its 95% interval over seeds.
        high: upper end.
        holds: whether the whole interval is where the claim says.
        detail: what else is known, such as a p-value.
    """

    statement: str
    estimate: float
    low: float
    high: float
    holds: bool
    detail: str = ""

    @classmethod
    def above(cls, statement: str, values: Any, limit: float = 0.0) -> "Check":
        """One value per seed: Student's t interval of their mean is above the limit."""
        estimate, low, high = mean_interval(values)
        return cls(statement, estimate, low, high, bool(low > limit))

    @classmethod
    def below(cls, statement: str, values: Any, limit: float) -> "Check":
        """One value per seed: Student's t interval of their mean is below the limit."""
        estimate, low, high = mean_interval(values)
        return cls(statement, estimate, low, high, bool(high < limit))

    @classmethod
    def higher(cls, statement: str, a: Any, b: Any) -> "Check":
        """Paired by seed: the interval of the mean of a - b is above 0."""
        test = paired_test(a, b)
        holds = bool(test.low > 0)
        return cls(statement, test.difference, test.low, test.high, holds, f"p = {test.p:.3g}")


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes:
        head: names of the columns.
        rows: cells.
        caption: what the numbers are.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of an experiment.

    Attributes:
        figures: ending of the file name ("" for the only one) -> matplotlib figure.
        caption: what lines and bands of the figures are.
        tables: tables with intervals.
        checks: the claims.
    """

    figures: Mapping[str, Any]
    caption: str
    tables: Sequence[Table]
    checks: Sequence[Check]

    @property
    def verdict(self) -> str:
        """Of all claims together."""
        held = sum(check.holds for check in self.checks)
        if held == len(self.checks):
            return "holds"
        return "holds in part" if held else "does not hold"


class Experiment(abc.ABC):
    """A published figure or table.

    Class attributes:
        title: what it shows.
        source: where it is published.
        claim: what is said there, in its own words.
        sizes: scale ("paper", the published size, and "quick") -> size.
        following: how many configurations `then` adds, so that all runs can be counted at once.
        notes: Markdown for its page: choices that were made, and what was tried where a claim
            did not come out.
    """

    title: ClassVar[str]
    source: ClassVar[str]
    claim: ClassVar[str]
    sizes: ClassVar[Mapping[str, Size]]
    following: ClassVar[int] = 0
    notes: ClassVar[str] = ""

    def grid(self, size: Size) -> dict[str, RunConfig]:
        """The runs by key, each to be trained with every seed; none by default."""
        return {}

    def then(self, size: Size, runs: Mapping[str, Sequence[Any]]) -> dict[str, RunConfig]:
        """Further runs by key that follow from the finished runs of `grid`; none by default."""
        return {}

    @abc.abstractmethod
    def measure(self, size: Size, runs: Mapping[str, Sequence[Any]], seeds: Sequence[int]) -> Any:
        """From finished runs to numbers.

        Args:
            size: people, episodes and the like.
            runs: key -> the runs as loaded, those of `grid` and of `then`, in the order of the
                seeds.
            seeds: the seeds.

        Returns:
            What `conclude` takes: NumPy arrays, one entry per seed along the first axis.
        """

    @abc.abstractmethod
    def conclude(self, data: Any) -> Outcome:
        """From numbers to figures, tables and checks."""

    def size(self, scale: str, seeds: int | None = None) -> Size:
        """The size of a scale, with another number of seeds if one is given.

        Raises:
            FairgymError: an unknown scale, or fewer than 2 seeds.
        """
        if scale not in self.sizes:
            raise FairgymError(f"scale is {scale!r}; it takes: {', '.join(self.sizes)}")
        size = self.sizes[scale]
        if seeds is None:
            return size
        if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 2:
            raise FairgymError(
                f"seeds is {seeds!r}; it takes a whole number from 2 (one seed has no interval)"
            )
        return dataclasses.replace(size, seeds=seeds)


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"{v:g}" for v in value)
    return f"{value:,}"
