"""Simulations on the screen: sentences and tables."""

import itertools
import math
from collections.abc import Sequence

from fairgym.cli.output import line, show
from fairgym.config.differences import small, words
from fairgym.core import Environment
from fairgym.results.changes import changes
from fairgym.results.gap_tables import Columns, gap_table, null_table
from fairgym.results.labels import capital, has_people, listed
from fairgym.results.numbers import difference_text, interval, number
from fairgym.results.quantities import FAILED, LENGTH
from fairgym.results.rows import Row, effects
from fairgym.results.table import Table
from fairgym.training.scenarios import Built, Simulation

HEADS = {
    "measure": "Measures",
    "count": "Counted over the episode",
    "end": "At the end of the episode",
}
ARROWS = "↑ more is better, ↓ less is better"
MOST_EFFECTS = 3  # that the first sentence tells
WIDTH = 100  # columns of a table


def print_simulation(simulation: Simulation, everything: bool = False) -> None:
    """Print what was found, who was simulated, what changes and what follows.

    Args:
        simulation: the scenarios, measured.
        everything: True for what is counted and where people end up, besides the measures.
    """
    found = effects(simulation)
    for one in simulation.others:
        for sentence in conclusions(simulation, found, one):
            line(sentence)
    if not simulation.others:
        line(_failed(simulation, simulation.base))
    line()
    for sentence in opening(simulation):
        line(sentence)
    if simulation.others:
        line()
        show(changes_table(simulation), WIDTH)
    line()
    shown = [row for row in found if everything or row.quantity.kind in ("measure", "rate")]
    _print_effects(simulation, shown)
    columns = {name: [one] for name, one in simulation.evaluations.items()}
    show_gaps(simulation.base.env, columns, WIDTH)
    if len(shown) < len(found):
        line("Counts over the episode and its end: --all.")


def conclusions(simulation: Simulation, found: Sequence[Row], one: Built) -> list[str]:
    """What a scenario does: its largest effects, by group; what fails; what is unclear.

    Effects are ordered by their size relative to the larger of the two means. Disparities are left
    out where something else differs: the gaps between groups have a table of their own.

    Args:
        simulation: the scenarios, measured.
        found: their effects.
        one: one of the scenarios that are not the reference.
    """
    told = [
        row
        for row in found
        if row.quantity.kind in ("measure", "rate") and row.quantity.name not in (FAILED, LENGTH)
    ]
    metrics = simulation.base.env.metrics
    fair = {name for name, metric in metrics.items() if metric.kind == "fair"}
    whole = [row for row in told if not row.quantity.group]
    clear = [row for row in whole if row.differences[one.name].clear]
    effects_on_people = [row for row in clear if row.quantity.name not in fair]

    def relative(row: Row) -> float:
        means = (row.means[name].mean for name in (one.name, simulation.reference))
        return abs(row.differences[one.name].mean) / max(map(abs, means))

    texts = []
    for row in sorted(effects_on_people or clear, key=relative, reverse=True)[:MOST_EFFECTS]:
        parts = [
            x
            for x in told
            if x.quantity.group
            and x.quantity.name == row.quantity.name
            and x.differences[one.name].mean != 0.0
        ]
        each = ", ".join(
            f"{words(x.quantity.group)} {difference_text(x.differences[one.name], x.quantity.unit)}"
            for x in parts
        )
        own = difference_text(row.differences[one.name], row.quantity.unit)
        unit = "" if row.quantity.unit in ("", "share") else f" ({row.quantity.unit})"
        texts.append(f"{small(row.quantity.title)}{unit} {each or own}")
    unclear = [
        small(row.quantity.title)
        for row in whole
        if math.isfinite(row.differences[one.name].low) and row not in clear and not row.unchanged
    ]
    first = "; ".join(texts) if texts else "no measure clearly differs"
    sentences = [f"With “{one.name}”: {first}.", _failed(simulation, one)]
    return [*sentences, *([f"No clear difference in {listed(unclear)}."] if unclear else [])]


def _failed(simulation: Simulation, one: Built) -> str:
    """In how many episodes a scenario fails, and the reference."""
    failure = capital(simulation.base.env.spec.failure)
    count, before = (
        int(simulation.evaluations[name].terminated.sum())
        for name in (one.name, simulation.reference)
    )
    of = f"of {simulation.episodes:,} episodes"
    if one is simulation.base:
        return f"{failure} in {count} {of}."
    return f"{failure} in {count} {of} with “{one.name}” (reference: {before})."


