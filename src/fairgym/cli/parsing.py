"""Command-line flags from declared fields, with errors in one sentence."""

import argparse
import contextlib
import copy
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Never, TypeVar

from fairgym.cli.common import FLAG, IMPORT_HELP
from fairgym.cli.help_texts import LINE, TWO_SCREENS, Formatter, default_text, placeholders
from fairgym.config.settings import ALGORITHM, ENVIRONMENT, PARAMS, Setting, fields_of, members
from fairgym.core import FairgymError, ParamInfo
from fairgym.utils.changes import did_you_mean

T = TypeVar("T")
_TITLES = {ENVIRONMENT: "environment", ALGORITHM: "algorithm", PARAMS: "parameters"}


def flag(
    default: Any, description: str, *, metavar: str = "", choices: tuple[str, ...] = ()
) -> Any:
    """Declare a flag as a field of a dataclass; the type of the field is that of the flag.

    Args:
        default: Value when the flag is not given; () for a flag that may be repeated.
        description: Help of the flag.
        metavar: Placeholder of the value in the help; that of the type if empty.
        choices: The allowed values, where they are few.
    """
    metadata = {"param": ParamInfo(description, choices=choices), "metavar": metavar}
    return dataclasses.field(default=default, metadata=metadata)


def names(description: str, metavar: str) -> Any:
    """Declare the positional arguments of a command, as a field `tuple[str, ...]`."""
    return dataclasses.field(metadata={"param": ParamInfo(description), "metavar": metavar})


