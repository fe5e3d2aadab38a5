"""`fairgym version`."""

from collections.abc import Sequence

from fairgym._version import __version__
from fairgym.core import FairgymError


def version(arguments: Sequence[str]) -> None:
    """Print the version."""
    if arguments:
        raise FairgymError(f"unknown argument {arguments[0]!r}; version takes none")
    print(f"fairgym {__version__}")
