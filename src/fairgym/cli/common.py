"""What every command shares: `--import MODULE`, and texts of users on the screen."""

import contextlib
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from fairgym._version import __version__

FLAG = "--import"
IMPORT_HELP = "--import MODULE  Import your own module first; may be repeated."

_given: list[str] = []  # by the command that runs


def without_imports(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments without `--import MODULE`, and the modules.

    Raises:
        FairgymError: the flag is given without a module.
    """
    rest: list[str] = []
    modules: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if name != FLAG:
            rest.append(word)
            continue
        module = value if equals else next(words, "")
        if not module or module.startswith("-"):
            from fairgym.core import FairgymError

            raise FairgymError(f"{FLAG} is given without a value; it takes the name of a module")
        modules.append(module)
    return rest, modules


def import_first(modules: Sequence[str]) -> None:
    """Import the modules of this command.

    Raises:
        FairgymError: one cannot be imported.
    """
    _given[:] = modules
    if not modules:
        return
    from fairgym.training import devices
    from fairgym.utils.plugins import import_plugin

    devices.configure()  # a module may use JAX as soon as it is imported
    for module in modules:
        import_plugin(module)


def as_words() -> list[str]:
    """The arguments by which the same command is given the same modules again."""
    return [word for module in _given for word in (FLAG, module)]


@contextlib.contextmanager
def resumable(words: Callable[[], Sequence[str]]) -> Iterator[None]:
    """While a command trains: Ctrl-C ends it with the words of the command that goes on."""
    from fairgym.utils import interrupts

    def last_words() -> str:
        return f"interrupted; continue with: {shlex.join([*words(), *as_words()])}"

    interrupts.set_last_words(last_words)
    try:
        yield
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(last_words()) from stop


def dispatch(
    command: str,
    actions: Mapping[str, Callable[[Sequence[str]], None]],
    usage: str,
    arguments: Sequence[str],
) -> None:
    """Do what the first word says, or print how the command is used.

    Raises:
        FairgymError: an unknown action.
    """
    from fairgym.utils.changes import unknown

    if not arguments or arguments[0] in ("-h", "--help"):
        print(f"{usage}\n\n{IMPORT_HELP}")
        return
    if arguments[0] not in actions:
        raise unknown("action", arguments[0], actions, f"{command} takes")
    actions[arguments[0]](arguments[1:])


def version(arguments: Sequence[str]) -> None:
    """Print the version.

    Raises:
        FairgymError: There is an argument.
    """
    if arguments and arguments[0] in ("-h", "--help"):
        print(f"usage: fairgym version\n\nPrint the version.\n\n{IMPORT_HELP}")
        return
    if arguments:
        from fairgym.core import FairgymError

        raise FairgymError(f"unknown argument {arguments[0]!r}; version takes none")
    print(f"fairgym {__version__}")


def plain(text: object) -> str:
    r"""A text on one line, whose control characters and invisible signs are shown, not obeyed.

    Examples:
        >>> from fairgym.cli.common import plain
        >>> plain("runs/a\x1b[31mb")
        'runs/a\\x1b[31mb'
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(text))
