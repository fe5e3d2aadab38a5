"""Errors of the user's own code: where they arose, in one sentence, and their traceback.

Own code is everything but fairgym, the standard library and installed packages; an installed
package counts if it was imported as a module of the user's or registers something.
"""

import sys
import traceback
from pathlib import Path
from types import CodeType, FrameType, FunctionType

from fairgym.core.errors import FairgymError

_MOST_FRAMES = 20  # of a traceback
_INSTALLED = ("site-packages", "dist-packages")

_modules: set[str] = set()  # top-level names of the user's modules
_names: dict[type | CodeType, str] = {}  # what is registered -> "the environment 'mine'"


def know_module(name: str) -> None:
    """Count a module, and the package around it, as the user's own code."""
    _modules.add(name.partition(".")[0])


def know_name(thing: object, words: str) -> None:
    """Remember what a class or function is registered as, such as "the environment 'mine'"."""
    if isinstance(thing, type):
        _names[thing] = words
    elif isinstance(thing, FunctionType):
        _names[thing.__code__] = words


def reason_of(error: BaseException) -> str:
    """Return an error on one line: what it is, and where in the user's own code it arose.

    A FairgymError is its sentence. Of other errors in own code it is the first line.
    """
    text = " ".join(text_of(error).split())
    if isinstance(error, FairgymError):
        return text
    found = _in_own_code(error)
    entered = _entered(found[1]) if found else None
    if found is None or entered is None:
        return f"{type(error).__name__}: {text}".removesuffix(": ")
    frame, number = entered
    lines = [*text_of(found[0]).strip().splitlines(), ""]
    reason = f"{type(found[0]).__name__}: {' '.join(lines[0].split())}".removesuffix(": ")
    file = Path(frame.f_code.co_filename).name
    return f"error in {_described(frame)} ({file}:{number}): {reason}"


def traceback_of(error: BaseException) -> str:
    """Return the traceback of an error in own code, cut to its files; "" for other errors."""
    found = _in_own_code(error)
    if found is None:
        return ""
    culprit, frames = found
    own = [one for one in frames if _is_own(one[0])][-_MOST_FRAMES:]
    lines = traceback.StackSummary.extract(iter(own)).format()
    return "".join(["Traceback (most recent call last):\n", *lines, *_last_lines(culprit)])


def _last_lines(error: BaseException) -> list[str]:
    """Return the message of an error as Python prints it, without JAX's note on its own frames."""
    return [
        line
        for line in traceback.format_exception_only(type(error), error)
        if not (line.startswith("-----") or "JAX has removed its internal frames" in line)
    ]


def text_of(error: BaseException) -> str:
    """Return the message of an error, which may fail to be printed."""
    try:
        return str(error)
    except BaseException:  # custom errors may raise anything
        return "its message cannot be printed"


def _in_own_code(
    error: BaseException | None,
) -> tuple[BaseException, list[tuple[FrameType, int]]] | None:
    """Return the error, or its cause, that passed own code, and all frames of its traceback."""
    while error is not None:
        frames = list(traceback.walk_tb(error.__traceback__))
        if not isinstance(error, FairgymError) and any(_is_own(frame) for frame, _ in frames):
            return error, frames
        error = error.__cause__
    return None


def _root(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_own(frame: FrameType) -> bool:
    root, file = _root(frame), frame.f_code.co_filename
    if root == "fairgym" or file.startswith("<"):
        return False
    if root in _modules:
        return True
    return root not in sys.stdlib_module_names and not set(_INSTALLED) & set(Path(file).parts)


def _entered(frames: list[tuple[FrameType, int]]) -> tuple[FrameType, int] | None:
    """Return the last frame at which fairgym called own code; None where it imported a module.

    Frames of registered names come before others.
    """
    entered, inside = [], False
    for frame, number in frames:
        if _is_own(frame):
            entered += [] if inside else [(frame, number)]
            inside = True
        elif _root(frame) == "fairgym":
            inside = False
    named = [one for one in entered if _registered(one[0])]
    last = (named or entered)[-1]
    return None if last[0].f_code.co_name == "<module>" else last


def _registered(frame: FrameType) -> str:
    """Return the name that the object whose method runs, or the function, is registered as."""
    code = frame.f_code
    first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    return _names.get(code) or _names.get(type(first), "")


def _described(frame: FrameType) -> str:
    """Return the function of a frame in words: "transition() of the environment 'mine'"."""
    name, words = frame.f_code.co_name, _registered(frame)
    if frame.f_code in _names:
        return words
    return f"{name}() of {words}" if words else f"{frame.f_code.co_qualname}()"
