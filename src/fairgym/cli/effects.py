"""Simulations on the screen, and for programs and spreadsheets: sentences, tables, JSON, CSV."""

import csv
import io
import itertools
import json
import math
import sys
from collections.abc import Sequence
from typing import Any

from fairgym.cli.common import plain
from fairgym.results.effects import Change, Effect, Quantity, changes, effects
from fairgym.results.estimates import Estimate
from fairgym.results.labels import has_people, magnitude, number, words
from fairgym.training.scenarios import Built, Simulation

HEADS = {
    "measure": "Measures",
    "count": "Counted over the episode",
    "end": "At the end of the episode",
}
NO_DIFFERENCE, NOT_CLEAR = "no difference", "no clear difference"
LEVEL = 0.95
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")  # first letters of what is calculated
COLUMNS = (
    "scenario reference kind name title group unit mean low high reference_mean difference"
    " difference_low difference_high clear undefined_episodes episodes"
).split()


def say(text: str) -> None:
    """Progress, on standard error."""
    print(plain(text), file=sys.stderr)


def print_simulation(simulation: Simulation) -> None:
    """Print who was simulated, what failed, what changes and what follows."""
    for sentence in opening(simulation):
        _line(sentence)
    found = effects(simulation)
    if simulation.others:
        _line("")
        _print_changes(simulation)
    _line("")
    _print_effects(simulation, found)


def opening(simulation: Simulation) -> list[str]:
    """The sentences above the tables: who, how long, the reference, failures, other people."""
    base, env = simulation.base, simulation.base.env
    episodes = "1 episode" if simulation.episodes == 1 else f"{simulation.episodes:,} episodes"
    same = "the same people and the same luck" if has_people(env) else "the same luck"
    several = f" of each scenario, with {same}" * bool(simulation.others)
    own = words(base.baseline) == base.name
    begins = "" if own else f" (from the baseline {words(base.baseline)})"
    reference = f"; reference: {base.name}{begins}" if simulation.others else f"; {base.name}"
    sentences = [
        f"{simulation.environment}: {env.spec.size_text}, up to {env.horizon:,}"
        f" {env.spec.time_unit}, {episodes}{several}{reference}.",
        *_failures(simulation),
    ]
    others = [one.name for one in simulation.others if not simulation.same_people(one.name)]
    if others:
        names = " and ".join(f"“{name}”" for name in others)
        sentences.append(
            f"The people at the start are not those of the reference with {names}: differences"
            " are also differences between people."
        )
    return sentences


def _failures(simulation: Simulation) -> list[str]:
    """Episodes that failed, and what they do to sums."""
    env, evaluations = simulation.base.env, simulation.evaluations
    failed = {name: int(e.terminated.sum()) for name, e in evaluations.items()}
    what = f"{env.spec.failure[:1].upper()}{env.spec.failure[1:]}"
    if not any(failed.values()):
        return [f"{what} in none of the episodes."]
    of, before = f"of {simulation.episodes:,} episodes", failed[simulation.reference]
    sentences = [
        f"{what} in {failed[one.name]} {of} with “{one.name}” (reference: {before})."
        for one in simulation.others
    ]
    steps = [f"{number(e.lengths.mean())} with “{name}”" for name, e in evaluations.items()]
    return [
        *(sentences or [f"{what} in {before} {of}."]),
        "A failure ends the episode: what is counted over it is then counted over fewer"
        f" {env.spec.time_unit} (on average {', '.join(steps)}).",
    ]


def _print_changes(simulation: Simulation) -> None:
    """Print the settings that differ from the reference, old and new."""
    table = _table(f"What changes (reference: {simulation.reference})")
    for head in ("scenario", "setting", "reference", "changed to", "unit"):
        table.add_column(head, overflow="fold")
    for one in simulation.others:
        found = changes(simulation, one) or [None]
        for position, change in enumerate(found):
            name = plain(one.name) if not position else ""
            cells = ["nothing", "", "", ""]
            if change is not None:
                cells = [change.what, _value(change.old), _value(change.new), change.unit]
            table.add_row(*_texts([name, *cells]))
    _show(table, 140)


