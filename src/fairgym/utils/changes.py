"""Numbers as users write them: given as they are, or as a change of what was before."""

import difflib
import re
from collections.abc import Iterable
from typing import Any

from fairgym.core.errors import FairgymError

_PERCENT = re.compile(r"[+-]\d+(\.\d*)?%")


def is_relative(given: object) -> bool:
    """True for a text such as "+30%" or "-10%"."""
    return isinstance(given, str) and bool(_PERCENT.fullmatch(given.strip()))


def changed_number(what: str, given: Any, before: float | None) -> float:
    """The number that is meant.

    Args:
        what: name of the number, for messages.
        given: a number, a number as text, or a relative change such as "+30%".
        before: the number that a relative change starts from; None without one.

    Raises:
        FairgymError: it is neither, or is relative to nothing.

    Examples:
        >>> from fairgym.utils.changes import changed_number
        >>> changed_number("beds", "390", 300.0), changed_number("beds", "-10%", 300.0)
        (390.0, 270.0)
    """
    if is_relative(given):
        if before is None:
            raise FairgymError(
                f"{what} is {given!r}, but there is no number that it changes; it takes a number"
            )
        return before * (100.0 + float(given.strip().rstrip("%"))) / 100.0
    try:
        if isinstance(given, bool):
            raise TypeError
        return float(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise FairgymError(
            f"{what} is {given!r}; it takes a number, or a change such as '+30%'"
        ) from error


def slug(name: object) -> str:
    """A name as names are compared: small letters, "_" for spaces and hyphens."""
    return re.sub(r"[\s-]", "_", str(name).strip()).lower()


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint at the nearest names, " (perhaps A or B)"; "" if none is near."""
    spelled = {slug(one): one for one in known}
    near = difflib.get_close_matches(slug(name), spelled, n=3)
    return f" (perhaps {' or '.join(spelled[one] for one in near)})" if near else ""
