"""Trend, worst period, longest run and change point of a gap over time."""

import numpy as np

from fairgym.audit.parts import Cell
from fairgym.audit.roles import Roles
from fairgym.statistics.proportions import difference_interval, normal_quantile
from fairgym.statistics.series import GapSeries, spread_of

LEAST_TREND, LEAST_CHANGE = 3, 6  # known periods
KEYS = (  # of the row, None where undefined
    *("trend", "trend_low", "trend_high"),
    *("worst", "worst_difference", "worst_low", "worst_high"),
    *("run", "run_from", "run_to"),
    *("change", "change_difference", "change_p"),
)
SIDE = 2  # least known periods before and after a change


def trend(course: GapSeries, names: tuple[str, ...], roles: Roles) -> dict[str, Cell]:
    """Return what a gap does over time, as cells of a row."""
    known = np.flatnonzero(np.isfinite(course.gap))
    row: dict[str, Cell] = {"periods": len(known)} | dict.fromkeys(KEYS)
    if not len(known):
        return row
    weight = spread_of(course.ours, course.theirs)[known] ** -2.0
    gap, noise = course.gap[known], course.noise[:, known]
    if len(known) >= LEAST_TREND:
        time = known - weight @ known / weight.sum()
        line = weight * time / (weight @ time**2)  # the slope is linear in the gaps
        slope, half = float(line @ gap), normal_quantile(roles.level) * _size(noise @ line)
        half *= course.stretch
        row |= {"trend": slope, "trend_low": slope - half, "trend_high": slope + half}
    shown = np.minimum(course.ours.n, course.theirs.n)[known] >= max(roles.suppress, 1)
    if shown.any():
        _, low, high = difference_interval(course.ours, course.theirs, course.band_level)
        worst = int(known[np.argmin(np.where(shown, gap, np.inf))])
        row |= {"worst": names[worst], "worst_difference": float(course.gap[worst])}
        row |= {"worst_low": float(low[worst]), "worst_high": float(high[worst])}
    line_of = (roles.line or 1.0) * course.theirs.rate
    length, start = longest_run(np.nan_to_num(course.ours.rate - line_of)[known] < 0.0)
    row["run"] = length
    if length:
        row |= {"run_from": names[known[start]], "run_to": names[known[start + length - 1]]}
    if len(known) >= LEAST_CHANGE:
        place, size, p = change_point(gap, weight, noise)
        row |= {"change": names[known[place]], "change_difference": size, "change_p": p}
    return row


def longest_run(beyond: np.ndarray) -> tuple[int, int]:
    """Return length and start of the first longest run of True.

    Examples:
        >>> import numpy as np
        >>> from fairgym.audit.trends import longest_run
        >>> longest_run(np.array([True, False, True, True, False]))
        (2, 2)
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], beyond.astype(int), [0]])))
    starts, ends = edges[0::2], edges[1::2]
    if not len(starts):
        return 0, 0
    place = int(np.argmax(ends - starts))
    return int(ends[place] - starts[place]), int(starts[place])


def change_point(
    gap: np.ndarray, weight: np.ndarray, noise: np.ndarray
) -> tuple[int, float, float]:
    """Return where the mean gap changes most, by how much, and the p-value of no change.

    Args:
        gap: Gaps by period, shape (periods,).
        weight: Inverse variances of the gaps.
        noise: Gaps without a change minus their means, shape (resamples, periods).

    Returns:
        `(place, size, p)`: the first period after the change; the mean gap after it minus that
        before; the share of the noise whose largest standardised change is at least as large.
    """
    statistic, size = _changes(gap[None], weight)
    drawn, _ = _changes(noise, weight)
    place = int(np.argmax(np.abs(statistic[0])))
    most = np.abs(drawn).max(axis=1)
    p = (1.0 + np.sum(most >= np.abs(statistic[0, place]))) / (len(noise) + 1.0)
    return place + SIDE, float(size[0, place]), float(p)


def _changes(gaps: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standardised changes of the mean, and the changes, at every place that leaves two periods."""
    before, all_before = np.cumsum(weight), np.cumsum(gaps * weight, axis=1)
    places = slice(SIDE - 1, len(weight) - SIDE)
    below, above = before[places], before[-1] - before[places]
    size = (all_before[:, -1:] - all_before[:, places]) / above - all_before[:, places] / below
    return size / np.sqrt(1.0 / below + 1.0 / above), size


def _size(noise: np.ndarray) -> float:
    """Return the standard error, around 0."""
    return float(np.sqrt(np.mean(noise**2)))