def _print_effects(simulation: Simulation, found: Sequence[Effect]) -> None:
    caption = "↑ more is better, ↓ less is better"
    if simulation.others:
        caption = (
            "difference from the reference [95% interval of the paired difference]; points are"
            f" percentage points; {caption}"
        )
    table = _table("What follows", caption)
    table.add_column("", overflow="fold")
    table.add_column("reference" if simulation.others else "mean [95% interval]", justify="right")
    for one in simulation.others:
        table.add_column(_texts([one.name])[0], justify="right", overflow="fold")
    same, notes, kind = [], [], ""
    for (head, _), rows in itertools.groupby(found, key=_block):
        rows = list(rows)
        if all(row.unchanged for row in rows):
            same.append(rows[0].quantity.title)
            continue
        if head != kind:
            table.add_section()
            table.add_row(*_texts([HEADS[head]]), style="bold")
            kind = head
        for row in rows:
            table.add_row(*_texts(_cells(simulation, row)))
            if row.undefined:
                told = ", ".join(f"{name}: {count}" for name, count in row.undefined.items())
                notes.append(f"{_name(row.quantity)} ({told})")
    _show(table, 80 + 52 * len(simulation.others))
    if same:
        _line(f"No difference at all: {', '.join(same)}.")
    if notes:
        _line(f"* 0/0 in some of the {simulation.episodes} episodes, which are left out:")
        for note in notes:
            _line(f"  {note}")


def _block(effect: Effect) -> tuple[str, str]:
    """Rows that stand together: a quantity of everybody, then of each group."""
    kind = effect.quantity.kind
    return "measure" if kind == "rate" else kind, effect.quantity.name


def _name(quantity: Quantity) -> str:
    return f"{quantity.title}, {words(quantity.group)}" if quantity.group else quantity.title


def _cells(simulation: Simulation, effect: Effect) -> list[str]:
    """Label, reference, and the difference of each scenario."""
    quantity = effect.quantity
    base = effect.means[simulation.reference]
    star = "*" if effect.undefined else ""
    label = f"  {words(quantity.group)}"
    if not quantity.group:
        arrow = {1: " ↑", -1: " ↓", 0: ""}[quantity.better]
        unit = {"share": " (%)", "": "", "people": ""}.get(quantity.unit, f" ({quantity.unit})")
        label = f"{quantity.title}{unit}{arrow}"
    scale = 100.0 if quantity.unit == "share" else 1.0
    if not simulation.others:
        return [label, f"{with_interval(base, scale)}{star}"]
    cells = [label, f"{number(base.mean * scale)}{star}"]
    for one in simulation.others:
        difference = effect.differences[one.name]
        cells.append(difference_text(difference, quantity.unit) + star)
    return cells


def difference_text(difference: Estimate, unit: str) -> str:
    """A difference in words: "+1.20 million [+1.05, +1.36]", "−1.2 points [−1.5, −0.9]"."""
    if difference.mean == difference.low == difference.high == 0.0:
        return NO_DIFFERENCE
    if not math.isfinite(difference.mean):
        return number(difference.mean)
    share = unit == "share"
    text = with_interval(difference, 100.0 if share else 1.0, True, " points" if share else "")
    unclear = math.isfinite(difference.low) and not difference.clear
    return f"{text}, {NOT_CLEAR}" if unclear else text


