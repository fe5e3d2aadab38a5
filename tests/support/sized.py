"""Environments by name in a size, for tests of all that there are."""

from typing import Any

from fairgym.core import FairgymError
from fairgym.utils import make


def of_size(name: str, population: int, **shapes: Any) -> Any:
    """The environment with this many people; with as many as it has where that is its own matter.

    Args:
        name: a registered name.
        population: number of people, if it can be chosen.
        **shapes: further constructor arguments.

    Raises:
        FairgymError: unknown name or argument, or a value that the environment refuses.
    """
    try:
        return make(name, population=population, **shapes)
    except FairgymError as error:
        if "population" not in str(error):
            raise
        return make(name, **shapes)
