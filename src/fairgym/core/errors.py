"""The error raised for bad user input, and checks of numbers."""

import math
import numbers
import re
from typing import TypeGuard

# Maximum length of a word and of a sentence, in characters, and how much of their end is kept.
_WORD, _WORD_END, _SENTENCE, _SENTENCE_END = 300, 60, 2000, 600


class FairgymError(ValueError):
    """Error for bad input: one sentence with the field, its value and what is allowed.

    The command line prints the sentence and exits with code 2. Very long values are shortened in
    the middle.
    """

    def __init__(self, sentence: object = "") -> None:
        """Store the sentence, shortened if it is very long."""
        super().__init__(_bounded(str(sentence)))


def _bounded(sentence: str) -> str:
    """Return the sentence with the middle of long words, and its own, replaced by an ellipsis."""
    short = re.sub(rf"\S{{{_WORD + 1},}}", lambda word: _cut(word[0], _WORD, _WORD_END), sentence)
    return _cut(short, _SENTENCE, _SENTENCE_END)


def _cut(text: str, most: int, end: int) -> str:
    return text if len(text) <= most else f"{text[: most - end - 3]}...{text[-end:]}"


def is_number(value: object) -> TypeGuard[float]:
    """Return True for a finite number that fits a float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer with hundreds of digits
        return False


def require_number(what: str, value: object, low: float, high: float | None = None) -> None:
    """Raise a FairgymError unless a value is a number in a range.

    Args:
        what: Name of the value.
        value: The value.
        low: Lower end, inclusive.
        high: Upper end, inclusive; None for no upper end.
    """
    if not is_number(value) or value < low or (high is not None and value > high):
        takes = f"from {low:g}" + ("" if high is None else f" to {high:g}")
        raise FairgymError(f"{what} must be a number {takes}, got {value!r}")


def check_shape(name: str, value: object, low: int, high: int) -> int:
    """Return a constructor argument as an int, or raise a FairgymError with its name."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise FairgymError(f"{name} must be a whole number from {low} to {high}, got {value!r}")
    return value
