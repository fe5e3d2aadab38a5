"""Tables of logged decisions as components: rows of a log, summed by step and stakeholder."""

import functools
import keyword
import types
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from fairgym.core import Components, FairgymError, check_shape, component

LARGEST_NUMBER_OF_STEPS = 10_000_000


@functools.cache
def declared(names: tuple[str, ...], per: str) -> type[Components]:
    """A struct of components with these names and an entry per stakeholder each."""
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
    """Components of a table of logged decisions, as `Scheme.of_trace` takes them.

    Each row of the table is a decision: the step it was made in, the stakeholder whom it concerned,
    and what they got. Rows of the same step and stakeholder are summed; of those without rows the
    sum is 0.

    Args:
        table: columns by name, of equal lengths: a dictionary of lists, or a data frame.
        columns: names of the columns that become components.
        time: name of the column with the steps, whole numbers from 0.
        stakeholder: name of the column with the stakeholders.
        stakeholders: the stakeholders in the order of the entries; None for all there are, sorted.
        steps: number of steps; None for those up to the last row.

    Returns:
        Components whose fields have the shape `(steps, stakeholders)`.

    Raises:
        FairgymError: a column that is not there, is too short or holds what it does not take.

    Examples:
        >>> from fairgym.fairness import component_rows
        >>> log = {"time": [0, 0, 2], "group": ["B", "A", "A"], "loans": [1, 1, 1]}
        >>> component_rows(log, ["loans"]).loans.tolist()
        [[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]
    """
    if isinstance(columns, str) or not columns:
        raise FairgymError(f"columns is {columns!r}; it takes a list with a name or more")
    for name in columns:
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
            raise FairgymError(f"columns has {name!r}; a component takes a name such as loans")
    if steps is not None:
        check_shape("steps", steps, 1, LARGEST_NUMBER_OF_STEPS)
    found = {name: _column(table, name) for name in (time, stakeholder, *columns)}
    when = _steps(time, found[time], steps)
    whom, parts = _places(stakeholder, found[stakeholder], stakeholders)
    rows = (int(when.max(initial=-1)) + 1) if steps is None else steps
    if rows < 1:
        raise FairgymError("the table has no rows; without steps it takes one or more")
    sums = {}
    for name in columns:
        total = np.zeros((rows, parts))
        np.add.at(total, (when, whom), _numbers(name, found[name]))
        sums[name] = jnp.asarray(total, jnp.float32)
    return declared(tuple(columns), stakeholder)(**sums)


def _column(table: Any, name: str) -> np.ndarray:
    """A column, as long as the others."""
    names = list(table.keys())
    if name not in names:
        raise FairgymError(
            f"the table has no column {name!r}; it has: {', '.join(map(str, names))}"
        )
    column, length = np.asarray(table[name]), len(table[names[0]])
    if column.shape != (length,):
        raise FairgymError(
            f"the column {name!r} has the shape {column.shape}; it takes one entry for each of the"
            f" {length} rows"
        )
    return column


def _numbers(name: str, column: np.ndarray) -> np.ndarray:
    """A column of finite numbers."""
    try:
        numbers = column.astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.array([_number(value) for value in column])
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        row = int(bad[0])
        raise FairgymError(
            f"the column {name!r} has {column[row]!r} in row {row}; it takes numbers"
        )
    return numbers


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _steps(name: str, column: np.ndarray, steps: int | None) -> np.ndarray:
    """A column of whole numbers from 0 to one below the number of steps."""
    numbers = _numbers(name, column)
    most = LARGEST_NUMBER_OF_STEPS if steps is None else steps
    bad = np.flatnonzero((numbers < 0) | (numbers >= most) | (numbers % 1 != 0))
    if bad.size:
        row = int(bad[0])
        raise FairgymError(
            f"the column {name!r} has {column[row]!r} in row {row}; it takes whole numbers from 0"
            f" to {most - 1:,}"
        )
    return numbers.astype(np.int64)


def _places(
    name: str, column: np.ndarray, stakeholders: Sequence[Any] | None
) -> tuple[np.ndarray, int]:
    """Place of each row's stakeholder among all, and how many they are."""
    try:
        order = list(np.unique(column)) if stakeholders is None else list(stakeholders)
    except TypeError as error:  # None or not-a-number among texts
        raise FairgymError(
            f"the column {name!r} has entries of several kinds, which have no order; it takes names"
            " or numbers"
        ) from error
    place = {who: number for number, who in enumerate(order)}
    if len(place) < len(order):
        raise FairgymError(f"stakeholders is {order}; it takes each of them once")
    unknown = [row for row, who in enumerate(column) if who not in place]
    if unknown:
        raise FairgymError(
            f"the column {name!r} has {column[unknown[0]]!r} in row {unknown[0]}; it takes:"
            f" {', '.join(map(str, order))}"
        )
    return np.array([place[who] for who in column], np.int64), len(order)
