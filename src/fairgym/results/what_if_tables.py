"""Tables of a what-if: rival worlds, sensitivity, parts of a gap, people, courses and grids."""

from collections.abc import Mapping, Sequence

from fairgym.config.differences import small, words
from fairgym.core import Environment
from fairgym.results.labels import those
from fairgym.results.numbers import (
    NO_DIFFERENCE,
    Estimate,
    difference_text,
    number,
    unit_text,
)
from fairgym.results.table import Table
from fairgym.results.what_if import Record, Rival, Swing, gap_parts, part_title
from fairgym.training.decomposition import Decomposition
from fairgym.training.sensitivity import CHANCE, Sensitivity

TIMES = 4  # points of time in a table of courses


def sensitivity_table(found: Sensitivity, several: Sequence[Swing], last: bool = True) -> Table:
    """Return a row per uncertain parameter, the largest total share first.

    Args:
        found: The sensitivity.
        several: What each parameter does to one measure.
        last: Whether to explain the columns in the caption.
    """
    quantity = several[0].quantity
    rows = [
        [
            factor_title(one),
            _range(one),
            *(_share(one, which) for which in ("main", "total")),
            *_ends(one),
        ]
        for one in by_share(several)
    ]
    caption = (
        "alone: share of the variance of the difference that the parameter explains alone; with"
        " others: with all its interactions [95% CI]. The last columns vary one parameter at a"
        f" time: the difference at both ends of its range, {found.episodes} episodes each, and"
        " where it changes its sign"
    )
    unit = "" if quantity.unit in ("", "share") else f" ({quantity.unit})"
    return Table(
        ["", "range", "alone (%)", "with others (%)", "at the low end", "at the high end", "0 at"],
        rows,
        caption if last else "",
        f"What decides the effect of “{found.name}” on {small(quantity.title)}{unit}?",
    )


def by_share(several: Sequence[Swing]) -> list[Swing]:
    """Return the factors of one measure, the largest total share first."""
    return sorted(several, key=lambda one: -one.share.total)


def factor_title(one: Swing) -> str:
    """Return the name of a factor in words."""
    return words(one.share.factor) if one.share.factor != CHANCE else "people and chance"


def _range(one: Swing) -> str:
    if one.course is None:
        return ""
    return f"{number(one.course.values[0])} to {number(one.course.values[-1])}"


def _share(one: Swing, which: str) -> str:
    ends = [getattr(one.share, f"{which}{end}") for end in ("", "_low", "_high")]
    mean, low, high = (f"{100.0 * max(0.0, min(1.0, x)):.0f}" for x in ends)
    return f"{mean} [{low}, {high}]"


def _ends(one: Swing) -> list[str]:
    if one.course is None:
        return ["", "", ""]
    course, unit = one.course, one.quantity.unit
    ends = [
        difference_text(Estimate(course.means[i], float("nan"), float("nan")), unit)
        for i in (0, -1)
    ]
    return [*ends, ", ".join(map(number, course.flips)) or "nowhere"]


def decomposition_table(env: Environment, found: Decomposition) -> Table:
    """Return a gap between two groups, and its parts, which sum to it."""
    title, unit, parts = gap_parts(env, found)
    first, second = map(those, found.groups)
    rows = [
        [part_title(name), difference_text(one, unit).replace(NO_DIFFERENCE, "0")]
        for name, one in parts
    ]
    caption = (
        f"{small(title)} of {first} minus that of {second}, mean over {found.episodes} episodes"
        " [95% CI]; the parts sum to the gap. Paired episodes: decisions as they are or blind to"
        " the group, and starting attributes kept or exchanged between the two groups"
    )
    name = f"The gap in {small(title)} with “{found.scenario}”"
    return Table(["due to", "gap"], rows, caption, name)


