"""The page of a what-if: one file that opens offline and can be read without its script."""

import json
from collections.abc import Mapping, Sequence

from fairgym._version import __version__
from fairgym.config.differences import words
from fairgym.report.one_file import (
    SAVE,
    big_numbers,
    command_text,
    csv_line,
    figure,
    sortable,
    whole_page,
)
from fairgym.report.svg import Captioned
from fairgym.report.template import bullets, escaped, fold, noted
from fairgym.report.what_if_figures import (
    MOST_MEASURES,
    MOST_PEOPLE_GROUPS,
    courses_figure,
    moved_groups,
    people_figure,
)
from fairgym.report.what_if_first import four_numbers, python_of
from fairgym.report.what_if_measured import WhatIf
from fairgym.report.what_if_overturn import of_each, overturn_section
from fairgym.results.caveats import PEOPLE, USES, caveats
from fairgym.results.changes import changes_table
from fairgym.results.conclusions import (
    effects_sentence,
    failed_sentence,
    opening,
    overturned,
    unclear_measures,
)
from fairgym.results.effect_tables import effects_table
from fairgym.results.labels import capital, listed
from fairgym.results.numbers import Estimate
from fairgym.results.records import simulation_results
from fairgym.results.table import Table, results_json
from fairgym.results.what_if import (
    Record,
)
from fairgym.results.what_if_tables import (
    course_table,
    courses_by_title,
    people_table,
)
from fairgym.training.building import Built

MOST_SWINGS = 3  # measures whose sensitivity is shown
_LIMITS = (
    "These are differences within a model. They say nothing about a real institution whose people,"
    " rules or money work differently.",
    "Intervals cover chance: other people and other random events. They do not cover the"
    " assumptions of the model.",
    "One 95% interval in twenty misses its true difference, and there are dozens of measures. Check"
    " a single surprising one with another --seed.",
)


def what_if_page(
    found: WhatIf, command: str, settings: Mapping[str, object], files: Mapping[str, str]
) -> str:
    """Return the page of a what-if as HTML.

    Args:
        found: What it shows.
        command: The command that makes the page again; "" for none.
        settings: Settings of the command, for the page's data.
        files: Texts of the files that the command reads, by name.
    """
    simulation, others = found.simulation, found.simulation.others
    title = f"{simulation.environment}: {listed(one.name for one in others)}"
    told = simulation_results(simulation, found.sensitivities, found.decompositions)
    results = told["results"] = [*told["results"], *found.records()]
    first = [
        noted(f"Compared with “{simulation.reference}”. fairgym {__version__}"),
        _turned(found),
        f'<h2 id="changes">What changes</h2>{_changes(found, results)}',
        *(_first_numbers(found, one) for one in others),
    ]
    sections = {
        "people": ("Who gains and who loses", of_each(found, _who, results)),
        "time": ("Over time", of_each(found, _over_time, results)),
        "overturn": ("What could overturn it", overturn_section(found, results)),
        "reproduce": ("Reproduce this", _reproduce(found, command, files)),
        "limits": ("What it does not say", _limits(found)),
    }
    data = json.loads(results_json("simulate", settings, **told))
    return whole_page("what-if", title, first, sections, data)


def _turned(found: WhatIf) -> str:
    """Return what rival worlds turn around, as the first of all conclusions."""
    sentences = overturned(found.simulation, found.rows, everything=False)
    return f'<div class="first">{bullets(sentences)}</div>' if sentences else ""


def _changes(found: WhatIf, results: Sequence[Record]) -> str:
    """Return the settings that differ, old and new."""
    table = changes_table(found.simulation, meaning=True)
    rows = [row for row in results if row["kind"] == "change"]
    about = " ".join(opening(found.simulation))
    return sortable(table) + csv_line("changes", rows) + f"<p>{escaped(about)}</p>"


def _first_numbers(found: WhatIf, one: Built) -> str:
    several = len(found.simulation.others) > 1
    head = f"<h3>{escaped(one.name)}</h3>" if several else ""
    return head + big_numbers(four_numbers(found, one))


# ---------------------------------------------------------------- who gains, and over time


