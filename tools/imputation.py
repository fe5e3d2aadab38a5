"""Imputation of columns missing in the public loan file: FICO, outcome, month of default, race.

Random numbers come from a generator that the caller seeds (`fairgym.data.sampling.stream`), so the
built files are the same each time. `build_data.py` combines these functions.
"""

import json
from collections.abc import Sequence

import numpy as np

from fairgym.data.race import RaceTable

GRADES = "ABCDEFG"

# Mean and standard deviation of FICO by Lending Club grade, in points. A gamma distribution above
# 660, the lowest score that Lending Club accepted, resembles the real distribution.
FICO_MOMENTS = {
    "A": (726, 32),
    "B": (702, 28),
    "C": (692, 25),
    "D": (688, 23),
    "E": (685, 22),
    "F": (683, 21),
    "G": (682, 20),
}
FICO_LOWEST, FICO_HIGHEST = 660, 845

# Shares of resolved loans that were charged off, by grade, in the full Lending Club file: 6.1% in
# A, 52.5% in G and nearly linear in between.
CHARGE_OFF_SHARES = dict(zip(GRADES, np.linspace(0.061, 0.525, 7), strict=True))


# Percent of people per 50-point band of FICO, by the band's lower end. It converts the percentiles
# of the score tables to FICO points, as in the fair lending literature (Hardt, Price and Srebro
# 2016).
FICO_BANDS = {
    300: 2.1,
    350: 4.2,
    400: 5.4,
    450: 6.5,
    500: 7.9,
    550: 9.6,
    600: 12.0,
    650: 13.8,
    700: 17.0,
    750: 15.8,
    800: 5.7,
    850: 0.0,
}


def sub_grade_number(sub_grade: np.ndarray) -> np.ndarray:
    """Return the number of each sub-grade: A1 -> 0, A2 -> 1, ... G5 -> 34; shape (n,)."""
    return np.array([5 * GRADES.index(g[0]) + int(g[1]) - 1 for g in sub_grade], np.int64)


