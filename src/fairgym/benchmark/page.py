"""The page of the benchmark, from stored results."""

import string
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fairgym.benchmark import tables
from fairgym.benchmark.claims import claims_of
from fairgym.benchmark.figures import figures_of
from fairgym.benchmark.intervals import Interval
from fairgym.benchmark.presets import Tuned, settings_text, tuned_of
from fairgym.benchmark.scores import Results, suite_name
from fairgym.benchmark.store import CHOSEN, FIXED, RANDOM, Row, number_of
from fairgym.benchmark.tiers import TIERS, Tier
from fairgym.results.numbers import number
from fairgym.results.table import Table
from fairgym.utils.files import make_folder, write_whole

TEMPLATE = Path(__file__).with_name("page.txt")
NOTHING = "No results yet."
CAPTIONS = {
    "scores": "Interquartile means of normalised scores over the seeds of all tasks of the suite"
    " (marker), with stratified bootstrap 95% CI (bar), and the front of every seed (dots below)."
    " Tasks in which a learner does not fit or has no results are left out, so learners with fewer"
    " tasks are not comparable.",
    "profile": "Performance profiles: share of the seeds' fronts whose normalised score is above τ,"
    " with pointwise bootstrap 95% CI where there are few learners.",
    "fronts": "Reward and unfairness of every level: interquartile means over seeds with bootstrap"
    " 95% CI. A line is a learner's front: the most reward at an unfairness of at most so much."
    " Dashed: the reference point. Points far outside the box are not shown.",
}


def write_page(results: Results, rows: Sequence[Row], tier: Tier, path: Path) -> list[Path]:
    """Write the page and its figures.

    Args:
        results: Results of the tasks and learners.
        rows: All rows of the tier, among them those of tuning.
        tier: The tier.
        path: Path of the page; figures are in `images` beside it.

    Returns:
        The files, the page first.
    """
    names = {task.name for task in results.tasks}
    rows = [row for row in rows if row["task"] in names]
    images = path.parent / "images"
    make_folder(images)
    written = [path]
    for name, figure in figures_of(results).items():
        file = images / f"benchmark-{name}.png"
        figure.savefig(file, dpi=130)
        written.append(file)
    text = string.Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        stored=_stored(results, rows, tier),
        tasks=_tasks(results).markdown(),
        learners=_learners(results),
        tiers=_tiers(),
        results=_results(results),
        claims=_claims(results),
        **_tuning(results, rows),
    )
    write_whole(path, text.encode())
    return written


def _stored(results: Results, rows: Sequence[Row], tier: Tier) -> str:
    """Return how much is stored, and what is missing."""
    trained = [row for row in rows if number_of(row, "steps") > 0]
    hours = sum(number_of(row, "seconds") for row in trained) / 3600.0
    cells = sum(name not in (FIXED, RANDOM) for _, name in results.cells)
    planned = sum(len(task.learners) for task in results.known)
    versions = ", ".join(sorted({row["versions"] for row in rows}))
    text = (
        f"Stored results: the {tier.name} tier, {len(trained):,} runs of {cells} pairs of a learner"
        f" and a task, {number(hours)} hours of training one after another ({versions})."
    )
    if cells < planned:
        text += f" {planned - cells} of {planned} declared pairs have no results yet."
    if results.others:
        text += f" {results.others} rows do not count: {tables.OTHERS}."
    return text


def _tasks(results: Results) -> Table:
    head = (
        "task",
        "what",
        "reward",
        "unfairness",
        "steps",
        "box",
        "fingerprint",
        "best fixed rule",
    )
    rows = []
    for task in results.known:
        (low, most), (high, least) = task.reference, task.ideal
        rule = results.best_rule(task)
        rows.append(
            [
                f"`{task.name}`",
                task.title,
                ", ".join(task.reward),
                ", ".join(task.fairness),
                f"{task.steps:,}",
                f"({low:g}, {most:g}) to ({high:g}, {least:g})",
                f"`{task.fingerprint}`",
                "" if rule is None else rule.level.replace("_", " "),
            ]
        )
    return Table(head, rows)


def _learners(results: Results) -> str:
    """Return what each learner's levels and tuned hyperparameters are, and where it fits."""
    rows = [
        [
            one.title,
            ", ".join(f"{level:g}" for level in one.levels),
            ", ".join(one.scales) or "weight of the reward",
            ", ".join(one.space) or "nothing",
            str(sum(one.name in task.learners for task in results.known)),
        ]
        for one in results.learners
    ]
    return Table(("learner", "levels", "of", "tuned", "tasks"), rows).markdown()


