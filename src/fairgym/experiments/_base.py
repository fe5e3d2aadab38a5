"""Experiments: the runs that they take, what is measured in them, and the checks of their claims.

An experiment has three parts, so that each can be read and tested alone: `grid` names the runs,
`measure` turns finished runs into plain arrays, and `conclude` turns these arrays into figures,
tables and checks.
"""

import abc
import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from jaxtyping import PyTree
from matplotlib.figure import Figure

from fairgym.config.run_config import RunConfig
from fairgym.core import FairgymError
from fairgym.results.table import Table
from fairgym.statistics.checks import Check, Tally
from fairgym.training.run import Run
from fairgym.utils import Registry

experiments = Registry("fairgym.experiments", "experiment", grouped=True)

# Key of `grid` or `then` -> the finished runs (`fairgym.training.Run`), in the order of the seeds.
Runs = Mapping[str, Sequence[Run]]

# Key -> a configuration, to be trained with every seed.
Grid = dict[str, RunConfig]

# Setting of a `Size` -> its words.
_WORDS = {
    "people": "{} people",
    "epochs": "{} epochs",
    "episodes": "{} episodes per epoch",
    "steps": "{} steps per epoch",
    "held_out": "{} held-out episodes for each policy",
    "weights": "weights {}",
    "replicates": "{} replicates of every case",
    "seeds": "{} seeds",  # last: the page adds which
}


@dataclasses.dataclass(frozen=True)
class Size:
    """Size of an experiment; what does not apply to it is None.

    Attributes:
        people: People in every environment.
        epochs: Epochs of training.
        episodes: Episodes per epoch of training.
        steps: Steps per epoch of training.
        held_out: Episodes in which a learned policy is measured, that it was not trained in.
        weights: Values of a weight, each of which is run.
        replicates: Replicates of every case of a simulation study.
        seeds: Number of seeds, which are 0, 1, ...; none where nothing is random.
    """

    people: int | None = None
    epochs: int | None = None
    episodes: int | None = None
    steps: int | None = None
    held_out: int | None = None
    weights: tuple[float, ...] | None = None
    replicates: int | None = None
    seeds: int = 5

    def words(self) -> list[str]:
        """Every setting in words."""
        return [_WORDS[name].format(_plain(value)) for name, value in self._given()]

    def cuts(self, full: "Size") -> list[str]:
        """Differences from the full size, in words."""
        whole = dict(full._given())
        return [
            f"{_WORDS[name].format(_plain(value))} instead of "
            + (_plain(whole[name]) if name in whole else "its own")
            for name, value in self._given()
            if value != whole.get(name)
        ]

    def _given(self) -> list[tuple[str, Any]]:
        pairs = [(name, getattr(self, name)) for name in _WORDS]
        return [(name, value) for name, value in pairs if value not in (None, 0)]

    def training(self) -> dict[str, int]:
        """Length of training as hyperparameters of F-MACEM and of the gradient learners."""
        assert self.epochs is not None and self.episodes is not None
        return {"epochs": self.epochs, "episodes_per_epoch": self.episodes}


def run_config(
    environment: str, size: Size, objective: str | dict[str, Any] = "uniform", **more: Any
) -> RunConfig:
    """Return the configuration of a run of this size.

    Args:
        environment: Its name.
        size: People, epochs and episodes.
        objective: Its name, or its weights; "uniform" is the sum of all terms.
        **more: Further fields of `RunConfig`.
    """
    given = {} if size.people is None else {"population": size.people}
    return RunConfig(
        environment,
        **{"environment_args": given, "algorithm_args": size.training(), "objective": objective}
        | more,
    )


# 40 epochs of 100 episodes are table 8's, five seeds are those of figure 6; the people are this
# project's choice, as their number is not published. The quick size keeps the seeds, without which
# no interval is narrow, and the horizon.
PAPER = Size(people=1_000, epochs=40, episodes=100, held_out=32, seeds=5)
QUICK = Size(people=400, epochs=15, episodes=40, held_out=16, seeds=5)
# As many people as MAFE's normalisers suggest, at the quick length.
LARGE = dataclasses.replace(QUICK, people=10_000, seeds=3)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Result of an experiment.

    Attributes:
        figures: Ending of the file name ("" for the only one) -> matplotlib figure.
        caption: Meaning of the figures' lines and bands.
        tables: Tables with intervals.
        checks: The claims.
    """

    figures: Mapping[str, Figure]
    caption: str
    tables: Sequence[Table]
    checks: Sequence[Check]

    @property
    def tally(self) -> Tally:
        """Numbers of its checks by kind and outcome."""
        return Tally((check.kind, check.outcome) for check in self.checks)

    @property
    def verdict(self) -> str:
        """Verdict on the predicted checks together, in one or two words (`Tally.verdict`)."""
        return self.tally.verdict


class Experiment(abc.ABC):
    """A published figure or table.

    Attributes:
        title: What it shows.
        source: Where it is published.
        claim: What is said there, in its own words.
        judged: How checks are judged, where it is not by intervals over seeds.
        sizes: Scale ("paper", as far as the size is published, "quick", and "large" where it
            matters how many people there are) -> size.
        following: Number of configurations that `then` adds, so that all runs can be counted at
            once.
    """

    title: ClassVar[str]
    source: ClassVar[str]
    claim: ClassVar[str]
    judged: ClassVar[str] = ""
    sizes: ClassVar[Mapping[str, Size]]
    following: ClassVar[int] = 0

    def notes(self) -> str:
        """Notes for the page, from the Markdown file beside the experiment's module.

        They tell which choices were made, and what was tried where a claim did not come out;
        empty where there is no such file.
        """
        path = Path(inspect.getfile(type(self))).with_suffix(".md")
        return path.read_text(encoding="utf-8").strip() if path.is_file() else ""

    def grid(self, size: Size) -> dict[str, RunConfig]:
        """Configurations by key, each to be trained with every seed; none by default."""
        return {}

    def then(self, size: Size, runs: Runs) -> dict[str, RunConfig]:
        """Further configurations that follow from the finished runs of `grid`; none by default."""
        return {}

    @abc.abstractmethod
    def measure(self, size: Size, runs: Runs, seeds: Sequence[int]) -> PyTree:
        """Numbers of the finished runs.

        Args:
            size: People, episodes and the like.
            runs: Key -> the runs as loaded, those of `grid` and of `then`.
            seeds: The seeds.

        Returns:
            The input of `conclude`: NumPy arrays, one entry per seed along the first axis.
        """

    @abc.abstractmethod
    def conclude(self, data: PyTree) -> Outcome:
        """Figures, tables and checks of the numbers."""

    def size(self, scale: str, seeds: int | None = None) -> Size:
        """Size of a scale, with another number of seeds if one is given.

        Raises:
            FairgymError: an unknown scale, or fewer than 2 seeds or more than 1,000.
        """
        if scale not in self.sizes:
            raise FairgymError(f"scale is {scale!r}; it takes: {', '.join(self.sizes)}")
        size = self.sizes[scale]
        if seeds is None or not size.seeds:  # which is nothing to choose where nothing is random
            return size
        if isinstance(seeds, bool) or not isinstance(seeds, int) or not 2 <= seeds <= 1_000:
            raise FairgymError(
                f"seeds is {seeds!r}; it takes a whole number from 2 to 1,000 (one seed has no"
                " interval)"
            )
        return dataclasses.replace(size, seeds=seeds)


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"{v:g}" for v in value)
    return f"{value:,}"
