"""`fairgym reproduce`: reproduce published figures and tables from runs on this machine."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from fairgym.cli.common import plain, resumable
from fairgym.cli.output import Output
from fairgym.cli.parsing import EngineFlags, flag, names, parse
from fairgym.core import FairgymError

PROG = "fairgym reproduce"


@dataclasses.dataclass(frozen=True)
class ReproduceFlags(Output, EngineFlags):
    """Train the runs of a published figure or table, plot it, and check its claims."""

    names: tuple[str, ...] = names("Experiments, such as mafe-fig8; --list shows all.", "NAME")
    scale: str = flag(
        "quick",
        "Size of the runs: quick takes minutes, paper is as published. mafe-fig7, mafe-fig8 and"
        " mafe-fig10 have full too: as paper, with 10,000 people.",
        metavar="quick|paper|full",
    )
    seeds: int | None = flag(None, "Number of seeds; by default that of the scale.")
    out: str = flag(
        "runs/reproduce",
        "Folder for runs, pages and figures. Runs in it are reused and resumed.",
        metavar="FOLDER",
    )
    pages: str | None = flag(
        None, "Folder for pages and figures; by default OUT.", metavar="FOLDER"
    )
    list: bool = flag(False, "Only list the experiments.")


def reproduce(arguments: Sequence[str]) -> None:
    """Reproduce experiments, or list them."""
    flags = parse(ReproduceFlags, arguments, PROG)
    if flags.list:
        if flags.names:
            raise FairgymError(f"--list takes no names, got {' '.join(flags.names)!r}")
        _list(flags)
        return
    if not flags.names:
        raise FairgymError(f"no experiment is given; there are: {', '.join(_sorted_names())}")
    from fairgym.experiments import reproduce as reproduce_all
    from fairgym.training import devices

    devices.configure()
    given = ("scale", "seeds", "out", "pages", "workers", "engine", "gpus")
    with resumable(lambda: [*PROG.split(), *arguments]), flags.computing():
        results = reproduce_all(
            flags.names,
            say=lambda text: print(plain(text), flush=True),
            done=_show,
            **{name: getattr(flags, name) for name in given},
        )
    give = flags.give("reproduce", lambda: {"results": _records(results)})
    if give and len(results) > 1:
        for result in results:
            print(_verdict(result))
        _show_all(results)


def _records(results: Sequence[Any]) -> list[dict[str, Any]]:
    """Return records, one per check."""
    return [
        {
            "experiment": result.name,
            "verdict": result.outcome.verdict,
            "statement": check.statement,
            "kind": check.kind,
            "outcome": check.outcome,
            "mean": check.estimate,
            "low": check.low,
            "high": check.high,
            "claimed_low": check.lowest,
            "claimed_high": check.highest,
            "detail": check.detail or None,
            "page": str(result.page),
        }
        for result in results
        for check in result.outcome.checks
    ]


def _show(result: Any) -> None:
    from fairgym.results.numbers import number

    print(f"\n{_verdict(result)}")
    for check in result.outcome.checks:
        interval = f"{number(check.estimate)}, {number(check.low)} to {number(check.high)}"
        kind = "" if check.kind == "predicted" else f" ({check.kind})"
        print(f"  {check.outcome.ljust(12)}  {check.statement}: {interval}{kind}")
    print(f"  ({result.cut})")
    print(f"page    {plain(result.page)}")
    for figure in result.figures:
        print(f"figure  {plain(figure)}")
    print(flush=True)


def _show_all(results: Sequence[Any]) -> None:
    from fairgym.experiments import Tally

    every = Tally()
    for result in results:
        every.update(result.outcome.tally)
    print(f"all: {every.words}; {every.chance_words}")


def _verdict(result: Any) -> str:
    return f"{result.name}: {result.outcome.verdict} ({result.outcome.tally.words})"


def _sorted_names() -> list[str]:
    """Names in natural order: fig5 before fig10."""
    from fairgym.experiments import experiments

    def parts(name: str) -> list[Any]:
        return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]

    return sorted(experiments.names(), key=parts)


def _list(flags: ReproduceFlags) -> None:
    from fairgym.experiments import experiments

    found = []
    for name in _sorted_names():
        try:
            experiment = experiments.get(name)
            row = {"title": experiment.title, "source": experiment.source}
        except FairgymError as error:  # an extra that is not installed
            row = {"title": None, "source": None, "error": str(error)}
        found.append({"name": name, **row})
    if not flags.give("reproduce", lambda: {"results": found}):
        return
    width = max(len(row["name"]) for row in found)
    for row in found:
        about = f"{row['title']} ({row['source']})" if row["title"] else f"({row['error']})"
        print(f"{row['name'].ljust(width)}  {about}")
