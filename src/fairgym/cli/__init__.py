"""The command line: `fairgym COMMAND ...`.

A user's mistake prints one sentence on standard error and exits with code 2; an error in the user's
own code also its traceback, cut to the user's files. Modules that import JAX are imported inside
functions, so that `fairgym --help` and `fairgym version` answer at once.
"""

import contextlib
import errno
import gc
import importlib
import io
import os
import sys
from collections.abc import Sequence

from fairgym.cli.common import IMPORT_HELP, import_first, plain, version, without_imports

LONGEST = 2000  # characters of an error; long enough for lists of names
# Optional distribution -> the extra that installs it.
EXTRAS = {
    "matplotlib": "plot",
    "pyarrow": "data",
    "pandas": "importers",
    "ipumspy": "importers",
    "statsmodels": "audit",
}
# command -> (module, function, description)
COMMANDS = {
    "train": ("train", "train", "Train policies and write a run folder."),
    "evaluate": ("evaluate", "evaluate", "Compare trained runs with fixed policies."),
    "simulate": ("simulate", "simulate", "Compare fixed policies and parameters without training."),
    "audit": ("audit", "audit", "Compare groups in a table of logged decisions."),
    "report": ("report", "report", "Write an HTML page about runs."),
    "sweep": ("sweep", "sweep", "Train and tabulate many runs from one file."),
    "reproduce": ("reproduce", "reproduce", "Reproduce published figures and check their claims."),
    "benchmark": ("benchmark", "benchmark", "Compare learners on frozen tasks."),
    "bench": ("bench", "bench", "Measure the speed of environments."),
    "data": ("data", "data", "Describe or import populations."),
    "demo": ("demo", "demo", "Train, evaluate and report a small example."),
    "list": ("listing", "list_all", "List environments and algorithms."),
    "version": ("common", "version", "Print the version."),
}
NO_MEMORY = (
    "not enough memory; use fewer people, episodes at once or hidden units, or a larger machine"
)


def usage() -> str:
    """Return the text of `fairgym --help`."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name.ljust(width)}  {about}" for name, (_, _, about) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: fairgym COMMAND ...",
            "",
            "Long-term fairness in decision systems with several agents.",
            "",
            *lines,
            "",
            "fairgym COMMAND --help describes a command. Every command also takes",
            "",
            f"  {IMPORT_HELP}",
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The arguments; those of the process by default.

    Returns:
        The exit code: 0 for success, 2 for bad input, 3 if the condition of `audit --fail-if`
        holds, 130 when interrupted.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # print "?" for characters it cannot encode
            stream.reconfigure(errors="replace")
    if not arguments or arguments in (["-h"], ["--help"], ["help"]):
        print(usage())
        return 0
    if arguments in (["version"], ["--version"]):
        version([])
        return 0
    gc.set_threshold(100_000, 50, 100)  # tracing allocates much and frees little
    from fairgym.utils import interrupts

    try:
        with interrupts.listening():
            code = _run(arguments)
            interrupts.look()  # raise an interrupt that was swallowed
            return code
    except KeyboardInterrupt as stop:
        print(plain(stop) or "interrupted", file=sys.stderr)
        return interrupts.ENDED
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except BaseException as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        return _fail(sentence, error)


def _sentence(error: BaseException) -> str | None:
    """Return what a user can do about an error in one sentence; None for an error of fairgym."""
    from fairgym.core import FairgymError
    from fairgym.utils.own_code import reason_of, text_of, traceback_of

    if isinstance(error, FairgymError):
        return reason_of(error)
    if isinstance(error, ModuleNotFoundError):
        extra = EXTRAS.get(str(error.name).partition(".")[0])
        if extra is not None:
            return (
                f"{error.name} is not installed: pip install -e '.[{extra}]' in a clone of fairgym"
            )
    if isinstance(error, MemoryError):
        return NO_MEMORY
    if isinstance(error, RuntimeError) and "RESOURCE_EXHAUSTED" in text_of(error):
        return NO_MEMORY  # how XLA reports a lack of memory
    if traceback_of(error):
        return reason_of(error)
    if isinstance(error, OSError):
        if error.errno == errno.ENAMETOOLONG:
            return str(FairgymError(f"the path {error.filename} is too long"))
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
            return f"{error.filename or 'a file'} cannot be written: {error.strerror}"
    return None


def _run(arguments: list[str]) -> int:
    from fairgym.utils.changes import unknown

    arguments, modules = without_imports(arguments)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    name = "version" if arguments[0] == "--version" else arguments[0]
    if name not in COMMANDS:
        raise unknown("command", name, COMMANDS)
    import_first(modules)
    module, function, _ = COMMANDS[name]
    command = getattr(importlib.import_module(f"fairgym.cli.{module}"), function)
    try:
        command(arguments[1:])
    except SystemExit as stop:
        from fairgym.utils.own_code import traceback_of

        if traceback_of(stop):  # not --help of a command, but a user's own code
            raise
        return int(stop.code or 0)
    return 0


def _fail(sentence: str, error: BaseException) -> int:
    """Print an error, and below it the traceback of the user's own code if it arose there."""
    from fairgym.utils.own_code import traceback_of

    lines = [f"fairgym: {' '.join(sentence.split())}", *traceback_of(error).splitlines()]
    with contextlib.suppress(OSError, ValueError):  # standard error is closed
        print("\n".join(_short(plain(line)) for line in lines), file=sys.stderr)
    return 2


def _short(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
