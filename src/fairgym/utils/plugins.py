"""Custom modules, imported by name, with errors in one sentence."""

import contextlib
import importlib
import importlib.util
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from fairgym.core.errors import FairgymError
from fairgym.utils.changes import did_you_mean
from fairgym.utils.own_code import know_module, reason_of


def import_plugin(name: str, outside: Path | None = None) -> ModuleType:
    """Import a module by name from the Python path or the current folder.

    The current folder comes last, so that nothing in it replaces an installed package.

    Args:
        name: Dotted name, such as "my_package.my_module".
        outside: Folder from which nothing is imported, nor from a package around it: that of
            a run, which may come from somebody else.

    Raises:
        FairgymError: The name is invalid, there is no such module, it lies in or around that
            folder, or its import fails.

    Examples:
        >>> from fairgym.utils.plugins import import_plugin
        >>> import_plugin("fairgym.policies").__name__
        'fairgym.policies'
        >>> import_plugin("my_module.py")
        Traceback (most recent call last):
        fairgym.core.errors.FairgymError: the name of a module must be a Python name, ...
    """
    _check_name(name)
    _see_current_folder()
    importlib.invalidate_caches()  # the file may be brand new
    parts = name.split(".")
    module = None
    for end in range(1, len(parts) + 1):
        # One part at a time, since importing a package also runs it.
        module = _import(".".join(parts[:end]), name, outside)
    assert module is not None
    return module


def load_object(path: str) -> Any:
    """Return a function or class in a module, named as "module:function".

    Raises:
        FairgymError: The text is not of this form, or there is no such module or member.

    Examples:
        >>> from fairgym.utils.plugins import load_object
        >>> load_object("math:sqrt")(9.0)
        3.0
    """
    module, colon, name = path.partition(":")
    if not (module and colon and name.isidentifier()):
        raise FairgymError(f"a function must be given as MODULE:FUNCTION, got {path!r}")
    found = import_plugin(module)
    if not hasattr(found, name):
        hint = did_you_mean(name, dir(found))
        raise FairgymError(f"the module {module!r} has no {name!r}{hint}")
    return getattr(found, name)


@contextlib.contextmanager
def running(what: str) -> Iterator[None]:
    """Turn whatever custom code raises in this block into a FairgymError; not Ctrl-C.

    Args:
        what: The failure in words, such as "the module 'mine' cannot be imported".

    Raises:
        FairgymError: The block raises anything else, closes standard output or standard error, or
            leaves the working folder, which is then entered again.
    """
    folder, streams = _folder(), [s for s in (sys.stdout, sys.stderr) if _is_open(s)]
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # custom code may raise anything
        raise FairgymError(f"{what}: {reason_of(error)}") from error
    finally:
        left = _folder()
        if folder is not None and left != folder:
            with contextlib.suppress(OSError):
                os.chdir(folder)
    if not all(map(_is_open, streams)):
        raise FairgymError(f"{what}: it closes standard output or standard error")
    if left != folder:
        raise FairgymError(
            f"{what}: it changes the working folder from {folder} to {left}, where other paths of"
            " the command would lie; remove its os.chdir"
        )


def _folder() -> str | None:
    """Return the working folder; None if it was deleted."""
    with contextlib.suppress(OSError):
        return os.getcwd()
    return None


def _is_open(stream: Any) -> bool:
    """Return whether a text can be written to a stream."""
    try:
        os.fstat(stream.fileno())
    except (AttributeError, io.UnsupportedOperation):  # no file
        return not getattr(stream, "closed", False)
    except (OSError, ValueError):
        return False
    return True


def _check_name(name: str) -> None:
    stem, is_file = Path(name).stem, name.endswith(".py")
    if name != "__main__" and not is_file and all(map(str.isidentifier, name.split("."))):
        return
    hint = f"; did you mean {stem!r}, from the folder of this file?" if is_file else ""
    raise FairgymError(
        "the name of a module must be a Python name, such as my_module or my_package.my_module,"
        f" got {name!r}{hint}"
    )


def _see_current_folder() -> None:
    with contextlib.suppress(OSError):  # deleted meanwhile
        if not {"", os.getcwd()} & set(sys.path):
            sys.path.append(os.getcwd())


def _import(part: str, name: str, outside: Path | None) -> ModuleType:
    """Import a module, or one of the packages around it."""
    with running(f"the module {name!r} cannot be imported"):
        if outside is not None and part not in sys.modules:
            _check_place(part, name, outside)
        know_module(part)
        try:
            return importlib.import_module(part)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise
            missing = error
    raise FairgymError(
        f"there is no module {missing.name!r} in the Python path or in the current folder"
    ) from missing


def _check_place(part: str, name: str, outside: Path) -> None:
    """Raise a FairgymError for a module in a folder, or in a package around the folder."""
    spec = importlib.util.find_spec(part)
    if spec is None:
        return  # the import reports it
    folder = outside.resolve()
    files = [Path(spec.origin).resolve()] if spec.has_location and spec.origin else []
    places = [Path(place).resolve() for place in spec.submodule_search_locations or ()]
    if any(file.is_relative_to(folder) for file in files) or any(
        place.is_relative_to(folder) or folder.is_relative_to(place) for place in places
    ):
        raise FairgymError(f"{part!r} is in or around {outside}, from where nothing is imported")
