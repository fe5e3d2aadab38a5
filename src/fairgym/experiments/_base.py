"""Base classes of experiments.

An experiment has three parts, which can be read and tested separately: `grid` lists the runs,
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

# Key of `grid` or `then` -> its finished runs (`fairgym.training.Run`), in the order of the seeds.
Runs = Mapping[str, Sequence[Run]]

# Key -> configuration, trained with every seed.
Grid = dict[str, RunConfig]

# Setting of a `Size` -> its text on the page.
_WORDS = {
    "people": "{} people",
    "epochs": "{} epochs",
    "episodes": "{} episodes per epoch",
    "steps": "{} steps per epoch",
    "held_out": "{} held-out episodes for each policy",
    "weights": "weights {}",
    "tried": "{} tried settings of each learner",
    "replicates": "{} replicates of every case",
    "seeds": "{} seeds",  # last: the page appends the seeds themselves
}


@dataclasses.dataclass(frozen=True)
class Size:
    """Size of an experiment. Settings that do not apply are None.

    Attributes:
        people: Number of people in each environment.
        epochs: Training epochs.
        episodes: Episodes per training epoch.
        steps: Steps per training epoch.
        held_out: Number of held-out episodes in which each learned policy is measured.
        weights: Values of a weight; each value is one run.
        tried: Number of settings that are tried for each learner.
        replicates: Replicates of each case of a simulation study.
        seeds: Number of seeds (0, 1, ...), or 0 if nothing is random.
    """

    people: int | None = None
    epochs: int | None = None
    episodes: int | None = None
    steps: int | None = None
    held_out: int | None = None
    weights: tuple[float, ...] | None = None
    tried: int | None = None
    replicates: int | None = None
    seeds: int = 5

    def words(self) -> list[str]:
        """Return every setting as text."""
        return [_WORDS[name].format(_plain(value)) for name, value in self._given()]

    def cuts(self, full: "Size") -> list[str]:
        """Return the differences from the full size as text."""
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
        """Return the training length as hyperparameters."""
        length = {
            "epochs": self.epochs,
            "episodes_per_epoch": self.episodes,
            "steps_per_epoch": self.steps,
        }
        return {name: value for name, value in length.items() if value is not None}


def run_config(
    environment: str, size: Size, objective: str | dict[str, Any] = "uniform", **more: Any
) -> RunConfig:
    """Return the configuration of a run of this size.

    Args:
        environment: Name of the environment.
        size: Number of people, epochs and episodes.
        objective: Name of an objective, or its weights. "uniform" is the sum of all terms.
        **more: Other fields of `RunConfig`.
    """
    given = {} if size.people is None else {"population": size.people}
    return RunConfig(
        environment,
        **{"environment_args": given, "algorithm_args": size.training(), "objective": objective}
        | more,
    )


# 40 epochs of 100 episodes follow table 8. The paper has five seeds (figure 6) or three (figure 9).
# The number of people is not published; 1,000 is this project's choice. The quick size keeps the
# horizon and five seeds, because fewer would make every interval wide.
PAPER = Size(people=1_000, epochs=40, episodes=100, held_out=32, seeds=5)
QUICK = Size(people=400, epochs=15, episodes=40, held_out=16, seeds=5)
# Studies beyond the paper with many runs have fewer people.
STUDY = dataclasses.replace(PAPER, people=400)
STUDIES = {"paper": STUDY, "quick": QUICK}
# MAFE's main figures. Ten seeds, because an exact test of five never has p below 0.0625. "full" has
# the number of people that MAFE's normalisers suggest.
SCALES = {
    "paper": dataclasses.replace(PAPER, seeds=10),
    "quick": QUICK,
    "full": dataclasses.replace(PAPER, people=10_000, seeds=3),
}


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Result of an experiment.

    Attributes:
        figures: Suffix of the file name ("" for a single figure) -> matplotlib figure.
        caption: Meaning of the figures' lines and bands.
        tables: Tables with intervals.
        checks: Checks of the claims.
        files: Further files beside the page: name -> text.
    """

    figures: Mapping[str, Figure]
    caption: str
    tables: Sequence[Table]
    checks: Sequence[Check]
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def tally(self) -> Tally:
        """Number of checks by kind and outcome."""
        return Tally((check.kind, check.outcome) for check in self.checks)

    @property
    def verdict(self) -> str:
        """Verdict on all predicted checks, in one or two words (`Tally.verdict`)."""
        return self.tally.verdict


