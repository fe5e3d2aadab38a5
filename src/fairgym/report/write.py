"""Writing of a report: policies measured anew, figures, and one file that opens offline."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax

from fairgym.core import FairgymError, check_shape
from fairgym.core.files import write_whole
from fairgym.policies import fixed_policies
from fairgym.report.figures import plot_all
from fairgym.report.findings import findings
from fairgym.report.grouping import RunGroup, group_runs
from fairgym.report.html import page
from fairgym.report.results import Result, rescored
from fairgym.report.svg import png
from fairgym.report.tables import people_sections, shown_beside
from fairgym.report.words import words
from fairgym.training.evaluation import evaluate
from fairgym.training.run import load_runs

PEOPLE_EPISODES = 4  # episodes whose people are shown at the start and the end


@dataclasses.dataclass(frozen=True)
class Measured:
    """The evaluations that a report shows.

    Attributes:
        learned: one result per configuration.
        baselines: for each configuration the fixed policies, in its environment and scored by its
            objective.
        shown: what tables and figures list: the learned policies, then each baseline once.
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
        episodes: episodes that each policy is measured in.
        seed: of these episodes.
        progress: called with a short text now and then.

    Returns:
        The path of the page.

    Raises:
        FairgymError: no folder, a folder without a run, runs in different environments, or a page
            that cannot be written.
    """
    check_shape("episodes", episodes, 1, 1_000_000)
    say = progress or (lambda text: None)
    groups = group_runs(load_runs(folders))
    env = groups[0].env
    for group in groups:
        if group.env.name != env.name or group.env.groups != env.groups:
            raise FairgymError(
                f"the runs are in the environments {env.name!r} and {group.env.name!r}; a report"
                " takes runs in one"
            )
    measured = measure_all(groups, episodes, seed, say)
    say("plotting figures")
    figures = plot_all(groups, measured.shown, env)
    sentences = findings(groups, measured.learned, measured.baselines, env)
    pairs = shown_beside(measured.learned, measured.baselines)
    sections = people_sections(pairs, env)
    content = page(groups, measured.shown, sentences, figures, episodes, sections)
    path = Path(folders[0]) / "report.html" if out is None else Path(out)
    beside = path.parent / "figures"
    try:
        beside.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FairgymError(
            f"the report cannot be written to {path}: {error.strerror or error}; out takes a file"
            " in a folder that can be written to"
        ) from error
    for name, captioned in figures.items():
        write_whole(beside / f"{name}.png", png(captioned.figure))
    write_whole(path, content.encode())
    return path


def measure_all(
    groups: Sequence[RunGroup],
    episodes: int,
    seed: int,
    say: Callable[[str], None] = lambda text: None,
) -> Measured:
    """Evaluate every configuration, and the baselines of each environment that they are in."""
    key = jax.random.key(seed)

    def one(run: Any, policies: Any) -> Any:
        return evaluate(
            run.env,
            run.params,
            policies,
            key,
            episodes,
            objective=run.objective,
            discount=run.discount,
            trace=True,
            people_episodes=min(PEOPLE_EPISODES, episodes),
        )

    learned, baselines = [], []
    worlds: dict[str, tuple[str, list[Result]]] = {}
    one_aim = len({group.aim for group in groups}) == 1
    for group in groups:
        say(f"measuring {group.name}")
        found = tuple(one(run, run.policies) for run in group.runs)
        learned.append(Result(group.name, True, found))
        first = group.runs[0]
        if group.world not in worlds:
            fixed = []
            for name, specification in first.env.baselines.items():
                shown = words(name)
                say(f"measuring {shown}")
                found = (one(first, fixed_policies(first.env, specification)),)
                fixed.append(Result(shown, False, found))
            worlds[group.world] = group.aim, fixed
        aim, fixed = worlds[group.world]
        own = fixed if aim == group.aim else [_score(r, r.name, first.objective) for r in fixed]
        baselines.append(own)
    shown = [
        result if one_aim else _score(result, f"{result.name} ({world})" if world else result.name)
        for world, (_, fixed) in worlds.items()
        for result in fixed
    ]
    return Measured(learned, baselines, [*learned, *shown])


def _score(result: Result, name: str, objective: Any = None) -> Result:
    """The same policy under another name, scored by another objective."""
    return Result(name, result.learned, tuple(rescored(e, objective) for e in result.evaluations))
