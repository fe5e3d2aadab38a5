"""Results of a plan: a table, the Pareto front, shares of variance explained, a page."""

import dataclasses
import math
import reprlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairgym.cli.common import plain
from fairgym.cli.output import Output, line, say, show
from fairgym.cli.parsing import flag, names, parse
from fairgym.config import Sweep, read_sweep
from fairgym.core import FairgymError
from fairgym.results.table import Table
from fairgym.utils.files import require_folder, require_path, write_whole

PROG = "fairgym sweep"
RUN_ROWS, SETTING_ROWS = "run", "setting"
_HEADS = {"on_front": "on the front", "share": "share of variance", "null_mean": "null mean"}


@dataclasses.dataclass(frozen=True)
class PlanFlags:
    """Flags of every action."""

    names: tuple[str, ...] = names("The plan, a TOML, YAML or JSON file.", "PLAN")
    out: str | None = flag(None, "Folder of the sweep; runs/PLAN by default.", metavar="FOLDER")


@dataclasses.dataclass(frozen=True)
class ResultFlags(PlanFlags):
    """Flags of actions on results."""

    episodes: int = flag(
        0,
        "Number of episodes to measure the policies in, which adds signed gaps between groups."
        " 0 uses the measures after the last epoch.",
    )


@dataclasses.dataclass(frozen=True)
class TableFlags(ResultFlags, Output):
    """Write a table with a row for each run or setting of a plan.

    Without --json and --csv it is table.csv or settings.csv in the folder.
    """

    rows: str = flag(
        RUN_ROWS,
        'Rows: "run"; or "setting" for interquartile means over seeds with 95% CI.',
        choices=(RUN_ROWS, SETTING_ROWS),
    )


@dataclasses.dataclass(frozen=True)
class ParetoFlags(ResultFlags, Output):
    """Print the Pareto front of two metrics, with the bootstrap probability of each setting."""

    x: str | None = flag(
        None,
        "First metric, a column of the table such as profit; higher is better.",
        metavar="MEASURE",
    )
    y: str | None = flag(
        None, "Second metric, such as admission_disparity; higher is better.", metavar="MEASURE"
    )
    reference: str | None = flag(
        None,
        "Reference point of the hypervolume; by default the worst value of all settings in each"
        " metric.",
        metavar="X,Y",
    )


@dataclasses.dataclass(frozen=True)
class MeasureFlags(ResultFlags):
    """Flags of actions on several measures."""

    measure: tuple[str, ...] = flag(
        (),
        "Column of the table, may be repeated; by default the score and all metrics.",
        metavar="MEASURE",
    )


@dataclasses.dataclass(frozen=True)
class EffectFlags(MeasureFlags, Output):
    """Print the share of each metric's variance explained by each setting of a plan (ANOVA)."""


@dataclasses.dataclass(frozen=True)
class PageFlags(MeasureFlags):
    """Write a page about a plan: small multiples, shares of variance explained, all settings."""

    file: str | None = flag(
        None, "Path of the page; page.html in the folder by default.", metavar="FILE"
    )


def plan_of(flags: PlanFlags) -> tuple[Sweep, Path]:
    """Return the sweep of a file, and its folder.

    Args:
        flags: Parsed flags of an action: `names` has the file, `out` the folder.

    Raises:
        FairgymError: There is not exactly one file, it holds no plan, or `out` is not a folder.
    """
    if len(flags.names) != 1:
        given = " ".join(flags.names) or "nothing"
        raise FairgymError(f"the plan must be one file, such as sweep.toml, got {given!r}")
    path = Path(flags.names[0])
    if flags.out is not None:
        require_path(flags.out, "out")
    found = read_sweep(path)
    out = Path("runs") / path.stem if flags.out is None else Path(flags.out)
    require_folder(out)
    return found, out


def _rows(episodes: int, found: Sweep, out: Path) -> list[dict[str, Any]]:
    """Rows with the results of a sweep."""
    from fairgym.sweeps import entries_of, results_of
    from fairgym.training import devices

    if episodes:
        devices.configure()
    entries = entries_of(found, out)
    return results_of(entries, episodes, lambda text: say(f"measuring: {text}"))


