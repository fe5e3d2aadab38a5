"""Rates of groups whose decisions are weighted or repeat within persons, branches or officers."""

from typing import Any

import numpy as np

from fairgym.statistics.proportions import Shares


def effective_shares(
    values: np.ndarray,
    cells: np.ndarray,
    number: int,
    weight: np.ndarray | None = None,
    units: np.ndarray | None = None,
) -> Shares:
    """Return the share of ones in every cell, with its effective number of independent decisions.

    The effective number is rate (1 - rate) / variance, with the linearised variance over units (E.
    L. Korn and B. I. Graubard 1998, Survey Methodology 24:193), at most Kish's (sum of weights)^2 /
    (sum of squared weights). Variance and degrees of freedom allow for few and for unequal units
    (`few_units`). If all values of a cell are equal, so that no variance shows, every unit counts
    as one decision. Without weights and units it is the number of decisions.

    Args:
        values: Zeros and ones, or booleans, shape (rows,).
        cells: Index of each row's cell, such as its group; -1 for none.
        number: Number of cells.
        weight: Weights of at least 0; None if all rows count alike.
        units: Whole numbers from 0 that tell independent units apart: persons or clusters; None if
            all rows are independent.

    Returns:
        Shares of the shape (number,).

    Examples:
        >>> import numpy as np
        >>> from fairgym.statistics.clusters import effective_shares
        >>> twice = np.repeat([1, 0, 0, 1, 0, 1, 0, 0], 2)
        >>> one = effective_shares(twice, np.zeros(16, int), 1, units=np.repeat(np.arange(8), 2))
        >>> one.rate.tolist(), one.n.round(2).tolist(), one.degrees.tolist()
        ([0.375], [7.0], [7.0])
    """
    known = cells >= 0
    where, y = cells[known], values[known].astype(np.float64)
    w = np.ones(len(where)) if weight is None else weight[known]
    total = np.bincount(where, w, number)
    above = np.bincount(where, w * y, number)
    rate = np.divide(above, total, out=np.full(number, np.nan), where=total > 0)
    if weight is None and units is None:
        return Shares(rate, total)
    residual = w * (y - rate[where])
    own = None if units is None else units[known]
    cell, sums, sizes = _by_unit(where, own, number, residual, w)
    kish = _over(total**2, np.bincount(where, w**2, number))
    with np.errstate(divide="ignore", invalid="ignore"):
        factor, degrees = few_units(sizes, cell, number)
        variance = np.bincount(cell, sums**2 * factor, number)
        n = np.minimum(rate * (1.0 - rate) * total**2 / variance, kish)
    alike = ~(rate * (1.0 - rate) > 0.0) | ~np.isfinite(n)
    n = np.where(alike, _over(total**2, np.bincount(cell, sizes**2, number)), n)
    return Shares(rate, n, degrees)


def few_units(
    sizes: np.ndarray, cells: np.ndarray | None = None, number: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return what makes a variance over units right when units are few or of unequal size.

    The squared sum of a unit's residuals is too small by 1 minus the unit's share of the cell (R.
    M. Bell and D. F. McCaffrey 2002, Survey Methodology 28:169). The degrees of freedom are
    Satterthwaite's for the variance of a mean: those for independent decisions, or for units whose
    decisions are all alike, whichever are fewer. For equal units they are the number of units - 1.

    Args:
        sizes: Rows, or sums of weights, of every unit, shape (units,).
        cells: Index of each unit's cell; None for a single one.
        number: Number of cells.

    Returns:
        `(factors, degrees)`: a factor of each squared sum, and the degrees of freedom of each cell,
        0 for a single unit.

    Examples:
        >>> import numpy as np
        >>> from fairgym.statistics.clusters import few_units
        >>> factors, degrees = few_units(np.array([10.0, 10.0, 10.0, 70.0]))
        >>> factors.round(2).tolist(), degrees.round(2).tolist()
        ([1.11, 1.11, 1.11, 3.33], [1.12])
    """
    where = np.zeros(len(sizes), np.int64) if cells is None else cells

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(where, values, number)

    share = _over(sizes, total(sizes)[where])
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = 1.0 / (1.0 - share)
        squares, cross = total(share**2), share**2 * factor
        independent = 1.0 / (squares + total(cross) ** 2 - total(cross**2))
        degrees = np.minimum(independent, squares**2 / total(share**4))
    return factor, np.where(total((sizes > 0.0).astype(float)) > 1.0, degrees, 0.0)


def correlations(
    values: np.ndarray,
    groups: np.ndarray,
    number: int,
    weight: np.ndarray | None,
    units: np.ndarray | None,
) -> np.ndarray | None:
    """Return the correlations of the groups' rates, which units with several groups make.

    Args:
        values: Zeros and ones, shape (rows,).
        groups: Index of each row's group; -1 for none.
        number: Number of groups.
        weight: Weights; None if all rows count alike.
        units: Numbers of the units; None if all rows are independent.

    Returns:
        A matrix (number, number) with ones on its diagonal; None if no unit has two groups.
    """
    if units is None:
        return None
    known = groups >= 0
    where, y = groups[known], values[known].astype(np.float64)
    w = np.ones(len(where)) if weight is None else weight[known]
    rate = _over(np.bincount(where, w * y, number), np.bincount(where, w, number))
    residual = _summed(units[known], where, number, w * (y - rate[where]))
    if (np.diff(residual.indptr) <= 1).all():
        return None
    products = np.asarray((residual.T @ residual).todense())
    spread = np.sqrt(np.diag(products))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.nan_to_num(products / np.outer(spread, spread))
    np.fill_diagonal(found, 1.0)
    return np.clip(found, -1.0, 1.0)


def _by_unit(
    cells: np.ndarray,
    units: np.ndarray | None,
    number: int,
    residual: np.ndarray,
    weight: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cell, sum of residuals and sum of weights of every unit in every cell."""
    if units is None:
        return cells, residual, weight
    sums, sizes = (_summed(units, cells, number, values) for values in (residual, weight))
    return sums.indices, sums.data, sizes.data


def _summed(units: np.ndarray, cells: np.ndarray, number: int, values: np.ndarray) -> Any:
    """Return the sums of values as a sparse array (units, cells), zeros that occur included."""
    from scipy.sparse import csr_array  # here: `import fairgym` is quick without it

    return csr_array((values, (units, cells)), (int(units.max(initial=-1)) + 1, number))


def _over(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.zeros(np.shape(above)), where=below > 0)
