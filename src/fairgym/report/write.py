"""Write a report: measure policies, draw figures, and make one file that opens offline."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from fairgym.report.drawn import numbers_of
from fairgym.report.figures import plot_all
from fairgym.report.html import page
from fairgym.report.measured import grouped, measure_all
from fairgym.report.rival_worlds import in_rival_worlds
from fairgym.report.svg import png
from fairgym.results.table import csv_text
from fairgym.training.comparison import Comparison
from fairgym.utils.files import (
    make_folder,
    require_folder,
    require_path,
    require_writable,
    write_whole,
)


def write_report(
    folders: Sequence[str | Path],
    out: str | Path | None = None,
    *,
    episodes: int = 16,
    seed: int = 1,
    schemes: Sequence[str] = (),
    worlds: bool = True,
    progress: Callable[[str], None] | None = None,
    comparisons: Sequence[Comparison] = (),
) -> Path:
    """Write a report about runs, with its figures as PNG and CSV files beside it.

    Runs that differ only in their seed are shown together, with bands over seeds; different
    configurations are compared. The policies and the environment's baselines are measured anew, in
    the same episodes: the same people and random draws.

    Args:
        folders: Run folders, or folders that hold `seed-N` folders.
        out: The page; `report.html` in the first folder if None. Figures go to `figures/` next
            to it.
        episodes: Number of episodes that each policy is measured in.
        seed: Seed of these episodes.
        schemes: Further schemes to score all policies by, as `fairgym.load_runs` takes them.
        worlds: Whether to compare learned policies with baselines in rival worlds of the
            environment too.
        progress: Called with a short text at each stage.
        comparisons: Comparisons of the same runs in these episodes, with the report's options and
            names, to draw instead of measuring anew.

    Returns:
        The path of the page.

    Raises:
        FairgymError: No folder, a folder without a run, runs in different environments, an unknown
            scheme, or a page that cannot be written.
    """
    groups = grouped(folders, episodes, seed, schemes)
    if out is not None:
        require_path(out, "out")
    say = progress or (lambda text: None)
    path = Path(folders[0]) / "report.html" if out is None else Path(out)
    beside = path.parent / "figures"
    require_folder(beside)
    for written in (path, beside / "figure.png"):
        require_writable(written)
    measured = measure_all(
        groups, episodes, seed, lambda title: say(f"measuring: {title}"), comparisons
    )
    if worlds:
        turned, notes = in_rival_worlds(
            groups,
            measured.learned,
            measured.baselines,
            seed,
            lambda text: say(f"measuring: {text}"),
        )
        measured = dataclasses.replace(measured, turned=tuple(turned), worlds=tuple(notes))
    say("plotting figures")
    figures = plot_all(measured)
    call = [[str(folder) for folder in folders], episodes, seed, list(schemes)]
    content = page(measured, figures, call)
    make_folder(beside)
    for name, one in figures.items():
        write_whole(beside / f"{name}.png", png(one.figure))
        write_whole(beside / f"{name}.csv", csv_text(numbers_of(one.figure)).encode())
    write_whole(path, content.encode())
    return path
