"""Ready-made reforms, rival worlds and uncertain parameters that an environment declares.

They are data, in a file `what_if.toml` beside the environment's module:

    environment = "loan"

    [reforms.relief]
    title = "20% relief"
    fixed = {"debt_management.relief" = 0.2}

    [worlds.as_in_the_data]
    about = "people default as often as in the data"
    params = {residual_share = 0.75}

    [uncertain]
    deposit_rate = ["-50%", "+100%"]
"""

import dataclasses
import inspect
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairgym.config.files import describe
from fairgym.config.parameters import with_params
from fairgym.core import Environment, FairgymError
from fairgym.utils.changes import is_relative, slug, unknown

FILE = "what_if.toml"
_KEYS = ("environment", "reforms", "worlds", "uncertain")


@dataclasses.dataclass(frozen=True)
class Reform:
    """A ready-made change of decisions or parameters.

    Attributes:
        name: Name, a slug.
        title: Reform in words.
        fixed: Changed policies, as in `Scenario.fixed`.
        params: Changed parameters, as in `Scenario.params`.
    """

    name: str
    title: str
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class World:
    """Parameters that are as defensible as the defaults; they hold for all scenarios.

    Attributes:
        name: Name, a slug.
        about: What holds in this world, in words.
        params: Parameters that differ from the defaults, as in `Scenario.params`.
    """

    name: str
    about: str
    params: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Factor:
    """An uncertain parameter and its range.

    Attributes:
        name: Name of the parameter.
        low: Lowest value: a number, or a change of the default such as "-50%".
        high: Highest value, of the same kind.
    """

    name: str
    low: float | str
    high: float | str

    def value(self, place: float) -> float | str:
        """Return the value at a place from 0 (lowest) to 1 (highest)."""
        if isinstance(self.low, str) and isinstance(self.high, str):
            low, high = (float(end.rstrip("%")) for end in (self.low, self.high))
            return f"{low + place * (high - low):+.9f}%"
        return float(self.low) + place * (float(self.high) - float(self.low))


@dataclasses.dataclass(frozen=True)
class Declared:
    """What an environment declares for what-if questions.

    Attributes:
        reforms: Ready-made reforms by name.
        worlds: Rival worlds by name.
        uncertain: Uncertain parameters.
    """

    reforms: Mapping[str, Reform] = dataclasses.field(default_factory=dict)
    worlds: Mapping[str, World] = dataclasses.field(default_factory=dict)
    uncertain: tuple[Factor, ...] = ()


def declared_by(env: Environment) -> Declared:
    """Return what the file beside an environment's module declares; nothing without a file.

    Raises:
        FairgymError: If the file cannot be read, or a value has the wrong form.
    """
    try:
        path = Path(inspect.getfile(type(env.unwrapped))).with_name(FILE)
        text = path.read_text(encoding="utf-8")
    except (OSError, TypeError):  # no file
        return Declared()
    try:
        content = tomllib.loads(text)
    except ValueError as error:
        raise FairgymError(f"{path} is not valid TOML: {' '.join(str(error).split())}") from error
    if content.get("environment") != env.name:
        return Declared()  # that of another environment in the same folder
    for key in content:
        if key not in _KEYS:
            raise unknown("key", key, _KEYS, where=f" in {path}")
    return Declared(
        {
            name: Reform(name, **_fields(one, name, path, {"title": str}, ("fixed", "params")))
            for name, one in _named(content, "reforms", path).items()
        },
        {
            name: World(name, **_fields(one, name, path, {"about": str, "params": dict}, ()))
            for name, one in _named(content, "worlds", path).items()
        },
        tuple(
            _factor(env, name, given, path)
            for name, given in _named(content, "uncertain", path).items()
        ),
    )


def world_of(env: Environment, text: str) -> World:
    """Return a declared world by name, or one that NAME=VALUE describes.

    Raises:
        FairgymError: If there is no such world, or a parameter or its value is wrong.
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if equals:
        if not (name and value):
            raise FairgymError(f"world must be NAME or NAME=VALUE, got {text!r}")
        with_params(env, env.default_params, [(name, value)])
        return World(text.strip(), f"{name.replace('_', ' ')} is {value}", {name: value})
    worlds = declared_by(env).worlds
    return worlds[_known("world", name, worlds, env)]


def reform_of(env: Environment, text: str) -> Reform:
    """Return a declared reform by name; times after the name limit it to some steps.

    Args:
        env: The environment.
        text: Such as "relief" or "relief from 60 until 120".

    Raises:
        FairgymError: If there is no such reform.
    """
    name, _, times = text.strip().partition(" ")
    reforms = declared_by(env).reforms
    reform = reforms[_known("reform", name, reforms, env)]
    if not times:
        return reform
    if not re.match(r"(from|until|between|over)\s", times.strip()):
        raise FairgymError(
            f"reform must be NAME, or NAME from STEP until STEP over STEPS, got {text!r}"
        )
    fixed, params = (
        {key: f"{_as_text(value)} {times}" for key, value in pairs.items()}
        for pairs in (reform.fixed, reform.params)
    )
    return Reform(text, f"{reform.title} {times}", fixed, params)


def _known(what: str, name: str, known: Mapping[str, object], env: Environment) -> str:
    if slug(name) in known:
        return slug(name)
    if not known:
        raise FairgymError(f"{what} must be declared, and {env.name} declares none, got {name!r}")
    raise unknown(what, name, known)


def _as_text(value: object) -> str:
    """Return a value as a flag has it."""
    return (
        ", ".join(map(str, value))
        if isinstance(value, Sequence | list) and not isinstance(value, str)
        else str(value)
    )


def _named(content: Mapping[str, Any], key: str, path: Path) -> Mapping[str, Any]:
    """Return a table of the file, whose names are slugs."""
    found = content.get(key, {})
    if not isinstance(found, Mapping):
        raise FairgymError(f"{key} in {path} must be names with values, got {describe(found)}")
    for name in found:
        if not re.fullmatch(r"[a-z0-9_]+", name):
            raise FairgymError(f"{key} in {path} must have names such as 'relief', got {name!r}")
    return found


def _fields(
    given: object, name: str, path: Path, needed: Mapping[str, type], others: Sequence[str]
) -> dict[str, Any]:
    """Return the fields of a reform or world."""
    if not isinstance(given, Mapping):
        raise FairgymError(f"{name} in {path} must be a table, got {describe(given)}")
    for key in given:
        if key not in (*needed, *others):
            raise unknown("key", key, (*needed, *others), where=f" in {name} of {path}")
    for key, kind in needed.items():
        if not isinstance(given.get(key), kind) or not given[key]:
            takes = "a text" if kind is str else "names with values"
            raise FairgymError(f"{key} of {name} in {path} must be {takes}")
    for key in others:
        if not isinstance(given.get(key, {}), Mapping):
            raise FairgymError(f"{key} of {name} in {path} must be names with values")
    return dict(given)


def _factor(env: Environment, name: str, given: object, path: Path) -> Factor:
    """Return an uncertain parameter; both ends of its range must be allowed."""
    low, high = given if isinstance(given, list) and len(given) == 2 else (None, None)
    plain = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (low, high))
    if not plain and not (is_relative(low) and is_relative(high)):
        raise FairgymError(
            f"{name} in {path} must be two numbers, or two changes such as '-50%', got {given!r}"
        )
    assert low is not None and high is not None
    factor = Factor(name, low, high)
    for place in (0.0, 1.0):
        with_params(env, env.default_params, [(name, factor.value(place))])
    return factor