def _who(found: WhatIf, one: Built, place: str, own: Sequence[Record]) -> str:
    """Return the people by group, starting score and stage, and every effect."""
    simulation = found.simulation
    sentences = [effects_sentence(simulation, found.rows, one), failed_sentence(simulation, one)]
    if unclear := unclear_measures(found.rows, one):
        sentences.append(f"No clear difference in {listed(unclear)}.")
    parts = [bullets(sentences)]
    records = found.people.get(one.name, [])
    if records:
        groups, moved = {row["part"] for row in records}, moved_groups(records)
        caption = (
            f"People per episode that are more (green) or fewer (orange) than with"
            f" “{simulation.reference}” in each stage at the end, by third of their starting"
            f" {words(found.env.spec.core_attribute)}. Each person is compared with themselves."
        )
        if found.benefit:
            caption += f" At the right: people who receive more or less ({found.benefit})."
        if len(moved) > MOST_PEOPLE_GROUPS:
            caption += f" The first {MOST_PEOPLE_GROUPS} of {len(moved)} groups are drawn."
        if still := sorted(groups - set(moved)):
            caption += f" Nobody ends elsewhere in {listed(map(words, still))}."
        drawn = Captioned(people_figure(records), _most_moved(records), caption)
        parts += [figure(f"people-{place}", drawn), sortable(people_table(records))]
        parts.append(csv_line(f"people-{place}", records))
    else:
        parts.append(noted(_no_people(found, one)))
    table, _, same = effects_table(simulation, found.rows)
    column = [row.name for row in simulation.others].index(one.name) + 2
    rows = [row if len(row) == 1 else [*row[:2], row[column]] for row in table.rows]
    shown = Table(["", simulation.reference, one.name], rows, table.caption)
    effects = [row for row in own if row["kind"] in ("measure", "rate", "count", "end")]
    note = noted(f"{capital(table.caption)}.")
    if same:
        note += noted(f"No difference at all: {'; '.join(same)}.")
    parts.append(f"<h3>Every effect, by group</h3>{note}{sortable(shown)}")
    return "\n".join([*parts, csv_line(f"effects-{place}", effects)])


def _no_people(found: WhatIf, one: Built) -> str:
    if not found.simulation.same_people(one.name):
        return f"“{one.name}” begins with other people, so nobody can be compared with themselves."
    return f"{found.env.name} has no people who could be compared with themselves."


def _most_moved(records: Sequence[Record]) -> str:
    """Return the heading: the group and starting score with the largest change."""
    most = max(records, key=lambda row: abs(row["difference"]))
    who = f"{words(most['part'])}, {most['score']} third"
    if not most["difference"]:
        return "Nobody ends elsewhere"
    size = Estimate(most["difference"], most["difference_low"], most["difference_high"])
    if most["measure"] in ("more", "less"):
        return f"The largest change: {who}, {abs(size.mean):,.3g} people receive {most['measure']}"
    more = "more" if size.mean > 0.0 else "fewer"
    return f"The largest change: {who}, {abs(size.mean):,.3g} {more} {most['title']}"


def _over_time(found: WhatIf, one: Built, place: str, own: Sequence[Record]) -> str:
    """Return rates and sums up to each step, on both sides."""
    records, unit = found.courses[one.name], found.env.spec.time_unit
    if not records:
        return noted("No measure is a rate or a sum that could be followed over time.")
    last = {
        title: [row for row in several if row["step"] == several[-1]["step"]]
        for title, several in courses_by_title(records).items()
    }
    clear = [
        title
        for title, several in last.items()
        if any(row["difference_low"] > 0.0 or row["difference_high"] < 0.0 for row in several)
    ]
    titles = (clear or list(last))[:MOST_MEASURES]
    caption = (
        "At the left both sides, mean over the episodes; at the right the paired difference with"
        " its 95% interval. All steps so far count; an episode that has ended keeps its last value."
    )
    if len(titles) < len(last):
        caption += f" {len(titles)} of {len(last)} measures are drawn; the table has all."
    drawn = Captioned(
        courses_figure(records, titles, unit),
        f"“{one.name}” beside “{found.simulation.reference}”, step by step",
        caption,
    )
    table = course_table(records, unit)
    return "\n".join(
        [
            figure(f"time-{place}", drawn),
            noted(f"{capital(table.caption)}."),
            sortable(table),
            csv_line(f"time-{place}", records),
        ]
    )


# ---------------------------------------------------------------- reproduce, and limits


def _reproduce(found: WhatIf, command: str, files: Mapping[str, str]) -> str:
    """Return the command and the Python that measure the same."""
    text = command_text(command) if command else ""
    text += "".join(fold(name, f"<pre>{escaped(content)}</pre>") for name, content in files.items())
    return f"{text}<p>In Python:</p>{command_text(python_of(found.simulation))}{SAVE}"


def _limits(found: WhatIf) -> str:
    """Return what the results must not be used for, and where the people come from."""
    card = caveats(found.env)
    uses = "".join(f"<p>{escaped(one)}</p>" for one in card.get(USES, ()))
    people = "".join(f"<p>{escaped(one)}</p>" for one in card.get(PEOPLE, ()))
    heading = f"{PEOPLE}, from the card of {found.env.name}"
    return uses + bullets(_LIMITS) + (fold(heading, people) if people else "")
