"""Scores that decisions are based on: how far groups are apart, and ratios at every cut score."""

import math

import numpy as np

from fairgym.audit.groups import Side, sides_of
from fairgym.audit.parts import Cell, Column, Part, number_of
from fairgym.audit.roles import Roles
from fairgym.audit.table import Decisions
from fairgym.results.numbers import Estimate, interval, number
from fairgym.statistics.clusters import effective_shares
from fairgym.statistics.proportions import Shares, difference_interval, ratio_interval
from fairgym.statistics.strata import Rows, quantile

MOST_CUTS, MOST_CUTS_OF_UNITS = 50, 20
MIDDLE = 0.05  # share of the reference above and below a cut that findings speak of


def scores(decisions: Decisions, roles: Roles) -> list[Part]:
    """Return standardised differences of the score, and ratios over all cut scores.

    None without scores.
    """
    if decisions.score is None:
        return []
    known = np.isfinite(decisions.score)
    means: list[dict[str, Cell]] = []
    cuts: list[dict[str, Cell]] = []
    findings = []
    for grouping in decisions.groupings:
        for side in sides_of(decisions, grouping, roles):
            rows = np.flatnonzero(known & (side.of_row >= 0))
            sizes = np.bincount(side.of_row[rows].astype(np.int64), minlength=2)
            if (sizes < max(roles.suppress, 2)).any():
                continue
            means.append(side.names | mean_scores(decisions, side, rows, roles.level))
            own = _cut_rows(decisions, side, rows, roles)
            cuts += own
            findings += _finding(means[-1], own)
    if not means:
        return []
    lacking = int((~known).sum())
    limits = [f"{lacking:,} decisions without a score are left out of the scores."] * bool(lacking)
    return [_means_part(means, roles, findings, limits), _cuts_part(cuts, roles)]


def mean_scores(
    decisions: Decisions, side: Side, rows: np.ndarray, level: float
) -> dict[str, Cell]:
    """Return means and standardised mean difference of a group and its reference."""
    assert decisions.score is not None
    x, ours = decisions.score[rows], side.of_row[rows] == 1
    weight, units = (
        None if one is None else one[rows] for one in (decisions.weight, decisions.units)
    )
    w = np.ones(len(x)) if weight is None else weight
    total = np.bincount(ours, w, 2)
    mean = np.bincount(ours, w * x, 2) / np.maximum(total, 1e-300)
    residual = x - mean[ours.astype(int)]
    variance = np.bincount(ours, w * residual**2, 2) / np.maximum(total, 1e-300)
    n = np.bincount(ours, minlength=2).astype(np.float64)
    variance *= n / (n - 1.0)
    pooled = math.sqrt(float((n - 1.0) @ variance / (n.sum() - 2.0)))
    row: dict[str, Cell] = {"n": int(n[1]), "mean": float(mean[1]), "sd": math.sqrt(variance[1])}
    row |= {"reference_mean": float(mean[0]), "reference_sd": math.sqrt(variance[0])}
    if not pooled > 0.0:
        return row | {"smd": None, "low": None, "high": None}
    d = float(mean[1] - mean[0]) / pooled
    if weight is None and units is None:
        square, degrees = float(n.sum() / (n[0] * n[1])), 0
    else:
        influence = w * residual * np.where(ours, 1.0 / total[1], -1.0 / total[0]) / pooled
        square, degrees = Rows(x, ours, ours, weight, units).variance(influence)
    independent = degrees + 1.0 if degrees else n.sum()
    half = quantile(level, degrees) * math.sqrt(square + d**2 / (2.0 * independent))
    return row | {"smd": d, "low": d - half, "high": d + half}


