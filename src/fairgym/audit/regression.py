"""Logistic regression of decisions on the group and the columns that may account for a gap."""

import dataclasses
import math
import warnings
from collections.abc import Mapping

import numpy as np

from fairgym.audit.columns import Codes
from fairgym.core import FairgymError
from fairgym.data.store import need
from fairgym.statistics.clusters import few_units
from fairgym.statistics.strata import Pooled, Rows, quantile

MOST_LEVELS = 50  # names of a column
FEW_EVENTS, TOO_FEW_EVENTS = 10, 5  # of the rarer decision, per parameter
_CLOSE = 1e-9  # share of a column's variance that others must leave
_CERTAIN = 1e-7  # distance of a fitted rate from 0 or 1 that shows separation


@dataclasses.dataclass(frozen=True)
class Regression:
    """A fitted logistic regression, in differences of rates.

    Attributes:
        effect: Average marginal effect of the group, ours - theirs, over the rows of both.
        odds_ratio: Odds ratio at equal columns.
        columns: Part of the raw gap that the columns account for.
        group: Part that they leave; both add up to the raw gap.
        by_column: What each column accounts for; they add up to `columns`. Empty if undefined.
        partial_f: Partial f of the group in the linear regression on the same columns.
    """

    effect: Pooled
    odds_ratio: Pooled
    columns: float
    group: float
    by_column: Mapping[str, float]
    partial_f: float


@dataclasses.dataclass(frozen=True)
class _Cells:
    """Distinct rows: of each its side and parameters, and how many decisions it has.

    Attributes:
        of_row: Index of each row's cell.
        side: 1 for ours, 0 for theirs, shape (cells,).
        above: Favourable decisions, or their weights.
        total: All decisions, or their weights.
        design: Parameters without the group: the intercept, then those of the columns.
        source: Name of each parameter's column; "" for the intercept.
        fixed: Whether a level of a column tells the decisions of the cell with certainty.
    """

    of_row: np.ndarray
    side: np.ndarray
    above: np.ndarray
    total: np.ndarray
    design: np.ndarray
    source: tuple[str, ...]
    fixed: np.ndarray


def regression(
    rows: Rows, columns: Mapping[str, Codes | np.ndarray], level: float
) -> tuple[Regression | None, list[str]]:
    """Return the logistic regression of the decisions of two groups, and what to know about it.

    Errors are robust to clusters if there are units, and to weights. Each group needs both kinds
    of decisions. A level of a column without any variation (complete separation) tells its
    decisions with certainty: there the group's effect is 0.

    Args:
        rows: The decisions; strata are not used.
        columns: Columns to adjust for, without unknown values.
        level: Confidence level.

    Returns:
        `(regression, sentences)`; None if it has no answer, with the reason.
    """
    notes: list[str] = []
    by_side = [rows.values[rows.side == side] for side in (0, 1)]
    if any(one.size == 0 or one.min() == one.max() for one in by_side):
        return None, ["no regression: a group has decisions of one kind only."]
    cells = _cells(rows, columns, notes)
    if cells.design.shape[1] == 1:
        return None, [*notes, "no regression: no column is left to adjust for."]
    if cells.fixed.all():
        return None, [*notes, "no regression: the columns tell all decisions with certainty."]
    kept = _independent(cells, notes)
    if kept is None:
        return None, [*notes, "no regression: the columns tell the groups apart with certainty."]
    live = ~cells.fixed
    design = np.column_stack([cells.design[:, kept], cells.side])
    events = _events(rows, live[cells.of_row])
    if events < TOO_FEW_EVENTS * design.shape[1]:
        return None, [
            *notes,
            f"no regression: {events:,} decisions of the rarer kind are too few for"
            f" {design.shape[1]} parameters.",
        ]
    if events < FEW_EVENTS * design.shape[1]:
        notes.append(
            f"only {events:,} decisions of the rarer kind for {design.shape[1]} parameters of the"
            " regression, whose intervals are then too narrow."
        )
    try:
        beta = _fitted(design[live], cells.above[live], cells.total[live])
    except FairgymError as error:
        return None, [*notes, f"no regression: {error}."]
    if beta is None:
        return None, [
            *notes,
            "no regression: columns together tell decisions with certainty (separation), so that"
            " the odds ratios have no finite estimate.",
        ]
    source = tuple(cells.source[place] for place in kept)
    return _results(rows, cells, design, beta, source, level), notes


