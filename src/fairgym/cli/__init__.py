"""The command line: `fairgym COMMAND ...`.

A user's mistake prints one sentence on standard error and exits with code 2. Modules that import
JAX are imported inside functions, so that `fairgym --help` and `fairgym version` answer at once.
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
    from fairgym.core import FairgymError
    from fairgym.utils import interrupts

    try:
        with interrupts.listening():
            code = _run(arguments)
            interrupts.look()  # raise an interrupt that was swallowed
            return code
    except FairgymError as error:
        return _fail(str(error))
    except ModuleNotFoundError as error:
        extra = EXTRAS.get(str(error.name).partition(".")[0])
        if extra is None:
            raise
        return _fail(
            f"{error.name} is not installed: pip install -e '.[{extra}]' in a clone of fairgym"
        )
    except KeyboardInterrupt as stop:
        print(plain(stop) or "interrupted", file=sys.stderr)
        return interrupts.ENDED
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return _fail(str(FairgymError(f"the path {error.filename} is too long")))
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
            raise
        return _fail(f"{error.filename or 'a file'} cannot be written: {error.strerror}")
    except MemoryError:
        return _fail(NO_MEMORY)
    except RuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):  # how XLA reports a lack of memory
            raise
        return _fail(NO_MEMORY)


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
    except SystemExit as stop:  # --help of a command
        return int(stop.code or 0)
    return 0


def _fail(sentence: str) -> int:
    text = plain(" ".join(sentence.split()))
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
    print(f"fairgym: {text}", file=sys.stderr)
    return 2
