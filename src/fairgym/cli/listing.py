"""`fairgym list`: environments and algorithms."""

import sys
from collections.abc import Sequence

from fairgym.core import FairgymError


def list_all(arguments: Sequence[str]) -> None:
    """Print environments and algorithms with a line each."""
    from fairgym.algorithms import algorithms
    from fairgym.core.registry import environments
    from fairgym.training.settings import summary_line

    if any(word not in ("-h", "--help") for word in arguments):
        raise FairgymError(f"unknown argument {arguments[0]!r}; list takes none")
    if arguments:
        print("usage: fairgym list")
        return
    for title, registry in (("environments", environments), ("algorithms", algorithms)):
        print(title)
        names = registry.names()
        for name in names:
            try:
                about = summary_line(sys.modules[registry.get(name).__module__])
            except FairgymError as error:  # an extra that is not installed
                about = f"({error})"
            print(f"  {name.ljust(max(map(len, names)))}  {about}")
