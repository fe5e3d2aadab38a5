"""Writing of a report: policies measured anew, figures, and one file that opens offline."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairgym.core import FairgymError, check_shape
from fairgym.report.figures import plot_all
from fairgym.report.findings import findings
from fairgym.report.grouping import RunGroup, group_runs
from fairgym.report.html import page
from fairgym.report.summary import summary
from fairgym.report.svg import png
from fairgym.report.tables import null_sections, people_sections, shown_beside
from fairgym.results.estimates import Result
from fairgym.results.labels import has_population
from fairgym.training.comparison import Compared, compare
from fairgym.training.evaluation import ENOUGH
from fairgym.training.run import load_runs
from fairgym.utils.files import (
    make_folder,
    require_folder,
    require_path,
    require_writable,
    write_whole,
)

PEOPLE_EPISODES = 4  # episodes whose people are shown at the start and the end
# What is measured of policies in a system of many people, as options of `compare`.
MEASURED: dict[str, Any] = {
    "trace": True,
    "permutations": ENOUGH,
    "people_episodes": PEOPLE_EPISODES,
}


@dataclasses.dataclass(frozen=True)
class Measured:
    """Results that a report shows.

    Attributes:
        learned: results of the configurations.
        baselines: for each configuration the fixed policies, in its environment and scored by its
            objective.
        shown: the learned policies, then each baseline once, as tables and figures list them;
            baselines are without a score if the configurations have different objectives.
    """

    learned: list[Result]
    baselines: list[list[Result]]
    shown: list[Result]


def write_report(
    folders: Sequence[str | Path],
    out: str | Path | None = None,
    *,
    episodes: int = 16,
    seed: int = 1,
    schemes: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write a report about runs, and its figures as PNG files beside it.

    Runs that differ in nothing but their seed are shown together, with bands over seeds; other
    configurations are compared. The policies and the environment's fixed baselines are measured
    anew, on the same people and the same luck.

    Args:
        folders: run folders, or folders that hold `seed-N` folders.
        out: the page; `report.html` in the first folder if None. Figures go to `figures/` next
            to it.
        episodes: number of episodes that each policy is measured in.
        seed: seed of these episodes.
        schemes: further schemes to score all policies by, as `fairgym.load_runs` takes them.
        progress: called with a short text now and then.

    Returns:
        The path of the page.

    Raises:
        FairgymError: no folder, a folder without a run, runs in different environments, an unknown
            scheme, or a page that cannot be written.
    """
    check_shape("episodes", episodes, 1, 1_000_000)
    check_shape("seed", seed, 0, 2**32 - 1)
    if out is not None:
        require_path(out, "out")
    say = progress or (lambda text: None)
    groups = group_runs(load_runs(*folders, schemes=schemes))
    path = Path(folders[0]) / "report.html" if out is None else Path(out)
    beside = path.parent / "figures"
    require_folder(beside)
    for written in (path, beside / "figure.png"):
        require_writable(written)
    env = groups[0].env
    for group in groups:
        if group.env.name != env.name or group.env.spec.groups != env.spec.groups:
            raise FairgymError(
                f"the runs are in the environments {env.name!r} and {group.env.name!r}; a report"
                " takes runs in one"
            )
    measured = measure_all(groups, episodes, seed, lambda title: say(f"measuring {title}"))
    say("plotting figures")
    figures = plot_all(groups, measured.shown, env)
    sentences = findings(groups, measured.learned, measured.baselines, env)
    pairs = shown_beside(measured.learned, measured.baselines)
    sections = null_sections(pairs, env) + people_sections(pairs, env)
    first = summary(groups, measured.learned, measured.baselines)
    content = page(groups, measured.shown, first, sentences, figures, sections)
    make_folder(beside)
    for name, captioned in figures.items():
        write_whole(beside / f"{name}.png", png(captioned.figure))
    write_whole(path, content.encode())
    return path


def measure_all(
    groups: Sequence[RunGroup],
    episodes: int,
    seed: int,
    progress: Callable[[str], None] | None = None,
) -> Measured:
    """Measure every configuration, and the baselines of each environment that they are in.

    Args:
        groups: the configurations, whose names differ.
        episodes: number of episodes per policy.
        seed: seed of the episodes.
        progress: called with the title of each policy before it is measured.
    """
    shown_people = min(PEOPLE_EPISODES, episodes) if any(map(_of_many, groups)) else 0
    comparisons = compare(
        [(group.name, group.runs) for group in groups],
        episodes,
        seed,
        progress=progress,
        **{**MEASURED, "people_episodes": shown_people},
    )
    learned, baselines = {}, {}
    for comparison in comparisons:
        world = comparison.world
        rules = [_result(rule, world) for rule in comparison.baselines]
        for one in comparison.learned:
            learned[one.name], baselines[one.name] = _result(one, world), rules
    one_aim = len({group.aim for group in groups}) == 1
    shown: dict[str, Result] = {}
    for group in groups:
        for rule in baselines[group.name]:
            name = f"{rule.name} ({group.world})" if group.world else rule.name
            scored = rule.evaluations if one_aim else [e.scored_by(None) for e in rule.evaluations]
            shown.setdefault(name, Result(name, False, tuple(scored), rule.world))
    ordered = [learned[group.name] for group in groups]
    rules = [baselines[group.name] for group in groups]
    return Measured(ordered, rules, [*ordered, *shown.values()])


def _of_many(group: RunGroup) -> bool:
    return has_population(group.env)


def _result(one: Compared, world: str) -> Result:
    return Result(one.title, one.learned, one.evaluations, world)
