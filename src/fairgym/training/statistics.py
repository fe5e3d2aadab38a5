"""Confidence intervals of means."""

import functools
import math
from typing import Any

import numpy as np


def mean_interval(values: Any, level: float = 0.95) -> tuple[float, float, float]:
    """Mean of a sample and Student's t interval of it.

    Args:
        values: independent values, such as one per episode or one per seed.
        level: the share of such intervals that hold the true mean.

    Returns:
        `(mean, low, high)`. One value has no interval: its limits are NaN, as everything is for
        no value at all.
    """
    sample = np.asarray(values, np.float64).reshape(-1)
    if sample.size == 0:
        return math.nan, math.nan, math.nan
    mean = float(sample.mean())
    if sample.size == 1:
        return mean, math.nan, math.nan
    spread = float(sample.std(ddof=1)) / math.sqrt(sample.size)
    half = t_quantile(level, sample.size - 1) * spread
    return mean, mean - half, mean + half


@functools.cache
def t_quantile(level: float, degrees: int) -> float:
    """The t with P(|T| < t) = level for Student's distribution with whole degrees of freedom.

    The probability has a closed form in theta = atan(t / sqrt(degrees)) (Abramowitz and Stegun,
    26.7.3 and 26.7.4); it is inverted by bisection, to float64 accuracy.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        middle = (low + high) / 2
        if _inside(middle, degrees) < level:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan((low + high) / 2)


def _inside(theta: float, degrees: int) -> float:
    """P(|T| < sqrt(degrees) tan(theta))."""
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = degrees % 2
    # 1 + 1/2 c^2 + 1·3/(2·4) c^4 + ... (even), 1 + 2/3 c^2 + 2·4/(3·5) c^4 + ... (odd)
    k = np.arange(1, (degrees - 3) // 2 + 1 if odd else degrees // 2)
    ratios = (2 * k) / (2 * k + 1) if odd else (2 * k - 1) / (2 * k)
    series = 1.0 + float(np.sum(np.cumprod(ratios * cosine**2)))
    if not odd:
        return sine * series
    if degrees == 1:
        return 2 * theta / math.pi
    return 2 / math.pi * (theta + sine * cosine * series)
