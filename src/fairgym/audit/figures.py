"""Figures of an audit, drawn from the rows of its tables by the columns that they have."""

import dataclasses
import math

from fairgym.audit.courses import AXES, OUTER, axis_text, comparisons, lines_figure, waterfall
from fairgym.audit.forests import (
    MOST,
    Rows,
    by_grouping,
    column_of,
    compared_row,
    crossed_columns,
    gaps_figure,
    heat_map,
    points_figure,
    rates_figure,
    sides_text,
)
from fairgym.audit.parts import Column, Part, cell_text, number_of
from fairgym.audit.roles import Roles
from fairgym.report.svg import Captioned
from fairgym.results.numbers import number_in, number_told

_RATES = "difference of rates (points)"
POINTS = {  # numbers that are 0 if groups are alike -> what stands below the axis, and its meaning
    "smd": (
        "difference of mean scores (standard deviations)",
        "A point is a group's mean score minus the reference's, in standard deviations",
    ),
    "trend": (
        "change of the gap per period (points)",
        "A point is the change of a gap from one period to the next",
    ),
    "balance": (
        "balance (points)",
        "A point is a group's rate so far minus the mean of all groups, over all periods",
    ),
}


def figures_of(part: Part, roles: Roles) -> dict[str, Captioned]:
    """Return the figures of a table, by name; none if it has no rows that a figure shows."""
    keys = {key for row in part.rows for key in row}
    level = f"{roles.level:.0%}"
    found: dict[str, Captioned] = {}
    if "grouping" not in keys:
        return found
    axis = next((key for key in AXES if key in keys), "")
    if axis:
        found = _along(part, axis, level)
    elif {"step", "difference"} <= keys:
        about = (
            "From the gap at the top, through what each part accounts for, to what is left at the"
            " bottom."
        )
        drawn = waterfall(part.rows, column_of(part, "difference"))
        found[part.name] = Captioned(drawn, _left(part.rows), about)
    elif "measure" in keys:  # several rates in one table
        return found
    elif any(one.key == "rate" and one.limits for one in part.columns):
        found = _rates(part, level)
    elif {"difference", "ratio", "reference"} <= keys:
        about = (
            f"A point is a group's gap to the reference, and the line its {level} interval. At the"
            " solid line there is no gap." + " The dotted line is the profile's." * bool(roles.line)
        )
        found[part.name] = Captioned(gaps_figure(part, roles.line), _widest(part.rows), about)
    elif {"difference", "low", "high"} <= keys and {"other", "reference"} & keys:
        about = f"A point is a difference of rates, and the line its {level} interval."
        if "other" in keys:
            about += " The intervals hold for all pairs of a column together."
        seen = _methods(part.rows) if "method" in keys else _widest(part.rows)
        found[part.name] = Captioned(points_figure(part, "difference", _RATES), seen, about)
    elif number := next((key for key in POINTS if key in keys), ""):
        found = _points(part, number, level)
    if found and not axis and any(len(own) > MOST for own in by_grouping(part.rows).values()):
        first = found[part.name]
        about = f"{first.caption} The figure has the {MOST} largest of each column."
        found[part.name] = first._replace(caption=about)
    return found


def _rates(part: Part, level: str) -> dict[str, Captioned]:
    """Figures of rates by group, and of two crossed columns."""
    column = column_of(part, "rate")
    if not any(row.get("rate") is not None for row in part.rows):
        return {}
    about = (
        f"A point is a group's share, and the line its {level} interval. In parentheses: the number"
        " of decisions."
    )
    seen = _extremes(part.rows, column.title)
    found = {part.name: Captioned(rates_figure(part.rows, column), seen, about)}
    crossed = crossed_columns(part.rows)
    if crossed is not None:
        about = (
            "The stronger the colour, the larger the share. Grey: fewer decisions than are"
            " compared; blank: no decision."
        )
        drawn = heat_map(part.rows, column, *crossed)
        found[f"{part.name}_crossed"] = Captioned(drawn, "Two columns at once", about)
    return found


def _along(part: Part, axis: str, level: str) -> dict[str, Captioned]:
    """Figure of a number over periods or cut scores."""
    column = next((one for one in part.columns if one.limits), None)
    if column is None:
        return {}
    about = f"A band is the {level} interval of single values."
    if set(OUTER) <= {key for row in part.rows for key in row}:
        about += " The wide, pale one holds for the whole line."
    if axis == "after":
        seen = _still_waiting(part.rows)
    else:
        seen = _turn(part.rows, axis, column.key)
    found = {part.name: Captioned(lines_figure(part.rows, axis, column), seen, about)}
    so_far = next((one for one in part.columns if one.key == "cumulative" and one.limits), None)
    if so_far is not None:
        rows = [{key: row[key] for key in row if key not in OUTER} for row in part.rows]
        about = (
            f"The gap between the rates of all decisions up to each period, with its {level}"
            " interval: both rates are summed first."
        )
        seen = f"So far: {_last(rows, so_far)}"
        drawn = lines_figure(rows, axis, so_far)
        found[f"{part.name}_so_far"] = Captioned(drawn, seen, about)
    return found


