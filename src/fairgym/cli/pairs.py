"""Flags of `fairgym train` that may be given several times, as NAME=VALUE."""

import argparse
import dataclasses
from collections.abc import Mapping
from typing import Any

from fairgym.cli.parsing import flag
from fairgym.config.plain import parse_objective
from fairgym.config.run_config import RunConfig, check_fields
from fairgym.config.settings import fields_of
from fairgym.config.text import read_pairs
from fairgym.core import ActionSpace, Environment
from fairgym.policies import with_fixed
from fairgym.utils import make
from fairgym.utils.changes import read_number, slug


@dataclasses.dataclass(frozen=True)
class Pairs:
    """Flags that may be repeated, each time with one pair."""

    fix: tuple[str, ...] = flag(
        (),
        "Policy of an agent that is not trained: random, a rule by name (first-come) or as"
        " module:function, the name of an option, a number or several; or one of its numbers, by"
        " the name of an element or a group.",
        metavar="AGENT[.ELEMENT]=POLICY",
    )
    bound: tuple[str, ...] = flag(
        (),
        "Constrain a disparity to stay below EPSILON instead of weighting it in the objective.",
        metavar="METRIC=EPSILON",
    )
    agent_objective: tuple[str, ...] = flag(
        (), "Objective of an agent that has its own.", metavar="AGENT=OBJECTIVE"
    )


def describe_elements(env: Environment) -> str:
    """Names of what each agent decides: "planner: beds, rollover"."""
    return "; ".join(f"{agent}: {_elements(env.action_space(agent))}" for agent in env.agents)


def _elements(space: ActionSpace) -> str:
    """Names of elements; those of many groups by the pattern of their names."""
    groups = list(dict.fromkeys(element.group for element in space.elements if element.group))
    names: dict[str, None] = {}
    for element in space.elements:
        pattern = f"{slug(element.label)}_GROUP"
        regular = element.group and pattern.replace("GROUP", slug(element.group)) == element.name
        names[pattern if regular else element.name] = None
    return ", ".join(names) + (f" (groups: {', '.join(groups)})" if groups else "")


def changed_by(
    config: RunConfig, given: argparse.Namespace, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """The keys of a configuration that these flags change, with what they leave as it was.

    Args:
        config: the configuration before.
        given: the parsed flags.
        arguments: arguments of the environment, after the flags.

    Raises:
        FairgymError: a flag that is no pair, an unknown agent or element, or a wrong value.
    """
    fixed, bounds, objectives = (
        read_pairs(pair.name, pair.metavar, getattr(given, pair.name)) for pair in fields_of(Pairs)
    )
    changed: dict[str, Any] = {
        "fixed": dict(config.fixed),
        "bounds": {**config.bounds, **{metric: _number(text) for metric, text in bounds}},
        "objectives": {
            **config.objectives,
            **{agent: parse_objective(text) for agent, text in objectives},
        },
    }
    if fixed:
        changed["fixed"] = with_fixed(make(config.environment, **arguments), config.fixed, fixed)
    check_fields(changed)
    return changed


def _number(text: str) -> float | str:
    try:
        return read_number(text)
    except ValueError:
        return text
