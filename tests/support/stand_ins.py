"""Stand-ins for objects of which a function reads few attributes."""

from typing import Any


def stand_in(kind: type, **attributes: Any) -> Any:
    """An instance of a class that has these attributes and was not made by its constructor."""
    made = type(kind)(kind.__name__, (kind,), attributes)
    made.__abstractmethods__ = frozenset()  # it may lack methods
    return object.__new__(made)
