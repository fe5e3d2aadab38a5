"""Tables of logged decisions as components, summed by step and stakeholder."""

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

    Each row of the table is a decision: its step, the stakeholder whom it concerned, and what they
    received. Rows of the same step and stakeholder are summed. The sum is 0 where there are none.

    Args:
        table: Columns by name, of equal lengths: a dictionary of lists, or a data frame.
        columns: Names of the columns that become components.
        time: Name of the column with the steps, whole numbers from 0.
        stakeholder: Name of the column with the stakeholders.
        stakeholders: Stakeholders in the order of the entries; None for all in the table, sorted.
        steps: Number of steps; None for those up to the last row.

    Returns:
        Components whose fields have the shape `(steps, stakeholders)`.

    Raises:
        FairgymError: If a column is missing, has the wrong length or invalid entries.

    Examples:
        >>> from fairgym.fairness import component_rows
        >>> log = {"time": [0, 0, 2], "group": ["B", "A", "A"], "loans": [1, 1, 1]}
        >>> component_rows(log, ["loans"]).loans.tolist()
        [[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]
    """
    if isinstance(columns, str) or not columns:
        raise FairgymError(f"columns must be a list of one or more names, got {columns!r}")
    for name in columns:
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
            raise FairgymError(f"columns must be names such as loans, got {name!r}")
    if steps is not None:
        check_shape("steps", steps, 1, LARGEST_NUMBER_OF_STEPS)
    found = {name: _column(table, name) for name in (time, stakeholder, *columns)}
    when = _steps(time, found[time], steps)
    whom, parts = _places(stakeholder, found[stakeholder], stakeholders)
    rows = (int(when.max(initial=-1)) + 1) if steps is None else steps
    if rows < 1:
        raise FairgymError("the table must have one or more rows if steps is not given, got none")
    sums = {}
    for name in columns:
        total = np.zeros((rows, parts))
        np.add.at(total, (when, whom), _numbers(name, found[name]))
        sums[name] = jnp.asarray(total, jnp.float32)
    return declared(tuple(columns), stakeholder)(**sums)


def _column(table: Any, name: str) -> np.ndarray:
    """Return a column, which must be as long as the others."""
    names = list(table.keys())
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
    """Return a column as finite numbers."""
    try:
        numbers = column.astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.array([_number(value) for value in column])
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        row = int(bad[0])
        raise FairgymError(
            f"the column {name!r} must have numbers, got {column.tolist()[row]!r} in row {row}"
        )
    return numbers


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _steps(name: str, column: np.ndarray, steps: int | None) -> np.ndarray:
    """Return a column as whole numbers from 0 to one below the number of steps."""
    numbers = _numbers(name, column)
    most = LARGEST_NUMBER_OF_STEPS if steps is None else steps
    bad = np.flatnonzero((numbers < 0) | (numbers >= most) | (numbers % 1 != 0))
    if bad.size:
        row = int(bad[0])
        raise FairgymError(
            f"the column {name!r} must have whole numbers from 0 to {most - 1:,}, got"
            f" {column.tolist()[row]!r} in row {row}"
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