def worlds_table(several: Sequence[Rival]) -> Table:
    """Return a row per measure, a column per world; of one scenario.

    Args:
        several: Differences of one scenario in rival worlds, of all people.
    """
    names = list(dict.fromkeys(one.world for one in several))
    rows = []
    for measure in dict.fromkeys(one.quantity.name for one in several):
        own = {one.world: one for one in several if one.quantity.name == measure}
        first = next(iter(own.values()))
        unit = first.quantity.unit
        turned = [name for name in names if own[name].overturned]
        cells = [
            difference_text(own[name].there, unit) + ", opposite" * (name in turned)
            for name in names
        ]
        rows.append(
            [
                f"{first.quantity.title}{unit_text(unit)}",
                difference_text(first.here, unit),
                *cells,
            ]
        )
    caption = "paired difference from the reference [95% CI]; opposite: both clear, other sign"
    return Table(["", "as assumed", *map(words, names)], rows, caption, "Rival worlds")


# ---------------------------------------------------------------- people, courses, grids


def people_table(records: Sequence[Record]) -> Table:
    """Return where people end, by group and starting score.

    Args:
        records: Records of kind "people" of one scenario.
    """
    rows: list[list[str]] = []
    for place, one in enumerate(records):
        who = [words(one["part"]), str(one["score"])]
        if not place or who != [words(records[place - 1]["part"]), records[place - 1]["score"]]:
            rows.append([f"{who[0]}, {who[1]} third of the starting scores"])
        counted = one["measure"] in ("more", "less")
        before = "" if counted else number(one["reference_mean"])
        rows.append([one["title"], before, number(one["mean"]), _difference(one)])
    first = records[0]
    caption = "people per episode; paired difference [95% CI] of the same people"
    return Table(["", first["reference"], first["policy"], "difference"], rows, caption)


def course_table(records: Sequence[Record], time_unit: str) -> Table:
    """Return differences at four points of time.

    Args:
        records: Records of kind "time" of one scenario.
        time_unit: Unit of the steps.
    """
    known = sorted({one["step"] for one in records})
    quarters = [known[-1] * (place + 1) / TIMES for place in range(TIMES)]
    steps = sorted({min(known, key=lambda step: abs(step - goal)) for goal in quarters})
    rows: list[list[str]] = []
    for title, several in courses_by_title(records).items():
        parts = list(dict.fromkeys(one["part"] for one in several))
        cells = {(one["part"], one["step"]): _difference(one) for one in several}
        rows += [[title]] if parts != [None] else []
        for part in parts:
            name = title if part is None else words(part)
            rows.append([name, *(cells[part, step] for step in steps)])
    caption = "difference so far from the reference [95% CI], after so many steps"
    return Table(["", *(f"{step:,} {time_unit}" for step in steps)], rows, caption)


def courses_by_title(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the records of each measure by its title with the unit."""
    found: dict[str, list[Record]] = {}
    for one in records:
        found.setdefault(f"{one['title']}{unit_text(one['unit'])}", []).append(one)
    return found


def grid_table(records: Sequence[Record]) -> Table:
    """Return the differences in every cell: rows are sizes, columns values of the parameter.

    Args:
        records: Records of kind "grid" of one scenario.
    """
    values = list(dict.fromkeys(one["factor_value"] for one in records))
    rows: list[list[str]] = []
    for title, several in courses_by_title(records).items():
        rows.append([title])
        cells = {(one["size"], one["factor_value"]): _difference(one) for one in several}
        for size in dict.fromkeys(one["size"] for one in several):
            rows.append([f"{size:.0%}", *(cells[size, value] for value in values)])
    first = records[0]
    caption = (
        "paired difference from the reference at the same value [95% CI]; 50% is half way between"
        f" the reference and “{first['policy']}” in every number that differs"
    )
    return Table(["size", *map(number, values)], rows, caption, words(first["factor"]))


def _difference(one: Mapping[str, float | str]) -> str:
    mean, low, high = (float(one[f"difference{end}"]) for end in ("", "_low", "_high"))
    return difference_text(Estimate(mean, low, high), str(one["unit"]))