def _tiers() -> str:
    head = (
        "tier",
        "settings in tuning",
        "seeds",
        "share of the budget",
        "held-out episodes per run",
        "seeds of fixed rules",
    )
    rows = [
        [
            tier.name,
            str(tier.settings) if tier.settings > 1 else "none: the published setting",
            str(tier.seeds),
            f"{tier.share:g}",
            str(tier.episodes),
            str(tier.rule_seeds),
        ]
        for tier in TIERS.values()
    ]
    return Table(head, rows).markdown()


def _results(results: Results) -> str:
    parts = []
    for suite, tasks in results.suites.items():
        parts.append(f"## {suite_name(suite)}")
        table = tables.suite_table(results, suite, tasks)
        if table is not None:
            parts += [table.markdown(), _note(table.caption)]
            parts += [_picture(suite, kind) for kind in ("scores", "profile")]
        parts.append(_picture(suite, "fronts"))
        for task in tasks:
            parts.append(f"### {task.title} (`{task.name}`)")
            several = (tables.front_table, tables.level_table, tables.group_table)
            for table in (make(results, task) for make in several):
                if table is not None:
                    parts += [table.markdown(), _note(table.caption)]
    return "\n\n".join(parts)


def _note(caption: str) -> str:
    return f"{caption[:1].upper()}{caption[1:]}."


def _picture(suite: str, kind: str) -> str:
    alt = f"{suite_name(suite)}: {kind}"
    return f"![{alt}](images/benchmark-{suite}-{kind}.png)\n\n{CAPTIONS[kind]}"


def _claims(results: Results) -> str:
    """Return the number of outcomes of each claim, and then each of its tasks."""
    found = claims_of(results)
    if not found:
        return NOTHING
    outcomes = ("holds", "contradicted", "undecided")
    counts = {claim: Counter[str]() for claim in dict.fromkeys(one.claim for one in found)}
    for one in found:
        counts[one.claim][one.check.outcome] += 1
    short = Table(
        ("claim", "tasks", *outcomes),
        [
            [claim, str(of.total()), *(str(of[name]) for name in outcomes)]
            for claim, of in counts.items()
        ],
    )
    rows = [
        [
            one.claim,
            f"`{one.task}`",
            tables.text_of(Interval(one.check.estimate, one.check.low, one.check.high, one.n)),
            str(one.n),
            one.check.detail,
            one.check.outcome,
        ]
        for one in found
    ]
    head = ("claim", "task", "estimate [95% CI]", "seeds", "test", "outcome")
    return f"{short.markdown()}\n\n{Table(head, rows).markdown()}"


def _tuning(results: Results, rows: Sequence[Row]) -> dict[str, str]:
    """Return the tables of what was tried, and of presets."""
    every = [
        found
        for task in results.tasks
        for learner in results.learners
        if (found := tuned_of(rows, task, learner)) is not None
    ]
    if not every:
        return {"tuning": NOTHING, "tuned": "", "presets": "None yet."}
    names = list(dict.fromkeys(name for one in every for name in one.tried))
    head = ("task", "learner", *map(_setting, names), "settings of the best", "gain [95% CI]", "n")
    tried = Table(head, [_tried(one, names) for one in every])
    other = [one for one in every if one.chosen != CHOSEN]
    better = [one for one in other if one.better]
    told = (
        f"A random setting was best in {len(other)} of {len(every)} pairs. On the seeds of"
        f" measuring it beats the published one in {len(better)} of them, and"
        f" in {sum(one.worse for one in other)} it is worse (the interval excludes 0)."
    )
    lines = [[one.task.name, one.learner.name, settings_text(one.setting)] for one in better]
    presets = Table(("task", "algorithm", "settings"), lines).markdown() if better else "None."
    return {"tuning": tried.markdown(), "tuned": told, "presets": presets}


def _setting(name: str) -> str:
    return name.replace("-", " ")


def _tried(one: Tuned, names: Sequence[str]) -> list[str]:
    """Return the row of a pair; the best setting is bold."""
    means = {name: number(sum(x) / len(x)) for name, x in one.tried.items()}
    return [
        f"`{one.task.name}`",
        one.learner.title,
        *(f"**{means[n]}**" if n == one.chosen else means.get(n, "") for n in names),
        settings_text(one.setting) if one.setting else "published",
        tables.text_of(Interval(*one.gain, one.n)),
        str(one.n) if one.n else "",
    ]
