"""Dates as people write them, as in ISO 8601, and the periods that they are in."""

import datetime
import re
from collections.abc import Sequence

from fairgym.core import FairgymError

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LOCAL = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?=$|[T ])")


def iso_dates(texts: Sequence[str], name: str) -> tuple[list[str], str]:
    """Return dates of a column as in ISO 8601, and how they were read; other texts stay.

    "31.12.2023", "31/12/2023" and "12/31/2023" become "2023-12-31", "Dec-2018" becomes "2018-12".
    Whether the day or the month comes first is the same in all dates of a column. Where no number
    above 12 tells it, dates with points have the day first.

    Args:
        texts: Distinct texts of the column.
        name: Name of the column, for messages.

    Returns:
        `(texts, order)`: the order is "day.month.year" or similar, "" if no date is of this kind.

    Raises:
        FairgymError: It cannot be told whether the day or the month comes first.

    Examples:
        >>> from fairgym.fairness.dates import iso_dates
        >>> iso_dates(["3/14/2023", "4/1/2023"], "date")
        (['2023-03-14', '2023-04-01'], 'month/day/year')
    """
    found = [_local(text) for text in texts]
    local = [one for one in found if one is not None]
    if not local:
        return [_with_month(text) for text in texts], ""
    day_first, month_first = (any(int(one[place]) > 12 for one in local) for place in (1, 3))
    if day_first and month_first:
        raise FairgymError(
            f"the column {name!r} (time) must have dates that all begin with the day, or all with"
            f" the month, got {_with(local, 1)!r} and {_with(local, 3)!r}; write them as 2023-12-31"
        )
    if not day_first and not month_first:
        day_first = all(one[2] == "." for one in local)
        if not day_first:
            raise FairgymError(
                f"the column {name!r} (time) must have dates whose day and month can be told"
                f" apart, such as 2023-12-31, got {local[0][0]!r}"
            )
    day, month = (1, 3) if day_first else (3, 1)
    written = [
        f"{one[4]}-{int(one[month]):02d}-{int(one[day]):02d}{text[one.end() :]}"
        if one is not None
        else _with_month(text)
        for text, one in zip(texts, found, strict=True)
    ]
    return written, local[0][2].join(
        ("day", "month", "year") if day_first else ("month", "day", "year")
    )


def period_of(text: str, every: str) -> str | None:
    """Return the period of a date or month, such as "2020-01"; None if there is none.

    Args:
        text: Date or month as in ISO 8601, perhaps with a time of day; or a year.
        every: Length of the period: "day", "week", "month", "quarter" or "year".
    """
    if every == "year" and re.fullmatch(r"\d{4}", text):
        return text
    found = re.match(r"(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2})(?=$|[T ]))?", text)
    if found is None or (
        found[3] is None and (every in ("day", "week") or found.end() < len(text))
    ):
        return None
    try:
        date = datetime.date(int(found[1]), int(found[2]), int(found[3] or 1))
    except ValueError:
        return None
    year, week, _ = date.isocalendar()
    return {
        "day": date.isoformat(),
        "week": f"{year}-W{week:02d}",
        "month": f"{date:%Y-%m}",
        "quarter": f"{date.year}Q{(date.month + 2) // 3}",
        "year": str(date.year),
    }[every]


def _with_month(text: str) -> str:
    """Return "Dec-2018" as "2018-12"; other texts as they are."""
    found = re.fullmatch(r"([A-Za-z]{3})[- ](\d{4})", text)
    if found is None or found[1].lower() not in _MONTHS:
        return text
    return f"{found[2]}-{_MONTHS.index(found[1].lower()) + 1:02d}"


def _local(text: str) -> re.Match[str] | None:
    """Return the parts of a date with the year last, if there is such a day."""
    found = _LOCAL.match(text)
    if found is None:
        return None
    small, large = sorted((int(found[1]), int(found[3])))
    return found if 1 <= small <= 12 and large <= 31 else None


def _with(dates: Sequence[re.Match[str]], place: int) -> str:
    """Return the first date whose number at a place can only be the day."""
    return next(one[0] for one in dates if int(one[place]) > 12)