def _in_folder(flags: Output, path: Path) -> Output:
    """Return flags with a table in the sweep's folder, unless they name a file or ask for JSON."""
    if flags.json or flags.csv is not None:
        return flags
    return dataclasses.replace(flags, csv=str(path))


def tabulate(arguments: Sequence[str]) -> None:
    """Write a table of a plan with a row for each run or setting."""
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
    """Print the score of each setting with its interval, and the values of two or three seeds."""
    head = [*settings, "seeds", "score", "95% CI", "values of the seeds"]
    cells = []
    for row in rows:
        low, high, values = (row[f"score/{ending}"] for ending in ("low", "high", "values"))
        interval = "" if low is None else f"{_cell(low)} to {_cell(high)}"
        known = (row[name] for name in (*settings, "seeds", "score"))
        cells.append([*map(_cell, known), interval, ", ".join(map(_cell, values or ()))])
    show(Table(head, cells, "score: interquartile mean over seeds [bootstrap 95% CI]"))


def print_front(arguments: Sequence[str]) -> None:
    """Print the Pareto front of two metrics, with the probability that each setting is on it."""
    flags = parse(ParetoFlags, arguments, f"{PROG} pareto")
    reference = None if flags.reference is None else _point(flags.reference)
    found, out = plan_of(flags)
    output = _in_folder(flags, out / "pareto.csv")
    if flags.x is None or flags.y is None:
        given = ", ".join(f"{field} is {getattr(flags, field)!r}" for field in ("x", "y"))
        raise FairgymError(
            f"{given}; pareto needs two metrics, such as --x profit --y admission_disparity"
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
    head = [_HEADS.get(name, name) for name in records[0]]
    caption = (
        "interquartile means over seeds; probability: bootstrap probability that the setting is on"
        " the Pareto front"
    )
    show(Table(head, [[_cell(value) for value in row.values()] for row in records], caption))
    line(
        f"hypervolume {front.hypervolume:.4g} [bootstrap 95% CI {front.low:.4g}, {front.high:.4g}]"
        f" from the reference point ({front.reference[0]:.4g}, {front.reference[1]:.4g})"
    )
    print(f"table  {plain(output.csv)}")


def _point(text: str) -> tuple[float, float]:
    try:
        x, y = map(float, text.split(","))
    except ValueError:
        shown = reprlib.repr(text)
        raise FairgymError(f"reference must be X,Y, such as 0,-1, got {shown}") from None
    if not (math.isfinite(x) and math.isfinite(y)):
        raise FairgymError(f"reference must be two finite numbers, got {text!r}")
    return x, y


def print_effects(arguments: Sequence[str]) -> None:
    """Print the share of each metric's variance explained by each setting (ANOVA)."""
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
        raise FairgymError("every measure is equal in all runs; effects needs one that differs")
    if not output.give("sweep effects", lambda: {"crossed": every.crossed, "results": records}):
        return
    shown = ("measure", "setting", "share", "null_mean", "p", "clear")
    cells = [[_cell(row[name]) for name in shown] for row in records]
    for cell, share in zip(cells, every.shares, strict=True):
        if share.undecidable:
            cell[-1] = "cannot tell"
    caption = (
        "share of the variance over all runs that a setting explains; null mean and p: permutation"
        " test over runs; clear: p ≤ .05"
    )
    show(Table([_HEADS.get(name, name) for name in shown], cells, caption))
    if any(share.undecidable for share in every.shares):
        line(f"cannot tell: {UNDECIDABLE}")
    if not every.crossed:
        line("shares overlap, because combinations have different numbers of runs")
    print(f"table  {plain(output.csv)}")


def _measures(rows: Sequence[dict[str, Any]], given: Sequence[str]) -> list[str]:
    """Columns of the measures that flags name, or of the score and all metrics."""
    from fairgym.sweeps import measure_named, measures_of

    if given:
        return [measure_named(rows, name, "measure") for name in given]
    return [name for name in measures_of(rows) if name.startswith(("score", "metrics/"))]


def write_page(arguments: Sequence[str]) -> None:
    """Write a page about a plan, with small multiples."""
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
