"""Modules of a user's own, imported by name, with errors in one sentence."""

import contextlib
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from fairgym.core.errors import FairgymError
from fairgym.utils.changes import did_you_mean


def import_plugin(name: str, outside: Path | None = None) -> ModuleType:
    """A module, imported by its name from the Python path or else from the current folder.

    The current folder comes last, so that nothing in it takes the place of an installed package.

    Args:
        name: dotted name, such as "my_package.my_world".
        outside: folder from which nothing is imported, nor from a package around it: that of
            a run, which others may have made.

    Raises:
        FairgymError: it is no such name, there is no such module, it lies in or around that
            folder, or it raises an error while it is imported.

    Examples:
        >>> from fairgym.utils.plugins import import_plugin
        >>> import_plugin("fairgym.policies").__name__
        'fairgym.policies'
        >>> import_plugin("my_world.py")
        Traceback (most recent call last):
        fairgym.core.errors.FairgymError: 'my_world.py' is not the name of a module; ...
    """
    _check_name(name)
    _see_current_folder()
    importlib.invalidate_caches()  # the file may have been written a moment ago
    parts = name.split(".")
    module = None
    for end in range(1, len(parts) + 1):
        # One part at a time: importing a package runs it, too.
        module = _import(".".join(parts[:end]), name, outside)
    assert module is not None
    return module


def load_object(path: str) -> Any:
    """A function or class in a module, as "module:function" names it.

    Raises:
        FairgymError: it is not of this form, or there is no such module or member.

    Examples:
        >>> from fairgym.utils.plugins import load_object
        >>> load_object("math:sqrt")(9.0)
        3.0
    """
    module, colon, name = path.partition(":")
    if not (module and colon and name.isidentifier()):
        raise FairgymError(f"{path!r} names no function; it takes MODULE:FUNCTION")
    found = import_plugin(module)
    if not hasattr(found, name):
        hint = did_you_mean(name, dir(found))
        raise FairgymError(f"the module {module!r} has no {name!r}{hint}")
    return getattr(found, name)


def reason_of(error: BaseException) -> str:
    """An error that another's code raised, on one line: its own sentence if it is ours."""
    text = " ".join(str(error).split())
    return text if isinstance(error, FairgymError) else f"{type(error).__name__}: {text}"


def _check_name(name: str) -> None:
    stem, is_file = Path(name).stem, name.endswith(".py")
    if name != "__main__" and not is_file and all(map(str.isidentifier, name.split("."))):
        return
    hint = f"; did you mean {stem!r}, from the folder of this file?" if is_file else ""
    raise FairgymError(
        f"{name!r} is not the name of a module; it takes a dotted name, such as my_module or"
        f" my_package.my_module{hint}"
    )


def _see_current_folder() -> None:
    with contextlib.suppress(OSError):  # deleted meanwhile
        if not {"", os.getcwd()} & set(sys.path):
            sys.path.append(os.getcwd())


def _import(part: str, name: str, outside: Path | None) -> ModuleType:
    """Import one package on the way to a module, or the module."""
    try:
        if outside is not None and part not in sys.modules:
            _check_place(part, name, outside)
        return importlib.import_module(part)
    except FairgymError as error:
        raise FairgymError(f"the module {name!r} cannot be imported: {error}") from error
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise FairgymError(
                f"the module {name!r} cannot be imported: {reason_of(error)}"
            ) from error
        raise FairgymError(
            f"there is no module {error.name!r} in the Python path or in the current folder; it"
            " takes one that can be imported here"
        ) from error
    except (Exception, SystemExit) as error:
        raise FairgymError(f"the module {name!r} cannot be imported: {reason_of(error)}") from error


def _check_place(part: str, name: str, outside: Path) -> None:
    """Raise a FairgymError for a module in a folder, or a package around it."""
    spec = importlib.util.find_spec(part)
    if spec is None:
        return  # the import says so
    folder = outside.resolve()
    files = [Path(spec.origin).resolve()] if spec.has_location and spec.origin else []
    places = [Path(place).resolve() for place in spec.submodule_search_locations or ()]
    if any(file.is_relative_to(folder) for file in files) or any(
        place.is_relative_to(folder) or folder.is_relative_to(place) for place in places
    ):
        raise FairgymError(f"{part!r} is in {outside} or around it, from where nothing is imported")
