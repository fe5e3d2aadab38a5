"""Writing the report: measure the policies anew, draw, and leave one file that opens offline."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
from matplotlib.figure import Figure

from fairgym.core import FairgymError, check_shape
from fairgym.core.files import write_whole
from fairgym.policies import fixed_policies
from fairgym.report import style
from fairgym.report.actions import map_panels, mean_actions
from fairgym.report.distributions import core_attribute_distribution
from fairgym.report.episodes import group_rates, metric_comparison, part_curves
from fairgym.report.findings import findings
from fairgym.report.grouping import RunGroup, group_runs
from fairgym.report.html import page
from fairgym.report.labels import metric_labels
from fairgym.report.learning import learning_curves
from fairgym.report.results import Result, rescored
from fairgym.report.svg import png
from fairgym.report.tables import people_sections, shown_beside
from fairgym.training.evaluation import evaluate
from fairgym.training.run import load_runs

PEOPLE_EPISODES = 4  # episodes whose people are shown at the start and the end
Figures = dict[str, tuple[Figure, str, str]]


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
    say("drawing figures")
    figures = draw_all(groups, measured, env)
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
    for name, (figure, _, _) in figures.items():
        write_whole(beside / f"{name}.png", png(figure))
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
            people=min(PEOPLE_EPISODES, episodes),
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
                shown = style.words(name)
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


def draw_all(groups: Sequence[RunGroup], measured: Measured, env: Any) -> Figures:
    """Name -> figure, heading and caption, in the order of the page."""
    learned = {r.name: list(r.evaluations) for r in measured.learned}
    several = len(groups) > 1
    seeds = max(len(group.runs) for group in groups)
    band = (
        f"Lines are means over {seeds} seeds; the shade runs from the lowest seed to the highest."
        if seeds > 1
        else "One seed was trained, so there is no band."
    )
    references: Mapping[str, Mapping[str, float]] = {}
    if len({group.world for group in groups}) == 1:
        references = {
            result.name: {
                # as the program counts them: `shown` turns a value round and back
                m.name: float(m.shown(result.estimate(m).mean))
                for m in metric_labels(env)
            }
            for result in measured.shown
            if not result.learned
        }
    attribute = style.words(env.core_attribute)
    two, apart = "those means", "how far the groups are apart"
    if len(env.groups) > 2:
        two = "the two of those means that are furthest apart,"
        apart = "the standard deviation of the groups' rates"
    each = " Each configuration has its own panels." if several else ""
    by_part: Figures = {
        f"by-{partition}-over-time": (
            part_curves(learned, env, partition),
            f"By {style.words(partition)} over an episode",
            f"How the people of each {style.words(partition)} stand at each step: their mean"
            f" {attribute} and the share of them in each stage, means over the people of all"
            f" episodes that are still running. Scales need not begin at 0.{each}",
        )
        for partition in env.partitions
    }
    return {
        "comparison": (
            metric_comparison(measured.shown, env),
            "What the policies achieve",
            "A point is a mean over episodes, the bar through it its 95% interval. Circles are"
            " learned policies, squares fixed ones that need no training. The arrow below a panel"
            " points to the better side; where bars overlap, the difference may be chance.",
        ),
        "learning": (
            learning_curves(groups, references=references),
            "Learning curves",
            "How the learned policy did after each epoch of training, on the objective it was"
            " trained for and on every measure; the arrow in a title says which way is better."
            f" {band} A measure that is undefined in an epoch is drawn as 0."
            + (" Grey level lines are the fixed policies." if references else ""),
        ),
        "actions": (
            mean_actions(groups),
            "What the agents decide",
            "Each agent's average decision over an episode, after each epoch of training, for each"
            " group where the agent decides by group. A number that is set for every person is the"
            f" mean over the people the agent sees. {band}{_about_budgets(env, seeds)}{each}",
        ),
        "core-attribute": (
            core_attribute_distribution(learned, env),
            f"Where the groups stand: {attribute}",
            f"How the {attribute} is spread within each group when an episode begins and when it"
            " ends. Each group's bars add up to 100%, so that a small group looks as large as a"
            " large one; dashed lines are the groups' means. The standardised mean difference is"
            f" the distance between {two} in standard deviations: 0 is no gap, 0.2 a small"
            f" one, 0.8 a large one.{each}",
        ),
        "group-rates": (
            group_rates(learned, env),
            "The groups over an episode",
            "Every rate that a disparity compares, counted from the start of the episode up to"
            f" each step: {apart} at the right end is the disparity of an episode. Lines are means"
            " over episodes, the shade holds nine of ten of them; a line begins where its rate is"
            f" first defined. Scales need not begin at 0.{each}",
        ),
        **by_part,
    }


def _about_budgets(env: Any, seeds: int) -> str:
    """How to read the heat maps, if there are any."""
    panels = map_panels(env)
    if not panels:
        return ""
    text = " Budgets are heat maps: the shares of a column add up to 1, and the last epoch's stand"
    text += " at the right"
    if any(section.head for panel in panels for section in panel.sections):
        text += (
            ". What is split further has a block of its own, whose shares are of that part alone;"
            " its heading says how much of the budget that part gets, which is how much the split"
            " matters"
        )
    return f"{text}. {'Colours are means over the seeds.' if seeds > 1 else ''}".rstrip()
