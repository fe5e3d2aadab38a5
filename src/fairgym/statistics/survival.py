"""How long people wait, those who still wait at the end included (Kaplan and Meier 1958)."""

from collections.abc import Iterable

import numpy as np

FEW = 20  # people of whom no share is told

# Times and the share that still waits at each.
WaitCourse = tuple[np.ndarray, np.ndarray]


def wait_ages(horizon: int) -> np.ndarray:
    """Steps of waiting at which those who reach them are counted: 0 to 10, then further apart.

    From there each is at most a fifth longer than the one before. The last is at most the horizon.
    """
    ages = [0]
    while (following := max(ages[-1] + 1, ages[-1] * 6 // 5)) <= horizon:
        ages.append(following)
    return np.array(ages)


def still_waiting(counts: Iterable[tuple[np.ndarray, np.ndarray]]) -> WaitCourse:
    """Share of those who begin to wait that still does after a time, by the product-limit method.

    The share of those who reach an age, early enough for the next one to be seen, that reaches it,
    multiplied up: people count for as long as they were seen to wait. Those who wait already when
    an episode begins count from the age on that they have then.

    Args:
        counts: for each sample of episodes how many people have waited for just this long,
            (episodes, horizon + 1, ages of `wait_ages`), and how many steps each episode had.

    Returns:
        Steps of waiting, ascending, and the share that is left at each; they end where fewer than
        twenty people are left to be seen.
    """
    before, after, ages = np.zeros(0), np.zeros(0), np.zeros(1, int)
    for reached, lengths in counts:
        ages = wait_ages(reached.shape[1] - 1)
        seen = [
            np.arange(reached.shape[1]) <= np.asarray(lengths)[:, None] - apart
            for apart in np.diff(ages)
        ]
        at_risk = [(reached[:, :, k] * early).sum() for k, early in enumerate(seen)]
        going_on = [reached[:, apart:, k + 1].sum() for k, apart in enumerate(np.diff(ages))]
        before = np.array(at_risk, np.float64) + (before if before.size else 0.0)
        after = np.array(going_on, np.float64) + (after if after.size else 0.0)
    start = int(np.argmax(before > 0.0))  # where waits are counted from 1, nobody has waited 0
    known = before[start:] >= FEW
    end = start + (len(known) if known.all() else int(np.argmin(known)))
    left = np.cumprod(np.append(1.0, after[start:end] / before[start:end]))
    return ages[start : end + 1], left


def common_end(courses: Iterable[WaitCourse]) -> int:
    """The longest time that all of those are followed for who are followed at all; 0 for nobody."""
    return int(min((ages[-1] for ages, _ in courses if len(ages) > 1), default=0))


def left_after(course: WaitCourse, time: int) -> float:
    """Share that still waits after a time of `ages`; NaN where nobody is followed for so long."""
    ages, left = course
    return float(left[ages == time][0]) if time in ages else np.nan


def quantile(course: WaitCourse, share: float) -> tuple[float, float]:
    """Steps that a share of all waits do not exceed, as the two ends between which these lie.

    Those who are last seen to wait at an age are served with a wait of just this age, so that waits
    end between an age and the step before the next one. Infinity where too few waits end.

    Args:
        course: as `still_waiting` returns it.
        share: share of the waits, above 0.
    """
    ages, left = course
    reached = left <= 1.0 - share + 1e-9  # a product of ratios, each of them rounded
    if not reached.any():
        return np.inf, np.inf
    place = int(np.argmax(reached))
    return float(ages[place - 1]), float(ages[place] - 1)