def scheme_flag() -> Any:
    """Declare `--scheme`, for commands that score policies."""
    return flag(
        (),
        "Add a fairness scheme to score policies by, such as nash, parity:COMPONENT or"
        " anytime:max-min (as in train --objective).",
        metavar="NAME",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class EngineFlags:
    """Flags of commands that train many runs."""

    engine: str = flag(
        "",
        "How runs are executed: local, one after another in this process; processes, several"
        " processes; vmap, runs that share a program in one vectorised update; ray, tasks on a"
        " cluster. The default is processes with several workers, else local.",
    )
    workers: int | None = flag(None, "Number of runs at a time (default: chosen by the engine).")
    gpus: float = flag(0.0, "GPUs per run with the engine ray; may be a fraction.")


class _HelpParams(argparse.Action):
    """Print parameters and all other settings in full, and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        assert isinstance(parser, Parser)
        print(parser.help_of(ENVIRONMENT, ALGORITHM, PARAMS), end="")
        parser.exit()


class Parser(argparse.ArgumentParser):
    """Parser of flags that reports mistakes as a FairgymError."""

    def __init__(
        self,
        prog: str,
        about: str = "",
        takes: str = "",
        *,
        helps: bool = True,
        has_params: bool = False,
    ) -> None:
        """Create a parser without flags.

        Args:
            prog: The command.
            about: Description of the command, for the help.
            takes: Placeholders of positional arguments, for the usage line.
            helps: Whether `--help` prints the help and ends.
            has_params: Whether there are parameters. Then `--help` leaves them out and describes
                other settings by a sentence; `--help-params` describes them all in full.
        """
        super().__init__(
            prog=prog,
            usage=" ".join(filter(None, [prog, takes, "[flags]"])),
            description=about,
            epilog=IMPORT_HELP,
            formatter_class=Formatter,
            argument_default=argparse.SUPPRESS,
            add_help=False,
            allow_abbrev=False,
            exit_on_error=False,
        )
        self._positionals.title = "arguments"
        self._values: dict[str, Any] = {}
        self._sections: dict[str, Any] = {"": self._optionals}
        self._has_params = has_params
        self._brief: dict[str, tuple[str, str]] = {}  # first sentence and default
        self._flags = ["--help", FLAG]
        if helps:
            self.add_argument("-h", "--help", action="help", help="Show this help and exit.")
        if has_params:
            about = "Describe parameters (--params.NAME) and all other settings in full, and exit."
            self.add_argument("--help-params", action=_HelpParams, nargs=0, help=about)
            self._flags.append("--help-params")

    def add(
        self, setting: Setting, *flags: str, dest: str = "", shown: object = dataclasses.MISSING
    ) -> None:
        """Add the flag of a setting.

        Args:
            setting: The setting, with the default that applies.
            *flags: Names of the flag; by default that of the setting, preceded by its section
                where another flag has that name.
            dest: Name of the value in the result; the setting's if empty.
            shown: Default that the help shows; the setting's if not given.
        """
        dest = dest or setting.name
        self._values[dest] = setting.default
        flags = flags or (flag_of(setting.name),)
        if flags[0] in self._flags:
            flags = (f"--{setting.section}.{flag_of(setting.name)[2:]}",)
        shown = setting.default if shown is dataclasses.MISSING else shown
        kinds = [kind for kind in members(setting.kind) if kind is not type(None)]
        metavar = setting.metavar or "|".join(placeholders(setting, kinds))
        options: dict[str, Any] = {"action": _parsed_by(setting), "metavar": metavar}
        if kinds == [bool]:
            options = {"action": argparse.BooleanOptionalAction}
        elif not setting.section and setting.kind == tuple[str, ...]:
            self._values[dest] = list(setting.default)
            options = {"action": "append", "metavar": metavar}
        if setting.section not in self._sections:
            self._optionals.title = "run"
            self._sections[setting.section] = self.add_argument_group(_TITLES[setting.section])
        group = self._sections[setting.section]
        default = default_text(setting, shown)
        about = f"{setting.help}{default}".strip().replace("%", "%%")
        added = group.add_argument(*flags, dest=dest, help=about, **options)
        if setting.section and self._has_params:
            sentence = re.split(r"(?<=[.]) ", setting.info.description)[0]
            self._brief[dest] = sentence.replace("%", "%%"), default
        if kinds == [bool] and (setting.section or setting.default):  # how the help shows it
            added.metavar = flags[0].replace("--", "--[no-]", 1)
        self._flags += added.option_strings

    def format_help(self) -> str:
        """Return the help of all flags but those of parameters, on two screens.

        Settings are described by a sentence each, cut to a line where all would be too long.
        """
        sections = [section for section in self._sections if section != PARAMS]
        brief = {name: about + default for name, (about, default) in self._brief.items()}
        found = self.help_of(*sections, brief=brief)
        if found.count("\n") > TWO_SCREENS:
            for name, (about, default) in self._brief.items():
                width = max(20, LINE - len(default))
                brief[name] = textwrap.shorten(about, width, placeholder=" ...")
                brief[name] += default
            found = self.help_of(*sections, brief=brief)
        return found

    def help_of(self, *sections: str, brief: Mapping[str, str] | None = None) -> str:
        """Return the help of the flags of some sections.

        Args:
            *sections: The sections; "" for the flags of the command itself.
            brief: Texts in place of the full ones, by the name of the value.
        """
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        groups = [self._sections[section] for section in sections if section in self._sections]
        for group in ([self._positionals] if "" in sections else []) + groups:
            formatter.start_section(group.title)
            for action in map(copy.copy, group._group_actions):
                action.help = (brief or {}).get(action.dest, action.help)
                formatter.add_argument(action)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def add_fields(self, cls: type, defaults: Mapping[str, object] | None = None) -> None:
        """Add the flags that a dataclass declares with `flag` and `names`.

        Args:
            cls: The dataclass.
            defaults: Defaults that replace the declared ones, by name.
        """
        for setting in fields_of(cls):
            if setting.default is dataclasses.MISSING:
                self.add_argument(
                    setting.name, nargs="*", default=(), metavar=setting.metavar, help=setting.help
                )
                continue
            default = (defaults or {}).get(setting.name, setting.default)
            self.add(dataclasses.replace(setting, default=default))

    def read(
        self, words: Sequence[str], elsewhere: Callable[[str], str] = lambda _: ""
    ) -> argparse.Namespace:
        """Return the values of the flags, by name.

        Args:
            words: The arguments.
            elsewhere: Returns where else an unknown flag exists, for the message; "" for nowhere.

        Raises:
            FairgymError: An unknown flag, or a missing or wrong value.
            SystemExit: After the help was printed.
        """
        given, rest = self.read_known(words)
        unknown = [word for word in rest if word != "--"]
        if unknown:
            name = unknown[0].partition("=")[0]
            what = "flag" if unknown[0].startswith("-") else "argument"
            hint = elsewhere(name) or did_you_mean(name, self._flags)
            hint = hint or f"; {self.prog} --help lists all flags"
            raise FairgymError(f"unknown {what} {unknown[0]!r}{hint}")
        return given

    def read_known(self, words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
        """Return the values of the flags, by name, and the unknown words."""
        given = argparse.Namespace(**self._values)
        try:
            return self.parse_known_intermixed_args(_spelled(words), given)
        except argparse.ArgumentError as error:
            if error.message.startswith("expected"):
                text = "needs a value"
            else:  # "ignored explicit argument 'yes'"
                value = error.message.removeprefix("ignored explicit argument ")
                text = f"takes no value, got {value}"
            raise FairgymError(f"{error.argument_name} {text}") from error

    def error(self, message: str) -> Never:
        """Raise the message that argparse would print."""
        raise FairgymError(message)


def parse(cls: type[T], arguments: Sequence[str], prog: str) -> T:
    """Read the arguments of a command.

    Args:
        cls: A dataclass that declares its flags with `flag` and `names`; its docstring is the
            description in the help.
        arguments: The words after the command.
        prog: The command, for the help.

    Raises:
        FairgymError: An unknown flag, or a missing or wrong value.
        SystemExit: After the help was printed.
    """
    positional = [s.metavar for s in fields_of(cls) if s.default is dataclasses.MISSING]
    takes = "".join(f"{metavar} ..." for metavar in positional)
    parser = Parser(prog, inspect.cleandoc(cls.__doc__ or ""), takes)
    parser.add_fields(cls)
    given = vars(parser.read(arguments))
    return cls(**{n: tuple(v) if isinstance(v, list) else v for n, v in given.items()})


def flag_of(name: str) -> str:
    """Return the flag of a field: "elite_share" -> "--elite-share"."""
    return f"--{name.replace('_', '-')}"


def add_environment(
    parser: Parser,
    settings: Sequence[Setting],
    defaults: Mapping[str, object],
    shown: Mapping[str, object],
) -> None:
    """Add the flags of an environment's arguments, which are read as `environment_args__NAME`.

    Args:
        parser: The parser to add them to.
        settings: All settings; only those of the environment are added.
        defaults: Values of arguments whose flag is not given; None for missing names.
        shown: Defaults that the help shows; the settings' own for missing names.
    """
    for setting in settings:
        if setting.section == ENVIRONMENT:
            name = setting.name
            own = dataclasses.replace(setting, default=defaults.get(name))
            population = ("--population-size", "--population") if name == "population" else ()
            dest, default = f"{ENVIRONMENT}__{name}", shown.get(name, setting.default)
            parser.add(own, *population, dest=dest, shown=default)


@contextlib.contextmanager
def without_data() -> Iterator[None]:
    """Let a help go on if the data of an environment needs an extra that is not installed."""
    try:
        yield
    except FairgymError as error:
        if not isinstance(error.__cause__, ImportError):
            raise


def peek(words: Sequence[str], name: str) -> str | None:
    """Return the value of a flag before all flags are parsed; the last one counts."""
    found = None
    for index, word in enumerate(words):
        if word == name and index + 1 < len(words) and not words[index + 1].startswith("--"):
            found = words[index + 1]
        elif word.startswith(f"{name}="):
            found = word.partition("=")[2]
    return found


def _spelled(words: Sequence[str]) -> list[str]:
    """Return the words with hyphens in flags, and a value such as -10% joined to its flag."""
    spelled: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if re.match(r"-[\d.]", word) and spelled and re.fullmatch("--[^=]+", spelled[-1]):
            spelled[-1] += f"={word}"
        else:
            flagged = name.startswith("--")
            spelled.append(f"{name.replace('_', '-')}{equals}{value}" if flagged else word)
    return spelled


def _parsed_by(setting: Setting) -> type[argparse.Action]:
    """Return an action that parses with the setting, whose errors name the field and values."""

    class Parsed(argparse.Action):
        def __call__(
            self, _: object, given: argparse.Namespace, text: Any, flag: str | None = None
        ) -> None:
            setattr(given, self.dest, setting.parse(text))

    return Parsed
