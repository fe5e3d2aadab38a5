"""`fairgym demo`: from nothing to a report with figures, in a few minutes."""

import dataclasses
import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairgym.cli.common import plain
from fairgym.cli.output import ALL_HELP, line
from fairgym.cli.parsing import flag, parse
from fairgym.core import FairgymError
from fairgym.utils.files import require_path

if TYPE_CHECKING:
    from fairgym.training.comparison import Comparison

EPOCHS, POPULATION, EPISODES = 40, 1000, 16
LINES = 20  # of the comparison, without --all
FIXED = "published_fixed_policy"


@dataclasses.dataclass(frozen=True)
class DemoFlags:
    """Train a bank's three agents on borrowers sampled from loan records, and write a report.

    The records are public. Whether a loan defaulted, FICO scores and groups are imputed.
    """

    out: str = flag(
        "runs/demo",
        "Run folder. A finished demo in it is replaced, an unfinished one continued.",
        metavar="FOLDER",
    )
    epochs: int = flag(EPOCHS, "Number of training epochs.")
    population_size: int = flag(POPULATION, "Number of people in the simulated town.")
    all: bool = flag(False, ALL_HELP)


def demo(arguments: Sequence[str]) -> None:
    """Train, compare, report."""
    flags = parse(DemoFlags, arguments, "fairgym demo")
    require_path(flags.out, "out")
    from fairgym.training import devices

    devices.configure()
    from fairgym.cli.evaluate import print_summary, print_tables
    from fairgym.config.run_config import RunConfig
    from fairgym.report import write_report
    from fairgym.report.grouping import LONE
    from fairgym.report.measured import MEASURED
    from fairgym.training.comparison import compare
    from fairgym.training.folder import RunFolder
    from fairgym.training.loop import train
    from fairgym.training.progress import shown

    config = RunConfig(
        "loan",
        environment_args={"population": flags.population_size},
        algorithm_args={"epochs": flags.epochs},
    )
    job = config.build()
    params: Any = job.params
    out, folder = Path(flags.out), RunFolder(flags.out)
    again = folder.kind() == "run"
    resume = again and not folder.current.read_summary()
    if again:
        for field, here, there in job.config.differences(folder.current.read_config().config):
            raise FairgymError(
                f"{field} is {here!r}, but the run in {out} has {there!r}; give a new folder,"
                " or one with the same demo"
            )
    options = {"resume": resume, "overwrite": again and not resume}
    folder.admit(job.config, job.env, **options)
    line(
        "Three agents of a bank learn who gets a loan, when, and how much relief, of which"
        f" {params.relief_forgiven:.0%} is forgiven: {flags.population_size:,} people sampled from"
        f" loan records with imputed defaults, FICO and groups, {flags.epochs} epochs."
    )
    with shown("loan, f-macem") as progress:
        run = train(config, out, progress=progress, **options)
    print(f"Measuring the learned policy and the fixed ones, {EPISODES} episodes each ...")
    # exactly what the report measures, so that it need not measure again
    (comparison,) = compare([(LONE, [run])], EPISODES, seed=1, **MEASURED)
    renamed = tuple(dataclasses.replace(one, name="learned") for one in comparison.learned)
    shown_here = dataclasses.replace(comparison, learned=renamed)
    if flags.all:
        print_tables(shown_here)
    else:
        print_summary(shown_here, lines=LINES, notes=_never_paid_out(comparison))
    print("Drawing the report ...", flush=True)
    page = write_report([out], episodes=EPISODES, seed=1, worlds=False, comparisons=[comparison])
    figures = plain(page.parent / "figures")
    print(f"report  {plain(page)} (open it in a browser; figures are in {figures})")
    if not flags.all:
        line(f"All tables: fairgym evaluate {shlex.quote(plain(out))} --all")


def _never_paid_out(comparison: "Comparison") -> list[str]:
    """Say how many of the people approved are never paid out; nothing if nobody is approved."""
    from fairgym.results.estimates import Result
    from fairgym.results.labels import metric_label
    from fairgym.results.numbers import number_told

    served = metric_label(comparison.run.env, "served_rate")
    learned, *_ = comparison.learned
    fixed = next(one for one in comparison.baselines if one.name == FIXED)
    never = [
        1.0 - Result(one.name, one.learned, one.evaluations).estimate(served).mean
        for one in (learned, fixed)
    ]
    if not all(map(math.isfinite, never)):
        return []
    ours, theirs = (number_told(share, served.unit) for share in never)
    return [
        f"Of those approved, the learned policy never pays out {ours}, the {fixed.title} {theirs}."
    ]
