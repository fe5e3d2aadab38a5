"""Estimates, and numbers as texts: the only module that rounds."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from fairgym.statistics.intervals import FEW_SEEDS, Numbers, crossed_interval, mean_interval

NO_DIFFERENCE, NOT_CLEAR = "no difference", "unclear"
# Share of the values below which a difference counts as rounding.
ROUNDING = 8.0 * float(np.finfo(np.float32).eps)
# Multiples of a unit, which texts leave out.
_MULTIPLES = {"thousand ": 1e3, "million ": 1e6}


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean, or a mean difference, with its 95% interval.

    Attributes:
        mean: Mean; NaN if the value is not defined in any episode.
        low: Lower limit of the interval; NaN with fewer than two values.
        high: Upper limit of the interval.
        undefined: Number of episodes in which the value is 0/0.
        episodes: Number of all episodes.
        seeds: Mean of each seed if there are several; else empty.
    """

    mean: float
    low: float
    high: float
    undefined: int = 0
    episodes: int = 0
    seeds: tuple[float, ...] = ()

    def within(self, low: float, high: float) -> "Estimate":
        """Return the estimate with its interval limited to a range, if the mean is in it."""
        if not low <= self.mean <= high:
            return self
        return dataclasses.replace(
            self, low=float(np.maximum(self.low, low)), high=float(np.minimum(self.high, high))
        )

    def times(self, factor: float) -> "Estimate":
        """Return the estimate multiplied by a factor."""
        mean, low, high = (0.0 + factor * x for x in (self.mean, self.low, self.high))
        low, high = (low, high) if factor >= 0.0 else (high, low)
        seeds = tuple(0.0 + factor * x for x in self.seeds)
        return dataclasses.replace(self, mean=mean, low=low, high=high, seeds=seeds)

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0.0 or self.high < 0.0


def estimate(values: Sequence[np.ndarray]) -> Estimate:
    """Return mean and interval of per-episode values, one array per seed; NaN where undefined."""
    undefined = sum(int(np.isnan(v).sum()) for v in values)
    episodes = sum(v.size for v in values)
    return Estimate(*crossed_interval(values), undefined, episodes, seed_means(values))


def seed_means(values: Sequence[np.ndarray]) -> tuple[float, ...]:
    """Return the mean of each seed over the episodes in which it is defined; none for one seed."""
    return tuple(mean_interval(v[np.isfinite(v)])[0] for v in values) if len(values) > 1 else ()


def ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return above / below in float64, NaN where `below` is 0."""
    return np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0)


def limits_of(unit: str, nonnegative: bool = True) -> tuple[float, float]:
    """Return the range of a value: shares are at most 1, nonnegative values at least 0."""
    return 0.0 if nonnegative else -math.inf, 1.0 if unit == "share" else math.inf


def rounded_away(value: "Estimate", size: float) -> "Estimate":
    """Return a difference, or 0 if it is only single-precision rounding of many sums.

    Args:
        value: The difference.
        size: Size of the values that were subtracted.
    """
    known = [abs(x) for x in (value.mean, value.low, value.high) if math.isfinite(x)]
    return value.times(0.0) if max(known, default=math.inf) < ROUNDING * size else value


def gaps_without_rounding(values: np.ndarray, rates: np.ndarray | None) -> np.ndarray:
    """Return disparities per episode, 0 where one is only rounding of the rates it compares.

    Args:
        values: The disparities.
        rates: Rates of the groups, shape (episodes, groups), NaN where undefined; None if unknown.
    """
    if rates is None or not rates.size:
        return values
    largest = np.nanmax(np.abs(rates), axis=1, initial=0.0)
    return np.where(np.abs(values) < ROUNDING * largest, 0.0, values)


def magnitude(value: float) -> tuple[float, str]:
    """Return the scale of a large number: (1e6, "million"), (1e9, "billion"), or (1.0, "")."""
    sizes = ((1e9, "billion"), (1e6, "million"))
    return next(((scale, name) for scale, name in sizes if abs(value) >= scale), (1.0, ""))


def number(value: float) -> str:
    """Return a number as text, rounded for reading: 0.043, 1.00, 12.3, 8,931, 16.8 million.

    "undefined" if it is not finite.
    """
    if value is None or not math.isfinite(value):
        return "undefined"
    size = abs(value)
    scale, name = magnitude(value)
    if name:
        return f"{number(value / scale)} {name}"
    if size == 0:
        return "0"
    if size >= 100:
        text = f"{value:,.0f}"
    elif size >= 10:
        text = f"{value:.1f}"
    elif size >= 0.1:
        text = f"{value:.2f}"
    elif size >= 0.0005:
        text = f"{value:.3f}"
    else:
        text = f"{value:.2g}" if size >= 0.0001 else f"{value:.1e}"
    return text.replace("-", "−")


def in_plain_unit(unit: str) -> tuple[str, float]:
    """Return a plain unit and the factor: "thousand dollars" -> ("dollars", 1000.0)."""
    for multiple, factor in _MULTIPLES.items():
        if unit.startswith(multiple):
            return unit.removeprefix(multiple), factor
    return unit, 1.0


def people_unit(unit: str) -> tuple[str, float]:
    """Return a unit for people, and the factor: "share" -> ("%", 100.0), else the plain unit."""
    return ("%", 100.0) if unit == "share" else in_plain_unit(unit)


def unit_text(unit: str) -> str:
    """Return a unit to append to a title: " (months)", " (%)" for shares, "" without a unit."""
    shown = people_unit(unit)[0]
    return "" if shown in ("", "people") else f" ({shown})"


def interval(value: Estimate, unit: str = "", signed: bool = False, behind: str = "") -> str:
    """Return a mean with its interval: "0.93 [0.91, 0.95]", "16.8 million [15.0, 18.6]".

    Args:
        value: The mean and its limits.
        unit: Unit of the value. Shares are shown in per cent, thousands of dollars in dollars.
        signed: Whether to write a plus sign before positive numbers.
        behind: Text right after the mean.
    """
    scale = people_unit(unit)[1]
    mean, low, high = (scale * x for x in (value.mean, value.low, value.high))
    known = [abs(x) for x in (mean, low, high) if math.isfinite(x)]
    size, name = magnitude(max(known, default=0.0))

    def text(x: float) -> str:
        return f"{'+' if signed and x > 0 else ''}{number(x / size)}"

    middle = f"{text(mean)}{f' {name}' if name else ''}{behind}"
    return f"{middle} [{text(low)}, {text(high)}]" if math.isfinite(low) else middle


def told(value: Estimate, unit: str, points: bool = False) -> str:
    """Return mean, interval and unit: "12.6 million [12.4, 12.8] dollars", "93.0% [91.0, 95.0]".

    Args:
        value: The mean and its limits.
        unit: Unit of the value.
        points: Whether the value is a difference, so that shares are in percentage points.
    """
    if unit == "share":
        return interval(value, unit, behind=" points" if points else "%")
    return f"{interval(value, unit)} {people_unit(unit)[0]}".rstrip()


def number_in(value: float, unit: str) -> str:
    """Return a number for people without its unit: a share in per cent."""
    return number(value * people_unit(unit)[1])


def few_seeds_text(values: Numbers, unit: str = "") -> str:
    """Return the values of two or three seeds, over which an interval says little: "0.38, 0.41".

    "" for other numbers of seeds, and where all values are equal or undefined.

    Args:
        values: A value per seed.
        unit: Unit of the values.
    """
    several = np.asarray(values, np.float64).reshape(-1)
    if not 2 <= several.size <= FEW_SEEDS or np.isnan(several).all() or np.ptp(several) == 0.0:
        return ""
    return ", ".join(number_in(value, unit) for value in several)


def number_told(value: float, unit: str) -> str:
    """Return a number with its unit: "93.0%", "12.6 million dollars"."""
    shown = people_unit(unit)[0]
    if not math.isfinite(value):
        return number(value)
    return f"{number_in(value, unit)}{'' if shown == '%' else ' '}{shown}".rstrip()


def difference_text(difference: Estimate, unit: str) -> str:
    """Return a difference as text: "+1.20 million [+1.05, +1.36]", "−1.2 points [−1.5, −0.9]"."""
    if difference.mean == difference.low == difference.high == 0.0:
        return NO_DIFFERENCE
    if not math.isfinite(difference.mean):
        return number(difference.mean)
    text = interval(difference, unit, True, " points" if unit == "share" else "")
    unclear = math.isfinite(difference.low) and not difference.clear
    return f"{text}, {NOT_CLEAR}" if unclear else text
