"""Flags from dataclasses, by tyro, with errors in one sentence."""

import contextlib
import dataclasses
import difflib
import functools
import io
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import tyro
from tyro.constructors import PrimitiveConstructorSpec

from fairgym.cli.imports import FLAG, IMPORT_HELP
from fairgym.config.settings import ENVIRONMENT, Setting, field_docs, members
from fairgym.core import FairgymError

T = TypeVar("T")
Runs = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN ...")]
Names = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="NAME ...")]

# Key in the metadata of a field: the names of its flag that take a value, and those that do not.
_VALUED, _BARE = "flags with a value", "flags without a value"


class _BadValue(Exception):
    """Carries a sentence through tyro, which would print a ValueError in a box."""


def flag(
    setting: Setting,
    default: Any,
    name: str = "",
    *aliases: str,
    shown: Any = None,
    metavar: str | None = None,
) -> Any:
    """A field of a flags class, for `dataclasses.make_dataclass`.

    Args:
        setting: the setting that the flag is for.
        default: value when the flag is not given.
        name: name of the flag, without the dashes in front; "" for the setting's own.
        *aliases: other names, dashes included.
        shown: default that the help shows; `default` if None.
        metavar: placeholder of the value in the help; the value's type if None.
    """
    names = (f"--{name or setting.name.replace('_', '-')}", *aliases)
    shown = default if shown is None else shown
    if isinstance(shown, (tuple, list)):  # as the flag takes them
        shown = ",".join(map(str, shown))
    about = tyro.conf.arg(
        name=name or None,
        aliases=aliases,
        metavar=metavar,
        help=setting.help,
        help_behavior_hint="" if shown in (None, "") else f"(default: {shown})",
    )
    if members(setting.kind) != (bool,) or setting.section == ENVIRONMENT:
        # a shape of the environment takes a value, also true or false: it may not be given at all
        kind, metadata = Annotated[Any, _spec(setting), about], {_VALUED: names}
    elif setting.section:
        kind = Annotated[bool, about]
        metadata = {_BARE: (*names, *(flag.replace("--", "--no-", 1) for flag in names))}
    else:
        kind, metadata = Annotated[bool, about, tyro.conf.FlagCreatePairsOff], {_BARE: names}
    return setting.name, kind, dataclasses.field(default=default, metadata=metadata)


def repeated(name: str, metavar: str, about: str) -> Any:
    """A field of a flags class whose flag may be given several times, each time with one text.

    Args:
        name: name of the field.
        metavar: placeholder of the value in the help.
        about: meaning of the flag.
    """
    kind = Annotated[tuple[str, ...], tyro.conf.arg(metavar=metavar, help=about)]
    metadata = {_VALUED: (f"--{name.replace('_', '-')}",)}
    return name, kind, dataclasses.field(default=(), metadata=metadata)


def _value(setting: Setting, texts: list[str]) -> Any:
    """The value of a flag by the setting's own parser: its errors name the field and its values."""
    try:
        return setting.parse(texts[0])
    except FairgymError as error:
        raise _BadValue(str(error)) from error


def _spec(setting: Setting) -> PrimitiveConstructorSpec[Any]:
    """The setting's type, for tyro."""
    words = {int: "INT", float: "NUMBER", str: "NAME", bool: "true|false"}
    kinds = [kind for kind in members(setting.kind) if kind is not type(None)]
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="|".join(words.get(kind, "VALUE") for kind in kinds),
        instance_from_str=functools.partial(_value, setting),
        is_instance=lambda _: True,
        str_from_instance=lambda value: [str(value)],
    )


def typed(
    metavars: Mapping[str, str] | None = None,
) -> Callable[[type[Any]], type[Any]]:
    """Decorator: the same dataclass with every field that has a default parsed by our own rules.

    Args:
        metavars: field -> placeholder of its value in the help, instead of the value's type; a
            field of several texts, whose flag may be repeated, needs one.
    """

    def decorate(cls: type[Any]) -> type[Any]:
        docs, fields = field_docs(cls), []
        for field in dataclasses.fields(cls):
            if field.default is dataclasses.MISSING:
                kind = Annotated[
                    field.type,
                    tyro.conf.arg(help=docs.get(field.name, ""), help_behavior_hint="(required)"),
                ]
                fields.append((field.name, kind))
                continue
            about = docs.get(field.name, "")
            if field.type == tuple[str, ...]:
                fields.append(repeated(field.name, (metavars or {})[field.name], about))
                continue
            setting = Setting("", field.name, field.type, field.default, about)
            metavar = (metavars or {}).get(field.name)
            fields.append(flag(setting, field.default, metavar=metavar))
        namespace = {"__doc__": (cls.__doc__ or "").split("\n")[0]}
        return dataclasses.make_dataclass(cls.__name__, fields, namespace=namespace)

    return decorate


def parse(cls: type[T], arguments: Sequence[str], prog: str) -> T:
    """Read the arguments of a command.

    Args:
        cls: a dataclass whose fields are made by `flag` and `repeated`.
        arguments: the words after the command.
        prog: the command, for the help.

    Raises:
        FairgymError: an unknown flag, or a missing or wrong value.
        SystemExit: the help was asked for, and is printed.
    """
    valued, bare = _flags(cls, _VALUED), _flags(cls, _BARE)
    _check_values(arguments, valued, bare)
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # where tyro would draw a box
            result, unknown = tyro.cli(
                cls,
                prog=prog,
                description=f"{cls.__doc__ or ''}\n\n{IMPORT_HELP}",
                args=list(arguments),
                return_unknown_args=True,
                config=(tyro.conf.UseAppendAction,),
            )
    except _BadValue as error:
        raise FairgymError(str(error)) from error
    except SystemExit as stop:
        if not stop.code:
            raise
        text = " ".join(arguments)
        raise FairgymError(f"{text!r} is not understood; {prog} --help lists all flags") from stop
    if unknown:
        name = unknown[0].partition("=")[0]
        near = difflib.get_close_matches(name, [*valued, *bare, FLAG], n=1, cutoff=0.7)
        hint = f"; perhaps {near[0]} is meant" if near else ""
        what = "flag" if unknown[0].startswith("-") else "argument"
        raise FairgymError(f"unknown {what} {unknown[0]!r}{hint}; {prog} --help lists all flags")
    return result


def _flags(cls: Any, key: str) -> list[str]:
    return [flag for field in dataclasses.fields(cls) for flag in field.metadata.get(key, ())]


def _check_values(arguments: Sequence[str], valued: list[str], bare: list[str]) -> None:
    """Raise a FairgymError if a flag has no value though it takes one, or one that it does not."""
    for word, following in itertools.zip_longest(arguments, arguments[1:]):
        name, equals, value = word.partition("=")
        name = name.replace("_", "-")
        alone = following is None or following.startswith("--") or following == "-h"
        if name in valued and not equals and alone:
            raise FairgymError(f"{name} is given without a value; it takes one")
        if name in bare and equals:
            raise FairgymError(f"{name} is given with the value {value!r}; it takes none")