def opening(simulation: Simulation) -> list[str]:
    """The sentences above the tables: who, how long, the reference, other people."""
    base, env = simulation.base, simulation.base.env
    episodes = "1 episode" if simulation.episodes == 1 else f"{simulation.episodes:,} episodes"
    several = f" of each scenario, with {same_luck(env)}" * bool(simulation.others)
    own = words(base.baseline) == base.name
    begins = "" if own else f" (from the baseline {words(base.baseline)})"
    reference = f"; reference: {base.name}{begins}" if simulation.others else f"; {base.name}"
    sentences = [
        f"{simulation.environment}: {env.spec.size_text}, up to {env.horizon:,}"
        f" {env.spec.time_unit}, {episodes}{several}{reference}.",
        *_lengths(simulation),
    ]
    others = [one.name for one in simulation.others if not simulation.same_people(one.name)]
    if others:
        names = " and ".join(f"“{name}”" for name in others)
        sentences.append(
            f"The people at the start are not those of the reference with {names}: differences"
            " are also differences between people."
        )
    return sentences


def _lengths(simulation: Simulation) -> list[str]:
    """What failures do to sums."""
    evaluations = simulation.evaluations
    if not any(one.terminated.any() for one in evaluations.values()):
        return []
    steps = [f"{number(e.lengths.mean())} with “{name}”" for name, e in evaluations.items()]
    return [
        "A failure ends the episode: what is counted over it is then counted over fewer"
        f" {simulation.base.env.spec.time_unit} (on average {', '.join(steps)})."
    ]


def changes_table(simulation: Simulation) -> Table:
    """The settings that differ from the reference, old and new."""
    rows = []
    for one in simulation.others:
        found = changes(simulation, one)
        cells = [[x.what, _value(x.old), _value(x.new), x.unit] for x in found]
        for position, row in enumerate(cells or [["nothing", "", "", ""]]):
            rows.append(["" if position else one.name, *row])
    head = ["scenario", "setting", "reference", "changed to", "unit"]
    return Table(head, rows, title=f"What changes (reference: {simulation.reference})", words=True)


def _value(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:,.6g}"


def _print_effects(simulation: Simulation, found: Sequence[Row]) -> None:
    caption = ARROWS
    others = [one.name for one in simulation.others]
    if others:
        caption = (
            "difference from the reference [95% interval of the paired difference]; points are"
            f" percentage points; {caption}"
        )
    same, told, kind, rows = [], [], "", []
    for (head, _), several in itertools.groupby(found, key=_block):
        several = list(several)
        if all(row.unchanged for row in several):
            same.append(several[0].quantity.title)
            continue
        if head != kind:
            rows.append([HEADS[head]])
            kind = head
        told += several
        rows += [_cells(simulation.reference, row) for row in several]
    first = "reference" if others else "mean [95% interval]"
    columns = [others] if len(others) < 2 else [[name] for name in others]
    for place, names in enumerate(columns if rows else (), 2):
        title = "What follows" + (f" with “{names[0]}”" if len(columns) > 1 else "")
        cells = [
            row if len(row) == 1 else [*row[:2], *row[place : place + len(names)]] for row in rows
        ]
        show(Table(["", first, *names], cells, caption, title), WIDTH)
    if same:
        line(f"No difference at all: {', '.join(same)}.")
    show_undefined(told, simulation.episodes)


def same_luck(env: Environment) -> str:
    """What all policies share, in words."""
    return "the same people and the same luck" if has_people(env) else "the same luck"


def show_undefined(rows: Sequence[Row], episodes: int) -> None:
    """Print in how many episodes a quantity is 0/0, of those that are so in some."""
    undefined = [row for row in rows if row.undefined]
    if undefined:
        line(f"* 0/0 in some of the {episodes} episodes, which are left out:")
    for row in undefined:
        told = ", ".join(f"{name}: {count}" for name, count in row.undefined.items())
        line(f"  {row.name} ({told})")


def show_gaps(env: Environment, columns: Columns, most: int | None = None) -> None:
    """Print who is worse off, and disparities beside permuted groups where there are any."""
    for table in (gap_table(env, columns), null_table(env, columns)):
        if table.rows:
            show(table, most)


def _block(row: Row) -> tuple[str, str]:
    """Rows that stand together: a quantity of everybody, then of each group."""
    kind = row.quantity.kind
    return "measure" if kind == "rate" else kind, row.quantity.name


def _cells(reference: str, row: Row) -> list[str]:
    """Label, reference, and the difference of each scenario."""
    unit, star = row.quantity.unit, "*" if row.undefined else ""
    base = row.means[reference]
    if not row.differences:
        return [row.label, f"{interval(base, unit)}{star}"]
    mean = number(base.mean * (100.0 if unit == "share" else 1.0))
    differences = (difference_text(one, unit) + star for one in row.differences.values())
    return [row.label, f"{mean}{star}", *differences]
