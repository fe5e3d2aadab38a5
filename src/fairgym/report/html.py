"""The report as HTML: one page that needs nothing from outside."""

import sys
from collections.abc import Mapping, Sequence

import numpy as np

from fairgym.config.differences import essence, flatten, plain
from fairgym.config.plain import objective_text
from fairgym.config.settings import summary_line
from fairgym.core import Environment
from fairgym.fairness import Objective
from fairgym.report.grouping import RunGroup
from fairgym.report.summary import glossary
from fairgym.report.svg import Captioned, inline_svg, variables
from fairgym.report.template import PAGE, caveats, escaped, estimate_cell, in_short, table
from fairgym.results.estimates import Result
from fairgym.results.labels import MetricLabel, has_people, metric_labels, title, words
from fairgym.results.numbers import interval, number, people_unit


def page(
    groups: Sequence[RunGroup],
    results: Sequence[Result],
    first: Sequence[str],
    sentences: Sequence[str],
    figures: Mapping[str, Captioned],
    sections: Sequence[tuple[str, str, str]] = (),
) -> str:
    """The whole page.

    Args:
        groups: the configurations.
        results: learned policies and baselines, as the table shows them.
        first: the first lines: what failed, what was done and what came out.
        sentences: the key findings.
        figures: name -> figure with its heading and caption, in order.
        sections: further tables after that of the results: id, heading and content (HTML).
    """
    env = groups[0].env
    headline = f"{title(env.name)}: learned decisions beside fixed rules"
    found = caveats(env)
    parts = [
        f"<h1>{escaped(headline)}</h1>",
        f'<p class="note">{escaped(_subtitle(groups))}</p>',
        f'<h2 id="short">In short</h2>{_list(first)}',
    ]
    if found:
        parts.append(
            f"<p>The model's card says: “{escaped(in_short(found))}”"
            ' <a href="#caveats">What the model leaves out is told at the end.</a></p>'
        )
    parts += [
        f'<h3 id="words">Words of this page</h3>{_list(glossary(env))}',
        f'<h2 id="findings">Key findings</h2>{_list(sentences)}',
        '<h2 id="results">All measures</h2>',
        result_table(results, env),
    ]
    for name, heading, content in sections:
        parts.append(f'<h2 id="{name}">{escaped(heading)}</h2>{content}')
    for name, (figure, heading, caption) in figures.items():
        drawing = inline_svg(figure, name, heading)
        parts.append(
            f'<h2 id="{name}">{escaped(heading)}</h2><figure><div class="scroll">{drawing}</div>'
            f"<figcaption>{escaped(caption)}</figcaption></figure>"
        )
    parts += ['<h2 id="trained">What was trained</h2>', config_tables(groups)]
    if found:
        parts.append(f'<h2 id="caveats">From the card of {escaped(env.name)}</h2>')
        for heading, paragraphs in found.items():
            parts.append(f"<h3>{escaped(heading)}</h3>")
            parts += [f"<p>{escaped(paragraph)}</p>" for paragraph in paragraphs]
    return PAGE.format(
        title=escaped(headline), light=variables(False), dark=variables(True), body="\n".join(parts)
    )