def with_interval(
    interval: Estimate, scale: float = 1.0, signed: bool = False, behind: str = ""
) -> str:
    """A mean with its interval, in one scale.

    Args:
        interval: the mean and its limits.
        scale: factor of all numbers.
        signed: True to write a plus before what is above 0.
        behind: what stands right behind the mean.
    """
    mean, low, high = (scale * x for x in (interval.mean, interval.low, interval.high))
    known = [abs(value) for value in (mean, low, high) if math.isfinite(value)]
    size, name = magnitude(max(known, default=0.0))

    def text(value: float) -> str:
        return f"{'+' if signed and value > 0 else ''}{number(value / size)}"

    middle = f"{text(mean)}{f' {name}' if name else ''}{behind}"
    return f"{middle} [{text(low)}, {text(high)}]" if math.isfinite(low) else middle


def _value(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,.6g}"


def _texts(cells: Sequence[str]) -> list[Any]:
    from rich.text import Text

    return [Text(plain(cell)) for cell in cells]


def _table(title: str, caption: str = "") -> Any:
    from rich.table import Table
    from rich.text import Text

    return Table(
        title=Text(plain(title)),
        caption=caption or None,
        title_justify="left",
        caption_justify="left",
    )


def _show(table: Any, width: int) -> None:
    """Print a table; where it goes to a file, as wide as it takes."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=max(100, width))
    console.print(table)


def _line(text: str) -> None:
    print(plain(text))


# ---------------------------------------------------------------- for programs


def as_json(simulation: Simulation) -> str:
    """One entry per scenario, the reference first; values as they are, shares of 1."""
    found = effects(simulation)
    env = simulation.base.env
    entries = [
        {
            "scenario": one.name,
            "reference": None if one.name == simulation.reference else simulation.reference,
            "environment": simulation.environment,
            "size": env.spec.size_text,
            "horizon": one.env.horizon,
            "time_unit": env.spec.time_unit,
            "baseline": one.baseline,
            "episodes": simulation.episodes,
            "failed_episodes": int(simulation.evaluations[one.name].terminated.sum()),
            "same_people": simulation.same_people(one.name),
            "seed": simulation.seed,
            "level": LEVEL,
            "changes": [_plain_change(change) for change in changes(simulation, one)],
            "results": [_result(effect, one.name) for effect in found],
        }
        for one in _ordered(simulation)
    ]
    return json.dumps(entries, indent=2, allow_nan=False)


def as_csv(simulation: Simulation) -> str:
    """A line for each scenario and quantity; what is not known is empty.

    A text that a spreadsheet would take for a formula, such as the name "+30% beds", has an
    apostrophe in front, by which spreadsheets know texts.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for effect in effects(simulation):
        for one in _ordered(simulation):
            result = _result(effect, one.name)
            difference = result.pop("difference") or {}
            row = {
                **result,
                "scenario": one.name,
                "reference": simulation.reference,
                "reference_mean": _finite(effect.means[simulation.reference].mean),
                "difference": difference.get("mean"),
                "difference_low": difference.get("low"),
                "difference_high": difference.get("high"),
                "clear": "" if not difference else "yes" if difference["clear"] else "no",
                "episodes": simulation.episodes,
            }
            writer.writerow([_cell(row[column]) for column in COLUMNS])
    return stream.getvalue()


def _cell(value: object) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value


def _ordered(simulation: Simulation) -> tuple[Built, ...]:
    return simulation.base, *simulation.others


def _result(effect: Effect, name: str) -> dict[str, Any]:
    quantity, difference = effect.quantity, effect.differences.get(name)
    return {
        "kind": quantity.kind,
        "name": quantity.name,
        "title": quantity.title,
        "group": quantity.group,
        "unit": quantity.unit,
        **_limits(effect.means[name]),
        "undefined_episodes": effect.means[name].undefined,
        "difference": None
        if difference is None
        else {**_limits(difference), "clear": difference.clear},
    }


def _limits(interval: Estimate) -> dict[str, float | None]:
    return {key: _finite(getattr(interval, key)) for key in ("mean", "low", "high")}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain_change(change: Change) -> dict[str, Any]:
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in change._asdict().items()
    }
