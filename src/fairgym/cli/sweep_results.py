"""Results of a plan: a table, the settings that no other beats, shares of variance, a page."""

import dataclasses
import math
import reprlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairgym.cli.common import plain
from fairgym.cli.output import Output, say, show
from fairgym.cli.parsing import flag, names, parse
from fairgym.config import Sweep, read_sweep
from fairgym.core import FairgymError
from fairgym.results.table import Table
from fairgym.utils.files import require_folder, require_path, write_whole

PROG = "fairgym sweep"
RUN_ROWS, SETTING_ROWS = "run", "setting"


@dataclasses.dataclass(frozen=True)
class PlanFlags:
    """Flags of every action."""

    names: tuple[str, ...] = names("The plan, a TOML, YAML or JSON file.", "PLAN")
    out: str | None = flag(None, "Folder of the sweep; runs/PLAN by default.", metavar="FOLDER")


@dataclasses.dataclass(frozen=True)
class ResultFlags(PlanFlags):
    """Flags of the actions on results."""

    episodes: int = flag(
        0,
        "Episodes to measure policies in anew, which gives the signed gaps of groups too; 0 for the"
        " measures after the last epoch.",
    )


@dataclasses.dataclass(frozen=True)
class TableFlags(ResultFlags, Output):
    """Write a table with a row for each run, or for each setting, of a plan.

    Without --json and --csv it is table.csv or settings.csv in the folder.
    """

    rows: str = flag(
        RUN_ROWS,
        '"run"; or "setting" for interquartile means and intervals over the seeds of each.',
        choices=(RUN_ROWS, SETTING_ROWS),
    )


@dataclasses.dataclass(frozen=True)
class ParetoFlags(ResultFlags, Output):
    """Pareto front of two metrics, with the bootstrap probability that each setting is on it."""

    x: str | None = flag(
        None,
        "Measure such as profit, a column of the table; more is better.",
        metavar="MEASURE",
    )
    y: str | None = flag(None, "The other measure, such as admission_disparity.", metavar="MEASURE")
    reference: str | None = flag(
        None,
        "Point that the hypervolume is counted from; the worst of all settings in each measure by"
        " default.",
        metavar="X,Y",
    )


@dataclasses.dataclass(frozen=True)
class MeasureFlags(ResultFlags):
    """Flags of the actions on several measures."""

    measure: tuple[str, ...] = flag(
        (),
        "Column of the table; may be repeated; the score and all metrics by default.",
        metavar="MEASURE",
    )


@dataclasses.dataclass(frozen=True)
class EffectFlags(MeasureFlags, Output):
    """Share of each metric's variance explained by each setting of a plan (ANOVA)."""


@dataclasses.dataclass(frozen=True)
class PageFlags(MeasureFlags):
    """Write a page about a plan: small multiples, what matters how much, all settings."""

    file: str | None = flag(None, "The page; page.html in the folder by default.", metavar="FILE")


def plan_of(flags: PlanFlags) -> tuple[Sweep, Path]:
    """The sweep of a file, and its folder.

    Args:
        flags: parsed flags of an action: `names` has the file, `out` the folder.

    Raises:
        FairgymError: there is not one file, it has no plan, or the folder cannot be one.
    """
    if len(flags.names) != 1:
        given = " ".join(flags.names) or "nothing"
        raise FairgymError(f"the plan is {given!r}; it takes one file, such as sweep.toml")
    path = Path(flags.names[0])
    if flags.out is not None:
        require_path(flags.out, "out")
    found = read_sweep(path)
    out = Path("runs") / path.stem if flags.out is None else Path(flags.out)
    require_folder(out)
    return found, out


def _rows(episodes: int, found: Sweep, out: Path) -> list[dict[str, Any]]:
    """The rows of a sweep in a folder."""
    from fairgym.sweeps import entries_of, results_of
    from fairgym.training import devices

    if episodes:
        devices.configure()
    entries = entries_of(found, out)
    return results_of(entries, episodes, lambda text: say(f"measuring {text}"))


def _in_folder(flags: Output, path: Path) -> Output:
    """The flags, with a table in the folder of the sweep unless they say where it goes."""
    if flags.json or flags.csv is not None:
        return flags
    return dataclasses.replace(flags, csv=str(path))


def tabulate(arguments: Sequence[str]) -> None:
    """Write a table of a plan: a row for each run, or for each setting."""
    flags = parse(TableFlags, arguments, f"{PROG} table")
    found, out = plan_of(flags)
    of_settings = flags.rows == SETTING_ROWS
    output = _in_folder(flags, out / ("settings.csv" if of_settings else "table.csv"))
    rows = _rows(flags.episodes, found, out)
    from fairgym.sweeps import by_setting

    done = sum(row["status"] == "finished" for row in rows)
    lost = sum(row["status"] == "failed" for row in rows)
    text = f"{len(rows)} runs, {done} of them finished" + (f", {lost} failed" if lost else "")
    if of_settings:
        rows = by_setting(rows, found.names)
        text = f"{len(rows)} settings of {text}"
    if not output.give("sweep table", lambda: {"results": rows}):
        return
    if of_settings:
        _print_scores(rows, found.names)
    print(f"{plain(output.csv)}: {text}")


