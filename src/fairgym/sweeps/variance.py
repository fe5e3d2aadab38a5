"""Share of a measure's variance over the runs of a sweep that each setting explains."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fairgym.core import FairgymError
from fairgym.statistics.comparisons import explained
from fairgym.sweeps.results import Row, has_measure
from fairgym.sweeps.sweeping import FINISHED

PERMUTATIONS = 500  # random permutations of the runs
EXACT_RUNS = 7  # up to this number of runs, all permutations are used, at most 5,040
ROUNDING = 1e-12  # shares that differ by less are equal
LEVEL, SIGNIFICANCE = 0.95, 0.05
SEEDS, REST = "seeds", "all others together"
UNDECIDABLE = (
    "with so few runs, or such similar values, even the largest possible share has p above .05"
)


class Share(NamedTuple):
    """Share of a measure's variance explained by a factor.

    Attributes:
        measure: Column of the measure.
        factor: A setting, or the interaction of two settings; settings that change together are
            one. Or "seeds", for runs with equal settings, and "all others together", for
            interactions of three or more settings.
        share: Sum of squares as a share of the total.
        null_mean: Mean of the share under permutations of the runs. This and the following are NaN
            for "seeds" and "all others together".
        bound: 95% quantile of the share under permutations.
        p: p-value of the permutation test: share of the permutations, including the observed
            order, whose share of variance is at least as large.
        least_p: Smallest possible p, that of the permutation with the largest share.
    """

    measure: str
    factor: str
    share: float
    null_mean: float = math.nan
    bound: float = math.nan
    p: float = math.nan
    least_p: float = math.nan

    @property
    def clear(self) -> bool:
        """Whether p is at most .05."""
        return self.p <= SIGNIFICANCE

    @property
    def undecidable(self) -> bool:
        """Whether p cannot reach .05, because there are too few runs or different values."""
        return self.least_p > SIGNIFICANCE


class Effects(NamedTuple):
    """Shares of variance of a sweep.

    Attributes:
        shares: For each measure the shares of settings, pairs of settings, seeds, and the rest.
        crossed: Whether every combination has the same number of runs, so that shares add up to 1.
            Otherwise the shares of different settings overlap.
        constant: Measures that are equal in all runs and have no shares.
    """

    shares: list[Share]
    crossed: bool
    constant: list[str]


def effects(
    rows: Sequence[Row], names: Sequence[str], measures: Sequence[str], seed: int = 0
) -> Effects:
    """Return the share of each measure's variance explained by settings, alone and in pairs.

    The share of a setting is the sum of squares of the means by its values, divided by the total:
    the correlation ratio, and in a crossed design Sobol's first-order index. That of a pair is the
    same for the means by both, minus the shares of each. Each share has a null distribution under
    permutations of the runs (of a pair: permutations of the residuals of its two settings) and the
    p-value (1 + m) / (1 + n), where m of n permutations have a share at least as large. With up to
    seven runs n is all permutations but the observed order, so p is exact; otherwise n is 500.

    Args:
        rows: Runs; those that are not finished do not count.
        names: Settings that differ.
        measures: Columns; a measure drops runs without a value.
        seed: Seed of the permutations.

    Raises:
        FairgymError: Fewer than three runs are finished.
    """
    finished = [row for row in rows if row["status"] == FINISHED]
    if len(finished) < 3:
        raise FairgymError(f"{len(finished)} runs are finished; effects needs at least three")
    factors = _factors(finished, names)
    cells = _codes(list(zip(*factors.values(), strict=True)), len(finished))
    sizes = np.bincount(cells)
    levels = math.prod(len(set(codes.tolist())) for codes in factors.values())
    shares: list[Share] = []
    constant = []
    for measure in measures:
        known = np.array([has_measure(row, measure) for row in finished])
        y = np.array([row[measure] for row in finished if has_measure(row, measure)], np.float64)
        if len(y) < 3 or np.ptp(y) == 0.0:
            constant.append(measure)
            continue
        here = {name: codes[known] for name, codes in factors.items()}
        shares += _shares_of(measure, y, here, cells[known], np.random.default_rng(seed))
    crossed = len(sizes) == levels and len(set(sizes.tolist())) == 1
    return Effects(shares, crossed, constant)


def _shares_of(
    measure: str,
    y: np.ndarray,
    factors: Mapping[str, np.ndarray],
    cells: np.ndarray,
    rng: np.random.Generator,
) -> list[Share]:
    """Shares of variance of one measure."""
    y = y - y.mean()  # so that rounding does not grow with the mean
    draws = _others(len(y), rng)
    found = []
    for name, codes in factors.items():
        share = float(explained(y, codes))
        null = np.append(explained(y[draws], codes), share)
        found.append(Share(measure, name, share, *_beside(null)))
    for one, two in itertools.combinations(factors, 2):
        both = _codes(list(zip(factors[one], factors[two], strict=True)), len(y))
        if len(set(both.tolist())) in (len(set(factors[k].tolist())) for k in (one, two)):
            continue  # the interaction cannot be separated

        def joint(values: np.ndarray, one: str = one, two: str = two, both: Any = both) -> Any:
            each = explained(values, factors[one]) + explained(values, factors[two])
            return explained(values, both) - each

        left = y - _means(y, factors[one]) - _means(y, factors[two]) + y.mean()
        # shares of the residuals, as shares of the total
        scale = float(np.var(left) / np.var(y))
        null = scale * np.append(joint(left[draws]), joint(left))
        name = f"{one} x {two}"
        found.append(Share(measure, name, float(joint(y)), *_beside(null)))
    within = 1.0 - explained(y, cells)
    rest = 1.0 - within - sum(share.share for share in found)
    found.append(Share(measure, SEEDS, float(within)))
    if len(factors) > 2:
        found.append(Share(measure, REST, float(rest)))
    return found


def _others(count: int, rng: np.random.Generator) -> np.ndarray:
    """Permutations of the runs: all but the observed order, or random ones of many runs."""
    if count <= EXACT_RUNS:
        return np.array(list(itertools.permutations(range(count))))[1:]
    return np.stack([rng.permutation(count) for _ in range(PERMUTATIONS)])


def _beside(null: np.ndarray) -> tuple[float, float, float, float]:
    """Mean and 95% quantile of shares under permutations, p of the last, p of the largest.

    The last share is that of the observed order.
    """
    p, least = (np.mean(null >= share - ROUNDING) for share in (null[-1], null.max()))
    return float(np.mean(null)), float(np.quantile(null, LEVEL)), float(p), float(least)


def _means(y: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Mean of the group of each run."""
    return (np.bincount(codes, y) / np.maximum(np.bincount(codes), 1))[codes]


def _factors(rows: Sequence[Row], names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return setting -> code of its value in each run; settings that change together share one."""
    found: dict[tuple[int, ...], list[str]] = {}
    for name in names:
        codes = _codes([row[name] for row in rows], len(rows))
        if codes.max() > 0:
            found.setdefault(tuple(codes.tolist()), []).append(name)
    return {" and ".join(several): np.array(codes) for codes, several in found.items()}


def _codes(values: Sequence[object], count: int) -> np.ndarray:
    """Codes from 0 for values, in the order of their first occurrence."""
    numbers: dict[Any, int] = {}
    if not values:  # no settings differ
        return np.zeros(count, int)
    return np.array([numbers.setdefault(value, len(numbers)) for value in values])
