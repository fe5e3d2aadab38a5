"""`fairgym report`: a page of figures and tables about runs."""

import dataclasses
import sys
from collections.abc import Sequence

from fairgym.cli.common import plain
from fairgym.cli.parsing import flag, names, parse, scheme_flag


@dataclasses.dataclass(frozen=True)
class ReportFlags:
    """Write one HTML page about runs, which opens without a network."""

    folders: tuple[str, ...] = names("Run folders, or folders that hold seed-N folders.", "RUN")
    out: str | None = flag(
        None,
        "Page to write, with its figures beside it; report.html in the first folder by default.",
        metavar="FILE",
    )
    episodes: int = flag(16, "Number of episodes that each policy is measured in.")
    seed: int = flag(1, "Seed of these episodes.")
    scheme: tuple[str, ...] = scheme_flag()


def report(arguments: Sequence[str]) -> None:
    """Write a report and say where it is."""
    from fairgym.training import devices
    from fairgym.training.run import load_runs

    devices.configure()
    flags = parse(ReportFlags, arguments, "fairgym report")
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
