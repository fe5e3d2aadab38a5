"""Flags of `fairgym train` that may be repeated, as NAME=VALUE."""

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
    """Flags that may be repeated, with one pair each."""

    fix: tuple[str, ...] = flag(
        (),
        "Fix the policy of an agent instead of training it: random, a rule by name (first-come) or"
        " as module:function, the name of an option, or one or several numbers. AGENT.ELEMENT sets"
        " the number of one element or group.",
        metavar="AGENT[.ELEMENT]=POLICY",
    )
    bound: tuple[str, ...] = flag(
        (),
        "Constrain a disparity to stay below EPSILON instead of weighting it in the objective.",
        metavar="METRIC=EPSILON",
    )
    agent_objective: tuple[str, ...] = flag(
        (), "Give an agent its own objective.", metavar="AGENT=OBJECTIVE"
    )


def describe_elements(env: Environment) -> str:
    """Return the action elements of each agent: "planner: beds, rollover"."""
    return "; ".join(f"{agent}: {_elements(env.action_space(agent))}" for agent in env.agents)


def _elements(space: ActionSpace) -> str:
    """Names of elements; elements of groups by their pattern."""
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
    """Return the keys of a configuration that these flags change, with their new values.

    Args:
        config: Configuration without the flags.
        given: Parsed flags.
        arguments: Arguments of the environment, with the flags.

    Raises:
        FairgymError: A flag is not a pair, an agent or element is unknown, or a value is wrong.
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
