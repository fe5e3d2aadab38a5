"""Names and numbers in a reader's words."""

import math
from collections.abc import Iterable

from fairgym.training.differences import small, words

__all__ = ["capital", "listed", "magnitude", "number", "small", "those", "title", "words"]


def title(name: str) -> str:
    """A name in code as words, with a capital at the start."""
    return capital(words(name))


def capital(text: str) -> str:
    """The text with a capital at the start."""
    return text[:1].upper() + text[1:]


def those(group: str) -> str:
    """A group within a sentence: "the advantaged", but "site 0", whose number is its name."""
    return words(group) if group[-1:].isdigit() else f"the {words(group)}"


def listed(names: Iterable[str]) -> str:
    """Names in a row: "a, b and c"."""
    *most, last = list(names)
    return f"{', '.join(most)} and {last}" if most else last


def magnitude(value: float) -> tuple[float, str]:
    """Scale of a large number: (1e6, "million"), (1e9, "billion"), or (1.0, "")."""
    sizes = ((1e9, "billion"), (1e6, "million"))
    return next(((scale, name) for scale, name in sizes if abs(value) >= scale), (1.0, ""))


def number(value: float) -> str:
    """A number to a reader's precision: 0.043, 1.00, 12.3, 8,931, 16.8 million.

    "undefined" if it is none.
    """
    if value is None or not math.isfinite(value):
        return "undefined"
    size = abs(value)
    scale, name = magnitude(value)
    if name:
        return f"{number(value / scale)} {name}"
    if size == 0:
        return "0"
    if size >= 100:
        text = f"{value:,.0f}"
    elif size >= 10:
        text = f"{value:.1f}"
    elif size >= 0.1:
        text = f"{value:.2f}"
    elif size >= 0.0005:
        text = f"{value:.3f}"
    else:
        text = f"{value:.2g}" if size >= 0.0001 else f"{value:.1e}"
    return text.replace("-", "−")
