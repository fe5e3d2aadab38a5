"""Flags from dataclasses, by tyro, with errors in one sentence."""

import contextlib
import dataclasses
import difflib
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import tyro
from tyro.constructors import PrimitiveConstructorSpec

from fairgym.core import FairgymError
from fairgym.training.settings import Setting, field_docs, members

T = TypeVar("T")


class _Told(Exception):
    """Carries a sentence through tyro, which would wrap a ValueError in a box."""


def flag(
    setting: Setting,
    default: Any,
    name: str,
    *aliases: str,
    shown: Any = None,
    metavar: str | None = None,
) -> Any:
    """A field of a flags class, for `dataclasses.make_dataclass`.

    Args:
        setting: what is set.
        default: value when the flag is not given.
        name: of the flag, without the dashes in front; "" keeps the setting's own.
        *aliases: other names, dashes included.
        shown: the default that the help shows; `default` if None.
        metavar: what the help shows for the value; its type if None.
    """
    shown = default if shown is None else shown
    about = tyro.conf.arg(
        name=name or None,
        aliases=aliases,
        metavar=metavar,
        help=setting.help,
        help_behavior_hint="" if shown is None else f"(default: {shown})",
    )
    if members(setting.kind) == (bool,):
        kind = Annotated[bool, about]
        if not setting.section:
            kind = Annotated[kind, tyro.conf.FlagCreatePairsOff]
    else:
        kind = Annotated[Any, _spec(setting), about]
    return setting.name, kind, dataclasses.field(default=default)


def _spec(setting: Setting) -> PrimitiveConstructorSpec[Any]:
    """Values by the setting's own parser: its errors name the field and what it takes."""

    def parse(texts: list[str]) -> Any:
        try:
            return setting.parse(texts[0])
        except FairgymError as error:
            raise _Told(str(error)) from error

    words = {int: "INT", float: "NUMBER", str: "NAME"}
    kinds = [kind for kind in members(setting.kind) if kind is not type(None)]
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="|".join(words.get(kind, "VALUE") for kind in kinds),
        instance_from_str=parse,
        is_instance=lambda _: True,
        str_from_instance=lambda value: [str(value)],
    )


def typed(
    metavars: Mapping[str, str] | None = None,
) -> Callable[[type[Any]], type[Any]]:
    """Decorator: the same dataclass with every field that has a default parsed by our own rules.

    Args:
        metavars: what the help shows for the value of a field, instead of its type.
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
            setting = Setting("", field.name, field.type, field.default, about)
            metavar = (metavars or {}).get(field.name)
            fields.append(flag(setting, field.default, "", metavar=metavar))
        namespace = {"__doc__": (cls.__doc__ or "").split("\n")[0]}
        return dataclasses.make_dataclass(cls.__name__, fields, namespace=namespace)

    return decorate


def parse(cls: type[T], arguments: Sequence[str], prog: str, known: Iterable[str] = ()) -> T:
    """Read the arguments of a command.

    Args:
        cls: a dataclass whose fields are the flags.
        arguments: what follows the command.
        prog: the command, for the help.
        known: names of flags that an unknown one is compared with; the class's own if empty.

    Raises:
        FairgymError: an unknown flag, or a missing or wrong value.
        SystemExit: the help was asked for, and is printed.
    """
    boxed = io.StringIO()
    try:
        with contextlib.redirect_stderr(boxed):
            result, unknown = tyro.cli(
                cls,
                prog=prog,
                args=list(arguments),
                return_unknown_args=True,
                config=(tyro.conf.UseAppendAction,),
            )
    except _Told as told:
        raise FairgymError(str(told)) from told
    except SystemExit as stop:
        if not stop.code:
            raise
        raise FairgymError(_sentence(boxed.getvalue())) from stop
    if unknown:
        flags = list(known) or _flags(cls)
        near = difflib.get_close_matches(unknown[0].split("=")[0], flags, n=1, cutoff=0.7)
        hint = f"; perhaps {near[0]} is meant" if near else ""
        what = "flag" if unknown[0].startswith("-") else "argument"
        raise FairgymError(f"unknown {what} {unknown[0]!r}{hint}; {prog} --help lists all flags")
    return result


def _flags(cls: Any) -> list[str]:
    return [f"--{field.name.replace('_', '-')}" for field in dataclasses.fields(cls)]


def _sentence(box: str) -> str:
    """The message in one of tyro's boxes, without frame, title and help."""
    inside = "\n".join(box.splitlines()[1:])
    plain = re.sub(r"[│╭╮╰╯─|+]|-{3,}", " ", inside)
    message = re.split(r"For full helptext|Argument helptext", plain)[0]
    message = " ".join(message.split()).rstrip(".").replace(". ", "; ")
    missing = re.match(r"Missing value for argument '(\S+)'", message)
    return f"{missing[1]} is given without a value; it takes one" if missing else message
