"""Printed simulations: sentences and tables."""

import itertools
import math
from collections.abc import Sequence

from fairgym.cli.common import plain
from fairgym.cli.output import LINES, WIDTH, fitting, folded, line, show
from fairgym.config.differences import small, words
from fairgym.core import Environment
from fairgym.results.caveats import caveats, in_short_of
from fairgym.results.changes import changes, changes_table, value_text
from fairgym.results.gap_tables import Columns, gap_table, null_table, worse_off
from fairgym.results.labels import capital, has_people, listed
from fairgym.results.numbers import difference_text, interval, number
from fairgym.results.quantities import FAILED, LENGTH
from fairgym.results.rows import Row, effects
from fairgym.results.table import Table
from fairgym.training.scenarios import Built, Simulation

HEADS = {
    "measure": "Measures",
    "count": "Sums over the episode (a person may count more than once)",
    "end": "At the end of the episode",
}
ARROWS = "↑ higher is better, ↓ lower is better"
MORE = "All measures and tables: --all."
MOST_EFFECTS = 3  # in the first sentence


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
    told = [_failed(simulation, simulation.base)]
    if len(others) == 1:
        told = conclusions(simulation, found, others[0])
    elif others:
        told = [*(conclusions(simulation, found, one)[0] for one in others), _failures(simulation)]
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
    show(Table(["", first, *names], [_cells(simulation.reference, row) for row in rows]), WIDTH)
    line(caption)
    return len(rows) + 4 + len(folded(caption))


def _print_everything(
    simulation: Simulation, found: Sequence[Row], first: Sequence[str], notes: Sequence[str]
) -> None:
    """Print conclusions, what was simulated, and all tables."""
    told = [text for one in simulation.others for text in conclusions(simulation, found, one)]
    for text in [*first, *(told or [_failed(simulation, simulation.base)])]:
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

    Effects are ordered by their size relative to the larger of the two means. Disparities are
    named only if no other measure differs, because gaps between groups have a table.

    Args:
        simulation: The measured scenarios.
        found: All effects.
        one: A scenario that is not the reference.
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
        texts.append(f"{small(row.quantity.title)}{unit}: {each or own}")
    unclear = [
        small(row.quantity.title)
        for row in whole
        if math.isfinite(row.differences[one.name].low) and row not in clear and not row.unchanged
    ]
    first = "; ".join(texts) if texts else "no measure clearly differs"
    sentences = [f"With “{one.name}”: {first}.", _failed(simulation, one)]
    if unclear:
        items = [unclear[0], *(f", {text}" for text in unclear[1:-1])]
        items += [f" and {text}" for text in unclear[1:][-1:]]
        sentences.append(f"{fitting('No clear difference in ', items)}.")
    return sentences


def _failed(simulation: Simulation, one: Built) -> str:
    """Return number of episodes in which a scenario and the reference fail."""
    failure = capital(simulation.base.env.spec.failure)
    count, before = (
        int(simulation.evaluations[name].terminated.sum())
        for name in (one.name, simulation.reference)
    )
    of = f"of {simulation.episodes:,} episodes"
    if one is simulation.base:
        return f"{failure} in {count} {of}."
    return f"{failure} in {count} {of} with “{one.name}” (reference: {before})."


def _failures(simulation: Simulation) -> str:
    """Return number of episodes in which each scenario fails."""
    failure = capital(simulation.base.env.spec.failure)
    counts = {name: int(one.terminated.sum()) for name, one in simulation.evaluations.items()}
    (name, first), *others = counts.items()
    told = [f"{failure} in {first} of {simulation.episodes:,} episodes with “{name}”"]
    return f"{listed([*told, *(f'in {count} with “{name}”' for name, count in others)])}."


def opening(simulation: Simulation) -> list[str]:
    """Describe what was simulated: size, length, episodes, reference, whether people differ."""
    base, env = simulation.base, simulation.base.env
    episodes = "1 episode" if simulation.episodes == 1 else f"{simulation.episodes:,} episodes"
    several = f" of each scenario with the {same_episodes(env)}" * bool(simulation.others)
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
            f"{names} {'begins' if len(others) == 1 else 'begin'} with other people than the"
            " reference, so part of each difference is a difference between people."
        )
    return sentences


def _lengths(simulation: Simulation) -> list[str]:
    """Mean lengths of the episodes, if any failed: sums cover no more."""
    evaluations = simulation.evaluations
    if not any(one.terminated.any() for one in evaluations.values()):
        return []
    unit = f" {simulation.base.env.spec.time_unit} on average"
    told = [
        f"{number(one.lengths.mean())}{'' if place else unit} with “{name}”"
        for place, (name, one) in enumerate(evaluations.items())
    ]
    return [f"Failures cut episodes short: {', '.join(told)}."]


def _changes_line(simulation: Simulation, one: Built) -> str:
    """Return the settings of a scenario that differ from the reference, on one or two lines."""
    found = changes(simulation, one)
    texts = (f"{x.what} {value_text(x.old)} → {value_text(x.new)} {x.unit}".rstrip() for x in found)
    parts = [f"; {text}" if place else text for place, text in enumerate(texts)] or ["none"]
    start = f"Changes of “{one.name}”: "
    whole = f"{start}{''.join(parts)}"
    return whole if len(folded(whole)) < 3 else fitting(start, parts)


def _print_effects(simulation: Simulation, found: Sequence[Row]) -> None:
    caption = ARROWS
    others = [one.name for one in simulation.others]
    if others:
        caption = (
            "paired difference from the reference [95% CI]; points are percentage points;"
            f" {caption}"
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
    first = "reference" if others else "mean [95% CI]"
    columns = [others] if len(others) < 2 else [[name] for name in others]
    for place, names in enumerate(columns if rows else (), 2):
        title = "Results" + (f" of “{names[0]}”" if len(columns) > 1 else "")
        cells = [
            row if len(row) == 1 else [*row[:2], *row[place : place + len(names)]] for row in rows
        ]
        show(Table(["", first, *names], cells, caption, title), WIDTH)
    if same:
        line(f"No difference at all: {', '.join(same)}.")
    show_undefined(told, simulation.episodes)


def same_episodes(env: Environment) -> str:
    """Describe what all policies share."""
    return "same people and random numbers" if has_people(env) else "same random numbers"


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


def _block(row: Row) -> tuple[str, str]:
    """Key of rows that belong together: a quantity of all people, then of each group."""
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