def _list(lines: Sequence[str]) -> str:
    items = "".join(f"<li>{escaped(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>"


def _subtitle(groups: Sequence[RunGroup]) -> str:
    seeds = sorted({run.config.seed for group in groups for run in group.runs})
    sizes = dict.fromkeys(group.env.spec.size_text for group in groups)
    steps = " or ".join(plain(x) for x in sorted({group.env.horizon for group in groups}))
    return (
        f"{' or '.join(sizes)}, {steps} {groups[0].env.spec.time_unit} an episode;"
        f" {f'{len(groups)} configurations, ' if len(groups) > 1 else ''}"
        f"{'seeds' if len(seeds) > 1 else 'seed'} {', '.join(map(str, seeds))}; fairgym"
        f" {groups[0].runs[0].provenance.get('versions', {}).get('fairgym', '')}"
    )


def result_table(results: Sequence[Result], env: Environment) -> str:
    """Every metric of every policy with its interval; the best of each row in bold."""
    rows = [_result_row(metric, results) for metric in metric_labels(env)]
    ended = [result.ended_early for result in results]
    cells = [f"{early} of {count}" for early, count in ended]
    early = f"Episodes that failed<small>{escaped(env.spec.failure)}; ↓ lower is better</small>"
    rows.append([early, *cells])
    head = [
        f"{escaped(result.name)}<small>{'learned' if result.learned else 'fixed'}"
        f"{', failed' if early else ''}</small>"
        for result, (early, _) in zip(results, ended, strict=True)
    ]
    return table(["", *head], rows, "results") + (
        '<p class="note">Bold: the best mean of the row, and those that are not clearly apart from'
        " it in the same episodes; never a policy that failed in an episode. “Undefined”: nobody"
        " counts in the measure's denominator, so that there is nothing to compare.</p>"
    )


def _result_row(metric: MetricLabel, results: Sequence[Result]) -> list[str]:
    values = [result.estimate(metric) for result in results]
    own = any(value.episodes == 0 for value in values)
    leading = set() if own else _leading(metric, results)
    cells = []
    for i, value in enumerate(values):
        if not value.episodes:
            cells.append("not comparable")
            continue
        cell = estimate_cell(interval(value, metric.unit))
        if i in leading:
            cell = f'<span class="best">{cell}</span>'
        if 0 < value.undefined < value.episodes:
            cell += f"<small>undefined in {value.undefined} of {value.episodes}</small>"
        cells.append(cell)
    shown, _ = people_unit(metric.unit)
    unit = f"{shown}, " if shown else ""
    way = f"{metric.arrow} {metric.better}"
    way += "; each policy by its own objective" if own else ""
    return [f"{escaped(metric.title)}<small>{escaped(unit + way)}</small>", *cells]


def _leading(metric: MetricLabel, results: Sequence[Result]) -> set[int]:
    """Places of the best policies of each world: none that failed, all that may be as good."""
    found = set()
    for world in {result.world for result in results}:
        means = {
            i: float(result.estimate(metric).mean)
            for i, result in enumerate(results)
            if result.world == world and not result.ended_early[0]
        }
        means = {i: mean for i, mean in means.items() if np.isfinite(mean)}
        if not means:
            continue
        best = (min if metric.flipped else max)(means, key=lambda i: means[i])
        for i, mean in means.items():
            gap = results[i].difference(results[best], metric)
            chance = np.isfinite(gap.low) and not gap.clear
            if chance or number(mean) == number(means[best]):
                found.add(i)
    return found


def config_tables(groups: Sequence[RunGroup]) -> str:
    """Tables of what was trained: in short, and every setting behind a fold."""
    short = [_in_short(group) for group in groups]
    long = []
    for group in groups:
        run = group.runs[0]
        settings = {**essence(run), **flatten(run.provenance)}
        long.append({key: escaped(plain(value)) for key, value in settings.items()})
    heads = [escaped(group.name) for group in groups]
    return (
        table(["", *heads], _rows(short))
        + "<details><summary>Every setting</summary>"
        + table(["", *heads], [[escaped(words(r[0])), *r[1:]] for r in _rows(long)])
        + "</details>"
    )


def _rows(columns: Sequence[Mapping[str, str]]) -> list[list[str]]:
    keys = dict.fromkeys(key for column in columns for key in column)
    return [[key, *(column.get(key, "") for column in columns)] for key in keys]


def _in_short(group: RunGroup) -> dict[str, str]:
    run, env = group.runs[0], group.env
    config, provenance = run.config, run.provenance
    algorithm = run.job.algorithm
    fixed = [f"{words(a)} ({plain(v)})" for a, v in config.fixed.items()]
    trained = [words(agent) for agent in env.agents if agent not in config.fixed]
    objective = objective_text(config.objective).replace(",", ", ")
    if config.objectives:
        objective = ", ".join(
            f"{words(a)}: {objective_text(o)}" for a, o in config.objectives.items()
        )
    if config.bounds:
        bounds = (f"{words(m)} below {plain(e)}" for m, e in config.bounds.items())
        objective += f", with {', '.join(bounds)}"
    times = [line["wall_time_s"] for r in group.runs for line in r.metrics[-1:]]
    about = summary_line(type(env.unwrapped)).split(";")[0]
    versions = provenance.get("versions", {})
    device = provenance.get("device", {})
    row = {
        "Environment": f"{env.name}<small>{escaped(about)}</small>",
        "Population" if has_people(env) else "Size": (
            f"{env.spec.size_text}: {', '.join(map(words, env.spec.groups))}"
        ),
        "Episode": f"{plain(env.horizon)} {env.spec.time_unit}",
        "Agents trained": ", ".join(trained),
        "Agents fixed": ", ".join(fixed) or "none",
        "Objective": f"{escaped(objective)}<small>{escaped(_weights(run.objective))}</small>",
        "Algorithm": f"{escaped(config.algorithm)}"
        f"<small>{escaped(summary_line(sys.modules[type(algorithm).__module__]))}</small>",
        "Epochs": ", ".join(
            dict.fromkeys(
                f"{len(r.metrics)}"
                + ("" if r.summary else f" of {algorithm.num_updates}, not finished")
                for r in group.runs
            )
        ),
        "Seeds": ", ".join(str(r.config.seed) for r in group.runs),
        "Training time": f"{sum(times) / max(len(times), 1):,.0f} s a seed",
        "Data": f"{escaped(getattr(env.unwrapped, 'population_source', 'made up'))}"
        f"<small>sha256 {escaped(provenance.get('data_checksum') or 'none')}</small>",
        "Versions": escaped(", ".join(f"{name} {v}" for name, v in versions.items() if v)),
        "Source commit": escaped(provenance.get("git_commit") or "not recorded"),
        "Device": escaped(f"{device.get('count', '')} x {device.get('kind', 'not recorded')}"),
        "Begun": escaped(provenance.get("started", "")),
    }
    return row


def _weights(objective: Objective | Mapping[str, Objective]) -> str:
    """The weights in text; one line for all agents, or for the first of several objectives."""
    if isinstance(objective, Mapping):
        return "each agent has its own"
    terms = [f"{words(n)} {w:.3g}" for n, w in objective.weights.items() if w]
    return f"weights: {', '.join(terms)}" if terms else "no weights"
