"""Statistics over seeds and episodes: means, interquartile means, confidence intervals."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fairgym.core import FairgymError

# One number per seed, or rows of them.
FEW_SEEDS = 3  # up to this number, an interval says little: the values stand beside it

Numbers = np.ndarray | Sequence[float | np.floating | Sequence[float] | np.ndarray]


def mean_interval(values: Numbers, level: float = 0.95) -> tuple[float, float, float]:
    """Return the mean of a sample and its Student's t interval.

    Args:
        values: Independent values, such as one per episode or one per seed.
        level: Confidence level.

    Returns:
        `(mean, low, high)`. With one value the limits are NaN; without values all three are.

    Examples:
        >>> from fairgym.statistics import mean_interval
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


def crossed_interval(values: Numbers, level: float = 0.95) -> tuple[float, float, float]:
    """Return the mean over seeds and episodes, with an interval that covers the variation of both.

    The policies of all seeds are measured in the same episodes: a two-way random layout,
    y[s, e] = mean + seed[s] + episode[e] + rest[s, e], whose grand mean has the variance
    var(seed) / S + var(episode) / E + var(rest) / (S E). In mean squares that is
    (MS_seed + MS_episode - MS_rest) / (S E) (Searle, Casella and McCulloch 1992, Variance
    Components, section 4.3). Each source has its own Student's t, with S - 1 and E - 1 degrees of
    freedom: half^2 = (t_S^2 MS_seed + t_E^2 max(MS_episode - MS_rest, 0)) / (S E). Its coverage is
    at least the nominal level (Banerjee 1960, Sankhya 22), also with two or three seeds, where
    Satterthwaite's degrees of freedom fail. It is never narrower than the interval over seeds
    alone or over episodes alone.

    Args:
        values: One array per seed with a value per episode, in the same order; or one array.
            Undefined values are NaN.
        level: Confidence level.

    Returns:
        `(mean, low, high)`. The mean is that of the seeds' means, each over the episodes in which
        values are defined; seeds and episodes without any value are dropped. If single values are
        missing, MS_rest is taken as 0, which is conservative. With one seed as `mean_interval`.
        With a single episode the limits are NaN.

    Raises:
        FairgymError: Seeds have different numbers of episodes.

    Examples:
        >>> from fairgym.statistics import crossed_interval
        >>> [round(x, 2) for x in crossed_interval([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])]
        [2.0, -0.48, 4.48]
    """
    table = by_seed(values, "values")
    known = np.isfinite(table)
    table = table[known.any(axis=1)][:, known.any(axis=0)]
    if not table.size:
        return math.nan, math.nan, math.nan
    if len(table) == 1:
        return mean_interval(table, level)
    mean = float(np.nanmean(table, axis=1).mean())
    half = _half_width([table], np.nanmean(table, axis=0), level)
    return mean, mean - half, mean + half


def paired_interval(
    ours: Numbers, theirs: Numbers, level: float = 0.95
) -> tuple[float, float, float]:
    """Return the mean paired difference of two policies, with its interval.

    Randomness that both share cancels. Episodes are paired, the seeds of both are independent. The
    variance of the difference is that of the episodes' differences of means over seeds, plus the
    variance between seeds on either side, without counting the rest of the layout twice; otherwise
    as `crossed_interval`. A policy with one evaluation (a fixed policy, one training run) adds no
    variance between seeds: the interval is then about that policy only.

    Args:
        ours: A value per episode, or one such array per seed.
        theirs: Values of the other policy, in the same episodes in the same order.
        level: Confidence level.

    Returns:
        `(mean, low, high)` of ours - theirs, over the episodes in which every value is defined.
        NaN without such an episode; the limits are NaN with a single one.

    Raises:
        FairgymError: The numbers of episodes differ.

    Examples:
        >>> from fairgym.statistics import paired_interval
        >>> [round(x, 2) for x in paired_interval([11.0, 21.0, 31.0], [10.0, 20.0, 29.0])]
        [1.33, -0.1, 2.77]
    """
    sides = paired_episodes(ours, theirs)
    if not sides[0].size:
        return math.nan, math.nan, math.nan
    difference = sides[0].mean(axis=0) - sides[1].mean(axis=0)
    mean = float(difference.mean())
    half = _half_width(sides, difference, level)
    return mean, mean - half, mean + half


