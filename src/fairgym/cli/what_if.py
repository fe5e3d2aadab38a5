"""Printed what-ifs: sensitivity, parts of a gap, and ready-made reforms."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from fairgym.cli.output import WIDTH, Output, line, show
from fairgym.cli.parsing import flag, parse
from fairgym.core import Environment
from fairgym.results.rows import Row
from fairgym.results.table import Table
from fairgym.results.what_if import clear_measures, ordered, swings
from fairgym.results.what_if_tables import decomposition_table, sensitivity_table
from fairgym.training.decomposition import Decomposition
from fairgym.training.reforms import Declared, declared_by
from fairgym.training.sensitivity import Sensitivity
from fairgym.utils import make
from fairgym.utils.registry import environments

MOST = 3  # measures with a table, without --all


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
    several = ordered(swings(env, found), clear_measures(env, rows, found.name))
    if not several:
        line(f"No measure differs between “{found.name}” and “{found.reference}” in any point.")
    shown = several if everything else several[:MOST]
    for place, swing in enumerate(shown):
        show(sensitivity_table(found, swing, place == len(shown) - 1), WIDTH)
    left = len(several) - len(shown)
    if left:
        line(f"{left} more measures: --all, --csv or --json.")


def print_decomposition(env: Environment, found: Decomposition) -> None:
    """Print a gap between two groups, and its parts, which sum to it."""
    show(decomposition_table(env, found), WIDTH)


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
