"""The first numbers of a page about a what-if, and how it is made again."""

from collections.abc import Sequence

from fairgym.config.differences import small
from fairgym.core import Environment
from fairgym.report.what_if_measured import WhatIf
from fairgym.results.conclusions import failed_sentence, relative, told_rows
from fairgym.results.numbers import (
    NO_DIFFERENCE,
    Estimate,
    difference_text,
    number,
    number_in,
    people_unit,
)
from fairgym.results.rows import Row
from fairgym.training.baselines import default_baseline
from fairgym.training.building import Built, Scenario
from fairgym.training.scenarios import Simulation


def four_numbers(found: WhatIf, one: Built) -> list[tuple[str, str]]:
    """Return the numbers that stand first, with what they are.

    They are the difference in the first reward, in the measure that changes most, in the gap
    between groups that changes most, and the people who receive more and less, or the episodes that
    fail where this is not counted.

    Args:
        found: What the page shows.
        one: A scenario that is not the reference.
    """
    reference = found.simulation.reference
    rows = [row for row in told_rows(found.rows) if not row.quantity.group]
    kinds = {row.quantity.name: _kind(found.env, row.quantity.name) for row in rows}

    def largest(several: Sequence[Row]) -> Row | None:
        changed = [row for row in several if abs(row.differences[one.name].mean) > 0.0]
        changed.sort(key=lambda row: -relative(row, one.name, reference))
        changed.sort(key=lambda row: not row.differences[one.name].clear)
        return next(iter([*changed, *several]), None)

    first = next((row for row in rows if kinds[row.quantity.name] == "direct"), None)
    most = largest([row for row in rows if kinds[row.quantity.name] != "fair" and row is not first])
    gap = largest([row for row in rows if kinds[row.quantity.name] == "fair"])
    several = [_number(row, one.name, reference) for row in (first, most, gap) if row is not None]
    return [*several, _people(found, one)]


def _kind(env: Environment, name: str) -> str:
    """Return the kind of a metric; "" for a rate or scheme that is not one."""
    return env.metrics[name].kind if name in env.metrics else ""


def _number(row: Row, name: str, reference: str) -> tuple[str, str]:
    """Return a difference, and the two values that it compares."""
    quantity, change = row.quantity, row.differences[name]
    ours, theirs = (_value(row.means[side], quantity.unit) for side in (name, reference))
    about = f"{ours} with “{name}”, {theirs} with “{reference}”"
    text = difference_text(change, quantity.unit)
    size, _, ends = text.partition(" [")
    unit = people_unit(quantity.unit)[1] == 1.0 and quantity.unit
    size += f" {quantity.unit}" if unit and text != NO_DIFFERENCE else ""
    ends = f" [{ends}" if ends else ""
    return size, f"{small(quantity.title)}{ends}: {about}"


def _value(mean: Estimate, unit: str) -> str:
    return f"{number_in(mean.mean, unit)}{'%' if unit == 'share' else ''}"


def _people(found: WhatIf, one: Built) -> tuple[str, str]:
    """Return the people who receive more and less, or the episodes that fail."""
    cells = found.people.get(one.name, ())
    more, less = (
        sum(cell["mean"] for cell in cells if cell["measure"] == which)
        for which in ("more", "less")
    )
    if not (cells and found.benefit):
        failures = int(found.simulation.evaluations[one.name].terminated.sum())
        return f"{failures} of {found.simulation.episodes}", failed_sentence(found.simulation, one)
    everybody = sum(cell["reference_mean"] for cell in cells)
    return (
        f"{number(more)} people",
        f"of {number(everybody)} receive more with “{one.name}” than with"
        f" “{found.simulation.reference}”, and {number(less)} receive less; counted:"
        f" {found.benefit}",
    )


# ---------------------------------------------------------------- how it is made again


def python_of(simulation: Simulation) -> str:
    """Return about ten lines of Python that measure a simulation again."""
    source, several = simulation.source, [one.scenario for one in simulation.built]
    named = source if isinstance(source, str) else None
    imports = ["Scenario", "simulate"] if named else ["Scenario", "load", "simulate"]
    lines = ["from fairgym.results.rows import effects"]
    lines.append(f"from fairgym.training import {', '.join(imports)}")
    options = f"episodes={simulation.episodes}, seed={simulation.seed}"
    if simulation.reference != several[0].name:
        options += f", reference={simulation.reference!r}"
    if simulation.world is not None:
        lines.append("from fairgym.training.reforms import World")
        options += f", world={simulation.world!r}"
    arguments = dict(several[0].environment_args)
    same = bool(arguments) and all(dict(one.environment_args) == arguments for one in several)
    lines += ["", *([f"size = {arguments!r}"] if same else [])]
    lines.append("scenarios = [")
    usual = default_baseline(simulation.base.env) if named else ""
    lines += [
        f"    {_scenario(one, usual if one.baseline else '', 'size' if same else '')},"
        for one in several
    ]
    begin = repr(named) if named else f"load({str(getattr(source, 'folder', ''))!r})"
    lines += [
        "]",
        f"found = simulate({begin}, scenarios, {options})",
        "for row in effects(found):",
        "    print(row.name, row.differences)",
    ]
    return "\n".join(lines) + "\n"


def _scenario(one: Scenario, usual: str, size: str) -> str:
    """Return the call that makes a scenario; `usual` is the baseline by default."""
    given = [repr(one.name)]
    given += [
        f"{name}={value!r}"
        for name in ("fixed", "params")
        if (value := getattr(one, name)) not in ((), {})
    ]
    if one.environment_args:
        given.append(f"environment_args={size or repr(dict(one.environment_args))}")
    given += [f"baseline={one.baseline!r}"] if one.baseline != usual else []
    given += [f"reforms={one.reforms!r}"] if one.reforms else []
    return f"Scenario({', '.join(given)})"
