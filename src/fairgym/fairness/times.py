"""Times of logged decisions: dates, months, years or steps, numbered in their order."""

import datetime
import re
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from fairgym.core import FairgymError

KINDS = (
    "whole numbers, dates such as 1997-03-01, months (1997-03), quarters (1997Q1), weeks"
    " (1997-W09), or one word with numbers (wave 3)"
)
Key = tuple[Any, ...]  # sorts as time does


class Periods(NamedTuple):
    """Distinct times of a table, in order.

    Attributes:
        names: Name of each period, as the table writes it; dates and numbers as in ISO 8601.
        of_row: Index in `names` of each row's period.
    """

    names: tuple[str, ...]
    of_row: Int[np.ndarray, " rows"]


def numbered(name: str, column: np.ndarray) -> Periods:
    """Return the distinct times of a column in their order, without any between them.

    Args:
        name: Name of the column, for messages.
        column: Whole numbers, dates, times of day on dates, or texts of one of `KINDS`.

    Returns:
        Names of the distinct times, and the index of each row's time.

    Raises:
        FairgymError: An entry is no time, or has another kind than those before it.
    """
    values: list[Hashable] = column.tolist()
    if column.dtype.kind == "M":
        values = _texts_of(column).tolist()
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError:
        bad = next(row for row, value in enumerate(values) if not isinstance(value, Hashable))
        raise _refused(name, values[bad], bad) from None
    keys: dict[Hashable, Key] = {}
    skeleton = ""
    for value in distinct:
        found = _key(value)
        if found is None or (keys and found[0] != skeleton):
            first = f", after {distinct[0]!r} in row 0" if found is not None else ""
            row = next(row for row, one in enumerate(values) if one is value)
            raise _refused(name, value, row, first)
        skeleton, keys[value] = found
    order = sorted(set(keys.values()))
    place = {key: number for number, key in enumerate(order)}
    names: dict[int, str] = {}
    for value in distinct:
        names.setdefault(place[keys[value]], _name(value))
    number_of = {value: place[key] for value, key in keys.items()}
    of_row = np.fromiter((number_of[value] for value in values), np.int64, len(values))
    return Periods(tuple(names[number] for number in range(len(order))), of_row)


def _refused(name: str, value: object, row: int, more: str = "") -> FairgymError:
    return FairgymError(
        f"the column {name!r} must have times of one kind: {KINDS}; got {value!r} in row {row}"
        f"{more}"
    )


def _texts_of(column: np.ndarray) -> np.ndarray:
    """Return dates of NumPy as texts, in the coarsest unit that keeps them apart."""
    unit, _ = np.datetime_data(column.dtype)
    if unit not in ("Y", "M"):
        there = column[~np.isnat(column)]
        exact = (one for one in ("D", "m", "s", "ms", "us") if _is_exact(there, one))
        column = column.astype(f"datetime64[{next(exact, unit)}]")
    return np.datetime_as_string(column)


def _is_exact(column: np.ndarray, unit: str) -> bool:
    return bool((column == column.astype(f"datetime64[{unit}]")).all())


def _name(value: object) -> str:
    if isinstance(value, datetime.datetime) and value.timetz() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    return str(int(value)) if isinstance(value, float) else str(value).strip()


def _key(value: object) -> tuple[str, Key] | None:
    """Return the kind of a time, and a key that sorts within this kind; None if it is no time."""
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, int | float | np.number):
        number = float(value)
        return ("number", (int(value),)) if number.is_integer() else None
    if isinstance(value, datetime.date):
        return None if value != value else _instant(value)  # pandas' NaT is not equal to itself
    if hasattr(value, "asfreq"):  # a period of pandas
        value = str(value)
    return _of_text(value.strip()) if isinstance(value, str) else None


def _instant(value: datetime.date) -> tuple[str, Key]:
    if not isinstance(value, datetime.datetime):
        return "date", (value.toordinal(),)
    if value.tzinfo is not None:
        return "instant", (value.timestamp(),)
    # A date and midnight on it are one time.
    fraction = (value - datetime.datetime.combine(value.date(), datetime.time())).total_seconds()
    return "date", (value.toordinal(), fraction) if fraction else (value.toordinal(),)


def _of_text(text: str) -> tuple[str, Key] | None:
    """Return the kind and the key of a text."""
    if not text.isascii():
        return None
    if re.fullmatch(r"[+-]?\d{1,18}(\.0*)?", text):
        return "number", (int(text.partition(".")[0]),)
    if found := re.fullmatch(r"(\d{4})[-/.](\d{1,2})", text):
        year, month = map(int, found.groups())
        return ("month", (year, month)) if 1 <= month <= 12 else None
    if found := re.fullmatch(r"(\d{4})[- ]?Q([1-4])", text, re.IGNORECASE):
        return "quarter", tuple(map(int, found.groups()))
    if found := re.fullmatch(r"(\d{4})[- ]?W(\d{1,2})", text, re.IGNORECASE):
        year, week = map(int, found.groups())
        return ("week", (year, week)) if 1 <= week <= 53 else None
    try:
        if found := re.fullmatch(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})", text):
            return _instant(datetime.date(*(int(found[group]) for group in (1, 3, 4))))
        if re.match(r"\d{4}-\d\d-\d\d.", text):
            return _instant(datetime.datetime.fromisoformat(text))
    except ValueError:
        return None
    if found := re.fullmatch(r"([a-z][a-z _.-]*)(?<![-.])(\d{1,18})", text, re.IGNORECASE):
        return found[1].lower(), (int(found[2]),)
    return None
