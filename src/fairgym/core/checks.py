"""Checks of numbers that users give."""

import math
import numbers
from typing import TypeGuard

from fairgym.core.errors import FairgymError


def is_number(value: object) -> TypeGuard[float]:
    """True for a finite number that fits a float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def require_number(what: str, value: object, low: float, high: float | None = None) -> None:
    """Raise a FairgymError unless a value is a number in a range.

    Args:
        what: name of the value.
        value: the value.
        low: lower end, allowed.
        high: upper end, allowed; None for no upper end.
    """
    if not is_number(value) or value < low or (high is not None and value > high):
        takes = f"from {low:g}" + ("" if high is None else f" to {high:g}")
        raise FairgymError(f"{what} is {value!r}; it takes a number {takes}")


def check_shape(name: str, value: object, low: int, high: int) -> int:
    """Return a constructor argument as an int, or raise a FairgymError that names it."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise FairgymError(f"{name} is {value!r}; it takes a whole number from {low} to {high}")
    return value


def check_flag(name: str, value: object) -> bool:
    """Return a constructor argument that is True or False, or raise a FairgymError."""
    if not isinstance(value, bool):
        raise FairgymError(f"{name} is {value!r}; it takes True or False")
    return value
