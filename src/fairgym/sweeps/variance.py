"""What matters how much in a sweep: shares of the variance of a measure over its runs."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fairgym.core import FairgymError
from fairgym.statistics.comparisons import explained
from fairgym.sweeps.results import Row, has_measure
from fairgym.sweeps.sweeping import FINISHED

PERMUTATIONS = 500  # of all runs, drawn at random
EXACT_RUNS = 7  # up to so many runs all permutations are gone through, 5,040 at most
ROUNDING = 1e-12  # of a share of 1: permutations that only rounding tells apart are alike
LEVEL, SIGNIFICANCE = 0.95, 0.05
SEEDS, REST = "seeds", "all others together"
UNDECIDABLE = (
    "of so few runs, or values so alike, even the largest possible share has a p above .05"
)


class Share(NamedTuple):
    """Part of the variance of a measure over the runs of a sweep.

    Attributes:
        measure: Column of the measure.
        factor: Setting, or two settings whose joint effect is meant, beyond that of each;
            settings that change together are one. Or "seeds", for runs with equal settings, and
            "all others together", for effects of three settings and more.
        share: Sum of squares as a share of all of it.
        null_mean: Mean of the share under permutations of the runs; NaN for the last two, as are
            those that follow.
        bound: Share that 95% of the permutations do not exceed.
        p: Share of the permutations, the runs as they are among them, with a share at least as
            large: the p-value of a permutation test.
        least_p: p of the permutation with the largest share.
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
        """True if p is .05 at most."""
        return self.p <= SIGNIFICANCE

    @property
    def undecidable(self) -> bool:
        """True if no permutation has a p of .05 at most: there are too few runs, or values."""
        return self.least_p > SIGNIFICANCE


class Effects(NamedTuple):
    """Shares of variance of a sweep.

    Attributes:
        shares: For each measure the settings, pairs of them, seeds and the rest.
        crossed: True if every combination has equally many runs, so that shares add up to 1;
            otherwise those of different settings overlap.
        constant: Measures that are equal in all runs, and have no shares.
    """

    shares: list[Share]
    crossed: bool
    constant: list[str]


def effects(
    rows: Sequence[Row], names: Sequence[str], measures: Sequence[str], seed: int = 0
) -> Effects:
    """Share of the variance of measures that each setting makes, alone and in pairs.

    The share of a setting is the sum of squares of the means by its values, over the total one: the
    correlation ratio, and in a crossed design the first-order index of Sobol. That of a pair is the
    same of the means by both, less the shares of each. Beside it stand the null distribution under
    permutations of the runs (of a pair those of what its two settings leave) and the p-value
    (1 + m) / (1 + n), m of n permutations having a share at least as large. Up to seven runs n is
    all permutations but the runs as they are, so that p is exact; otherwise 500 are drawn.

    Args:
        rows: The runs; those that are not finished do not count.
        names: The settings that differ.
        measures: Columns; runs without a value are left out of that measure.
        seed: Seed of the permutations.

    Raises:
        FairgymError: Fewer than three runs are finished.
    """
    finished = [row for row in rows if row["status"] == FINISHED]
    if len(finished) < 3:
        raise FairgymError(f"{len(finished)} runs are finished; effects need at least three")
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
    """Shares of one measure."""
    y = y - y.mean()  # rounding is that of differences then, however large the numbers
    draws = _others(len(y), rng)
    found = []
    for name, codes in factors.items():
        share = float(explained(y, codes))
        null = np.append(explained(y[draws], codes), share)
        found.append(Share(measure, name, share, *_beside(null)))
    for one, two in itertools.combinations(factors, 2):
        both = _codes(list(zip(factors[one], factors[two], strict=True)), len(y))
        if len(set(both.tolist())) in (len(set(factors[k].tolist())) for k in (one, two)):
            continue  # no joint effect can be told from those of each

        def joint(values: np.ndarray, one: str = one, two: str = two, both: Any = both) -> Any:
            each = explained(values, factors[one]) + explained(values, factors[two])
            return explained(values, both) - each

        left = y - _means(y, factors[one]) - _means(y, factors[two]) + y.mean()
        # shares of what is left are brought back to shares of everything
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
    """Permutations of the runs: all but the runs as they are, or of many runs random ones."""
    if count <= EXACT_RUNS:
        return np.array(list(itertools.permutations(range(count))))[1:]
    return np.stack([rng.permutation(count) for _ in range(PERMUTATIONS)])


def _beside(null: np.ndarray) -> tuple[float, float, float, float]:
    """Mean and 95% quantile of shares under permutations, p of the last one, p of the largest.

    The last one is that of the runs as they are.
    """
    p, least = (np.mean(null >= share - ROUNDING) for share in (null[-1], null.max()))
    return float(np.mean(null)), float(np.quantile(null, LEVEL)), float(p), float(least)


def _means(y: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """For each run the mean of its group."""
    return (np.bincount(codes, y) / np.maximum(np.bincount(codes), 1))[codes]


def _factors(rows: Sequence[Row], names: Sequence[str]) -> dict[str, np.ndarray]:
    """Settings -> value of each run as a code; those that change together under one name."""
    found: dict[tuple[int, ...], list[str]] = {}
    for name in names:
        codes = _codes([row[name] for row in rows], len(rows))
        if codes.max() > 0:
            found.setdefault(tuple(codes.tolist()), []).append(name)
    return {" and ".join(several): np.array(codes) for codes, several in found.items()}


def _codes(values: Sequence[object], count: int) -> np.ndarray:
    """Numbers from 0 for equal values, in the order of their first mention."""
    numbers: dict[Any, int] = {}
    if not values:  # nothing tells the runs apart
        return np.zeros(count, int)
    return np.array([numbers.setdefault(value, len(numbers)) for value in values])
