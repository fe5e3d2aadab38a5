"""The ranges of hyperparameters."""

from typing import Any

from fairgym.core import FairgymError


def at_least(algorithm: Any, low: int, *names: str) -> None:
    """Raise a FairgymError unless these fields are whole numbers from `low`."""
    for name in names:
        value = getattr(algorithm, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise FairgymError(f"{name} is {value!r}; it takes a whole number from {low}")


def inside(algorithm: Any, high: float, *names: str, positive: bool = False) -> None:
    """Raise a FairgymError unless these fields are numbers from 0 to `high`."""
    for name in names:
        value = getattr(algorithm, name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and 0.0 <= value <= high) or (positive and value == 0.0):
            above = "above 0" if positive else "from 0"
            raise FairgymError(f"{name} is {value!r}; it takes a number {above} to {high:g}")