def _print_scores(rows: Sequence[dict[str, Any]], settings: Sequence[str]) -> None:
    """Score of each setting with its interval and, of two or three seeds, their values."""
    head = [*settings, "seeds", "score", "95% interval", "values of the seeds"]
    cells = []
    for row in rows:
        low, high, values = (row[f"score/{ending}"] for ending in ("low", "high", "values"))
        interval = "" if low is None else f"{_cell(low)} to {_cell(high)}"
        known = (row[name] for name in (*settings, "seeds", "score"))
        cells.append([*map(_cell, known), interval, ", ".join(map(_cell, values or ()))])
    show(Table(head, cells))


def print_front(arguments: Sequence[str]) -> None:
    """Tell the Pareto front of two metrics, with the probability that each setting is on it."""
    flags = parse(ParetoFlags, arguments, f"{PROG} pareto")
    reference = None if flags.reference is None else _point(flags.reference)
    found, out = plan_of(flags)
    output = _in_folder(flags, out / "pareto.csv")
    if flags.x is None or flags.y is None:
        given = ", ".join(f"{field} is {getattr(flags, field)!r}" for field in ("x", "y"))
        raise FairgymError(
            f"{given}; pareto takes two measures, such as --x profit --y admission_disparity"
        )
    rows = _rows(flags.episodes, found, out)
    from fairgym.sweeps import measure_named, pareto

    x, y = (measure_named(rows, getattr(flags, field), field) for field in ("x", "y"))
    front = pareto(rows, found.names, x, y, reference)
    records = [
        {
            **point.settings,
            "seeds": point.seeds,
            x: point.x,
            y: point.y,
            "on_front": point.optimal,
            "probability": point.probability,
        }
        for point in front.points
    ]
    area = {"mean": front.hypervolume, "low": front.low, "high": front.high}
    area |= dict(zip(("x", "y"), front.reference, strict=True))
    if not output.give("sweep pareto", lambda: {"hypervolume": area, "results": records}):
        return
    head = [name.replace("on_front", "on the front") for name in records[0]]
    show(Table(head, [[_cell(value) for value in row.values()] for row in records]))
    print(
        f"hypervolume {front.hypervolume:.4g} (95% interval {front.low:.4g} to {front.high:.4g})"
        f" above {front.reference[0]:.4g}, {front.reference[1]:.4g}; probabilities and intervals"
        f" are those of resampled seeds; {plain(output.csv)}"
    )


def _point(text: str) -> tuple[float, float]:
    try:
        x, y = map(float, text.split(","))
    except ValueError:
        shown = reprlib.repr(text)
        raise FairgymError(f"reference is {shown}; it takes X,Y, such as 0,-1") from None
    if not (math.isfinite(x) and math.isfinite(y)):
        raise FairgymError(f"reference is {text!r}; it takes two finite numbers")
    return x, y


def print_effects(arguments: Sequence[str]) -> None:
    """Tell the share of each metric's variance explained by each setting (ANOVA)."""
    flags = parse(EffectFlags, arguments, f"{PROG} effects")
    found, out = plan_of(flags)
    output = _in_folder(flags, out / "effects.csv")
    rows = _rows(flags.episodes, found, out)
    from fairgym.sweeps import effects
    from fairgym.sweeps.variance import UNDECIDABLE

    every = effects(rows, found.names, _measures(rows, flags.measure))
    records = [
        {
            "measure": share.measure,
            "setting": share.factor,
            "share": share.share,
            "null_mean": share.null_mean,
            "null_bound": share.bound,
            "p": share.p,
            "least_p": share.least_p,
            "clear": share.clear,
        }
        for share in every.shares
    ]
    if not records:
        raise FairgymError("every measure is the same in all runs; effects take one that differs")
    if not output.give("sweep effects", lambda: {"crossed": every.crossed, "results": records}):
        return
    shown = ("measure", "setting", "share", "null_mean", "p", "clear")
    cells = [[_cell(row[name]) for name in shown] for row in records]
    for cell, share in zip(cells, every.shares, strict=True):
        if share.undecidable:
            cell[-1] = "cannot tell"
    show(Table([name.replace("_", " ") for name in shown], cells))
    print(
        "shares of the variance over all runs; null mean and p: of permutations of the runs; clear:"
        f" p is .05 at most; {plain(output.csv)}"
    )
    if any(share.undecidable for share in every.shares):
        print(f"cannot tell: {UNDECIDABLE}")
    if not every.crossed:
        print("not every combination has equally many runs, so that shares overlap")


def _measures(rows: Sequence[dict[str, Any]], given: Sequence[str]) -> list[str]:
    """The columns of measures that are meant."""
    from fairgym.sweeps import measure_named, measures_of

    if given:
        return [measure_named(rows, name, "measure") for name in given]
    return [name for name in measures_of(rows) if name.startswith(("score", "metrics/"))]


def write_page(arguments: Sequence[str]) -> None:
    """Write a page with all of it in small multiples."""
    flags = parse(PageFlags, arguments, f"{PROG} page")
    if flags.file is not None:
        require_path(flags.file, "file")
    found, out = plan_of(flags)
    rows = _rows(flags.episodes, found, out)
    from fairgym.report.sweep import sweep_page

    text = sweep_page(Path(flags.names[0]).stem, rows, found.names, _measures(rows, flags.measure))
    path = Path(flags.file) if flags.file else out / "page.html"
    write_whole(path, text.encode())
    print(plain(path))


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else ""
    return plain("" if value is None else value)
