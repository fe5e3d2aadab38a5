"""`fairgym report`: an HTML page of figures and tables about runs."""

import dataclasses
import sys
from collections.abc import Sequence

from fairgym.cli.common import plain
from fairgym.cli.parsing import flag, names, parse, scheme_flag


@dataclasses.dataclass(frozen=True)
class ReportFlags:
    """Write an HTML page about runs, which opens without a network."""

    folders: tuple[str, ...] = names("Run folder, or folder with seed-N folders.", "RUN")
    out: str | None = flag(
        None,
        "Page to write; figures go beside it (default: report.html in the first folder).",
        metavar="FILE",
    )
    episodes: int = flag(16, "Number of episodes per policy.")
    seed: int = flag(1, "Random seed of the episodes.")
    scheme: tuple[str, ...] = scheme_flag()
    worlds: bool = flag(
        True,
        "Compare learned policies with baselines in every rival world of the environment too, and"
        " tell first which clear differences change their sign.",
    )


def report(arguments: Sequence[str]) -> None:
    """Write a report and print its path."""
    from fairgym.training import devices
    from fairgym.training.run import load_runs

    devices.configure()
    flags = parse(ReportFlags, arguments, "fairgym report")
    load_runs(*flags.folders, schemes=flags.scheme)  # raise errors before matplotlib is imported
    from fairgym.report import write_report

    page = write_report(
        flags.folders,
        flags.out,
        episodes=flags.episodes,
        seed=flags.seed,
        schemes=flags.scheme,
        worlds=flags.worlds,
        progress=_say,
    )
    print(plain(page))


def _say(text: str) -> None:
    print(plain(text), file=sys.stderr)