def _points(part: Part, key: str, level: str) -> dict[str, Captioned]:
    """Figure of a number that is 0 if groups are alike."""
    rows = [row for row in part.rows if math.isfinite(number_of(row, key))]
    if not rows:
        return {}
    column = column_of(part, key)
    row = max(rows, key=lambda one: abs(number_of(one, key)))
    points = " points" if column.unit == "points" else ""
    value = number_in(abs(number_of(row, key)), "share" if points else "")
    way = "below" if number_of(row, key) < 0.0 else "above"
    label, about = POINTS[key]
    drawn = points_figure(dataclasses.replace(part, rows=rows), key, label)
    about += f", and the line its {level} interval."
    seen = f"Farthest from 0: {sides_text(row, str)}, {value}{points} {way}"
    return {part.name: Captioned(drawn, seen, about)}


def _last(rows: Rows, column: Column) -> str:
    """Say what a number of the first comparison is in the last period."""
    known = [row for row in rows if math.isfinite(number_of(row, column.key))]
    if not known:
        return "unknown"
    first = sides_text(known[0], str)
    row = [one for one in known if sides_text(one, str) == first][-1]
    return f"{first}, {cell_text(row, column)} points by {axis_text(row['period'])}"


def _still_waiting(rows: Rows) -> str:
    """Say which share of each group of the first grouping still waits at the end."""
    last = {str(row["group"]): row for row in rows if row["grouping"] == rows[0]["grouping"]}
    shares = (
        f"{name} {number_told(number_of(row, 'share'), 'share')}" for name, row in last.items()
    )
    return f"Still waiting at the end: {', '.join(shares)}"


def _extremes(rows: Rows, title: str) -> str:
    """Say which group has the lowest and which the highest rate."""
    known = [row for row in rows if compared_row(row)]
    if len(known) < 2:
        return "Rates by group"
    low, high = (side(known, key=lambda row: number_of(row, "rate")) for side in (min, max))
    return (
        f"Lowest: {low['group']}, {number_told(number_of(low, 'rate'), 'share')}; highest:"
        f" {high['group']}, {number_told(number_of(high, 'rate'), 'share')} {title}"
    )


def _widest(rows: Rows) -> str:
    """Say which gap is the widest."""
    known = [row for row in rows if math.isfinite(number_of(row, "difference"))]
    if not known:
        return "No difference is defined"
    row = max(known, key=lambda one: abs(number_of(one, "difference")))
    gap = number_of(row, "difference")
    way = "less" if gap < 0.0 else "more"
    other = row.get("other", row.get("reference"))
    size = number_in(abs(gap), "share")
    return f"Widest: {row['group']} has {size} points {way} than {other}"


def _methods(rows: Rows) -> str:
    """Say how large the first gap is by each method."""
    sides = ("grouping", "group", "reference")
    own = [row for row in rows if all(row[key] == rows[0][key] for key in sides)]
    sizes = (f"{row['method']} {number_in(number_of(row, 'difference'), 'share')}" for row in own)
    return f"{rows[0]['group']} − {rows[0]['reference']}: {', '.join(sizes)} points"


def _left(rows: Rows) -> str:
    """Say what is left of the first gap."""
    title, own = next(iter(comparisons(rows).items()))
    first, last = (number_in(number_of(row, "difference"), "share") for row in (own[0], own[-1]))
    return f"{title}: of {first} points, {last} are left"


def _turn(rows: Rows, axis: str, key: str) -> str:
    """Say where the number is lowest and where it is highest."""
    known = [row for row in rows if isinstance(row.get(key), int | float)]
    if not known:
        return "No numbers"
    unit = "" if key == "ratio" else "share"
    points = " points" if key == "difference" else ""
    ends = []
    for word, side in (("Lowest", min), ("highest", max)):
        row = side(known, key=lambda one: number_of(one, key))
        who = sides_text(row, str) if "reference" in row else row.get("group", "")
        value = number_of(row, key)
        size = f"{number_in(value, unit)}{points}" if points else number_told(value, unit)
        ends.append(
            f"{word}: {who} {'in' if axis == 'period' else 'at'} {axis_text(row[axis])}, {size}"
        )
    return "; ".join(ends)
