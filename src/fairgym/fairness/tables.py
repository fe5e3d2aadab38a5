"""Tables of logged decisions as components, summed by step and stakeholder."""

import functools
import keyword
import types
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from fairgym.core import Components, FairgymError, check_shape, component
from fairgym.fairness.times import Periods, numbered

TRUE, FALSE = ("yes", "true"), ("no", "false")
LARGEST_NUMBER_OF_STEPS = 10_000_000


@functools.cache
def declared(names: tuple[str, ...], per: str) -> type[Components]:
    """Return a struct of components with these names, each with an entry per stakeholder."""
    fields = {name: component(f"column {name!r}", unit="", per=per) for name in names}
    annotations = dict.fromkeys(names, Any)
    return types.new_class(
        "TableComponents",
        (Components,),
        {},
        lambda body: body.update(fields, __annotations__=annotations),
    )


def component_rows(
    table: Any,
    columns: Sequence[str],
    *,
    time: str = "time",
    stakeholder: str = "group",
    stakeholders: Sequence[Any] | None = None,
    steps: int | None = None,
) -> Any:
    """Return the components of a table of logged decisions, for `Scheme.of_trace`.

    Each row of the table is a decision: its time, the stakeholder whom it concerned, and what they
    received. Rows of the same time and stakeholder are summed. The sum is 0 where there are none.

    The steps are the distinct times of the table in their order, and `periods` returns their names.
    A year or month without a decision is no step. With `steps` the times are numbers of steps, and
    those without a decision count too.

    Args:
        table: Columns by name, of equal lengths: a dictionary of lists, or a data frame of pandas,
            polars or pyarrow.
        columns: Names of the columns that become components. Their entries are numbers, booleans,
            or yes and no (true and false), which count 1 and 0.
        time: Name of the column with the times: dates, months, quarters, weeks, years, steps, or
            one word with numbers, such as "wave 3".
        stakeholder: Name of the column with the stakeholders.
        stakeholders: Stakeholders in the order of the entries; None for all in the table, sorted.
        steps: Number of steps of a table whose times are whole numbers from 0 to `steps` - 1; None
            for the distinct times.

    Returns:
        Components whose fields have the shape `(steps, stakeholders)`.

    Raises:
        FairgymError: If a column is missing, has the wrong length or invalid entries.

    Examples:
        >>> from fairgym.fairness import component_rows, periods
        >>> log = {"year": [1997, 1997, 2002], "group": ["B", "A", "A"], "loans": ["yes"] * 3}
        >>> component_rows(log, ["loans"], time="year").loans.tolist()
        [[1.0, 1.0], [1.0, 0.0]]
        >>> periods(log, "year").names
        ('1997', '2002')
    """
    if isinstance(columns, str) or not columns:
        raise FairgymError(f"columns must be a list of one or more names, got {columns!r}")
    for name in columns:
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
            raise FairgymError(f"columns must be names such as loans, got {name!r}")
    if steps is not None:
        check_shape("steps", steps, 1, LARGEST_NUMBER_OF_STEPS)
    found = {name: _column(table, name) for name in (time, stakeholder, *columns)}
    if steps is None:
        names, when = numbered(time, found[time])
        rows = len(names)
    else:
        when, rows = _steps(time, found[time], steps), steps
    if rows < 1:
        raise FairgymError("the table must have one or more rows if steps is not given, got none")
    whom, parts = _places(stakeholder, found[stakeholder], stakeholders)
    sums = {}
    for name in columns:
        total = np.zeros((rows, parts))
        np.add.at(total, (when, whom), _numbers(name, found[name]))
        sums[name] = jnp.asarray(total, jnp.float32)
    return declared(tuple(columns), stakeholder)(**sums)


def periods(table: Any, time: str = "time") -> Periods:
    """Return the distinct times of a table in their order: the steps of `component_rows`.

    Args:
        table: As for `component_rows`.
        time: Name of the column with the times.

    Raises:
        FairgymError: If the column is missing, or an entry is no time.
    """
    return numbered(time, _column(table, time))


