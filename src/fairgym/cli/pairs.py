"""Flags of `fairgym train` that may be given several times, as NAME=VALUE."""

from collections.abc import Mapping, Sequence
from typing import Any

from fairgym.cli.parsing import repeated
from fairgym.config.plain import parse_objective
from fairgym.config.run_config import RunConfig, check_fields
from fairgym.core import ActionSpace, Environment, FairgymError
from fairgym.policies import with_fixed
from fairgym.utils import make
from fairgym.utils.changes import slug

# Name -> metavar, key of the configuration, help.
PAIRS = {
    "fix": (
        "AGENT[.ELEMENT]=POLICY",
        "fixed",
        "policy of an agent that is not trained: random, a rule by name (first-come) or as"
        " module:function, the name of an option, a number or several; or one of its numbers, by"
        " the name of an element or a group.",
    ),
    "bound": (
        "METRIC=EPSILON",
        "bounds",
        "upper bound epsilon of a disparity, which then no longer weighs.",
    ),
    "agent_objective": ("AGENT=OBJECTIVE", "objectives", "objective of an agent that has its own."),
}


def pair_fields(env: Environment | None) -> list[Any]:
    """The fields of these flags for a flags class.

    Args:
        env: the environment whose elements of actions the help names; None for no names.
    """
    names = "" if env is None else f" Elements: {describe_elements(env)}."
    return [
        repeated(name, metavar, about + (names if name == "fix" else ""))
        for name, (metavar, _, about) in PAIRS.items()
    ]


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


def read_pairs(config: RunConfig, given: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a configuration that these flags change, with what they leave as it was.

    Args:
        config: the configuration before.
        given: the parsed flags.
        arguments: arguments of the environment, after the flags.

    Raises:
        FairgymError: a flag that is no pair, an unknown agent or element, or a wrong value.
    """
    fixed, bounds, objectives = (
        split_pairs(name, takes, getattr(given, name)) for name, (takes, *_) in PAIRS.items()
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


def split_pairs(name: str, takes: str, given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """KEY=VALUE texts, each key once, whatever its capital letters.

    Args:
        name: name of the flag.
        takes: form of its value, for messages.
        given: the texts.

    Raises:
        FairgymError: a text without a key or a value, or a key twice.
    """
    pairs: list[tuple[str, str]] = []
    for text in given:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise FairgymError(f"{name.replace('_', '-')} is {text!r}; it takes {takes}")
        if slug(key) in {slug(known) for known, _ in pairs}:
            raise FairgymError(
                f"{name.replace('_', '-')} names {key} twice; it takes each name once"
            )
        pairs.append((key, value))
    return tuple(pairs)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
