"""The report: one HTML file about one or more runs, which opens without a network."""

import html
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
from matplotlib.figure import Figure

from fairgym.core import FairgymError, check_shape
from fairgym.policies import fixed_policies
from fairgym.report import style
from fairgym.report.episodes import core_attribute_distribution, group_rates, metric_comparison
from fairgym.report.findings import findings, interval
from fairgym.report.grouping import RunGroup, essence, flatten, group_runs
from fairgym.report.learning import learning_curves, mean_actions
from fairgym.report.measures import measures
from fairgym.report.results import Result
from fairgym.report.svg import inline_svg, png, variables
from fairgym.training.evaluation import evaluate
from fairgym.training.files import write_whole
from fairgym.training.run import load

PEOPLE_EPISODES = 4  # episodes whose people are shown at the start and the end

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; {light} }}
@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}
body {{ font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.7rem; }} h2 {{ font-size: 1.2rem; margin-top: 2.5rem; }}
figure {{ margin: 1rem 0; overflow-x: auto; }} figure svg {{ width: 100%; height: auto; }}
figcaption, .note {{ color: var(--muted); font-size: 0.92rem; max-width: 48rem; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: left; padding: 0.3rem 0.9rem 0.3rem 0; vertical-align: top;
  border-bottom: 1px solid var(--grid); }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


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
        FairgymError: no folder, a folder without a run, or runs in different environments.
    """
    check_shape("episodes", episodes, 1, 1_000_000)
    say = progress or (lambda text: None)
    if not folders:
        raise FairgymError("no run folder is given; a report takes one or more")
    groups = group_runs([load(path) for folder in folders for path in _runs_in(Path(folder))])
    env = groups[0].env
    for group in groups:
        if group.env.name != env.name or group.env.groups != env.groups:
            raise FairgymError(
                f"the runs are in the environments {env.name!r} and {group.env.name!r}; a report"
                " takes runs in one"
            )
    results = _measure(groups, episodes, seed, say)
    say("drawing figures")
    figures = _figures(groups, results, env)
    page = _page(groups, results, figures, episodes)
    path = Path(folders[0]) / "report.html" if out is None else Path(out)
    beside = path.parent / "figures"
    try:
        beside.mkdir(parents=True, exist_ok=True)
        for name, (figure, _, _) in figures.items():
            write_whole(beside / f"{name}.png", png(figure))
        write_whole(path, page.encode())
    except OSError as error:
        raise FairgymError(
            f"the report cannot be written to {path}: {error.strerror or error}; out takes a file"
            " in a folder that can be written to"
        ) from error
    return path


def _runs_in(folder: Path) -> list[Path]:
    """The folder itself, or the seed folders in it."""
    seeds = [path for path in folder.glob("seed-*") if path.is_dir()]
    order = sorted(seeds, key=lambda path: (len(path.name), path.name))
    return order if order and not (folder / "config.json").exists() else [folder]


def _measure(
    groups: Sequence[RunGroup], episodes: int, seed: int, say: Callable[[str], None]
) -> list[Result]:
    """Evaluations of every configuration, then of the first one's baselines."""
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

    results = []
    for group in groups:
        say(f"measuring {group.name}")
        found = tuple(one(run, run.policies) for run in group.runs)
        results.append(Result(group.name, True, found))
    first = groups[0].runs[0]
    for name, specification in first.env.baselines.items():
        say(f"measuring {name}")
        policies = fixed_policies(first.env, specification)
        results.append(Result(name, False, (one(first, policies),)))
    return results


def _figures(
    groups: Sequence[RunGroup], results: Sequence[Result], env: Any
) -> dict[str, tuple[Figure, str, str]]:
    """Name -> figure, heading and caption, in the order of the page."""
    learned = {r.name: list(r.evaluations) for r in results if r.learned}
    seeds = max(len(group.runs) for group in groups)
    band = (
        f"The line is the mean over {seeds} seeds, the shade runs from the lowest to the highest."
        if seeds > 1
        else "There is one seed, so there is no band."
    )
    # as the program counts them: `shown` turns a value round and back
    references = {
        result.name: {m.name: float(m.shown(result.estimate(m).mean)) for m in measures(env)}
        for result in results
        if not result.learned
    }
    attribute = style.words(env.core_attribute)
    return {
        "comparison": (
            metric_comparison(results, env),
            "What the policies achieve",
            "Each point is a mean over episodes that all policies face alike (same people, same"
            " luck), each bar its 95% interval. Circles are learned policies, squares are fixed"
            " ones that need no training. The arrow under a panel says which way is better.",
        ),
        "learning": (
            learning_curves(groups, references=references),
            "Learning curves",
            "How the mean policy did after each epoch of training, on the objective and on every"
            f" measure. {band} Level lines are the fixed policies.",
        ),
        "actions": (
            mean_actions(groups),
            "What the agents decide",
            "The average decision of each agent over an episode, as training goes on, for each"
            " group where an agent decides by group. Numbers run from 0 to 1, budgets are shares"
            f" of the whole. {band}",
        ),
        "core-attribute": (
            core_attribute_distribution(learned, env),
            f"Where the groups stand: {attribute}",
            f"How {attribute} is spread in each group when an episode starts and when it ends."
            " Each group's bars add up to 100%. The standardised mean difference is the distance"
            " between the groups' means in standard deviations: 0 is no gap, 0.2 is small, 0.8"
            " is large.",
        ),
        "group-rates": (
            group_rates(learned, env),
            "The groups over an episode",
            "Each rate that is compared between groups, counted from the start of the episode up"
            " to each step, so that the right end is what the disparities above compare. The band"
            " holds nine of ten episodes.",
        ),
    }


def _page(
    groups: Sequence[RunGroup],
    results: Sequence[Result],
    figures: dict[str, tuple[Figure, str, str]],
    episodes: int,
) -> str:
    env = groups[0].env
    algorithms = dict.fromkeys(group.runs[0].config.algorithm for group in groups)
    title = f"{style.title(env.name)}: {', '.join(algorithms)}"
    text = html.escape
    parts = [
        f"<h1>{text(title)}</h1>",
        "<h2>Key findings</h2><ul>",
        *(f"<li>{text(sentence)}</li>" for sentence in findings(groups, results, env)),
        f'</ul><p class="note">Means over {episodes} episodes with 95% intervals: over episodes,'
        " or over seeds where a configuration was trained with several. Two values are said to"
        " differ when their intervals do not overlap.</p>",
        "<h2>Rewards and disparities</h2>",
        _result_table(results, env),
    ]
    for name, (figure, heading, caption) in figures.items():
        drawing = inline_svg(figure, name, f"{heading}. {caption}")
        parts.append(
            f'<h2 id="{name}">{text(heading)}</h2><figure>{drawing}'
            f"<figcaption>{text(caption)}</figcaption></figure>"
        )
    parts += ["<h2>What was trained</h2>", _config_table(groups)]
    return _PAGE.format(
        title=text(title),
        light=variables(False),
        dark=variables(True),
        body="\n".join(parts),
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "\n".join(line(row, "td") for row in rows)
    return (
        f'<div class="scroll"><table><thead>{line(head, "th")}</thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def _result_table(results: Sequence[Result], env: Any) -> str:
    rows = []
    for measure in measures(env):
        unit = f" ({measure.unit})" if measure.unit else ""
        cells = []
        for result in results:
            value = result.estimate(measure)
            undefined = f", undefined in {value.undefined} of {value.episodes}"
            cells.append(
                "undefined"
                if value.undefined == value.episodes
                else interval(value) + (undefined if value.undefined else "")
            )
        rows.append([f"{measure.title}{unit} {measure.arrow}", *cells])
    ended = [result.ended_early for result in results]
    rows.append(["Episodes that failed", *(f"{early} of {count}" for early, count in ended)])
    return _table(["", *(result.name for result in results)], rows) + (
        '<p class="note">↑ higher is better, ↓ lower is better.</p>'
    )


def _config_table(groups: Sequence[RunGroup]) -> str:
    columns = []
    for group in groups:
        run = group.runs[0]
        column = {"seeds": ", ".join(str(r.config.seed) for r in group.runs)}
        column |= {key: _plain(value) for key, value in essence(run.config).items()}
        provenance = flatten(run.provenance)
        column |= {
            key: _plain(value)
            for key, value in provenance.items()
            if not key.startswith(("started", "finished"))
        }
        columns.append(column)
    keys = list(dict.fromkeys(key for column in columns for key in column))
    return _table(
        ["", *(group.name for group in groups)],
        [[style.words(key), *(column.get(key, "") for column in columns)] for key in keys],
    )


def _plain(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
