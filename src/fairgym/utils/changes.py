"""What users type: numbers, percentages, relative changes, and names that may be misspelled."""

import difflib
import re
from collections.abc import Iterable
from typing import Any, TypeGuard

from fairgym.core.errors import FairgymError

_PERCENT = re.compile(r"[+-]\d+(\.\d*)?%", re.ASCII)
_SIMILAR, _TIE = 0.7, 0.05  # least similarity of a suggestion, and largest distance to the best


def is_relative(given: object) -> TypeGuard[str]:
    """Return whether a value is a text such as "+30%" or "-10%"."""
    return isinstance(given, str) and bool(_PERCENT.fullmatch(given.strip()))


def is_percentage(given: object) -> TypeGuard[str]:
    """Return whether a value is a text such as "20%", which stands for 0.2."""
    return isinstance(given, str) and given.strip().endswith("%") and not is_relative(given)


def read_number(text: str) -> float:
    """Return the number of a text: "0.2", "20%", or "=20%", which says "set to".

    Raises:
        ValueError: The text is no number.

    Examples:
        >>> from fairgym.utils.changes import read_number
        >>> read_number("0.2"), read_number("20%"), read_number("=20%")
        (0.2, 0.2, 0.2)
    """
    if not text.isascii():
        raise ValueError("digits of other scripts")
    number = text.strip().removeprefix("=")
    return float(number[:-1]) / 100.0 if number.endswith("%") else float(number)


def changed_number(what: str, given: Any, before: float | None) -> float:
    """Return the number that a user means.

    Args:
        what: Name of the number, for messages.
        given: A number, a number as text ("0.2" or "20%"), or a relative change such as "+30%".
        before: The number that a relative change starts from; None without one.

    Raises:
        FairgymError: The value is no number, or is relative to nothing.

    Examples:
        >>> from fairgym.utils.changes import changed_number
        >>> changed_number("beds", "390", 300.0), changed_number("beds", "-10%", 300.0)
        (390.0, 270.0)
    """
    if is_relative(given):
        if before is None:
            raise FairgymError(
                f"{what} must be a number, since there is none to change, got {given!r}"
            )
        return before * (100.0 + float(given.strip().rstrip("%"))) / 100.0
    try:
        if isinstance(given, bool):
            raise TypeError
        return read_number(given) if isinstance(given, str) else float(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise FairgymError(
            f"{what} must be a number, or a change such as '+30%', got {given!r}"
        ) from error


def slug(name: object) -> str:
    """Return a name as names are compared: small letters, "_" for spaces and hyphens."""
    return re.sub(r"[\s-]", "_", str(name).strip()).lower()


def did_you_mean(name: object, known: Iterable[str], what: str = "") -> str:
    """Return "; did you mean 'loan'?", or "" where no known name is similar.

    Args:
        name: The name that the user gave.
        known: Names that exist. Without a similar one, those with this word in them are suggested,
            three at most.
        what: Words before the suggestion, such as "the parameter ".

    Examples:
        >>> from fairgym.utils.changes import did_you_mean
        >>> did_you_mean("lone", ["health", "loan"])
        "; did you mean 'loan'?"
        >>> did_you_mean("beds", ["beds_at_start", "bed_cost", "stay"])
        "; did you mean 'beds_at_start'?"
    """
    wanted, spelled = slug(name), {slug(one): one for one in known}
    matcher, scores = difflib.SequenceMatcher(b=wanted), {}  # which prepares a long name once
    for one in spelled:
        matcher.set_seq1(one)
        scores[one] = matcher.ratio()
    least = max(_SIMILAR, max(scores.values(), default=0.0) - _TIE)
    near = sorted((one for one in scores if scores[one] >= least), key=lambda one: -scores[one])
    near = near or [one for one in spelled if wanted in re.split(r"[_.]", one)]
    names = " or ".join(repr(spelled[one]) for one in near[:3] if wanted)
    return f"; did you mean {what}{names}?" if names else ""


def unknown(
    what: str, name: object, known: Iterable[str], there: str = "there are", where: str = ""
) -> FairgymError:
    """Return the error for an unknown name: it suggests a similar one, or lists all.

    Args:
        what: Word for the thing, such as "environment".
        name: The name that the user gave.
        known: All names.
        there: Words before the list.
        where: Words after the name, such as " in a.yaml".

    Examples:
        >>> from fairgym.utils.changes import unknown
        >>> print(unknown("environment", "lone", ["health", "loan"]))
        unknown environment 'lone'; did you mean 'loan'?
        >>> print(unknown("environment", "moon", ["health", "loan"]))
        unknown environment 'moon'; there are: health, loan
    """
    names = list(known)
    hint = did_you_mean(name, names) or f"; {there}: {', '.join(names)}"
    return FairgymError(f"unknown {what} {name!r}{where}{hint}")
