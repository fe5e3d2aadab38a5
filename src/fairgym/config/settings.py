"""Settings of a run: the fields of its environment, parameters and algorithm.

One table, made from the dataclasses themselves, serves the configuration files and the flags of
the command line: adding a field to an environment or an algorithm adds a key and a flag. The
settings of parameters are in `parameters.py`.
"""

import contextlib
import dataclasses
import inspect
import re
import types
import typing
from typing import Any

from fairgym.algorithms import algorithms
from fairgym.core import FairgymError
from fairgym.core.params import params_info
from fairgym.utils.plugins import reason_of
from fairgym.utils.registry import environments

ENVIRONMENT, PARAMS, ALGORITHM = "environment_args", "params", "algorithm_args"
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


@dataclasses.dataclass(frozen=True)
class Setting:
    """Field that can be set.

    Attributes:
        section: "environment_args", "params" or "algorithm_args".
        name: name of the field.
        kind: type of the field.
        default: default value; of a parameter: with the environment's default arguments.
        help: meaning of the field.
    """

    section: str
    name: str
    kind: Any
    default: Any
    help: str

    @property
    def takes(self) -> str:
        """Values that it takes, in words."""
        return describe_kind(self.kind)

    def check(self, value: Any) -> Any:
        """The value of a configuration, brought to the setting's type.

        Raises:
            FairgymError: it is of another type.
        """
        return check_kind(self.name, value, self.kind)

    def parse(self, text: str) -> Any:
        """The value of a flag.

        Raises:
            FairgymError: the text is no such value.
        """
        for kind in members(self.kind):
            try:
                return _from_text(text, kind)
            except (ValueError, KeyError, TypeError):  # TypeError: a type that is made otherwise
                continue
        raise FairgymError(f"{self.name} is {text!r}; it takes {self.takes}")


def members(kind: Any) -> tuple[Any, ...]:
    """The types that a type allows: `int | None` -> `(NoneType, int)`, with text last."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return tuple(sorted(typing.get_args(kind), key=lambda t: (t is str, t is not type(None))))
    return (kind,)


def describe_kind(kind: Any) -> str:
    """A type in words: `int | None` -> "a whole number or none"."""
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


def check_kind(name: str, value: Any, kind: Any) -> Any:
    """The value, if it is of this type (whole numbers do for numbers); else a FairgymError."""
    for member in members(kind):
        origin = typing.get_origin(member)
        if member is type(None) and value is None:
            return None
        if member in (str, bool) and isinstance(value, member):
            return value
        if member is int and isinstance(value, int) and not isinstance(value, bool):
            return value
        if member is float and isinstance(value, int | float) and not isinstance(value, bool):
            with contextlib.suppress(OverflowError):
                return float(value)
        if origin is typing.Literal and value in typing.get_args(member):
            return value
        if origin in (tuple, list) and isinstance(value, list | tuple):
            return origin(check_kind(name, v, typing.get_args(member)[0]) for v in value)
        if member not in (*_WORDS, type(None)) and origin is None:
            return value  # a type of the owner's own, which checks it itself
    raise FairgymError(f"{name} is {value!r}; it takes {describe_kind(kind)}")


def _from_text(text: str, kind: Any) -> Any:
    origin = typing.get_origin(kind)
    if kind is type(None):
        return {"none": None, "null": None}[text.lower()]
    if kind is bool:
        return {"true": True, "false": False}[text.lower()]
    if origin is typing.Literal:
        return {str(choice): choice for choice in typing.get_args(kind)}[text]
    if origin in (tuple, list):
        return origin(_from_text(part, typing.get_args(kind)[0]) for part in text.split(","))
    return kind(text)


def environment_settings(name: str) -> list[Setting]:
    """The constructor's fields of an environment."""
    return _of_dataclass(environments.get(name), ENVIRONMENT)


def algorithm_settings(name: str) -> list[Setting]:
    """The hyperparameters of an algorithm."""
    return _of_dataclass(algorithms.get(name), ALGORITHM)


def _of_dataclass(cls: Any, section: str) -> list[Setting]:
    docs, settings = field_docs(cls), []
    try:
        hints = typing.get_type_hints(cls)
    except Exception as error:  # whatever the names in somebody's annotations stand for
        raise FairgymError(
            f"the types of the fields of {cls.__qualname__} cannot be read ({reason_of(error)}); it"
            " takes types that its module imports"
        ) from error
    for field in dataclasses.fields(cls):
        if not field.init or field.name.startswith("_"):
            continue
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        about = docs.get(field.name, "")
        settings.append(Setting(section, field.name, hints[field.name], default, about))
    return settings


def field_docs(cls: Any) -> dict[str, str]:
    """Field name -> what `param` says of it, or else the Args or Attributes of the docstring.

    Fields that a class inherits are described where they are declared, unless it says more of them.
    """
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        docs |= _documented(base.__dict__.get("__doc__") or "")
    declared = params_info(cls) if dataclasses.is_dataclass(cls) else {}
    return docs | {name: info.description for name, info in declared.items()}


def _documented(docstring: str) -> dict[str, str]:
    """Name -> description in the Args and Attributes sections of a docstring."""
    docs: dict[str, str] = {}
    section, name = "", ""
    for line in inspect.cleandoc(docstring).splitlines():
        if re.fullmatch(r"[A-Z][a-z]+:", line):
            section = line[:-1]
        elif line and not line.startswith(" "):
            section = ""
        elif section in ("Args", "Attributes"):
            found = re.match(r"    ([\w, ]+?): (.*)", line)
            if found and not line.startswith("     "):
                name = found[1]
                docs[name] = found[2]
            elif line.strip() and name:
                docs[name] += f" {line.strip()}"
    return docs


def summary_line(documented: Any) -> str:
    """The first paragraph of a module's or class's docstring."""
    paragraph = inspect.cleandoc(documented.__doc__ or "").split("\n\n")[0]
    return " ".join(paragraph.split())
