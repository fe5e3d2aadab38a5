"""`fairgym list` and `fairgym version`: what is installed."""

import sys
from collections.abc import Sequence
from typing import Any

from fairgym._version import __version__
from fairgym.cli.common import IMPORT_HELP, plain
from fairgym.core import FairgymError
from fairgym.utils import Registry


def list_all(arguments: Sequence[str]) -> None:
    """Print environments and algorithms with a line each."""
    from fairgym.algorithms import algorithms
    from fairgym.utils.registry import environments

    if any(word not in ("-h", "--help") for word in arguments):
        raise FairgymError(f"unknown argument {arguments[0]!r}; list takes none")
    if arguments:
        print(f"usage: fairgym list\n\n{IMPORT_HELP}")
        return
    for title, registry in (("environments", environments), ("algorithms", algorithms)):
        print(title)
        names = registry.names()
        for name in names:
            try:
                about = _about(registry.get(name))
            except FairgymError as error:  # an extra that is not installed, a broken plug-in
                about = f"({error})"
            line = f"{name.ljust(max(map(len, names)))}  {about}{_origin(registry, name)}"
            print(f"  {plain(line)}")


def version(arguments: Sequence[str]) -> None:
    """Print the version."""
    if arguments:
        raise FairgymError(f"unknown argument {arguments[0]!r}; version takes none")
    print(f"fairgym {__version__}")


def _about(thing: Any) -> str:
    """The first paragraph about a module or, without one, about its class."""
    from fairgym.config.settings import summary_line

    about = summary_line(sys.modules.get(thing.__module__))
    if not about and not (thing.__doc__ or "").startswith(f"{thing.__name__}("):
        about = summary_line(thing)
    return about


def _origin(registry: Registry, name: str) -> str:
    """Origin of a thing, if it is not fairgym's own."""
    origin = registry.distribution_of(name) or registry.module_of(name)
    return f" [{origin}]" if origin else ""
