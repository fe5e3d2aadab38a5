"""What all commands share: `--import MODULE`, the version, and safe text on the screen."""

import contextlib
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from fairgym._version import __version__

FLAG = "--import"
IMPORT_HELP = "--import MODULE  Import your own module first; may be repeated."

_given: list[str] = []  # modules that the running command was given


def without_imports(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the arguments without `--import MODULE`, and the modules.

    Raises:
        FairgymError: The flag is given without a module.
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

            raise FairgymError(f"{FLAG} needs a value, the name of a module")
        modules.append(module)
    return rest, modules


def import_first(modules: Sequence[str]) -> None:
    """Import the modules that a command was given.

    Raises:
        FairgymError: A module cannot be imported.
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
    """Return the `--import` arguments of the running command, to print it again."""
    return [word for module in _given for word in (FLAG, module)]


@contextlib.contextmanager
def resumable(words: Callable[[], Sequence[str]]) -> Iterator[None]:
    """Print the command that resumes the training when Ctrl-C ends this block.

    Args:
        words: Returns that command without its `--import` arguments.
    """
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
    """Run the action that the first argument names, or print the usage.

    Args:
        command: The command, such as "sweep".
        actions: Action -> function of the other arguments.
        usage: The text of `--help`.
        arguments: The words after the command.

    Raises:
        FairgymError: The action is unknown.
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

        raise FairgymError(f"unknown argument {arguments[0]!r}; version takes no arguments")
    print(f"fairgym {__version__}")


def plain(text: object) -> str:
    r"""Return a text on one line with control and invisible characters escaped.

    Examples:
        >>> from fairgym.cli.common import plain
        >>> plain("runs/a\x1b[31mb")
        'runs/a\\x1b[31mb'
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(text))