def _cut_rows(
    decisions: Decisions, side: Side, rows: np.ndarray, roles: Roles
) -> list[dict[str, Cell]]:
    """Rows of the shares at or above every cut score."""
    assert decisions.score is not None
    x, ours = decisions.score[rows], side.of_row[rows].astype(np.int64)
    weight, units = (
        None if one is None else one[rows] for one in (decisions.weight, decisions.units)
    )
    plain = weight is None and units is None
    cuts = cut_scores(x, MOST_CUTS if plain else MOST_CUTS_OF_UNITS)
    if not len(cuts):
        return []
    if plain:
        both = [np.sort(x[ours == place]) for place in (1, 0)]
        above = [len(one) - np.searchsorted(one, cuts) for one in both]
        shares = [
            Shares.of(count, np.full(len(cuts), len(one)))
            for count, one in zip(above, both, strict=True)
        ]
    else:
        found = [effective_shares(x >= cut, ours, 2, weight, units) for cut in cuts]
        shares = [
            Shares(*(np.array([getattr(one, key)[place] for one in found]) for key in _FIELDS))
            for place in (1, 0)
        ]
    ratio = ratio_interval(shares[0], shares[1], roles.level)
    gap = difference_interval(shares[0], shares[1], roles.level)
    columns = {"rate": shares[0].rate, "reference_rate": shares[1].rate}
    columns |= dict(zip(("ratio", "ratio_low", "ratio_high"), ratio, strict=True))
    columns |= dict(zip(("difference", "low", "high"), gap, strict=True))
    return [
        {**side.names, "cut": float(cut)}
        | {key: float(values[place]) for key, values in columns.items()}
        for place, cut in enumerate(cuts)
    ]


_FIELDS = ("rate", "n", "degrees")


def cut_scores(score: np.ndarray, most: int) -> np.ndarray:
    """Return all distinct scores above the lowest one, or quantiles if there are many.

    Examples:
        >>> import numpy as np
        >>> from fairgym.audit.scores import cut_scores
        >>> cut_scores(np.array([3.0, 1.0, 2.0, 3.0]), 50).tolist()
        [2.0, 3.0]
    """
    different = np.unique(score)[1:]
    if len(different) <= most:
        return different
    places = np.arange(1, most + 1) / (most + 1)
    return np.unique(np.quantile(score, places, method="higher"))


def _finding(row: dict[str, Cell], cuts: list[dict[str, Cell]]) -> list[str]:
    """Sentences about the difference of scores and the lowest ratio."""
    who = f"By {row['grouping']}, {row['group']}"
    smd, low, high = (number_of(row, key) for key in ("smd", "low", "high"))
    found = []
    if low > 0.0 or high < 0.0:
        way = "above" if smd > 0.0 else "below"
        value = Estimate(abs(smd), min(abs(low), abs(high)), max(abs(low), abs(high)))
        found.append(
            f"{who} scores {interval(value)} standard deviations {way} {row['reference']}."
        )
    middle = [one for one in cuts if MIDDLE <= number_of(one, "reference_rate") <= 1.0 - MIDDLE]
    if middle and (low > 0.0 or high < 0.0):
        least = min(middle, key=lambda one: number_of(one, "ratio"))
        found.append(
            f"{who}: of all cut scores, {number(number_of(least, 'cut'))} has the lowest ratio to"
            f" {row['reference']}, {number(number_of(least, 'ratio'))}."
        )
    return found


def _means_part(
    rows: list[dict[str, Cell]], roles: Roles, findings: list[str], limits: list[str]
) -> Part:
    columns = (
        Column("grouping", "by"),
        Column("group", "group"),
        Column("reference", "against"),
        Column("mean", "mean score"),
        Column("reference_mean", "of the reference"),
        Column("smd", "standardised difference", "", ("low", "high"), True),
    )
    about = (
        "Mean scores, and their difference divided by the pooled standard deviation (Cohen's d),"
        f" with a {roles.level:.0%} interval (Hedges and Olkin 1985)."
    )
    return Part("scores", "Scores by group", about, rows, columns, findings, limits)


def _cuts_part(rows: list[dict[str, Cell]], roles: Roles) -> Part:
    columns = (
        Column("grouping", "by"),
        Column("group", "group"),
        Column("reference", "against"),
        Column("cut", "cut score"),
        Column("rate", "at or above", "share"),
        Column("reference_rate", "of the reference", "share"),
        Column("ratio", "ratio", "", ("ratio_low", "ratio_high")),
    )
    about = (
        "If everybody at or above a cut score were accepted: the groups' shares, and their ratio"
        f" with {roles.level:.0%} intervals of single cut scores."
    )
    return Part("cut_scores", "Ratio at every cut score", about, rows, columns)