def impute_fico(grade: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Sample the lower end of each borrower's FICO band given the grade.

    Args:
        grade: Letters A to G, shape (n,).
        rng: Generator; one gamma variate is drawn for each person.

    Returns:
        660, 665, ... 845, shape (n,).
    """
    mean, deviation = np.array([FICO_MOMENTS[g] for g in grade], np.float64).T
    above = mean - FICO_LOWEST
    points = FICO_LOWEST + rng.gamma((above / deviation) ** 2, deviation**2 / above)
    return np.clip(5 * np.floor(points / 5), FICO_LOWEST, FICO_HIGHEST)


def fit_logistic(design: np.ndarray, outcome: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Fit a logistic regression by maximum likelihood with Newton's method.

    Args:
        design: Columns of roughly unit size, including a constant, shape (n, k).
        outcome: Shares in [0, 1], shape (n,).
        weights: Weights, shape (n,).

    Returns:
        Coefficients, shape (k,).
    """
    coefficients = np.zeros(design.shape[1])
    for _ in range(50):
        fitted = 1 / (1 + np.exp(-design @ coefficients))
        curvature = (design * (weights * fitted * (1 - fitted))[:, None]).T @ design
        step = np.linalg.solve(curvature, design.T @ (weights * (outcome - fitted)))
        coefficients = coefficients + step
        if np.max(np.abs(step)) < 1e-12:
            break
    return coefficients


def log_odds_slope(values: np.ndarray, outcome: np.ndarray, weights: np.ndarray) -> float:
    """Return the slope of a one-variable logistic regression, in log-odds per unit of `values`.

    Args:
        values: Values, shape (n,).
        outcome: Shares in [0, 1], shape (n,).
        weights: Weights, shape (n,).
    """
    centre, scale = np.average(values, weights=weights), np.std(values)
    design = np.stack([np.ones(len(values)), (values - centre) / scale], axis=1)
    return float(fit_logistic(design, outcome, weights)[1] / scale)


def sub_grade_pattern(sub_grade: np.ndarray, bad: np.ndarray) -> np.ndarray:
    """Return a smooth curve of the log-odds of a bad loan over the 35 sub-grades.

    Single sub-grades have few bad loans, so their raw shares are noisy. A quadratic in the number
    of the sub-grade keeps the pattern and removes the noise.

    Args:
        sub_grade: Number 0 to 34 of each loan, shape (n,).
        bad: 0 or 1, shape (n,).

    Returns:
        Log-odds, shape (35,).
    """

    def design(number: np.ndarray) -> np.ndarray:
        x = (number - 17.0) / 17.0
        return np.stack([np.ones_like(x), x, x**2], axis=1)

    return design(np.arange(35)) @ fit_logistic(design(sub_grade), bad, np.ones(len(bad)))


def shift_to_shares(
    log_odds: np.ndarray, cell: np.ndarray, shares: np.ndarray, rounds: int = 60
) -> np.ndarray:
    """Shift the log-odds of each cell so that its mean probability is the given share.

    Args:
        log_odds: Log-odds, shape (n,).
        cell: Cell number of each row, shape (n,).
        shares: Target mean probability of each cell, shape (c,); cells without rows are ignored.
        rounds: Bisection steps of the interval [-40, 40].

    Returns:
        Probabilities, shape (n,).
    """
    count = np.bincount(cell, minlength=len(shares))
    low, high = np.full(len(shares), -40.0), np.full(len(shares), 40.0)
    for _ in range(rounds):
        middle = (low + high) / 2
        total = np.bincount(
            cell, 1 / (1 + np.exp(-(log_odds + middle[cell]))), minlength=len(shares)
        )
        too_low = total < shares * count
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    return 1 / (1 + np.exp(-(log_odds + high[cell])))


def sub_grade_shares(pattern: np.ndarray, sub_grade: np.ndarray) -> np.ndarray:
    """Return default shares of sub-grades: the pattern, shifted to each grade's charge-off share.

    Args:
        pattern: Log-odds by sub-grade, shape (35,).
        sub_grade: Number 0 to 34 of the loans over which a grade's share is taken, shape (n,).

    Returns:
        Shares, shape (35,); 0 for a sub-grade without loans.
    """
    wanted = np.array(list(CHARGE_OFF_SHARES.values()))
    probability = shift_to_shares(pattern[sub_grade], sub_grade // 5, wanted)
    shares = np.zeros(35)
    shares[sub_grade] = probability
    return shares


def default_probabilities(
    sub_grade: np.ndarray, shares: np.ndarray, fico: np.ndarray, slope: float
) -> np.ndarray:
    """Return probabilities whose log-odds rise by `slope` per FICO point within each sub-grade.

    Args:
        sub_grade: Number 0 to 34, shape (n,).
        shares: Mean probability of each sub-grade, matched exactly, shape (35,).
        fico: FICO points, shape (n,).
        slope: Log-odds of default per point within a sub-grade; negative.

    Returns:
        Probabilities, shape (n,).
    """
    return shift_to_shares(slope * (fico - fico.mean()), sub_grade, shares)


def slope_within(
    sub_grade: np.ndarray, shares: np.ndarray, fico: np.ndarray, overall: float
) -> float:
    """Return the slope within sub-grades that gives the whole sample the target slope.

    Part of the overall slope comes from the grades, since better grades have higher scores. The
    slope within sub-grades is the rest.

    Args:
        sub_grade: Number 0 to 34, shape (n,).
        shares: Mean probability of each sub-grade, shape (35,).
        fico: FICO points, shape (n,).
        overall: Target slope of a logistic regression of default on FICO alone; negative.

    Returns:
        Log-odds per point, between -0.05 and 0.
    """
    low, high = -0.05, 0.0
    ones = np.ones(len(fico))
    for _ in range(36):
        middle = (low + high) / 2
        probability = default_probabilities(sub_grade, shares, fico, middle)
        if log_odds_slope(fico, probability, ones) < overall:
            low = middle
        else:
            high = middle
    return high


def sample_evenly(
    probability: np.ndarray, order: tuple[np.ndarray, ...], rng: np.random.Generator
) -> np.ndarray:
    """Sample 0 or 1 for each row by systematic sampling along an order.

    Each row is 1 with its own probability, and any stretch of the order has the expected number of
    ones to within one. Shares and slopes in the sample are therefore the calibrated ones, without
    the noise of independent samples.

    Args:
        probability: Probability of 1, shape (n,).
        order: Sort keys, most important first; ties are in random order.
        rng: Generator; n + 1 uniform numbers are drawn.

    Returns:
        0 or 1, int8, shape (n,).
    """
    ties = rng.random(len(probability))
    index = np.lexsort((ties, *reversed(order)))
    passed = np.floor(np.cumsum(probability[index]) + rng.random())
    sampled = np.zeros(len(probability), np.int8)
    sampled[index] = np.diff(passed, prepend=0.0) > 0
    return sampled


def impute_months_to_default(
    term: np.ndarray, defaulted: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Sample the month in which payments stop: a Beta(2, 3) share of the term, mean 40%.

    Args:
        term: Term in months, shape (n,).
        defaulted: 0 or 1, shape (n,).
        rng: Generator; one Beta variate is drawn for each person, defaulted or not.

    Returns:
        Whole months from 1 to term - 1 if defaulted, else the term; shape (n,).
    """
    months = np.clip(np.round(term * rng.beta(2.0, 3.0, len(term))), 1, term - 1)
    return np.where(defaulted == 1, months, term)


def percentile_to_fico(percentile: np.ndarray) -> np.ndarray:
    """Return FICO points at a percentile (0 to 100) of all scored people, linear within bands."""
    edges = np.array(list(FICO_BANDS), np.float64)
    below = np.concatenate([[0.0], np.cumsum(list(FICO_BANDS.values()))[:-1]])
    return np.interp(percentile, below, edges)


def people_by_band(
    percentile: np.ndarray, cumulative: np.ndarray, people: Sequence[float], low: np.ndarray
) -> np.ndarray:
    """Return the number of people of each race in each 5-point band of FICO.

    Args:
        percentile: Score percentiles of the table's rows, shape (k,), ascending.
        cumulative: Percent of each race at or below that percentile, shape (k, r).
        people: Number of people of each of the r races in the table's sample.
        low: Lower ends of the bands, shape (b,).

    Returns:
        Numbers of people, shape (b, r).
    """
    fico = percentile_to_fico(percentile)
    edges = np.append(low, low[-1] + 5)
    share = [np.diff(np.interp(edges, fico, column / 100)) for column in cumulative.T]
    return np.stack(share, axis=1) * np.asarray(people, np.float64)


def race_table_json(table: RaceTable) -> bytes:
    """Return a table as the content of `race_by_fico.json`."""
    content = {
        "races": list(table.races),
        "fico_low": [int(low) for low in table.fico_low],
        "probability": [[round(float(p), 6) for p in row] for row in table.probability],
    }
    return (json.dumps(content, indent=1) + "\n").encode()