class Experiment(abc.ABC):
    """A published figure or table.

    Attributes:
        title: Title of the page, with paper and number: "MAFE figure 9: ...".
        source: Publication, with figure, table or section.
        claim: The published claim, quoted where possible.
        criterion: How checks are decided, if not by intervals over seeds.
        first_seed: First of the seeds, which are whole numbers in a row.
        sizes: Scale -> size. "paper" follows the paper where it gives the size, and "quick" is
            short. MAFE's main figures also have "full", with 10,000 people and the published
            training.
        following: Number of configurations that `then` adds, so that all runs can be counted in
            advance.
    """

    title: ClassVar[str]
    source: ClassVar[str]
    claim: ClassVar[str]
    criterion: ClassVar[str] = ""
    sizes: ClassVar[Mapping[str, Size]]
    first_seed: ClassVar[int] = 0
    following: ClassVar[int] = 0

    def notes(self) -> str:
        """Return the notes for the page, from the Markdown file beside the experiment's module.

        Notes explain which choices were made, and what was tried when a claim did not hold. They
        are empty if there is no such file.
        """
        path = Path(inspect.getfile(type(self))).with_suffix(".md")
        return path.read_text(encoding="utf-8").strip() if path.is_file() else ""

    def grid(self, size: Size) -> dict[str, RunConfig]:
        """Return configurations by key, each trained with every seed; none by default."""
        return {}

    def then(self, size: Size, runs: Runs) -> dict[str, RunConfig]:
        """Return configurations that depend on the finished runs of `grid`; none by default."""
        return {}

    def seeds_of(self, key: str, size: Size) -> Sequence[int]:
        """Return the seeds of a configuration; those of the size by default.

        Args:
            key: Key of `grid` or `then`.
            size: Size of the experiment.
        """
        return self.seeds(size)

    @abc.abstractmethod
    def measure(self, size: Size, runs: Runs, seeds: Sequence[int]) -> PyTree:
        """Measure the finished runs.

        Args:
            size: Size of the experiment.
            runs: Key of `grid` or `then` -> loaded runs.
            seeds: The seeds.

        Returns:
            The input of `conclude`: NumPy arrays with one entry per seed along the first axis.
        """

    @abc.abstractmethod
    def conclude(self, data: PyTree) -> Outcome:
        """Return figures, tables and checks."""

    def seeds(self, size: Size) -> range:
        """Return the seeds of a size."""
        return range(self.first_seed, self.first_seed + size.seeds)

    def size(self, scale: str, seeds: int | None = None) -> Size:
        """Return the size of a scale, with another number of seeds if given.

        Raises:
            FairgymError: If the scale is unknown, or if `seeds` is not between 2 and 1,000.
        """
        if scale not in self.sizes:
            raise FairgymError(f"scale must be one of {', '.join(self.sizes)}, got {scale!r}")
        size = self.sizes[scale]
        if seeds is None or not size.seeds:  # nothing is random: `seeds` has no effect
            return size
        if isinstance(seeds, bool) or not isinstance(seeds, int) or not 2 <= seeds <= 1_000:
            raise FairgymError(
                "seeds must be a whole number from 2 to 1,000 (one seed has no interval), got"
                f" {seeds!r}"
            )
        return dataclasses.replace(size, seeds=seeds)


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"{v:g}" for v in value)
    return f"{value:,}"
