"""`fairgym report`: a page of figures and tables about runs."""

import dataclasses
import sys
from collections.abc import Sequence
from typing import Any

from fairgym.cli.parsing import Runs, parse, typed
from fairgym.cli.printing import plain


@typed(metavars={"out": "FILE", "scheme": "NAME"})
@dataclasses.dataclass(frozen=True)
class ReportFlags:
    """Write one HTML page about runs, which opens without a network.

    Attributes:
        folders: run folders, or folders that hold seed-N folders.
        out: page to write, with its figures beside it; report.html in the first folder by
            default.
        episodes: number of episodes that each policy is measured in.
        seed: seed of these episodes.
        scheme: further fairness scheme to score all by: nash, max-min, gini or alpha:ALPHA, and if
            need be :COMPONENT, as for the objective of training.
    """

    folders: Runs
    out: str | None = None
    episodes: int = 16
    seed: int = 1
    scheme: tuple[str, ...] = ()


def report(arguments: Sequence[str]) -> None:
    """Write a report and say where it is."""
    from fairgym.training import devices
    from fairgym.training.run import load_runs

    devices.configure()
    flags: Any = parse(ReportFlags, arguments, "fairgym report")
    load_runs(
        *flags.folders, schemes=flags.scheme
    )  # what is wrong is said before matplotlib is imported
    from fairgym.report import write_report

    page = write_report(
        flags.folders,
        flags.out,
        episodes=flags.episodes,
        seed=flags.seed,
        schemes=flags.scheme,
        progress=_say,
    )
    print(plain(page))


def _say(text: str) -> None:
    print(plain(text), file=sys.stderr)
