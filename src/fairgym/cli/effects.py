"""Printed simulations: sentences and tables."""

from collections.abc import Sequence

from fairgym.cli.common import plain
from fairgym.cli.output import LINES, WIDTH, fitting, folded, line, show
from fairgym.core import Environment
from fairgym.results.caveats import caveats, in_short_of
from fairgym.results.changes import changes, changes_table, value_text
from fairgym.results.conclusions import (
    effects_sentence,
    failed_sentence,
    failures_sentence,
    opening,
    unclear_measures,
)
from fairgym.results.effect_tables import ARROWS, effect_cells, effects_table
from fairgym.results.gap_tables import Columns, gap_table, null_table, worse_off
from fairgym.results.quantities import FAILED, LENGTH
from fairgym.results.rows import Row, effects
from fairgym.results.table import Table
from fairgym.training.scenarios import Built, Simulation

MORE = "All measures and tables: --all."


def print_simulation(
    simulation: Simulation,
    everything: bool = False,
    first: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> None:
    """Print what each scenario changes, for whom, and what was simulated.

    Args:
        simulation: The measured scenarios.
        everything: Whether to print all tables, instead of about 25 lines.
        first: Sentences before all others.
        notes: Sentences about what was simulated.
    """
    found = effects(simulation)
    (_print_everything if everything else _print_short)(simulation, found, first, notes)


def _print_short(
    simulation: Simulation, found: Sequence[Row], first: Sequence[str], notes: Sequence[str]
) -> None:
    """Print conclusions, what was simulated, clear differences and gaps.

    These take at most 25 lines, in addition to the first sentences and the notes.
    """
    others, evaluations = simulation.others, simulation.evaluations
    behind = [
        fitting(f"Worse off with “{name}”: ", parts)
        for name, one in evaluations.items()
        if (parts := worse_off(simulation.base.env, [one]))
    ]
    changed = (_changes_line(simulation, one) for one in others)
    setting = [*opening(simulation), *changed]
    foot = _caveat(simulation)
    told = [failed_sentence(simulation, simulation.base)]
    if len(others) == 1:
        told = conclusions(simulation, found, others[0])
    elif others:
        told = [
            *(conclusions(simulation, found, one)[0] for one in others),
            failures_sentence(simulation),
        ]
    taken = sum(len(folded(text)) for text in (*told, *setting, *foot))
    told, setting = [*first, *told], [*setting, *notes]
    room = LINES - 2 - taken  # a blank line, and the last line
    for text in told:
        line(text)
    line()
    for text in setting:
        line(text)
    room -= _print_clear(simulation, found, room - min(len(behind), 4)) if len(others) < 2 else 0
    for text in behind[: max(room, 0)]:
        print(plain(text))
    show_nulls(simulation.base.env, {name: [one] for name, one in evaluations.items()})
    for text in foot:
        line(text)
    line(MORE)


def _print_clear(simulation: Simulation, found: Sequence[Row], room: int) -> int:
    """Print the measures of all people that clearly differ; return the number of lines.

    Without another scenario: all measures of all people.
    """
    names = [one.name for one in simulation.others]
    rows = [
        row
        for row in found
        if row.quantity.kind in ("measure", "rate")
        and not row.quantity.group
        and row.quantity.name not in (FAILED, LENGTH)
        and all(one.clear for one in row.differences.values())
    ]
    first = "reference" if names else "mean [95% CI]"
    caption = f"paired difference [95% CI]; {ARROWS}" if names else ARROWS
    if any(row.undefined for row in rows):
        caption += "; * without episodes in which it is 0/0"
    if room < 7 or not rows:
        return 0
    if len(rows) > room - 5:
        caption = f"{room - 5} of {len(rows)} measures; {caption}"
        rows = rows[: room - 5]
    show(
        Table(["", first, *names], [effect_cells(simulation.reference, row) for row in rows]), WIDTH
    )
    line(caption)
    return len(rows) + 4 + len(folded(caption))


def _print_everything(
    simulation: Simulation, found: Sequence[Row], first: Sequence[str], notes: Sequence[str]
) -> None:
    """Print conclusions, what was simulated, and all tables."""
    told = [text for one in simulation.others for text in conclusions(simulation, found, one)]
    for text in [*first, *(told or [failed_sentence(simulation, simulation.base)])]:
        line(text)
    line()
    for text in [*opening(simulation), *notes]:
        line(text)
    if simulation.others:
        line()
        show(changes_table(simulation), WIDTH)
    line()
    _print_effects(simulation, found)
    columns = {name: [one] for name, one in simulation.evaluations.items()}
    show_gaps(simulation.base.env, columns)
    for text in _caveat(simulation):
        line(text)


def _caveat(simulation: Simulation) -> list[str]:
    """Quote what the environment's card says that it must not be used for."""
    text = in_short_of(caveats(simulation.base.env))
    return [f"The card of {simulation.environment} says: “{text}”"] if text else []


def conclusions(simulation: Simulation, found: Sequence[Row], one: Built) -> list[str]:
    """Conclusions about a scenario: its largest effects by group, failures, what is unclear.

    Args:
        simulation: The measured scenarios.
        found: All effects.
        one: A scenario that is not the reference.
    """
    sentences = [effects_sentence(simulation, found, one), failed_sentence(simulation, one)]
    unclear = unclear_measures(found, one)
    if unclear:
        items = [unclear[0], *(f", {text}" for text in unclear[1:-1])]
        items += [f" and {text}" for text in unclear[1:][-1:]]
        sentences.append(f"{fitting('No clear difference in ', items)}.")
    return sentences


def _changes_line(simulation: Simulation, one: Built) -> str:
    """Return the settings of a scenario that differ from the reference, on one or two lines."""
    found = changes(simulation, one)
    texts = (f"{x.what} {value_text(x.old)} → {value_text(x.new)} {x.unit}".rstrip() for x in found)
    parts = [f"; {text}" if place else text for place, text in enumerate(texts)] or ["none"]
    start = f"Changes of “{one.name}”: "
    whole = f"{start}{''.join(parts)}"
    return whole if len(folded(whole)) < 3 else fitting(start, parts)


def _print_effects(simulation: Simulation, found: Sequence[Row]) -> None:
    table, told, same = effects_table(simulation, found)
    others = table.head[2:]
    columns = [others] if len(others) < 2 else [[name] for name in others]
    for place, names in enumerate(columns if table.rows else (), 2):
        title = table.title + (f" of “{names[0]}”" if len(columns) > 1 else "")
        cells = [
            row if len(row) == 1 else [*row[:2], *row[place : place + len(names)]]
            for row in table.rows
        ]
        show(Table([*table.head[:2], *names], cells, table.caption, title), WIDTH)
    if same:
        line(f"No difference at all: {'; '.join(same)}.")
    show_undefined(told, simulation.episodes)


def show_undefined(rows: Sequence[Row], episodes: int) -> None:
    """Print the number of episodes in which quantities are 0/0, for those where there are any."""
    undefined = [row for row in rows if row.undefined]
    if undefined:
        line(f"* 0/0 in some of the {episodes} episodes, which are dropped:")
    for row in undefined:
        counts = ", ".join(f"{name}: {count}" for name, count in row.undefined.items())
        line(f"  {row.name} ({counts})")


def show_gaps(env: Environment, columns: Columns) -> None:
    """Print who is worse off, and disparities beside their null distributions if there are any."""
    table = gap_table(env, columns)
    if table.rows:
        show(table, WIDTH)
    show_nulls(env, columns)


def show_nulls(env: Environment, columns: Columns) -> None:
    """Print disparities beside their null distributions, if groups were permuted."""
    table = null_table(env, columns)
    if table.rows:
        show(table, WIDTH)
