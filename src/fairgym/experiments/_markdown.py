"""Page of a reproduced experiment, in Markdown."""

import dataclasses
import os
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence

import jax
import numpy as np

from fairgym.experiments._base import Experiment, Outcome, Size
from fairgym.experiments._showing import interval_text
from fairgym.results.labels import capital
from fairgym.results.numbers import number
from fairgym.results.table import Table
from fairgym.statistics.checks import KINDS, Check
from fairgym.training.provenance import source_commit
from fairgym.training.run import Run

_OUTCOMES = (
    "A check holds if the whole 95% interval is where the claim says, is contradicted if the whole"
    " interval is where it says not, and is undecided otherwise. The verdict counts the predicted"
    " checks, by which nothing was chosen. A calibrated one was in view when a free number of the"
    " reading, or the claim itself, was chosen; one by construction cannot fail in practice."
)
_INTERVALS = (
    "These are means over seeds with Student's t interval; p is that of an exact sign-flip test,"
    " which with n seeds is never below 2 / 2^n."
)
_EXACT = "The numbers are exact: nothing in it is random."

# What the normalisers of MAFE's table 8 fit, which does not say for how many people they are.
INFERRED_PEOPLE = 10_000


@dataclasses.dataclass(frozen=True)
class Making:
    """Making of a result: scale, time and code.

    Attributes:
        name: Name of the experiment.
        scale: Name of the scale.
        size: Size at that scale.
        seeds_given: True if the number of seeds was asked for.
        training_s: Seconds of training (`training_time`), those of reused runs included.
        runs: Number of runs.
        measuring_s: Seconds of measuring and plotting.
        sources: Versions, machine and code of the runs (`sources`).
    """

    name: str
    scale: str
    size: Size
    seeds_given: bool
    training_s: float
    runs: int
    measuring_s: float
    sources: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)

    @property
    def stem(self) -> str:
        """Stem of the page's file name; a quick page never replaces that of the paper scale."""
        return self.name if self.scale == "paper" else f"{self.name}-{self.scale}"

    @property
    def command(self) -> str:
        """Command that makes the result again."""
        seeds = f" --seeds {self.size.seeds}" if self.seeds_given else ""
        return f"fairgym reproduce {self.name} --scale {self.scale}{seeds}"


def page_text(
    experiment: Experiment, outcome: Outcome, making: Making, figures: Mapping[str, str]
) -> str:
    """Return the page.

    Args:
        experiment: The experiment.
        outcome: Its result.
        making: The result's making.
        figures: Words for each figure -> the link to it.
    """
    parts = [
        f"# {experiment.title}",
        f"**Verdict: {outcome.verdict}** ({outcome.tally.words}; {making.scale} scale).",
        f"**Claim** ({experiment.source}): {experiment.claim}",
        f"```sh\n{making.command}\n```",
        *(f"![{words}]({link})" for words, link in figures.items()),
        outcome.caption,
        "## The claim as checks",
        _check_table(outcome.checks).markdown(),
        f"{_OUTCOMES} {experiment.judged or (_INTERVALS if making.size.seeds else _EXACT)}",
        *(text for table in outcome.tables for text in (table.caption, table.markdown())),
        "## How it was made",
        _facts(experiment, making),
    ]
    if notes := experiment.notes():
        parts += ["## Notes", notes]
    return "\n\n".join(parts) + "\n"


def cut_words(experiment: Experiment, making: Making) -> str:
    """Differences of the scale from the paper scale, in one sentence."""
    cuts = making.size.cuts(experiment.sizes["paper"])
    if not cuts and (making.size.people or INFERRED_PEOPLE) < INFERRED_PEOPLE:
        cuts.append(f"fewer people than the {INFERRED_PEOPLE:,} that MAFE's normalisers suggest")
    return f"{making.scale} scale: {'; '.join(cuts) if cuts else 'nothing is cut'}"


def training_time(run: Run) -> float:
    """Seconds of a run's epochs, all counted as their median.

    A plain sum would count pauses, and the compilation that only the first run waits for.
    """
    ends = [line["wall_time_s"] for line in run.metrics]
    return statistics.median(np.diff(ends, prepend=0.0)) * len(ends) if ends else 0.0


def sources(runs: Iterable[Run]) -> dict[str, list[str]]:
    """Versions and machine of the runs, in words -> commits of the code.

    A run is reused as long as its configuration is the same, also if the code has changed since.
    """
    found: dict[str, list[str]] = {}
    for run in runs:
        origin = run.provenance
        versions, device = origin["versions"], origin["device"]
        commit = origin["git_commit"] or f"fairgym {versions['fairgym']}"
        commit = f"{commit[:10]}{'+changes' * commit.endswith('+changes')}"
        commits = found.setdefault(
            f"jax {versions['jax']}, {device['count']} x {device['kind']}", []
        )
        if commit not in commits:
            commits.append(commit)
    return found


def _facts(experiment: Experiment, making: Making) -> str:
    size = making.size
    lines = [f"{capital(cut_words(experiment, making))}."]
    if words := ", ".join(size.words()):
        seeds = f" (0 to {size.seeds - 1})" if size.seeds else ""
        lines.insert(0, f"Size: {words}{seeds}.")
    if making.runs:
        lines.append(
            f"Time: {_duration(making.training_s)} to train {making.runs} runs (each epoch counted"
            f" as the median one of its run), {_duration(making.measuring_s)} to measure and plot."
        )
    else:
        lines.append(f"Time: {_duration(making.measuring_s)}; nothing is trained.")
    device = jax.local_devices()[0]
    cores = f"{len(os.sched_getaffinity(0))} cores" if hasattr(os, "sched_getaffinity") else ""
    where = f"{device.device_kind}, {cores}" if device.platform == "cpu" else device.device_kind
    lines.append(f"Machine: {platform.machine()}, {where}; jax {jax.__version__}.")
    if size.people is not None:
        lines.append(
            f"{size.people:,} people are this project's choice: the paper does not say how many"
            f" there were. The environments' default is {INFERRED_PEOPLE:,}, inferred from the"
            " size of the normalisers in MAFE's table 8, which prints bare numbers."
        )
    if commit := source_commit():
        lines.append(f"Measured with {commit}.")
    if making.sources:
        origins = (f"{words}, code {', '.join(found)}" for words, found in making.sources.items())
        lines.append(f"Runs: {'; '.join(origins)}.")
    return "\n".join(f"- {line}" for line in lines)


def _check_table(checks: Sequence[Check]) -> Table:
    """Checks with their kinds and outcomes, the predicted ones first."""
    rows = [
        [
            check.statement,
            number(check.estimate),
            interval_text(check.low, check.high),
            check.detail,
            check.kind,
            check.outcome,
        ]
        for check in sorted(checks, key=lambda check: KINDS.index(check.kind))
    ]
    return Table(["claim", "estimate", "95% interval", "test", "kind", "outcome"], rows, "")


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
