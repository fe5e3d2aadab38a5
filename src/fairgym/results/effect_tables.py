"""The table of all effects of a simulation."""

import itertools
from collections.abc import Sequence

from fairgym.config.differences import small
from fairgym.results.numbers import difference_text, interval, number
from fairgym.results.rows import Row
from fairgym.results.table import Table
from fairgym.training.scenarios import Simulation

HEADS = {
    "measure": "Measures",
    "count": "Sums over the episode (a person may count more than once)",
    "end": "At the end of the episode",
}
ARROWS = "↑ higher is better, ↓ lower is better"
PAIRED = "paired difference from the reference [95% CI]; points are percentage points"


def effects_table(
    simulation: Simulation, found: Sequence[Row]
) -> tuple[Table, list[Row], list[str]]:
    """Return all effects as a table, the rows in it, and the titles of what nobody changes.

    Args:
        simulation: The measured scenarios.
        found: Their effects.
    """
    others = [one.name for one in simulation.others]
    same, told, kind, lines = [], [], "", []
    for (head, _), several in itertools.groupby(found, key=_block):
        several = list(several)
        if all(row.unchanged for row in several):
            same.append(small(several[0].quantity.title))
            continue
        if head != kind:
            lines.append([HEADS[head]])
            kind = head
        told += several
        lines += [effect_cells(simulation.reference, row) for row in several]
    first = "reference" if others else "mean [95% CI]"
    caption = f"{PAIRED}; {ARROWS}" if others else ARROWS
    return Table(["", first, *others], lines, caption, "Results"), told, same


def effect_cells(reference: str, row: Row) -> list[str]:
    """Return label, reference, and the difference of each scenario."""
    unit, star = row.quantity.unit, "*" if row.undefined else ""
    base = row.means[reference]
    if not row.differences:
        return [row.label, f"{interval(base, unit)}{star}"]
    mean = number(base.mean * (100.0 if unit == "share" else 1.0))
    differences = (difference_text(one, unit) + star for one in row.differences.values())
    return [row.label, f"{mean}{star}", *differences]


def _block(row: Row) -> tuple[str, str]:
    """Key of rows that belong together: a quantity of all people, then of each group."""
    kind = row.quantity.kind
    return "measure" if kind == "rate" else kind, row.quantity.name
