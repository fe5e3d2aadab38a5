"""Markdown page of a reproduced experiment."""

import dataclasses
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
from fairgym.training.devices import cores
from fairgym.training.provenance import source_commit
from fairgym.training.run import Run

_OUTCOMES = (
    "A check holds if the whole 95% interval agrees with the claim. It is contradicted if the"
    " whole interval disagrees, and undecided otherwise. The verdict counts only predicted checks:"
    " no choice was based on them. An own prediction is not a claim of the publication, and does"
    " not count. A calibrated check was known when a free parameter, or the"
    " claim itself, was chosen. A check by construction cannot fail in practice. The estimate is"
    " the difference that the claim is about; a margin is the distance to the stated limit."
)
_INTERVALS = (
    "Estimates are means over seeds with Student's t interval; p is from an exact sign-flip test,"
    " and with n seeds it is never below 2 / 2^n. Where the seeds have two outcomes, the test says"
    " how many have each, and the interval is that of this share."
)
_EXACT = "The numbers are exact: nothing is random."

# Number of people that fits the normalisers of MAFE's table 8, which does not state it.
INFERRED_PEOPLE = 10_000


@dataclasses.dataclass(frozen=True)
class Making:
    """How a result was made: scale, time and code.

    Attributes:
        name: Name of the experiment.
        scale: Name of the scale.
        size: Size at that scale.
        seeds_given: Whether the user chose the number of seeds.
        training_s: Seconds of training (`training_time`), reused runs included.
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
        """Stem of the page's file name, different for each scale."""
        return self.name if self.scale == "paper" else f"{self.name}-{self.scale}"

    @property
    def command(self) -> str:
        """Command that reproduces the result."""
        seeds = f" --seeds {self.size.seeds}" if self.seeds_given else ""
        return f"fairgym reproduce {self.name} --scale {self.scale}{seeds}"


def page_text(
    experiment: Experiment, outcome: Outcome, making: Making, figures: Mapping[str, str]
) -> str:
    """Return the page.

    Args:
        experiment: The experiment.
        outcome: Result of the experiment.
        making: How the result was made.
        figures: Alternative text of each figure -> link.
    """
    parts = [
        f"# {experiment.title}{'' if making.scale == 'paper' else f' ({making.scale} scale)'}",
        f"**Verdict: {outcome.verdict}** ({outcome.tally.words}; {making.scale} scale).",
        f"**Claim** ({experiment.source}): {experiment.claim}",
        f"```sh\n{making.command}\n```",
        *(f"![{words}]({link})" for words, link in figures.items()),
        outcome.caption,
        *(_checks(experiment, outcome.checks, making) if outcome.checks else ()),
        *(text for table in outcome.tables for text in (table.caption, table.markdown())),
        "## How it was made",
        _facts(experiment, making),
    ]
    if notes := experiment.notes():
        of = "" if making.scale == "paper" else " on the paper scale"  # whose numbers they have
        parts += [f"## Notes{of}", notes]
    return "\n\n".join(parts) + "\n"


def _checks(experiment: Experiment, checks: Sequence[Check], making: Making) -> list[str]:
    """Return the section on the checks, and how they are decided."""
    how = experiment.criterion or (_INTERVALS if making.size.seeds else _EXACT)
    return ["## Checks of the claim", _check_table(checks).markdown(), f"{_OUTCOMES} {how}"]


def cut_words(experiment: Experiment, making: Making) -> str:
    """Return the differences from the paper scale in one sentence."""
    people, cuts = making.size.people, making.size.cuts(experiment.sizes["paper"])
    if not cuts and people is not None:
        suggested = f"the {INFERRED_PEOPLE:,} that MAFE's normalisers suggest"
        cuts.append(
            f"fewer people than {suggested}"
            if people < INFERRED_PEOPLE
            else f"the number of people is not published, and is {suggested}"
        )
    return f"{making.scale} scale: {'; '.join(cuts)}" if cuts else f"{making.scale} scale"


def training_time(run: Run) -> float:
    """Return the seconds of a run's epochs, each counted as the median epoch.

    A plain sum would include pauses, and the compilation that only the first run waits for.
    """
    ends = [line["wall_time_s"] for line in run.metrics]
    return statistics.median(np.diff(ends, prepend=0.0)) * len(ends) if ends else 0.0


def sources(runs: Iterable[Run]) -> dict[str, list[str]]:
    """Return versions and machine of the runs as text -> commits of the code.

    A run is reused while its configuration is the same, even if the code has changed since.
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
        seeds = experiment.seeds(size)
        seeds = f" ({seeds[0]} to {seeds[-1]})" if seeds else ""
        lines.insert(0, f"Size: {words}{seeds}.")
    if making.runs:
        lines.append(
            f"Time: {_duration(making.training_s)} to train {making.runs} runs (each epoch counted"
            f" as the run's median epoch), {_duration(making.measuring_s)} to measure and plot."
        )
    else:
        lines.append(f"Time: {_duration(making.measuring_s)}; nothing is trained.")
    device = jax.local_devices()[0]
    where = device.device_kind
    if device.platform == "cpu":
        where = f"{where}, {cores()} core{'s' * (cores() != 1)}"
    lines.append(f"Machine: {platform.machine()}, {where}; jax {jax.__version__}.")
    if size.people is not None:
        lines.append(
            f"The paper does not give the number of people; {size.people:,} is this project's"
            f" choice. The environments' default is {INFERRED_PEOPLE:,}, inferred from the"
            " normalisers in MAFE's table 8."
        )
    if commit := source_commit():
        lines.append(f"Measured with {commit}.")
    if making.sources:
        origins = (f"{words}, code {', '.join(found)}" for words, found in making.sources.items())
        lines.append(f"Runs: {'; '.join(origins)}.")
    return "\n".join(f"- {line}" for line in lines)


def _check_table(checks: Sequence[Check]) -> Table:
    """Return the checks with kind and outcome, predicted checks first."""
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
    return Table(["claim", "estimate", "95% CI", "test", "kind", "outcome"], rows, "")


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
