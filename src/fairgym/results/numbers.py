"""Estimates, and numbers as a reader takes them: the one place that rounds."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from fairgym.statistics.intervals import crossed_interval

NO_DIFFERENCE, NOT_CLEAR = "no difference", "unclear"
# Share of the values below which a difference is rounding.
ROUNDING = 8.0 * float(np.finfo(np.float32).eps)
# Multiples of a unit that readers know by itself.
_MULTIPLES = {"thousand ": 1e3, "million ": 1e6}


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean, or a mean difference, with its 95% interval.

    Attributes:
        mean: NaN if the value is nowhere defined.
        low: lower end of the interval; NaN if fewer than two values are known.
        high: upper end.
        undefined: number of episodes in which the value is 0/0.
        episodes: number of episodes in all.
    """

    mean: float
    low: float
    high: float
    undefined: int = 0
    episodes: int = 0

    def within(self, low: float, high: float) -> "Estimate":
        """Estimate with its interval cut to a possible range, if the mean lies in it."""
        if not low <= self.mean <= high:
            return self
        return dataclasses.replace(
            self, low=float(np.maximum(self.low, low)), high=float(np.minimum(self.high, high))
        )

    def times(self, factor: float) -> "Estimate":
        """The estimate in another unit, or of minus the value."""
        mean, low, high = (0.0 + factor * x for x in (self.mean, self.low, self.high))
        low, high = (low, high) if factor >= 0.0 else (high, low)
        return dataclasses.replace(self, mean=mean, low=low, high=high)

    @property
    def clear(self) -> bool:
        """True for a difference whose interval leaves out 0."""
        return self.low > 0.0 or self.high < 0.0


def estimate(values: Sequence[np.ndarray]) -> Estimate:
    """Mean and interval of per-episode values, one array per seed; NaN where undefined."""
    undefined = sum(int(np.isnan(v).sum()) for v in values)
    return Estimate(*crossed_interval(values), undefined, sum(v.size for v in values))


def ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Above / below in float64, NaN where `below` is 0."""
    return np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0)


def limits_of(unit: str, nonnegative: bool = True) -> tuple[float, float]:
    """Range of a value: a share is not above 1, and what cannot be negative not below 0."""
    return 0.0 if nonnegative else -math.inf, 1.0 if unit == "share" else math.inf


def rounded_away(value: "Estimate", size: float) -> "Estimate":
    """A difference; 0 where it is but rounding of single precision, over many sums.

    Args:
        value: the difference.
        size: size of the values that it is of.
    """
    known = [abs(x) for x in (value.mean, value.low, value.high) if math.isfinite(x)]
    return value.times(0.0) if max(known, default=math.inf) < ROUNDING * size else value


def gaps_without_rounding(values: np.ndarray, rates: np.ndarray | None) -> np.ndarray:
    """Disparities per episode; 0 where one is but rounding of the rates that it compares.

    Args:
        values: the disparities.
        rates: the groups' rates, (episodes, groups), NaN where undefined; None if not known.
    """
    if rates is None or not rates.size:
        return values
    largest = np.nanmax(np.abs(rates), axis=1, initial=0.0)
    return np.where(np.abs(values) < ROUNDING * largest, 0.0, values)


def magnitude(value: float) -> tuple[float, str]:
    """Scale of a large number: (1e6, "million"), (1e9, "billion"), or (1.0, "")."""
    sizes = ((1e9, "billion"), (1e6, "million"))
    return next(((scale, name) for scale, name in sizes if abs(value) >= scale), (1.0, ""))


def number(value: float) -> str:
    """A number to a reader's precision: 0.043, 1.00, 12.3, 8,931, 16.8 million.

    "undefined" if it is none.
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
    """A unit without multiples, and the factor: "thousand dollars" -> ("dollars", 1000.0)."""
    for multiple, factor in _MULTIPLES.items():
        if unit.startswith(multiple):
            return unit.removeprefix(multiple), factor
    return unit, 1.0


def people_unit(unit: str) -> tuple[str, float]:
    """A unit as people tell it, and the factor: "share" -> ("%", 100.0), else as in plain units."""
    return ("%", 100.0) if unit == "share" else in_plain_unit(unit)


def unit_text(unit: str) -> str:
    """A unit behind a title: " (months)", " (%)" for shares, "" where there is none to tell."""
    shown = people_unit(unit)[0]
    return "" if shown in ("", "people") else f" ({shown})"


def interval(value: Estimate, unit: str = "", signed: bool = False, behind: str = "") -> str:
    """A mean with its interval, in one scale: "0.93 [0.91, 0.95]", "16.8 million [15.0, 18.6]".

    Args:
        value: the mean and its limits.
        unit: unit of the value, which is told in per cent for a share, in dollars for thousands.
        signed: True to write a plus before what is above 0.
        behind: what stands right behind the mean.
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
    """A mean with its interval and unit: "12.6 million [12.4, 12.8] dollars", "93.0% [91.0, 95.0]".

    Args:
        value: the mean and its limits.
        unit: unit of the value.
        points: True for a difference, whose per cents are percentage points.
    """
    if unit == "share":
        return interval(value, unit, behind=" points" if points else "%")
    return f"{interval(value, unit)} {people_unit(unit)[0]}".rstrip()


def number_in(value: float, unit: str) -> str:
    """A number as people tell it, without its unit: a share in per cent."""
    return number(value * people_unit(unit)[1])


def number_told(value: float, unit: str) -> str:
    """A number with its unit: "93.0%", "12.6 million dollars"."""
    shown = people_unit(unit)[0]
    if not math.isfinite(value):
        return number(value)
    return f"{number_in(value, unit)}{'' if shown == '%' else ' '}{shown}".rstrip()


def difference_text(difference: Estimate, unit: str) -> str:
    """A difference in words: "+1.20 million [+1.05, +1.36]", "−1.2 points [−1.5, −0.9]"."""
    if difference.mean == difference.low == difference.high == 0.0:
        return NO_DIFFERENCE
    if not math.isfinite(difference.mean):
        return number(difference.mean)
    text = interval(difference, unit, True, " points" if unit == "share" else "")
    unclear = math.isfinite(difference.low) and not difference.clear
    return f"{text}, {NOT_CLEAR}" if unclear else text
