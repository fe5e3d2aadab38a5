"""Statistics over seeds and episodes: means, interquartile means, intervals, a paired test."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

EXACT_PAIRS = 12  # 2^12 sign patterns are enumerated
SAMPLED_PATTERNS = 20_000


def mean_interval(values: Any, level: float = 0.95) -> tuple[float, float, float]:
    """Mean of a sample and Student's t interval of it.

    Args:
        values: independent values, such as one per episode or one per seed.
        level: the share of such intervals that hold the true mean.

    Returns:
        `(mean, low, high)`. One value has no interval: its limits are NaN, as everything is for
        no value at all.

    Examples:
        >>> from fairgym.training import mean_interval
        >>> [round(value, 2) for value in mean_interval([1.0, 2.0, 3.0])]
        [2.0, -0.48, 4.48]
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


def interquartile_mean(values: Any, axis: int | None = None) -> Any:
    """Mean of the middle half: a quarter of the values is cut off at each end.

    A quarter of n values is rounded down (of 5 seeds one at each end, of 3 none), as by
    `scipy.stats.trim_mean(values, 0.25)`. It depends less on one lucky seed than the mean, and
    uses more of few seeds than the median (Agarwal et al. 2021).

    Args:
        values: numbers.
        axis: the axis that they lie along; None for all numbers together.

    Returns:
        A number without `axis`, else an array without that axis. NaN for no values, and where
        one of them is NaN: it must not pass for the best or the worst and be cut off.

    Examples:
        >>> from fairgym.training.statistics import interquartile_mean
        >>> interquartile_mean([0.0, 2.0, 3.0, 100.0])
        2.5
    """
    array = np.asarray(values, np.float64)
    array = array.reshape(-1) if axis is None else np.moveaxis(array, axis, -1)
    count = array.shape[-1]
    if count == 0:
        return math.nan if axis is None else np.full(array.shape[:-1], math.nan)
    cut = count // 4
    mean = np.sort(array, axis=-1)[..., cut : count - cut].mean(axis=-1)
    mean = np.where(np.isnan(array).any(axis=-1), math.nan, mean)
    return float(mean) if mean.ndim == 0 else mean


def bootstrap_interval(
    strata: Any,
    statistic: Callable[..., Any] = interquartile_mean,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[Any, Any, Any]:
    """A statistic over runs, with its stratified bootstrap percentile interval.

    Runs are sampled anew, with replacement, within each stratum (task), so that every resample has
    as many runs of each task as there are.

    Args:
        strata: one array with a first axis over runs, or a list of such arrays, one per task.
            Further axes (epochs, say) are kept: each of their places has its own interval.
        statistic: takes an array and the axis that the runs of all tasks lie along.
        level: the share of resamples inside the interval.
        resamples: number of resamples.
        seed: seed of the resampling.

    Returns:
        `(estimate, low, high)`, numbers or arrays. The limits are NaN if no task has two runs.

    Examples:
        >>> from fairgym.training.statistics import bootstrap_interval
        >>> estimate, low, high = bootstrap_interval([1.0, 2.0, 3.0, 4.0, 5.0])
        >>> estimate, 1.0 <= low < 3.0 < high <= 5.0
        (3.0, True)
    """
    single = not isinstance(strata, list | tuple) or not strata or np.ndim(strata[0]) == 0
    parts = [np.asarray(part, np.float64) for part in ([strata] if single else strata)]
    estimate = np.asarray(statistic(np.concatenate(parts), axis=0))
    if all(len(part) < 2 for part in parts):
        low = high = np.full(estimate.shape, math.nan)
    else:
        rng = np.random.default_rng(seed)
        resampled = [part[rng.integers(len(part), size=(resamples, len(part)))] for part in parts]
        spread = statistic(np.concatenate(resampled, axis=1), axis=1)
        low, high = np.quantile(spread, [(1 - level) / 2, (1 + level) / 2], axis=0)
    if estimate.ndim == 0:
        return float(estimate), float(low), float(high)
    return estimate, low, high


class PairedTest(NamedTuple):
    """Two conditions compared over the same seeds.

    Attributes:
        difference: mean of a - b.
        low: lower end of Student's t interval of that mean; NaN for a single pair.
        high: upper end of that interval.
        p: two-sided probability of a mean at least as far from 0, were the signs of the
            differences a matter of chance. With n pairs it is never below 2 / 2^n.
    """

    difference: float
    low: float
    high: float
    p: float


def paired_test(a: Sequence[float] | Any, b: Any, level: float = 0.95, seed: int = 0) -> PairedTest:
    """Sign-flip permutation test of paired values: is the mean of a - b different from 0?

    All sign patterns are enumerated for up to 12 pairs; beyond, 20,000 are sampled.

    Args:
        a: one value per seed.
        b: the values of the other condition with the same seeds, or one number.
        level: probability that the interval holds the mean.
        seed: seed of the sampled patterns.

    Examples:
        >>> from fairgym.training.statistics import paired_test
        >>> test = paired_test([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
        >>> test.difference, test.p
        (2.0, 0.25)
    """
    first = np.asarray(a, np.float64).reshape(-1)
    difference = first - np.broadcast_to(np.asarray(b, np.float64), first.shape)
    count = difference.size
    mean, low, high = mean_interval(difference, level)
    if count == 0 or not np.isfinite(difference).all():
        return PairedTest(mean, low, high, math.nan)
    if count <= EXACT_PAIRS:
        patterns = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    else:
        patterns = np.random.default_rng(seed).integers(2, size=(SAMPLED_PATTERNS, count))
        patterns[0] = 0  # what was observed is one of the patterns
    means = np.abs((1 - 2 * patterns) @ difference) / count
    slack = 1e-12 * np.abs(difference).mean()  # rounding must not tell equal means apart
    return PairedTest(mean, low, high, float(np.mean(means >= abs(mean) - slack)))
