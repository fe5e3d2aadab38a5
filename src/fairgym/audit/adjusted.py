"""Gaps adjusted for columns that may account for them."""

import math
from collections.abc import Mapping

import numpy as np

from fairgym.audit.columns import Codes
from fairgym.audit.groups import Side, sides_of
from fairgym.audit.parts import Cell, Column, Part, number_of
from fairgym.audit.regression import regression
from fairgym.audit.roles import Roles
from fairgym.audit.table import Decisions
from fairgym.results.numbers import Estimate, number_told, told
from fairgym.statistics.clusters import correlations, effective_shares
from fairgym.statistics.proportions import difference_interval, odds_ratio_interval
from fairgym.statistics.strata import (
    Pooled,
    Rows,
    Strata,
    decomposition,
    partial_f,
    pooled_difference,
    pooled_odds_ratio,
    robustness_value,
)

RAW, STRATA, REGRESSION = "raw", "strata", "regression"
BINS = 5  # of a column of numbers, in strata
ROUNDING = 1e-12  # of a share
LEAST_COMPARABLE = 0.8  # share of our decisions below which strata are told to leave too many out


def adjusted(decisions: Decisions, roles: Roles) -> list[Part]:
    """Return the adjusted gaps, and what the columns account for; none without such columns.

    The columns are used as strata (Mantel and Haenszel) and in a logistic regression, for each
    group and the reference. Rows without a value in one of them are left out.
    """
    if not decisions.legit:
        return []
    known = np.ones(decisions.rows, bool)
    for column in decisions.legit.values():
        known &= column.codes >= 0 if isinstance(column, Codes) else np.isfinite(column)
    gaps: list[dict[str, Cell]] = []
    steps: list[dict[str, Cell]] = []
    findings: list[str] = []
    limits = [
        f"Adjusting for {', '.join(decisions.legit)} is right only for columns that are no result"
        " of unequal treatment themselves."
    ]
    if not known.all():
        lost = int((~known).sum())
        limits.append(
            f"{lost:,} decisions ({number_told(lost / decisions.rows, 'share')}) are left out of"
            " the adjusted gaps, for an unknown value in a column to adjust for."
        )
    for grouping in decisions.groupings:
        for side in sides_of(decisions, grouping, roles):
            rows, more = _compare(decisions, side, known, roles, limits)
            gaps += rows
            steps += more
            findings += _finding(rows, decisions)
    if not gaps:
        return []
    return [_gaps_part(gaps, roles, findings, limits), _steps_part(steps)]


def strata_of(decisions: Decisions, rows: np.ndarray) -> np.ndarray:
    """Return the index of each row's stratum of all columns to adjust for.

    Numbers are cut at their quintiles.

    Args:
        decisions: The decisions.
        rows: Indices of rows whose values are known.
    """
    found = np.zeros(len(rows), np.int64)
    for column in decisions.legit.values():
        if isinstance(column, Codes):
            own, size = column.codes[rows].astype(np.int64), len(column.names)
        else:
            values = column[rows]
            cuts = np.unique(np.quantile(values, np.arange(1, BINS) / BINS)) if len(rows) else []
            own, size = np.searchsorted(cuts, values, side="left"), BINS
        found = np.unique(found * size + own, return_inverse=True)[1]
    return found


def _compare(
    decisions: Decisions, side: Side, known: np.ndarray, roles: Roles, limits: list[str]
) -> tuple[list[dict[str, Cell]], list[dict[str, Cell]]]:
    """Rows of the raw and the adjusted gaps of a group, and the steps between them."""
    where = np.flatnonzero(known & (side.of_row >= 0))
    ours, label = side.of_row[where], f"By {side.grouping}, {side.group} against {side.reference}: "
    if min((ours == 1).sum(), (ours == 0).sum()) < max(roles.suppress, 2):
        limits.append(f"{label}too few decisions with known values to adjust.")
        return [], []
    weight, units = (
        None if one is None else one[where] for one in (decisions.weight, decisions.units)
    )
    values = decisions.favourable[where].astype(np.float64)
    rows = Rows(values, ours, strata_of(decisions, where), weight, units)
    raw, odds = _raw(rows, roles.level)
    names: dict[str, Cell] = {**side.names}
    found = [_row(names | {"method": RAW}, len(where), raw, odds, None)]
    strata = Strata.of(values, ours, rows.strata, weight)
    both = strata.both
    ours_comparable = float(strata.n[1, both].sum() / strata.n[1].sum())
    steps = []
    if both.any():
        gap, parts = pooled_difference(rows, roles.level), decomposition(strata)
        row = names | {"method": STRATA}
        n = int(both[rows.strata].sum())
        row = _row(row, n, gap, pooled_odds_ratio(rows, roles.level), partial_f(rows))
        row |= _accounted(parts.composition, raw)
        found.append(row | {"strata": int(both.sum()), "comparable": ours_comparable})
        steps += _steps(
            names | {"method": STRATA},
            parts.raw,
            {"shares of the strata": parts.composition, "strata of one group": parts.alone},
            parts.within,
        )
    if ours_comparable < LEAST_COMPARABLE:
        share = number_told(ours_comparable, "share")
        limits.append(
            f"{label}only {share} of the decisions about {side.group} are in strata that both have;"
            " the gap within strata speaks of these."
        )
    columns = {
        name: Codes(column.codes[where], column.names)
        if isinstance(column, Codes)
        else column[where]
        for name, column in decisions.legit.items()
    }
    fitted, notes = regression(rows, columns, roles.level)
    limits += [label + note for note in notes]
    if fitted is not None:
        row = names | {"method": REGRESSION}
        row = _row(row, len(where), fitted.effect, fitted.odds_ratio, fitted.partial_f)
        found.append(row | _accounted(fitted.columns, raw))
        by_column = fitted.by_column or {"all columns": fitted.columns}
        whole = fitted.columns + fitted.group
        steps += _steps(names | {"method": REGRESSION}, whole, by_column, fitted.group)
    return found, steps


