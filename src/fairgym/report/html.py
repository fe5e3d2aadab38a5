"""The report as HTML: one page that needs nothing from outside."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairgym.config.differences import plain
from fairgym.core import Environment
from fairgym.report.drawn import numbers_of
from fairgym.report.findings import (
    action_sentences,
    core_sentence,
    meaning_sentences,
    order_sentences,
    trouble_sentences,
)
from fairgym.report.measured import Measured
from fairgym.report.stakeholders import status_section, wait_section
from fairgym.report.summary import by_group, glossary, in_short, setting
from fairgym.report.svg import Captioned, inline_svg, variables
from fairgym.report.tables import gap_section, partition_section
from fairgym.report.template import (
    PAGE,
    bullets,
    by_seed,
    csv_link,
    escaped,
    estimate_cell,
    fold,
    noted,
    table,
)
from fairgym.report.trained import config_tables
from fairgym.results.caveats import PEOPLE, USES, caveats, in_short_of
from fairgym.results.estimates import Result
from fairgym.results.labels import (
    MetricLabel,
    displayed_labels,
    has_population,
    title,
    words,
)
from fairgym.results.numbers import few_seeds_text, interval, number, people_unit

MOST_FINDINGS = 6  # that stand first
MOST_ROWS = 40  # of a figure's numbers, in a table beside it


def page(page: Measured, figures: Mapping[str, Captioned], call: Sequence[Any]) -> str:
    """Return the whole page as HTML.

    Args:
        page: What was measured.
        figures: Name -> figure with its heading and caption, in order.
        call: Folders, episodes, seed and schemes that it was measured with.
    """
    env = page.env
    headline = f"{title(env.name)}: learned decisions beside fixed rules"
    card, drawn = caveats(env), {n: _figure(n, one, call) for n, one in figures.items()}
    first = in_short(page)
    parts = [
        f"<h1>{escaped(headline)}</h1>",
        noted(_subtitle(page)),
        f'<h2 id="short">In short</h2>{bullets(first[:MOST_FINDINGS])}',
        drawn.pop("groups", "") or drawn.pop("comparison"),
    ]
    if first[MOST_FINDINGS:]:
        parts.append(fold("More findings", bullets(first[MOST_FINDINGS:])))
    parts.append(f"<p>{escaped(' '.join(setting(page)))}</p>")
    if card:
        parts.append(
            f"<p>The model's card says: “{escaped(in_short_of(card))}”"
            ' <a href="#caveats">Read what the model leaves out.</a></p>'
        )
    sections = _sections(page, drawn)
    if card:
        uses = "".join(f"<p>{escaped(line)}</p>" for line in card[USES])
        sections["caveats"] = (USES, uses, False)
        more = "".join(f"<p>{escaped(line)}</p>" for line in card.get(PEOPLE, ()))
        sections["people"] = (f"{PEOPLE}, from the card of {env.name}", more, True)
    links = (
        f'<a href="#{name}">{escaped(heading)}</a>' for name, (heading, _, _) in sections.items()
    )
    parts.append(f'<nav aria-label="Contents"><b>Contents</b> {" · ".join(links)}</nav>')
    for name, (heading, content, folded) in sections.items():
        whole = f'<div id="{name}">{content}</div>'
        shown = f'<h2 id="{name}">{escaped(heading)}</h2>{content}'
        parts.append(fold(heading, whole) if folded else shown)
    return PAGE.format(
        title=escaped(headline), light=variables(False), dark=variables(True), body="\n".join(parts)
    )


def _sections(page: Measured, drawn: Mapping[str, str]) -> dict[str, tuple[str, str, bool]]:
    """Return section id -> heading, content and whether it is folded."""
    env, several = page.env, len(page.learned) > 1
    people = has_population(env)
    found: dict[str, tuple[str, str, bool]] = {}
    if gaps := gap_section(page.named, env):
        found["gaps"] = ("Who is worse off", bullets(by_group(page)) + gaps, False)
    for stage in env.spec.waits if people else ():
        name, place = words(stage), f"{stage.replace(' ', '-')}-over-time"
        content = wait_section(page.named, env, stage) + drawn[place]
        found[stage.replace(" ", "-")] = (f"Who is {name}, and for how long", content, False)
    troubles = [s for one in page.shown for s in trouble_sentences(one, env)]
    content = result_table(page.shown, env) + bullets(troubles) + drawn.get("comparison", "")
    found["results"] = ("Every measure, with intervals", content, False)
    if env.spec.schemes:
        heading, content = status_section(page.named, env)
        found["schemes"] = ("Fairness over an episode", drawn["schemes"], False)
        found["stakeholders"] = (heading, content + drawn["status"], False)
    moves = [s for group in page.groups for s in action_sentences(group)]
    orders = [s for one in page.learned for s in order_sentences(one, env, several)]
    content = bullets([*moves, *orders, *meaning_sentences(env)]) + drawn["actions"]
    found["actions"] = ("What the agents decide", content, False)
    found["learning"] = ("Learning curves", drawn["learning"], True)
    if people:
        changes = [core_sentence(one, env, several) for one in page.learned]
        heading = f"Core attribute: {words(env.spec.core_attribute)}"
        found["core-attribute"] = (heading, bullets(changes) + drawn["core-attribute"], True)
    if "group-rates" in drawn:
        found["group-rates"] = ("Rates over an episode", drawn["group-rates"], True)
    for partition in env.spec.partitions if people else ():
        if tuple(env.spec.partitions[partition]) != tuple(env.spec.groups):
            content = partition_section(page, partition) + drawn[f"by-{partition}-over-time"]
            found[f"by-{partition}"] = (f"By {words(partition)}", content, True)
        else:
            content = drawn[f"by-{partition}-over-time"]
            found[f"by-{partition}"] = (f"By {words(partition)} over an episode", content, True)
    found["trained"] = ("What was trained", config_tables(page.groups), True)
    found["words"] = ("Terms on this page", bullets(glossary(env)), True)
    return found


def _figure(name: str, one: Captioned, call: Sequence[Any]) -> str:
    """Return a figure with its caption, its numbers, and the code to redraw it."""
    rows = numbers_of(one.figure)
    shown, about = rows, ""
    if len(rows) > MOST_ROWS:
        last = {}
        for row in rows:
            word = row["x"] if isinstance(row["x"], str) else ""
            last[row["panel"], row["of"], row["series"], word] = row
        if len(last) < len(rows):
            about = "Last point of each line; the CSV file has all."
        shown = list(last.values())
    head = ["panel", "series", "x", "value", "low", "high", "unit"]
    cells = [
        ["" if row[name] is None else escaped(row[name]).removesuffix(".0") for name in head]
        for row in shown
    ]
    for cell, row in zip(cells, shown, strict=True):
        cell[0] += f"<small>{escaped(row['of'])}</small>" if row["of"] else ""
    folders, episodes, seed, schemes = call
    options = f"--episodes {episodes} --seed {seed}" + "".join(f" --scheme {s}" for s in schemes)
    command = f"fairgym report {shlex.join(folders)} {options}"
    given = f", schemes={list(schemes)!r}" if schemes else ""
    function = one.code.partition("(")[0]
    code = (
        f"from fairgym.report import {', '.join(sorted((function, 'measure')))}\n\n"
        f"page = measure({folders!r}, episodes={episodes}, seed={seed}{given})\n"
        f"figure = {one.code}\n"
        f'figure.savefig("{name}.png", dpi=200)\n'
    )
    numbers = fold(
        "Numbers, CSV and code of this figure",
        f"<p>{csv_link(name, rows)}, and figures/{name}.csv beside this page.</p>"
        f"<pre>{escaped(command)}</pre><pre>{escaped(code)}</pre>"
        + (noted(about) if about else "")
        + table(head, cells, "results", headings=2),
        "numbers",
    )
    drawing = inline_svg(one.figure, name, one.heading)
    return (
        f'<figure><div class="scroll">{drawing}</div>'
        f"<figcaption>{escaped(one.caption)}</figcaption></figure>{numbers}"
    )


def _subtitle(page: Measured) -> str:
    groups, env = page.groups, page.env
    seeds = sorted({run.config.seed for group in groups for run in group.runs})
    sizes = " or ".join(dict.fromkeys(group.env.spec.size_text for group in groups))
    steps = " or ".join(plain(x) for x in sorted({group.env.horizon for group in groups}))
    episodes = page.learned[0].evaluations[0].episodes
    return (
        f"{sizes}, {steps} {env.spec.time_unit} an episode;"
        f" {f'{len(groups)} configurations, ' if len(groups) > 1 else ''}"
        f"{'seeds' if len(seeds) > 1 else 'seed'} {', '.join(map(str, seeds))};"
        f" {plain(episodes)} {'episode' if episodes == 1 else 'episodes'} of each policy; fairgym"
        f" {groups[0].runs[0].provenance.get('versions', {}).get('fairgym', '')}"
    )


def result_table(results: Sequence[Result], env: Environment) -> str:
    """Return a table of every metric of every policy with its interval, the best in bold."""
    partial = env.spec.finished_only
    rows = [_result_row(one, results, one.name in partial) for one in displayed_labels(env)]
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
        '<p class="note">Bold: the best mean of the row, and those not clearly different from it in'
        " the same episodes. A policy that failed in an episode is never bold. “Undefined”: nobody"
        " counts in the measure's denominator.</p>"
    )


def _result_row(metric: MetricLabel, results: Sequence[Result], partial: bool) -> list[str]:
    values = [result.estimate(metric) for result in results]
    own = any(value.episodes == 0 for value in values)
    leading = set() if own or partial else _leading(metric, results)
    cells = []
    for i, value in enumerate(values):
        if not value.episodes:
            cells.append("not comparable")
            continue
        cell = estimate_cell(interval(value, metric.unit))
        if i in leading:
            cell = f'<span class="best">{cell}</span>'
        cell += by_seed(few_seeds_text(value.seeds, metric.unit))
        if 0 < value.undefined < value.episodes:
            cell += f"<small>undefined in {value.undefined} of {value.episodes}</small>"
        cells.append(cell)
    shown, _ = people_unit(metric.unit)
    unit = f"{shown}, " if shown else ""
    way = f"{metric.arrow} {metric.better}"
    way += "; each policy by its own objective" if own else "; of the served only" * partial
    return [f"{escaped(metric.title)}<small>{escaped(unit + way)}</small>", *cells]


def _leading(metric: MetricLabel, results: Sequence[Result]) -> set[int]:
    """Return the places of each environment's best policies, and of those not clearly worse."""
    found = set()
    for environment in {result.environment for result in results}:
        means = {
            i: float(result.estimate(metric).mean)
            for i, result in enumerate(results)
            if result.environment == environment and not result.ended_early[0]
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