def paired_episodes(ours: Numbers, theirs: Numbers) -> list[np.ndarray]:
    """Return tables (seeds, episodes) of two policies, where every value is defined.

    Args:
        ours: A value per episode, or one such array per seed.
        theirs: Values of the other policy, in the same episodes in the same order.

    Raises:
        FairgymError: The numbers of episodes differ.
    """
    sides = [by_seed(ours, "ours"), by_seed(theirs, "theirs")]
    counts = [side.shape[1] for side in sides]
    if counts[0] != counts[1]:
        raise FairgymError(
            f"ours has {counts[0]} episodes and theirs {counts[1]}; a paired difference needs the"
            " same episodes for both"
        )
    known = np.isfinite(np.concatenate(sides)).all(axis=0)
    return [side[:, known] for side in sides]


def by_seed(values: Numbers, name: str) -> np.ndarray:
    """Return values as a table (seeds, episodes).

    Args:
        values: A value per episode, or one such array per seed.
        name: Name of the values in messages.

    Raises:
        FairgymError: Seeds have different numbers of episodes.
    """
    if len(values) == 0 or np.ndim(values[0]) == 0:
        return np.asarray(values, np.float64).reshape(1, -1)
    counts = sorted({np.size(row) for row in values})
    if len(counts) > 1:
        raise FairgymError(
            f"{name} must have as many episodes for every seed, got {counts[0]} and {counts[-1]}"
        )
    return np.asarray(values, np.float64).reshape(len(values), -1)


def _half_width(tables: Sequence[np.ndarray], episodes: np.ndarray, level: float) -> float:
    """Half the width of an interval over episodes, and over the seeds of each table.

    Args:
        tables: Values (seeds, episodes) of one policy, or of the two sides of a difference.
        episodes: Mean (difference) of each episode.
        level: Confidence level.
    """
    count = episodes.size
    if count < 2:
        return math.nan
    t_episodes = t_quantile(level, count - 1)
    between = float(episodes.var(ddof=1)) / count
    seeds = rest = 0.0
    for table in tables:
        several = len(table)
        if several < 2:
            continue
        means = np.nanmean(table, axis=1, keepdims=True)
        seeds += t_quantile(level, several - 1) ** 2 * float(means.var(ddof=1)) / several
        residual = table - means - table.mean(axis=0) + means.mean()
        if np.isfinite(residual).all():
            rest += float(np.sum(residual**2)) / ((several - 1) * (count - 1)) / (several * count)
    crossed = seeds + t_episodes**2 * max(between - rest, 0.0)
    return math.sqrt(max(crossed, t_episodes**2 * between))


@functools.cache
def t_quantile(level: float, degrees: float) -> float:
    """Return the t with P(|T| < t) = level for Student's distribution."""
    from scipy.special import stdtrit  # here: `import fairgym` is quick without it

    return float(stdtrit(degrees, (1.0 + level) / 2.0))


def interquartile_mean(values: Numbers, axis: int | None = None) -> Any:
    """Return the mean of the middle half: a quarter of the values is trimmed at each end.

    A quarter of n values is rounded down (of 5 seeds one at each end, of 3 none), as in
    `scipy.stats.trim_mean(values, 0.25)`. It depends less on a single outlying seed than the mean,
    and uses more of few seeds than the median (Agarwal et al. 2021).

    Args:
        values: Numbers.
        axis: Axis of the sample; None for all numbers together.

    Returns:
        A number without `axis`, else an array without that axis. NaN without values, and if any
        value is NaN: it must not be trimmed as the best or the worst.

    Examples:
        >>> from fairgym.statistics.intervals import interquartile_mean
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
    """Return a statistic over runs, with its stratified bootstrap percentile interval.

    Runs are resampled with replacement within each stratum (task), so every resample has the
    original number of runs of each task.

    Args:
        strata: One array with a first axis over runs, or a list of such arrays, one per task.
            Further axes (such as epochs) are kept, with an interval for each entry.
        statistic: Function of an array and of the axis over the runs of all tasks.
        level: Share of resamples inside the interval.
        resamples: Number of resamples.
        seed: Seed of the resampling.

    Returns:
        `(estimate, low, high)`, numbers or arrays. The limits are NaN if no task has two runs.

    Examples:
        >>> from fairgym.statistics.intervals import bootstrap_interval
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