def _raw(rows: Rows, level: float) -> tuple[Pooled, Pooled]:
    """Difference and odds ratio without adjustment, as in the table of gaps."""
    given = (rows.values, rows.side.astype(np.int64), 2, rows.weight, rows.units)
    shares, between = effective_shares(*given), correlations(*given)
    rho = 0.0 if between is None else float(between[0, 1])

    def pooled(found: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Pooled:
        return Pooled(*(float(np.squeeze(one)) for one in found))

    return (
        pooled(difference_interval(shares[1:], shares[:1], level, rho)),
        pooled(odds_ratio_interval(shares[1:], shares[:1], level, rho)),
    )


def _row(
    names: dict[str, Cell], n: int, gap: Pooled, odds: Pooled, f: float | None
) -> dict[str, Cell]:
    row = names | {
        "n": n,
        "difference": gap.value,
        "low": gap.low,
        "high": gap.high,
        "odds_ratio": odds.value,
        "odds_ratio_low": odds.low,
        "odds_ratio_high": odds.high,
    }
    if f is not None and math.isfinite(gap.value):
        nearer = max(gap.low, -gap.high, 0.0) / abs(gap.value) if gap.value else 0.0
        row["robustness"] = robustness_value(f)
        row["robustness_limit"] = robustness_value(f * nearer) if nearer else 0.0
    return row


def _accounted(part: float, raw: Pooled) -> dict[str, Cell]:
    """Return what the columns account for, and its share of a raw gap that is clear."""
    clear = raw.low > 0.0 or raw.high < 0.0
    return {"accounted": part, "accounted_share": part / raw.value if clear else None}


def _steps(
    names: dict[str, Cell], raw: float, parts: Mapping[str, float], left: float
) -> list[dict[str, Cell]]:
    values = {"raw gap": raw, **parts, "left": left}
    exact = {name: value if abs(value) > ROUNDING else 0.0 for name, value in values.items()}
    return [names | {"step": name, "difference": value} for name, value in exact.items()]


def _finding(rows: list[dict[str, Cell]], decisions: Decisions) -> list[str]:
    """Sentence about the raw gap and the adjusted ones."""
    texts = []
    for row in rows:
        value, low, high = (number_of(row, key) for key in ("difference", "low", "high"))
        gap = Estimate(value, low, high)
        text = told(gap, "share", points=True)
        if number_of({"comparable": 1.0} | row, "comparable") < LEAST_COMPARABLE:
            text += f" (of {row['n']:,} comparable decisions)"
        texts.append((row["method"], text, gap))
    if len(texts) < 2:
        return []
    first = rows[0]
    named = ", ".join(decisions.legit)
    words = {STRATA: f"within strata of {named}", REGRESSION: f"in a regression on {named}"}
    told_of = [f"{text} {words[str(method)]}" for method, text, _ in texts[1:]]
    found = (
        f"By {first['grouping']}, {first['group']} minus {first['reference']}: raw gap"
        f" {texts[0][1]}; {'; '.join(told_of)}."
    )
    raw, gaps = texts[0][2], [gap for _, _, gap in texts[1:]]
    if raw.clear and all(gap.mean * raw.mean < 0.0 for gap in gaps):
        unclear = "" if any(gap.clear for gap in gaps) else ", though the intervals include 0"
        found += f" Adjusted, the gap has the other sign{unclear} (Simpson's paradox)."
    return [found]


def _gaps_part(
    rows: list[dict[str, Cell]], roles: Roles, findings: list[str], limits: list[str]
) -> Part:
    columns = (
        Column("grouping", "by"),
        Column("group", "group"),
        Column("reference", "against"),
        Column("method", "method"),
        Column("n", "decisions"),
        Column("difference", "difference", "points", ("low", "high"), True),
        Column("odds_ratio", "odds ratio", "", ("odds_ratio_low", "odds_ratio_high")),
        Column("accounted", "accounted for", "points", (), True),
        Column("robustness", "robustness", "share"),
        Column("robustness_limit", "of the limit", "share"),
    )
    about = (
        "The group's rate minus the reference's: raw; within strata of the columns"
        " (Mantel-Haenszel; numbers are cut at their quintiles); and in a logistic regression"
        f" (average marginal effect). {roles.level:.0%} intervals. Accounted for: what the"
        " columns explain of the raw gap. Robustness: the share of what is left unexplained, of the"
        " decision and of the group, that a hidden factor must explain to bring the gap, or the"
        " limit of its interval, to 0 (Cinelli and Hazlett 2020)."
    )
    return Part("adjusted", "Adjusted gaps", about, rows, columns, findings, limits)


def _steps_part(rows: list[dict[str, Cell]]) -> Part:
    columns = (
        Column("grouping", "by"),
        Column("group", "group"),
        Column("reference", "against"),
        Column("method", "method"),
        Column("step", "part"),
        Column("difference", "difference", "points", (), True),
    )
    about = (
        "From the raw gap to what is left, which the parts add up to: by different shares of the"
        " strata (Kitagawa 1955), or by each column of the regression (Oaxaca-Blinder; Yun 2004)."
    )
    return Part("accounted", "What the columns account for", about, rows, columns)
