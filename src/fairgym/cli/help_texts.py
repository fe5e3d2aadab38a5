"""Layout of `--help`: its size, placeholders of values, and defaults."""

import argparse
import shutil
import typing
from collections.abc import Sequence

from fairgym.config.settings import Setting

WIDE, TWO_SCREENS = 100, 98  # columns where the terminal has no width, and lines
INDENT = 30  # columns of the flags
LINE = WIDE - 2 - INDENT  # columns of the texts
OBJECTIVE_HELP = (
    "What the trained agents maximise: uniform, direct, direct-fair, direct-fair-rate, half-direct,"
    " published, frontier:LAMBDA, own, METRIC=WEIGHT,METRIC=WEIGHT (docs/objectives.md), or a"
    " welfare function, such as nash or periodic:12:parity (docs/fairness-over-time.md)."
)
MEMORY_HELP = (
    "Memory to add to the observations: one of the environment's (see its card), or a general one,"
    " such as past-discounted:0.9 (docs/fairness-over-time.md)."
)
_METAVARS = {int: "INT", float: "NUMBER", str: "NAME"}


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help of at most 100 columns where the width of the terminal is unknown."""

    def __init__(self, prog: str) -> None:
        width = shutil.get_terminal_size((WIDE, 50)).columns - 2
        super().__init__(prog, max_help_position=INDENT, width=width)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if isinstance(action, argparse.BooleanOptionalAction):
            return str(action.metavar or action.option_strings[0])
        if action.option_strings and action.nargs != 0:
            return f"{action.option_strings[0]} {action.metavar}"
        return super()._format_action_invocation(action)


def placeholders(setting: Setting, kinds: Sequence[object]) -> list[str]:
    """Return the placeholders of a flag's value: its choices, or the types of its values."""
    if setting.info.choices:
        return list(map(str, setting.info.choices))
    found: list[str] = []
    for kind in kinds:
        literal = typing.get_origin(kind) is typing.Literal
        found += map(str, typing.get_args(kind)) if literal else [_METAVARS.get(kind, "VALUE")]
    return found


def default_text(setting: Setting, shown: object) -> str:
    """Return the default as the help shows it; "" for a command's on-off flag."""
    if isinstance(shown, bool):
        shown = ("yes" if shown else "no") if setting.section else None
    if isinstance(shown, tuple | list):  # as the flag takes it
        shown = ",".join(map(str, shown))
    return "" if shown in (None, "") else f" (default: {shown})"
