"""Printed what-ifs: rival worlds, sensitivity, parts of a gap, and ready-made reforms."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from fairgym.cli.output import WIDTH, Output, line, show
from fairgym.cli.parsing import flag, parse
from fairgym.config.differences import small, words
from fairgym.core import Environment
from fairgym.results.labels import listed, those
from fairgym.results.numbers import NO_DIFFERENCE, Estimate, difference_text, number
from fairgym.results.rows import Row
from fairgym.results.table import Table
from fairgym.results.what_if import (
    Swing,
    gap_parts,
    of_everybody,
    ordered,
    part_title,
    rivals,
    swings,
)
from fairgym.training.decomposition import Decomposition
from fairgym.training.reforms import Declared, declared_by
from fairgym.training.scenarios import Simulation
from fairgym.training.sensitivity import CHANCE, Sensitivity
from fairgym.utils import make
from fairgym.utils.registry import environments

MOST, MOST_TURNED = 3, 2  # measures with a table, and overturned effects, without --all


def overturned(simulation: Simulation, found: Sequence[Row], everything: bool) -> list[str]:
    """Return what rival worlds turn around: a sentence per scenario and world.

    Args:
        simulation: A simulation with rival worlds.
        found: Its effects.
        everything: Whether to name all effects, instead of the first two.
    """
    several: dict[tuple[str, str], list[str]] = {}
    for one in rivals(simulation, found):
        if one.overturned and not one.quantity.group:
            several.setdefault((one.scenario, one.about), []).append(one.text)
    sentences = []
    for (scenario, about), texts in several.items():
        shown = texts if everything else texts[:MOST_TURNED]
        more = f", and {len(texts) - len(shown)} more" if len(texts) > len(shown) else ""
        sentences.append(
            f"If {about}, “{scenario}” has the opposite effect: {'; '.join(shown)}{more}."
        )
    return sentences


def rival_note(simulation: Simulation, found: Sequence[Row]) -> list[str]:
    """Return the world of the scenarios, and which rival worlds they were run in."""
    if simulation.world is not None:
        return [f"In the world {simulation.world.name}: {simulation.world.about}."]
    if not simulation.worlds:
        return []
    names = listed(words(name) for name in simulation.worlds)
    turned = sum(one.overturned and not one.quantity.group for one in rivals(simulation, found))
    told = f"{turned} clear effects change their sign" if turned else "no clear effect changes sign"
    if turned == 1:
        told = "1 clear effect changes its sign"
    several = "worlds" if len(simulation.worlds) > 1 else "world"
    return [f"In the rival {several} {names}: {told} (--no-worlds leaves them out)."]


# ---------------------------------------------------------------- sensitivity


def print_sensitivity(
    env: Environment, found: Sensitivity, rows: Sequence[Row], everything: bool
) -> None:
    """Print how much of the variance of each difference every uncertain parameter explains.

    Args:
        env: The environment.
        found: The sensitivity of one scenario.
        rows: Effects of the simulation; measures that clearly differ come first.
        everything: Whether to print all measures.
    """
    names = {quantity.name for quantity in of_everybody(env)}
    clear = [
        row.quantity.name
        for row in rows
        if row.quantity.name in names
        and not row.quantity.group
        and row.quantity.kind in ("measure", "rate")
        and row.differences[found.name].clear
    ]
    several = ordered(swings(env, found), clear)
    if not several:
        line(f"No measure differs between “{found.name}” and “{found.reference}” in any point.")
    shown = several if everything else several[:MOST]
    for place, swing in enumerate(shown):
        show(_sensitivity_table(found, swing, place == len(shown) - 1), WIDTH)
    left = len(several) - len(shown)
    if left:
        line(f"{left} more measures: --all, --csv or --json.")


def _sensitivity_table(found: Sensitivity, several: Sequence[Swing], last: bool) -> Table:
    """Return a row per uncertain parameter, the largest total share first."""
    quantity = several[0].quantity
    rows = [
        [
            words(one.share.factor) if one.share.factor != CHANCE else "people and chance",
            _range(one),
            *(_share(one, which) for which in ("main", "total")),
            *_ends(one),
        ]
        for one in sorted(several, key=lambda one: -one.share.total)
    ]
    caption = (
        "alone: share of the variance of the difference that the parameter explains alone; with"
        " others: with all its interactions [95% CI]. The last columns vary one parameter at a"
        f" time: the difference at both ends of its range, {found.episodes} episodes each, and"
        " where it changes its sign"
    )
    unit = "" if quantity.unit in ("", "share") else f" ({quantity.unit})"
    return Table(
        ["", "range", "alone (%)", "with others (%)", "at the low end", "at the high end", "0 at"],
        rows,
        caption if last else "",
        f"What decides the effect of “{found.name}” on {small(quantity.title)}{unit}?",
    )


def _range(one: Swing) -> str:
    if one.course is None:
        return ""
    return f"{number(one.course.values[0])} to {number(one.course.values[-1])}"


def _share(one: Swing, which: str) -> str:
    ends = [getattr(one.share, f"{which}{end}") for end in ("", "_low", "_high")]
    mean, low, high = (f"{100.0 * max(0.0, min(1.0, x)):.0f}" for x in ends)
    return f"{mean} [{low}, {high}]"


def _ends(one: Swing) -> list[str]:
    if one.course is None:
        return ["", "", ""]
    course, unit = one.course, one.quantity.unit
    ends = [
        difference_text(Estimate(course.means[i], float("nan"), float("nan")), unit)
        for i in (0, -1)
    ]
    return [*ends, ", ".join(map(number, course.flips)) or "nowhere"]


# ---------------------------------------------------------------- parts of a gap


def print_decomposition(env: Environment, found: Decomposition) -> None:
    """Print a gap between two groups, and its parts, which sum to it."""
    title, unit, parts = gap_parts(env, found)
    first, second = map(those, found.groups)
    rows = [
        [_part(name), difference_text(one, unit).replace(NO_DIFFERENCE, "0")] for name, one in parts
    ]
    caption = (
        f"{small(title)} of {first} minus that of {second}, mean over {found.episodes} episodes"
        " [95% CI]; the parts sum to the gap. Paired episodes: decisions as they are or blind to"
        " the group, and starting attributes kept or exchanged between the two groups"
    )
    name = f"The gap in {small(title)} with “{found.scenario}”"
    show(Table(["due to", "gap"], rows, caption, name), WIDTH)


def _part(name: str) -> str:
    if " x " in name:
        return f"interaction: {name.replace(' x ', ' × ')}"
    return part_title(name)


# ---------------------------------------------------------------- ready-made reforms


@dataclasses.dataclass(frozen=True)
class ListFlags(Output):
    """List ready-made reforms, rival worlds and uncertain parameters of environments."""

    list: bool = flag(False, "List them; those of all environments if none is named.")


def list_declared(arguments: Sequence[str]) -> None:
    """Print what an environment, or every environment, declares for what-if questions."""
    words = list(arguments)
    name = words.pop(0) if not words[0].startswith("-") else None
    flags = parse(ListFlags, words, "fairgym simulate --list")
    names = environments.names() if name is None else [name]
    records = declared_records({one: declared_by(make(one)) for one in names})
    if flags.give("simulate --list", lambda: {"results": records}):
        print_declared(records, names)


def declared_records(declared: Mapping[str, Declared]) -> list[dict[str, Any]]:
    """Return ready-made reforms, rival worlds and uncertain parameters as records.

    Args:
        declared: Name of an environment -> what it declares.
    """
    found: list[dict[str, Any]] = []
    for environment, one in declared.items():
        for reform in one.reforms.values():
            changes = {**reform.fixed, **reform.params}
            found.append(_record(environment, "reform", reform.name, reform.title, changes))
        for world in one.worlds.values():
            found.append(_record(environment, "world", world.name, world.about, world.params))
        for factor in one.uncertain:
            ends = f"{factor.low} to {factor.high}"
            found.append(
                {"environment": environment, "kind": "uncertain", "name": factor.name}
                | {"about": "", "changes": ends}
            )
    return found


def _record(
    environment: str, kind: str, name: str, about: str, changes: Mapping[str, object]
) -> dict[str, Any]:
    told = ", ".join(f"{key}={value}" for key, value in changes.items())
    return {"environment": environment, "kind": kind, "name": name, "about": about, "changes": told}


def print_declared(records: Sequence[Mapping[str, Any]], environments: Sequence[str]) -> None:
    """Print ready-made reforms, rival worlds and uncertain parameters of environments."""
    heads = {
        "reform": "Reforms (--reform NAME)",
        "world": "Rival worlds (--world NAME)",
        "uncertain": "Uncertain parameters (--sensitivity)",
    }
    for environment in environments:
        own = [one for one in records if one["environment"] == environment]
        rows: list[list[str]] = []
        for kind, head in heads.items():
            several = [one for one in own if one["kind"] == kind]
            rows += [[head]] if several else []
            rows += [[one["name"], one["about"], one["changes"]] for one in several]
        if rows:
            show(Table(["", "what it is", "what it sets"], rows, title=environment, words=True))
        else:
            line(f"{environment} declares no reforms, worlds or uncertain parameters.")