def _cells(rows: Rows, columns: Mapping[str, Codes | np.ndarray], notes: list[str]) -> _Cells:
    """Find the distinct rows and their parameters."""
    used: dict[str, Codes | np.ndarray] = {}
    place = rows.side.astype(np.int64)
    for name, column in columns.items():
        if isinstance(column, Codes) and np.count_nonzero(column.counts()) > MOST_LEVELS:
            notes.append(f"{name} has more than {MOST_LEVELS} values; no regression on it.")
            continue
        used[name] = column
        if isinstance(column, Codes):
            values, size = column.codes.astype(np.int64), len(column.names)
        else:
            different, values = np.unique(column, return_inverse=True)
            size = len(different)
        place = np.unique(place * max(size, 1) + values, return_inverse=True)[1]
    _, first, of_row = np.unique(place, return_index=True, return_inverse=True)
    weight = np.ones(len(of_row)) if rows.weight is None else rows.weight
    total = np.bincount(of_row, weight)
    above = np.bincount(of_row, weight * rows.values)
    codes_of = {
        name: (column, column.codes[first])
        for name, column in used.items()
        if isinstance(column, Codes)
    }
    fixed = _certain(codes_of, above, total, notes) | (total <= 0.0)
    parts, source = [np.ones(len(first))], [""]
    for name, column in used.items():
        if isinstance(column, Codes):
            codes = codes_of[name][1]
            sizes = np.bincount(codes, np.where(fixed, 0.0, total), len(column.names))
            for code in np.flatnonzero(sizes > 0.0):
                if code != np.argmax(sizes):
                    parts.append((codes == code).astype(np.float64))
                    source.append(name)
        else:
            spread = column.std()
            parts.append((column[first] - column.mean()) / (spread if spread > 0.0 else 1.0))
            source.append(name)
    side = rows.side[first].astype(np.float64)
    return _Cells(of_row, side, above, total, np.column_stack(parts), tuple(source), fixed)


def _certain(
    codes_of: Mapping[str, tuple[Codes, np.ndarray]],
    above: np.ndarray,
    total: np.ndarray,
    notes: list[str],
) -> np.ndarray:
    """Return which cells have a level without variation, those left after others included."""
    fixed = np.zeros(len(total), bool)
    told: dict[str, list[str]] = {}
    while True:
        found = np.zeros(len(total), bool)
        for name, (column, codes) in codes_of.items():
            sums = [
                np.bincount(codes, np.where(fixed, 0.0, one), len(column.names))
                for one in (above, total)
            ]
            certain = (sums[1] > 0.0) & ((sums[0] <= 0.0) | (sums[0] >= sums[1]))
            found |= certain[codes] & ~fixed
            told.setdefault(name, []).extend(column.names[i] for i in np.flatnonzero(certain))
        if not found.any():
            break
        fixed |= found
    for name, values in told.items():
        if values:
            listed = ", ".join(values[:5]) + f" and {len(values) - 5} more" * (len(values) > 5)
            notes.append(f"all decisions are alike where {name} is {listed} (separation).")
    return fixed


def _independent(cells: _Cells, notes: list[str]) -> list[int] | None:
    """Return the parameters that no others determine; None if the group is determined."""
    weight = np.where(cells.fixed, 0.0, cells.total)
    every = np.column_stack([cells.design, cells.side])
    gram = (every * weight[:, None]).T @ every
    size = np.sqrt(np.diag(gram))
    gram = gram / np.outer(np.where(size > 0.0, size, 1.0), np.where(size > 0.0, size, 1.0))
    kept: list[int] = []
    for place in range(len(gram)):
        own, between = gram[np.ix_(kept, kept)], gram[kept, place]
        left = gram[place, place] - (between @ np.linalg.solve(own, between) if kept else 0.0)
        if left > _CLOSE:
            kept.append(place)
    last = len(gram) - 1
    if last not in kept:
        return None
    lost = [cells.source[place] for place in range(last) if place not in kept]
    for name in dict.fromkeys(lost):
        notes.append(f"{name} is determined by the columns before it, in part or as a whole.")
    return kept[:-1]


def _events(rows: Rows, live: np.ndarray) -> int:
    """Return the number of decisions of the rarer kind."""
    above = int(rows.values[live].sum())
    return min(above, int(live.sum()) - above)


