"""Columns of a table as arrays of NumPy, with errors that name the column and the first bad row."""

import dataclasses
import datetime
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairgym.core import FairgymError
from fairgym.data.store import need
from fairgym.fairness.dates import iso_dates, period_of
from fairgym.fairness.times import KINDS, numbered
from fairgym.utils.changes import did_you_mean

# Cells without a value, in any case.
MISSING = ("", "na", "n/a", "#n/a", "nan", "nat", "null", "<na>")
TRUE = ("yes", "true", "1", "y", "t")
FALSE = ("no", "false", "0", "n", "f")
MOST_LISTED = 12  # values that an error lists
TOGETHER = " & "  # between the names of crossed groups
FEW = 10  # distinct numbers of a column, up to which they are categories


@dataclasses.dataclass(frozen=True)
class Codes:
    """A column of names, as numbers.

    Attributes:
        codes: Index of each row's name, int32 with the shape (rows,); -1 where it is unknown.
        names: The names, sorted; periods are in the order of time.
    """

    codes: np.ndarray
    names: tuple[str, ...]

    def counts(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the number of rows of every name, or the sum of their weights."""
        known = self.codes >= 0
        own = None if weights is None else weights[known]
        return np.bincount(self.codes[known], own, len(self.names))

    def without(self, names: Sequence[str]) -> "Codes":
        """Return the codes with some names as unknown; capital letters make no difference."""
        gone = {_text(name).casefold() for name in names}
        keep = np.array([name.casefold() not in gone for name in self.names] + [False])
        return Codes(np.where(keep[self.codes], self.codes, np.int32(-1)), self.names)

    def kept(self, rows: np.ndarray) -> "Codes":
        """Return the codes of some rows, with the names that occur there."""
        codes = self.codes[rows]
        there = np.bincount(codes[codes >= 0], minlength=len(self.names)) > 0
        return Codes(
            _taken(np.cumsum(there, dtype=np.int32) - np.int32(1), codes),
            tuple(name for name, one in zip(self.names, there, strict=True) if one),
        )


def texts(column: Any) -> Codes:
    """Return a column of pyarrow as texts in the order of their first row; empty cells are -1.

    Texts are stripped. Whole numbers have no decimal point, dates are written as in ISO 8601.
    """
    array = _dictionary(column)
    values = array.dictionary.to_pylist()
    place: dict[str, int] = {}
    found = np.empty(len(values), np.int32)
    for number, value in enumerate(values):
        text = _text(value)
        found[number] = -1 if _is_missing(text) else place.setdefault(text, len(place))
    return Codes(_taken(found, _indices(array)), tuple(place))


def names_of(column: Any) -> Codes:
    """Return a column of pyarrow as names, sorted as numbers if all are numbers."""
    return _sorted(texts(column))


def numbers_of(column: Any, name: str, role: str, low: float = -np.inf) -> np.ndarray:
    """Return a column of pyarrow as numbers, NaN where it is empty.

    Args:
        column: The column.
        name: Its name, for messages.
        role: What it is used for, for messages.
        low: Smallest number allowed.

    Raises:
        FairgymError: A cell has no finite number, or one that is too small.
    """
    found = _floats(column)
    if found is None:  # find the first bad cell
        given = texts(column)
        values = np.array([*map(_float, given.names), np.nan])  # -1 is the last one
        found = _taken(values, given.codes)
        bad = np.flatnonzero(np.isnan(found) & (given.codes >= 0))
        if bad.size:
            raise _refused(name, role, "numbers", given.names[given.codes[bad[0]]], int(bad[0]))
    bad = np.flatnonzero(np.isinf(found) | (found < low))
    if bad.size:
        takes = "finite numbers" if np.isneginf(low) else f"numbers of at least {low:g}"
        raise _refused(name, role, takes, float(found[bad[0]]), int(bad[0]))
    return found


def truths_of(
    column: Any, name: str, role: str, good: Sequence[str], bad: Sequence[str] = ()
) -> np.ndarray:
    """Return a column of pyarrow as 1 for some of its values and 0 for the others, NaN if empty.

    Args:
        column: The column.
        name: Its name, for messages.
        role: What it is used for, for messages, such as "favourable".
        good: Values that count 1; () if the column has yes and no, true and false, or 1 and 0.
        bad: Values that count 0; () for all others. If given, further ones become NaN.

    Raises:
        FairgymError: A value does not occur, or it is not said which values count 1.
    """
    given = texts(column)
    told = first_of(sorted(given.names))
    if not good:
        if not {text.lower() for text in given.names} <= {*TRUE, *FALSE}:
            raise FairgymError(
                f"the column {name!r} must have yes and no, true and false, or 1 and 0, or"
                f" {role} values must be named as {name}=VALUE; it has: {told}"
            )
        good = [text for text in given.names if text.lower() in TRUE]
    listed = Counter(text.lower() for text in given.names)
    spelled = {text.lower(): text for text in given.names if listed[text.lower()] == 1}

    def found(value: str, role: str) -> str:
        text = _text(value)
        if text not in given.names and text.lower() not in spelled:
            near = did_you_mean(value, given.names)
            raise FairgymError(
                f"the {role} value {value!r} does not occur in the column {name!r}"
                f"{near or f'; it has: {told}'}"
            )
        return text if text in given.names else spelled[text.lower()]

    ones, zeros = {found(one, role) for one in good}, {found(one, f"un{role}") for one in bad}
    values = [1.0 if t in ones else 0.0 if not zeros or t in zeros else np.nan for t in given.names]
    return _taken(np.array([*values, np.nan]), given.codes)


def occurs(value: str, names: Sequence[str]) -> bool:
    """Return whether a value is one of the names, or stands for an empty cell, in any case."""
    text = _text(value)
    return _is_missing(text) or text.casefold() in {name.casefold() for name in names}


def first_of(names: Sequence[str]) -> str:
    """Return the first names in a row, and how many more there are."""
    more = len(names) - MOST_LISTED
    return ", ".join(names[:MOST_LISTED]) + f" and {more} more" * (more > 0)


def ids_of(column: Any) -> np.ndarray:
    """Return a column of pyarrow as numbers from 0; rows without an id have a number each."""
    pa, pc = (need(module, "an audit") for module in ("pyarrow", "pyarrow.compute"))
    array = _dictionary(column)
    values, codes = array.dictionary, _indices(array).astype(np.int64)
    empty = np.zeros(len(values), bool)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        texts_of = pc.utf8_lower(pc.utf8_trim_whitespace(values))
        empty = _numpy(pc.is_in(texts_of, pa.array(MISSING, values.type)).cast(pa.int8())) == 1
    elif pa.types.is_floating(values.type):
        empty = _numpy(pc.is_nan(values).cast(pa.int8())) == 1
    codes[np.append(empty, True)[codes]] = -1
    alone = codes < 0
    codes[alone] = len(values) + np.arange(int(alone.sum()))
    return codes


def legit_of(column: Any, name: str) -> Codes | np.ndarray:
    """Return a column of pyarrow as numbers if it has more than 10 distinct ones, else as names."""
    values = _dictionary(column).dictionary
    some = [text for text in map(_text, values[:FEW].to_pylist()) if not _is_missing(text)]
    if len(values) <= FEW or not some or np.isnan(_float(some[0])):
        return names_of(column)
    return numbers_of(column, name, "legit")


def periods_of(column: Any, name: str, every: str = "") -> Codes:
    """Return a column of pyarrow as periods: distinct times in their order, never padded.

    Args:
        column: Dates, months, quarters, years or steps.
        name: Name of the column, for messages.
        every: Length of a period ("day", "week", "month", "quarter", "year"); "" if every distinct
            time is one.

    Raises:
        FairgymError: A time is of no known kind, or of another kind than the first one.
    """
    given = texts(column)
    written, _ = iso_dates(given.names, name)

    def first(number: int) -> tuple[str, int]:
        return given.names[number], int(np.argmax(given.codes == number))

    if every:
        for number, text in enumerate(written):
            start = period_of(text, every)
            if start is None:
                told, row = first(number)
                raise _refused(name, "time", f"dates, to be split by {every}", told, row)
            written[number] = start
    try:
        found = numbered(name, np.array(written, object))
    except FairgymError as error:
        good, bad = 0, len(written)  # the first bad one, by halving
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                numbered(name, np.array(written[:middle], object))
                good = middle
            except FairgymError:
                bad = middle
        told, row = first(bad - 1)
        raise _refused(name, "time", f"times of one kind: {KINDS}", told, row) from error
    places = np.append(found.of_row, -1).astype(np.int32)
    return Codes(_taken(places, given.codes), tuple(found.names))


def crossed(groupings: Sequence[Codes]) -> Codes:
    """Return the groups that several columns make together, those that occur."""
    codes = groupings[0].codes.astype(np.int64)
    for other in groupings[1:]:
        size = len(other.names)
        codes = np.where((codes < 0) | (other.codes < 0), -1, codes * size + other.codes)
    there, place = np.unique(codes, return_inverse=True)
    start = int(there[0] == -1) if len(there) else 0
    names = []
    for code in there[start:]:
        parts = []
        for other in reversed(groupings):
            code, part = divmod(int(code), len(other.names))
            parts.append(other.names[part])
        names.append(TOGETHER.join(reversed(parts)))
    return Codes((place - start).astype(np.int32), tuple(names))


def _refused(name: str, role: str, takes: str, value: object, row: int) -> FairgymError:
    return FairgymError(
        f"the column {name!r} ({role}) must have {takes}, got {value!r} in row {int(row) + 1}"
    )


def _plain(column: Any) -> Any:
    """Return a column without its dictionary, and of a type that can be encoded."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    odd = ("string_view", "binary", "large_binary", "binary_view")
    kind = pa.string() if str(kind) in odd or pa.types.is_decimal(kind) else kind
    return column.cast(kind)


def _dictionary(column: Any) -> Any:
    """Return a column as an array of indices with a dictionary of the distinct values."""
    pa = need("pyarrow", "an audit")
    encoded = column if pa.types.is_dictionary(column.type) else _plain(column).dictionary_encode()
    return encoded.unify_dictionaries().combine_chunks()


def _indices(array: Any) -> np.ndarray:
    """Return the index of each row's value, int32; -1 where it is null."""
    return _numpy(array.indices.cast("int32").fill_null(-1))


def _floats(column: Any) -> np.ndarray | None:
    """Return a column as numbers, NaN where it is null; None if a cell holds none."""
    pa, pc = (need(module, "an audit") for module in ("pyarrow", "pyarrow.compute"))
    values = _plain(column)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        values = pc.utf8_trim_whitespace(values)
    elif not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return None
    try:
        return _numpy(pc.fill_null(values.cast(pa.float64()), np.nan))
    except pa.ArrowInvalid:
        return None


def _numpy(array: Any) -> np.ndarray:
    """Return an array of pyarrow without nulls, copied; its own way would import pandas."""
    whole = array.combine_chunks() if hasattr(array, "combine_chunks") else array
    return np.array(np.from_dlpack(whole))


def _taken(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the value of every code; that of -1 is the last one, or -1 among codes."""
    if values.dtype == np.int32:
        return np.where(codes < 0, np.int32(-1), values[codes] if len(values) else np.int32(-1))
    return values[codes]


def _sorted(given: Codes) -> Codes:
    numbers = [_float(text) for text in given.names]
    keys = given.names if np.isnan(numbers).any() else numbers
    order: list[int] = sorted(range(len(keys)), key=lambda number: keys[number])
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return Codes(_taken(place, given.codes), tuple(given.names[number] for number in order))


def _text(value: object) -> str:
    """Return a value as text, a whole number without a decimal point; "" for None."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime) and value.timetz() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    text = str(value).strip()
    return text.partition(".")[0] if re.fullmatch(r"[+-]?\d{1,15}\.0+", text) else text


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _is_missing(text: str) -> bool:
    return text.lower() in MISSING
