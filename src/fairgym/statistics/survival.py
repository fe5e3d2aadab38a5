"""Distribution of waits, including people who still wait at the end (Kaplan and Meier 1958).

`survival` is for waits of single persons, `still_waiting` for counts of people by time waited.
"""

from collections.abc import Iterable

import numpy as np

from fairgym.statistics.proportions import Shares, rate_interval

FEW = 20  # with fewer people no share is estimated

# Times, and the share of people who still wait at each.
WaitCourse = tuple[np.ndarray, np.ndarray]


def survival(
    wait: np.ndarray, ended: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the share that waits longer than 0, 1, 2, ... periods, with its limits.

    The limits are those of a share of independent persons, whose effective number is that of
    Greenwood's variance (K. J. Rothman 1978, Journal of Chronic Diseases 31:557). Where the share
    is 0 or 1, it is the number at risk over the share just before (F. J. Dorey and E. L. Korn 1987,
    Statistics in Medicine 6:679).

    Args:
        wait: Periods that each person waits, to the end of the wait or of the observation.
        ended: Whether the wait has ended.
        level: Confidence level.

    Returns:
        Arrays `(share, low, high)` over 0, 1, ... to the longest wait.
    """
    size = int(wait.max(initial=0)) + 1
    events = np.bincount(wait[ended], minlength=size).astype(np.float64)
    at_risk = np.cumsum(np.bincount(wait, minlength=size)[::-1])[::-1].astype(np.float64)
    share = np.cumprod(1.0 - events / at_risk)
    before = np.concatenate([[1.0], share[:-1]])
    with np.errstate(divide="ignore", invalid="ignore"):
        greenwood = np.cumsum(events / (at_risk * (at_risk - events)))
        number = (1.0 - share) / (share * greenwood)
        number = np.where((share > 0.0) & (share < 1.0), number, at_risk / before)
    return share, *rate_interval(Shares(share, number), level)


def wait_ages(horizon: int) -> np.ndarray:
    """Return the steps of waiting at which people are counted: 0 to 10, then further apart.

    After 10, each is at most a fifth longer than the one before. The last is at most the horizon.
    """
    ages = [0]
    while (following := max(ages[-1] + 1, ages[-1] * 6 // 5)) <= horizon:
        ages.append(following)
    return np.array(ages)


def still_waiting(counts: Iterable[tuple[np.ndarray, np.ndarray]]) -> WaitCourse:
    """Return the share of waits that last longer than a time, by the product-limit estimator.

    The estimate multiplies, over ages, the share of people who reach the next age among those who
    reach this age early enough to observe the next one. So people count for as long as their wait
    is observed. People who already wait when an episode begins count from their age at that time.

    Args:
        counts: For each sample of episodes, the number of people who have waited for exactly each
            age, shape (episodes, horizon + 1, ages of `wait_ages`), and the number of steps of
            each episode.

    Returns:
        Steps of waiting, ascending, and the share still waiting at each. They end where fewer than
        20 people are left under observation.
    """
    before, after, ages = np.zeros(0), np.zeros(0), np.zeros(1, int)
    for reached, lengths in counts:
        ages = wait_ages(reached.shape[1] - 1)
        observed = [
            np.arange(reached.shape[1]) <= np.asarray(lengths)[:, None] - apart
            for apart in np.diff(ages)
        ]
        at_risk = [(reached[:, :, k] * early).sum() for k, early in enumerate(observed)]
        going_on = [reached[:, apart:, k + 1].sum() for k, apart in enumerate(np.diff(ages))]
        before = np.array(at_risk, np.float64) + (before if before.size else 0.0)
        after = np.array(going_on, np.float64) + (after if after.size else 0.0)
    start = int(np.argmax(before > 0.0))  # if waits are counted from 1, nobody has waited 0
    known = before[start:] >= FEW
    end = start + (len(known) if known.all() else int(np.argmin(known)))
    left = np.cumprod(np.append(1.0, after[start:end] / before[start:end]))
    return ages[start : end + 1], left


def common_end(courses: Iterable[WaitCourse]) -> int:
    """Return the longest time covered by every course that is not empty; 0 if all are empty."""
    return int(min((ages[-1] for ages, _ in courses if len(ages) > 1), default=0))


def left_after(course: WaitCourse, time: int) -> float:
    """Return the share still waiting after a time of `ages`; NaN if none is observed so long."""
    ages, left = course
    return float(left[ages == time][0]) if time in ages else np.nan


def quantile(course: WaitCourse, share: float) -> tuple[float, float]:
    """Return the quantile of the waits, as the two limits between which it lies.

    A wait is as long as the last step at which it is observed. Ages can be several steps apart, so
    a wait ends between an age and the step before the next one. Infinity if too few waits end.

    Args:
        course: Result of `still_waiting`.
        share: Share of the waits that are not longer, above 0.
    """
    ages, left = course
    reached = left <= 1.0 - share + 1e-9  # a product of ratios, each of them rounded
    if not reached.any():
        return np.inf, np.inf
    place = int(np.argmax(reached))
    return float(ages[place - 1]), float(ages[place] - 1)