def _fitted(design: np.ndarray, above: np.ndarray, total: np.ndarray) -> np.ndarray | None:
    """Return the coefficients; None if there is no finite maximum."""
    models, families = (
        need(f"statsmodels.genmod.{module}", "the regression of an audit")
        for module in ("generalized_linear_model", "families")
    )
    both = np.column_stack([above, np.maximum(total - above, 0.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = models.GLM(both, design, family=families.Binomial()).fit(
                maxiter=100, tol=1e-12, tol_criterion="params"
            )
        except (np.linalg.LinAlgError, ValueError, ArithmeticError):
            return None
        beta = np.asarray(found.params)
        p = _logistic(design @ beta)
    odd = (p < _CERTAIN) | (p > 1.0 - _CERTAIN)
    if not np.isfinite(beta).all() or (odd.any() and np.abs(beta).max() > 15.0):
        return None
    return beta


def _results(
    rows: Rows,
    cells: _Cells,
    design: np.ndarray,
    beta: np.ndarray,
    source: tuple[str, ...],
    level: float,
) -> Regression:
    """Turn coefficients into effects on the rate."""
    live, total = ~cells.fixed, np.where(cells.total > 0.0, cells.total, 0.0)
    covariance, degrees = _covariance(rows, cells, design, beta)
    t = quantile(level, degrees)
    certain = np.divide(cells.above, total, out=np.zeros(len(total)), where=total > 0.0)
    rate, slope = [], []
    for side in (0.0, 1.0):
        one = design.copy()
        one[:, -1] = side
        p = _logistic(one @ beta)
        rate.append(np.where(live, p, certain))
        weight = np.where(live, total * p * (1.0 - p), 0.0)
        slope.append(weight @ one / total.sum())
    gradient = slope[1] - slope[0]
    effect = float(total @ (rate[1] - rate[0]) / total.sum())
    half = t * math.sqrt(max(float(gradient @ covariance @ gradient), 0.0))
    spread = t * math.sqrt(max(float(covariance[-1, -1]), 0.0))
    ratio = [float(np.exp(np.clip(beta[-1] + way, -700, 700))) for way in (0.0, -spread, spread)]
    ours, theirs = (total * (cells.side == side) for side in (1.0, 0.0))
    ours, theirs = ours / ours.sum(), theirs / theirs.sum()
    change = 0.5 * (ours - theirs) @ (rate[0] + rate[1])
    left = 0.5 * (ours + theirs) @ (rate[1] - rate[0])
    shift = ((ours - theirs) * live) @ design[:, :-1] * beta[:-1]
    by_column: dict[str, float] = {}
    named = [name for name in dict.fromkeys(source) if name]
    whole = sum(shift[place] for place, name in enumerate(source) if name)
    sizes = sum(abs(shift[place]) for place, name in enumerate(source) if name)
    if abs(whole) > 0.05 * sizes:  # else their shares of it have no meaning
        for name in named:
            own = sum(shift[place] for place, other in enumerate(source) if other == name)
            by_column[name] = float(change * own / whole)
    return Regression(
        Pooled(effect, max(effect - half, -1.0), min(effect + half, 1.0)),
        Pooled(ratio[0], ratio[1], ratio[2]),
        float(change),
        float(left),
        by_column,
        _linear_f(design, cells),
    )


def _covariance(
    rows: Rows, cells: _Cells, design: np.ndarray, beta: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the coefficients' covariance, a sandwich with clusters or weights, and its degrees."""
    p = _logistic(design @ beta)
    weight = np.where(cells.fixed, 0.0, cells.total * p * (1.0 - p))
    bread = np.linalg.inv((design * weight[:, None]).T @ design)
    if rows.plain:
        return bread, 0.0
    live = ~cells.fixed[cells.of_row]
    residual = np.where(live, rows.values - p[cells.of_row], 0.0)
    residual = residual if rows.weight is None else residual * rows.weight
    counted = np.ones(len(residual)) if rows.weight is None else rows.weight
    if rows.units is None:
        factor, (degrees,) = few_units(counted)
        squares = np.bincount(cells.of_row, residual**2 * factor, len(p))
        meat = (design * squares[:, None]).T @ design
    else:
        from scipy.sparse import csr_array  # here: `import fairgym` is quick without it

        shape = (int(rows.units.max()) + 1, len(p))
        factor, (degrees,) = few_units(np.bincount(rows.units, counted))
        sums = csr_array((residual, (rows.units, cells.of_row)), shape) @ design
        meat = (sums * np.where(np.isfinite(factor), factor, 0.0)[:, None]).T @ sums
    return bread @ meat @ bread, max(float(degrees), 1.0)


def _linear_f(design: np.ndarray, cells: _Cells) -> float:
    """Partial f of the group in the linear regression."""
    live = ~cells.fixed
    x, total, above = design[live], cells.total[live], cells.above[live]
    inverse = np.linalg.inv((x * total[:, None]).T @ x)
    beta = inverse @ (x.T @ above)
    fitted = x @ beta
    left = float(above.sum() - 2.0 * (fitted @ above) + total @ fitted**2)
    return math.sqrt(beta[-1] ** 2 / (inverse[-1, -1] * left)) if left > 0.0 else math.inf


def _logistic(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1.0 + np.tanh(0.5 * x))
