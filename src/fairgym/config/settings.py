"""Settings of a run: the fields of its environment, parameters and algorithm.

Configuration files and command-line flags are both made from these dataclasses: a new field of an
environment or algorithm is a new key and a new flag, with the help that `param` declares. Settings
of parameters are in `parameters.py`.
"""

import contextlib
import dataclasses
import inspect
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from fairgym.algorithms import algorithms
from fairgym.config.text import split_list
from fairgym.core import Environment, FairgymError, ParamInfo, params_info
from fairgym.utils.changes import is_percentage, read_number
from fairgym.utils.plugins import reason_of
from fairgym.utils.registry import environments

ENVIRONMENT, PARAMS, ALGORITHM = "environment_args", "params", "algorithm_args"
PLAIN = ParamInfo("")  # of a field that `param` does not declare
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


@dataclasses.dataclass(frozen=True)
class Setting:
    """Field that users can set.

    Attributes:
        section: "environment_args", "params" or "algorithm_args"; "" for a flag of a command.
        name: Name of the field.
        kind: Type of the field.
        default: Default value; for a parameter, that of the environment as it was made.
        info: Meaning, unit, range and choices, as declared; empty for a plain field.
        metavar: Placeholder of the value in the help; that of the type if empty.
    """

    section: str
    name: str
    kind: object
    default: Any
    info: ParamInfo = PLAIN
    metavar: str = ""

    @property
    def help(self) -> str:
        """Meaning of the field, with its unit and range."""
        about = ", ".join(filter(None, [self.info.unit, self.info.range]))
        return f"{self.info.description} [{about}]".removesuffix(" []")

    @property
    def takes(self) -> str:
        """Allowed values, in words."""
        return " or ".join(map(str, self.info.choices)) or describe_kind(self.kind)

    def check(self, value: object) -> Any:
        """Return the value of a configuration, converted to the setting's type.

        Raises:
            FairgymError: The value is of another type.
        """
        return check_kind(self.name, value, self.kind)

    def parse(self, text: str) -> Any:
        """Return the value of a flag.

        Raises:
            FairgymError: The text is no such value.
        """
        for kind in members(self.kind):
            # TypeError: a type that cannot be made from a text
            with contextlib.suppress(ValueError, KeyError, TypeError):
                value = _from_text(text, kind)
                if not self.info.choices or value in self.info.choices:
                    return value
        raise FairgymError(f"{self.name} must be {self.takes}, got {text!r}")


def members(kind: object) -> tuple[Any, ...]:
    """Return the members of a union, `int | None` -> `(NoneType, int)`, with text last."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return tuple(sorted(typing.get_args(kind), key=lambda t: (t is str, t is not type(None))))
    return (kind,)


def describe_kind(kind: object) -> str:
    """Return a type in words: `int | None` -> "a whole number or none"."""
    parts = []
    for member in members(kind):
        if member is type(None):
            continue
        if typing.get_origin(member) is typing.Literal:
            parts.append(", ".join(str(choice) for choice in typing.get_args(member)))
        elif typing.get_origin(member) in (tuple, list):
            parts.append(f"a list: {describe_kind(typing.get_args(member)[0])} each")
        else:
            parts.append(_WORDS.get(member, getattr(member, "__name__", str(member))))
    return " or ".join(parts + (["none"] if type(None) in members(kind) else []))


def check_kind(name: str, value: object, kind: object) -> Any:
    """Return a value converted to a type, or raise a FairgymError that names it."""
    for member in members(kind):
        origin = typing.get_origin(member)
        if member is type(None) and value is None:
            return None
        if member in (str, bool) and isinstance(value, member):
            return value
        if member is int and isinstance(value, int) and not isinstance(value, bool):
            return value
        if member is float and is_percentage(value):
            with contextlib.suppress(ValueError):
                return read_number(value)
        if member is float and isinstance(value, int | float) and not isinstance(value, bool):
            with contextlib.suppress(OverflowError):
                return float(value)
        if origin is typing.Literal and value in typing.get_args(member):
            return value
        if origin in (tuple, list) and isinstance(value, list | tuple):
            return origin(check_kind(name, v, typing.get_args(member)[0]) for v in value)
        if member not in (*_WORDS, type(None)) and origin is None:
            return value  # a custom type, whose owner checks the value
    raise FairgymError(f"{name} must be {describe_kind(kind)}, got {value!r}")


def _from_text(text: str, kind: Any) -> Any:
    origin = typing.get_origin(kind)
    if kind is type(None):
        return {"none": None, "null": None}[text.lower()]
    if kind is bool:
        return {"true": True, "false": False}[text.lower()]
    if origin is typing.Literal:
        return {str(choice): choice for choice in typing.get_args(kind)}[text]
    if origin in (tuple, list):
        return origin(_from_text(part, typing.get_args(kind)[0]) for part in split_list(text))
    if kind is int and not text.isascii():
        raise ValueError("digits of other scripts")
    return read_number(text) if kind is float else kind(text)


def environment_settings(name: str) -> list[Setting]:
    """Return the constructor arguments of an environment."""
    return fields_of(environments.get(name), ENVIRONMENT)


def algorithm_settings(name: str, env: Environment | None = None) -> list[Setting]:
    """Return the hyperparameters of an algorithm.

    Args:
        name: Name of the algorithm.
        env: Environment whose hyperparameters are the defaults where it declares some
            (`EnvironmentSpec.hyperparameters`); None for the algorithm's own.
    """
    declared = {} if env is None else env.spec.hyperparameters.get(name, {})
    return [
        dataclasses.replace(setting, default=declared[setting.name])
        if setting.name in declared
        else setting
        for setting in fields_of(algorithms.get(name), ALGORITHM)
    ]


def algorithms_with(name: str) -> list[str]:
    """Return the algorithms that have a hyperparameter, for messages."""
    found = []
    for algorithm in algorithms.names():
        with contextlib.suppress(FairgymError):  # a plug-in that cannot be loaded
            if any(setting.name == name for setting in algorithm_settings(algorithm)):
                found.append(algorithm)
    return found


def checked(settings: Iterable[Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values converted to the types of settings; unknown names are kept as they are.

    Raises:
        FairgymError: A value is of another type.
    """
    known = {setting.name: setting for setting in settings}
    return {n: known[n].check(value) if n in known else value for n, value in given.items()}


def fields_of(cls: type, section: str = "") -> list[Setting]:
    """Return the fields of a dataclass that its constructor takes.

    A field without a default has `dataclasses.MISSING` as its default.
    """
    settings, hints, declared = [], field_types(cls), params_info(cls)
    for field in dataclasses.fields(cls):
        if not field.init or field.name.startswith("_"):
            continue
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        info = declared.get(field.name, PLAIN)
        metavar = field.metadata.get("metavar", "")
        settings.append(Setting(section, field.name, hints[field.name], default, info, metavar))
    return settings


def field_types(cls: type) -> dict[str, Any]:
    """Return the types of the fields of a class, by name.

    Raises:
        FairgymError: An annotation cannot be read.
    """
    try:
        return typing.get_type_hints(cls)
    except Exception as error:  # names in custom annotations may raise anything
        raise FairgymError(
            f"the types of the fields of {cls.__qualname__} cannot be read ({reason_of(error)});"
            " they must be types that its module imports"
        ) from error


def summary_line(documented: object) -> str:
    """Return the first paragraph of the docstring of a module or class."""
    paragraph = inspect.cleandoc(documented.__doc__ or "").split("\n\n")[0]
    return " ".join(paragraph.split())