def _names(table: Any) -> list[Any]:
    """Return the names of the columns of a dictionary or a data frame."""
    if hasattr(table, "keys"):  # a dictionary, or pandas
        return list(table.keys())
    in_memory = not hasattr(table, "collect")
    for attribute in ("column_names", "columns") if in_memory else ():  # of pyarrow, of polars
        if hasattr(table, attribute):
            return list(getattr(table, attribute))
    raise FairgymError(
        "the table must have columns by name, as a dictionary of lists or a data frame of pandas,"
        f" polars or pyarrow in memory, got a {type(table).__name__}"
    )


def _column(table: Any, name: str) -> np.ndarray:
    """Return a column, which must be as long as the others."""
    names = _names(table)
    if name not in names:
        raise FairgymError(
            f"the table has no column {name!r}; it has: {', '.join(map(str, names))}"
        )
    column, length = np.asarray(table[name]), len(table[names[0]])
    if column.shape != (length,):
        raise FairgymError(
            f"the column {name!r} must have one entry for each of the {length} rows, got the shape"
            f" {column.shape}"
        )
    return column


def _numbers(name: str, column: np.ndarray) -> np.ndarray:
    """Return a column as finite numbers; yes and true count 1, no and false 0."""
    words = column.dtype.kind in "OUST" and len(column) and _truth(column[0]) is not None
    if words:  # then all entries are such words
        numbers = np.array([_truth(value) for value in column], np.float64)  # None is NaN
    else:
        numbers = _floats(column)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        row = int(bad[0])
        kind = f"{' or '.join((*TRUE, *FALSE))} everywhere" if words else "numbers, or yes and no"
        raise FairgymError(
            f"the column {name!r} must have {kind}, got {column.tolist()[row]!r} in row {row}"
        )
    return numbers


def _truth(value: object) -> float | None:
    """Return 1 for yes, 0 for no, None for other entries."""
    word = value.strip().lower() if isinstance(value, str) else ""
    return 1.0 if word in TRUE else 0.0 if word in FALSE else None


def _floats(column: np.ndarray) -> np.ndarray:
    """Return a column as numbers; what is none becomes NaN."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)

    def number(value: Any) -> float:
        try:
            return float(value)
        except (TypeError, ValueError):
            return float("nan")

    return np.array([number(value) for value in column], np.float64)


def _steps(name: str, column: np.ndarray, steps: int) -> np.ndarray:
    """Return a column as whole numbers from 0 to one below the number of steps."""
    numbers = _floats(column)
    bad = np.flatnonzero(~((numbers >= 0) & (numbers < steps) & (numbers % 1 == 0)))
    if bad.size:
        row = int(bad[0])
        raise FairgymError(
            f"the column {name!r} must have whole numbers from 0 to {steps - 1:,} because steps is"
            f" given, got {column.tolist()[row]!r} in row {row}"
        )
    return numbers.astype(np.int64)


def _places(
    name: str, column: np.ndarray, stakeholders: Sequence[Any] | None
) -> tuple[np.ndarray, int]:
    """Return the index of each row's stakeholder, and the number of stakeholders."""
    try:
        order = list(np.unique(column)) if stakeholders is None else list(stakeholders)
    except TypeError as error:  # None or NaN among texts
        raise FairgymError(
            f"the column {name!r} must have names or numbers, got entries of several kinds, which"
            " have no order"
        ) from error
    place = {who: number for number, who in enumerate(order)}
    if len(place) < len(order):
        raise FairgymError(f"stakeholders must not repeat, got {order}")
    unknown = [row for row, who in enumerate(column) if who not in place]
    if unknown:
        raise FairgymError(
            f"the column {name!r} must have only {', '.join(map(str, order))}, got"
            f" {column.tolist()[unknown[0]]!r} in row {unknown[0]}"
        )
    return np.array([place[who] for who in column], np.int64), len(order)
