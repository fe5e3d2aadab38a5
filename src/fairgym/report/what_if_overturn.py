"""What could overturn a what-if, as a section of its page."""

from collections.abc import Callable, Sequence

import numpy as np

from fairgym.config.differences import words
from fairgym.report.one_file import csv_line, figure, sortable
from fairgym.report.svg import Captioned, attribute
from fairgym.report.template import bullets, escaped, estimate_cell, fold, noted, table
from fairgym.report.what_if_figures import (
    MOST_MEASURES,
    parts_figure,
    ranges_figure,
    worlds_figure,
)
from fairgym.report.what_if_measured import WhatIf
from fairgym.results.conclusions import worlds_sentence
from fairgym.results.labels import capital
from fairgym.results.quantities import FAILED, LENGTH
from fairgym.results.what_if import (
    Record,
    clear_measures,
    gap_parts,
    ordered,
    part_title,
    rivals,
    swings,
)
from fairgym.results.what_if_tables import (
    by_share,
    decomposition_table,
    grid_table,
    sensitivity_table,
    worlds_table,
)
from fairgym.training.building import Built

MOST_SWINGS = 3  # measures whose sensitivity is shown

Section = Callable[[WhatIf, Built, str, Sequence[Record]], str]


def overturn_section(found: WhatIf, results: Sequence[Record]) -> str:
    """Return rival worlds, sensitivities, the grid of sizes, and parts of gaps."""
    sentences = [worlds_sentence(found.simulation, found.rows)]
    if not found.sensitivities:
        sentences.append(
            "Add --sensitivity to the command to vary all uncertain parameters together."
        )
    parts = [bullets([one for one in sentences if one]), of_each(found, _worlds, results)]
    for place, _ in enumerate(found.sensitivities):
        parts.append(_swings(found, place, results))
    parts.append(of_each(found, _grid, results))
    for place, _ in enumerate(found.decompositions):
        parts.append(_parts(found, place, results))
    return "\n".join(parts)


def of_each(found: WhatIf, section: Section, results: Sequence[Record]) -> str:
    """Return a section of every scenario."""
    several = len(found.simulation.others) > 1
    parts = []
    for place, one in enumerate(found.simulation.others):
        own = [row for row in results if row.get("policy") == one.name]
        text = section(found, one, f"{place}", own)
        parts += [f"<h3>{escaped(one.name)}</h3>"] * (several and bool(text)) + [text]
    return "\n".join(parts)


def _worlds(found: WhatIf, one: Built, place: str, own: Sequence[Record]) -> str:
    """Return the differences in rival worlds."""
    several = [
        rival
        for rival in rivals(found.simulation, found.rows)
        if rival.scenario == one.name and not rival.quantity.group
    ]
    several = [rival for rival in several if rival.here.mean or rival.there.mean]
    if not several:
        return ""
    turned = list(dict.fromkeys(x.quantity.name for x in several if x.overturned))
    clear = list(dict.fromkeys(x.quantity.name for x in several if x.here.clear))
    drawn = [name for name in dict.fromkeys([*turned, *clear]) if name not in (FAILED, LENGTH)]
    drawn = drawn[:MOST_MEASURES]
    known = {rival.quantity.name for rival in several}
    whole = [
        rival
        for rival in rivals(found.simulation, found.rows)
        if rival.scenario == one.name and not rival.quantity.group and rival.quantity.name in known
    ]
    about = {rival.world: rival.about for rival in whole}
    text = bullets([f"{words(name)}: {told}." for name, told in about.items()])
    if drawn:
        shown = [rival for name in drawn for rival in whole if rival.quantity.name == name]
        heading = "The difference in rival worlds"
        caption = (
            "A point is a mean paired difference, and the line its 95% interval. Parameters of a"
            " rival world are as defensible as the assumed ones."
        )
        text += figure(f"worlds-{place}", Captioned(worlds_figure(shown), heading, caption))
    table = worlds_table(whole)
    rows = [row for row in own if row["kind"] == "world"]
    return "\n".join(
        [
            text,
            noted(f"{capital(table.caption)}."),
            sortable(table),
            csv_line(f"worlds-{place}", rows),
        ]
    )


def _swings(found: WhatIf, place: int, results: Sequence[Record]) -> str:
    """Return what decides the differences of a scenario."""
    one = found.sensitivities[place]
    clear = clear_measures(found.env, found.rows, one.name)
    parts = []
    for number, several in enumerate(ordered(swings(found.env, one), clear)[:MOST_SWINGS]):
        table = sensitivity_table(one, several)
        caption = "One parameter varies at a time; the others have their assumed values."
        drawn = Captioned(ranges_figure(by_share(several)), table.title, caption)
        parts += [
            figure(f"sensitivity-{place}-{number}", drawn),
            noted(f"{capital(table.caption)}."),
            sortable(table),
        ]
    kinds = ("sensitivity", "range")
    rows = [row for row in results if row["kind"] in kinds and row["policy"] == one.name]
    if not parts:
        return noted(f"No measure differs between “{one.name}” and “{one.reference}”.")
    return "\n".join([*parts, csv_line(f"sensitivity-{place}", rows)])


def _grid(found: WhatIf, one: Built, place: str, own: Sequence[Record]) -> str:
    """Return the differences for parts of a scenario at values of an uncertain parameter."""
    records = found.grids.get(one.name, [])
    if not records:
        return ""
    shown = grid_table(records)
    info = found.env.default_params.info()[records[0]["factor"]]
    about = f"Columns are values of the {shown.title}: {info.description} {capital(shown.caption)}."
    rows = [[estimate_cell(cell) for cell in row] for row in shown.rows]
    cells = table([escaped(name) for name in shown.head], rows, "results")
    whole = fold("All cells of the grid", noted(about) + cells)
    return (
        f"<h3>A smaller reform, or another {escaped(shown.title)}</h3>"
        f'<div class="cells" data-size="{attribute(f"share of “{one.name}”")}"'
        f' data-value="{attribute(shown.title)}" data-start="{_assumed(found, one, records)}">'
        f"{whole}</div>" + csv_line(f"grid-{place}", records)
    )


def _assumed(found: WhatIf, one: Built, records: Sequence[Record]) -> int:
    """Return the place of the value of a grid that is nearest to the assumed one."""
    values = np.array(list(dict.fromkeys(row["factor_value"] for row in records)))
    assumed = np.mean(np.asarray(getattr(one.params, records[0]["factor"]), np.float64))
    return int(np.argmin(np.abs(values - assumed)))


def _parts(found: WhatIf, place: int, results: Sequence[Record]) -> str:
    """Return a gap and its parts."""
    one = found.decompositions[place]
    table = decomposition_table(found.env, one)
    title, unit, parts = gap_parts(found.env, one)
    named = [(part_title(name), part) for name, part in parts]
    drawn = Captioned(parts_figure(title, unit, named), table.title, "The parts sum to the gap.")
    rows = [
        row for row in results if row["kind"] == "decomposition" and row["policy"] == one.scenario
    ]
    return "\n".join(
        [
            figure(f"parts-{place}", drawn),
            noted(f"{capital(table.caption)}."),
            sortable(table),
            csv_line(f"parts-{place}", rows),
        ]
    )
