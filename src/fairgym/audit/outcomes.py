"""Outcomes of decisions: among the accepted, by score, and error rates where they can be known."""

import dataclasses

import numpy as np

from fairgym.audit.groups import Side, compared, sides_of
from fairgym.audit.parts import Cell, Column, Part, number_of
from fairgym.audit.roles import Roles
from fairgym.audit.table import Decisions
from fairgym.results.numbers import Estimate, number, number_told, told
from fairgym.statistics.clusters import correlations, effective_shares
from fairgym.statistics.proportions import difference_interval, rate_interval
from fairgym.statistics.strata import Rows, pooled_difference

BINS = 10  # of the score
KNOWN = 0.95  # least share of known outcomes of the refused, for rates of errors

INFRA_MARGINAL = (
    "Outcomes among the accepted do not show which group meets a stricter standard: they depend on"
    " how far most of the accepted are above it (infra-marginality; Simoiu, Corbett-Davies and Goel"
    " 2017)."
)


def outcomes(decisions: Decisions, roles: Roles) -> list[Part]:
    """Return outcomes among the accepted, calibration, and error rates; none without outcomes.

    Error rates need the outcomes of the refused. If these are unknown, the rates are not
    identifiable: a sentence says so, and nothing is computed on the accepted alone.
    """
    if decisions.outcome is None:
        return []
    known = np.isfinite(decisions.outcome)
    found = [_accepted(decisions, roles, known)]
    share, missing = _refused_known(decisions, known)
    if share >= KNOWN:
        found.append(_errors(decisions, roles, known, missing))
    elif not decisions.favourable.all():
        told_of = "unknown" if not share else f"known for {number_told(share, 'share')} of them"
        text = (
            "True and false positive rates are not identifiable and not given: they need"
            f" the outcomes of the refused, which are {told_of} (selective labels). Rates of the"
            " accepted alone are no substitute."
        )
        found[0] = dataclasses.replace(found[0], limits=[*found[0].limits, text])
    if decisions.score is not None:
        found += _calibration(decisions, roles, known & np.isfinite(decisions.score))
    return [part for part in found if part.rows or part.limits]


def _refused_known(decisions: Decisions, known: np.ndarray) -> tuple[float, int]:
    """Return the least share of known outcomes of the refused of any group, and how many lack."""
    refused = ~decisions.favourable
    shares = []
    for codes in decisions.groupings.values():
        own = codes.codes[refused]
        total = np.bincount(own[own >= 0], minlength=len(codes.names))
        there = own[known[refused]]
        seen = np.bincount(there[there >= 0], minlength=len(codes.names))
        shares += list(seen[total > 0] / total[total > 0])
    return min(shares, default=0.0), int((refused & ~known).sum())


def _accepted(decisions: Decisions, roles: Roles, known: np.ndarray) -> Part:
    """Table of the good outcomes among the accepted."""
    used = known & decisions.favourable
    rows = _rates(decisions, roles, used, "good")
    findings = []
    for row in rows:
        if "difference" not in row:
            continue
        gap, low, high = (number_of(row, f"difference{end}") for end in ("", "_low", "_high"))
        if low > 0.0 or high < 0.0:
            size = told(Estimate(gap, low, high), "share", points=True)
            findings.append(
                f"By {row['grouping']}, good outcomes among the accepted: {row['group']} minus"
                f" {row['reference']} {size}."
            )
    limits = [INFRA_MARGINAL] if rows else ["No outcome of an accepted case is known."]
    lacking = int((decisions.favourable & ~known).sum())
    if lacking and rows:
        share = number_told(lacking / max(int(decisions.favourable.sum()), 1), "share")
        limits.append(
            f"The outcomes of {lacking:,} favourable decisions ({share}) are unknown and left out."
        )
    about = (
        f"Share of good outcomes among the favourable decisions whose outcome is known, with"
        f" Agresti and Coull's {roles.level:.0%} interval; the difference to the reference with"
        " Newcombe's."
    )
    columns = _columns("accepted, outcome known", "good outcomes")
    return Part("outcomes", "Outcomes of the accepted", about, rows, columns, findings, limits)


def _columns(n: str, rate: str) -> tuple[Column, ...]:
    return (
        Column("grouping", "by"),
        Column("group", "group"),
        Column("n", n),
        Column("rate", rate, "share", ("low", "high")),
        Column("reference", "against"),
        Column("difference", "difference", "points", ("difference_low", "difference_high"), True),
    )


def _errors(decisions: Decisions, roles: Roles, known: np.ndarray, missing: int) -> Part:
    """Table of the rates of favourable decisions among good and among bad outcomes."""
    rows: list[dict[str, Cell]] = []
    outcome = decisions.outcome
    good = known & (outcome == 1.0)
    for name, used in (("true positive rate", good), ("false positive rate", known & ~good)):
        own = _rates(decisions, roles, used, "favourable")
        rows += [{"measure": name} | row for row in own]
    rows.sort(key=lambda row: list(decisions.groupings).index(str(row["grouping"])))
    limits = []
    if missing:
        limits.append(
            f"The rates of errors leave out {missing:,} refused cases whose outcome is unknown."
        )
    about = (
        "Share of favourable decisions among those with a good outcome (true positive rate) and"
        f" with a bad one (false positive rate), with {roles.level:.0%} intervals."
    )
    first, *others = _columns("decisions", "favourable")
    columns = (first, Column("measure", "rate"), *others)
    return Part("error_rates", "Error rates", about, rows, columns, limits=limits)


def _rates(decisions: Decisions, roles: Roles, used: np.ndarray, of: str) -> list[dict[str, Cell]]:
    """Rates of all groups among some rows, and differences to the reference."""
    values = decisions.favourable if of == "favourable" else decisions.outcome == 1.0
    rows: list[dict[str, Cell]] = []
    for grouping, codes in decisions.groupings.items():
        cells = np.where(used, codes.codes, -1)
        size = len(codes.names)
        shares = effective_shares(values, cells, size, decisions.weight, decisions.units)
        counts = np.bincount(cells[cells >= 0], minlength=size)
        low, high = rate_interval(shares, roles.level)
        sides = {side.group: side for side in sides_of(decisions, grouping, roles)}
        for group in np.flatnonzero(compared(decisions, grouping, roles)):
            name = codes.names[group]
            if counts[group] < max(roles.suppress, 1):
                continue
            row: dict[str, Cell] = {"grouping": grouping, "group": name, "n": int(counts[group])}
            row |= {"rate": float(shares.rate[group]), "low": float(low[group])}
            row["high"] = float(high[group])
            if name in sides:
                row |= _difference(decisions, roles, values, used, sides[name])
            rows.append(row)
    return rows


def _difference(
    decisions: Decisions, roles: Roles, values: np.ndarray, used: np.ndarray, side: Side
) -> dict[str, Cell]:
    """Difference of a group and its reference among some rows."""
    cells = np.where(used, side.of_row, -1).astype(np.int64)
    if (np.bincount(cells[cells >= 0], minlength=2) < max(roles.suppress, 1)).any():
        return {}
    given = (values, cells, 2, decisions.weight, decisions.units)
    shares, between = effective_shares(*given), correlations(*given)
    rho = 0.0 if between is None else float(between[0, 1])
    gap, low, high = difference_interval(shares[1:], shares[:1], roles.level, rho)
    return {
        "reference": side.reference,
        "difference": float(gap[0]),
        "difference_low": float(low[0]),
        "difference_high": float(high[0]),
    }


def _calibration(decisions: Decisions, roles: Roles, used: np.ndarray) -> list[Part]:
    """Tables of good outcomes by bin of the score, and of differences at equal scores."""
    rows_used = np.flatnonzero(used)
    outcome = decisions.outcome
    if len(rows_used) < max(roles.suppress, 2) or decisions.score is None or outcome is None:
        return []
    score, good = decisions.score[rows_used], outcome[rows_used] == 1.0
    cuts = np.unique(np.quantile(score, np.arange(1, BINS) / BINS))
    cuts = cuts[cuts > score.min()]
    place = np.searchsorted(cuts, score, side="right")
    edges = np.concatenate([[score.min()], cuts, [score.max()]])
    bins = len(cuts) + 1
    weight, units = (
        None if one is None else one[rows_used] for one in (decisions.weight, decisions.units)
    )
    rows: list[dict[str, Cell]] = []
    gaps: list[dict[str, Cell]] = []
    for grouping, codes in decisions.groupings.items():
        group, size = codes.codes[rows_used].astype(np.int64), len(codes.names)
        cells = np.where(group >= 0, group * bins + place, -1)
        shares = effective_shares(good, cells, size * bins, weight, units)
        counts = np.bincount(cells[cells >= 0], minlength=size * bins)
        sums = np.bincount(cells[cells >= 0], score[cells >= 0], size * bins)
        low, high = rate_interval(shares, roles.level)
        for g in np.flatnonzero(compared(decisions, grouping, roles)):
            for b in range(bins):
                cell = g * bins + b
                if counts[cell] < max(roles.suppress, 1):
                    continue
                row: dict[str, Cell] = {"grouping": grouping, "group": codes.names[g]}
                row |= {"bin": f"{number(edges[b])} to {number(edges[b + 1])}"}
                row |= {"score_from": float(edges[b]), "score_to": float(edges[b + 1])}
                row |= {"n": int(counts[cell]), "score": float(sums[cell] / counts[cell])}
                row |= {"rate": float(shares.rate[cell]), "low": float(low[cell])}
                rows.append(row | {"high": float(high[cell])})
        for side in sides_of(decisions, grouping, roles):
            own = side.of_row[rows_used]
            both = np.flatnonzero(own >= 0)
            given = Rows(
                good[both].astype(np.float64),
                own[both],
                place[both],
                *(None if one is None else one[both] for one in (weight, units)),
            )
            gap = pooled_difference(given, roles.level)
            if np.isfinite(gap.value):
                gaps.append(
                    {**side.names, "difference": gap.value, "low": gap.low, "high": gap.high}
                )
    return [_bins_part(rows, decisions, used, roles), _equal_scores_part(gaps, roles)]


def _bins_part(
    rows: list[dict[str, Cell]], decisions: Decisions, used: np.ndarray, roles: Roles
) -> Part:
    limits = []
    if not (used & ~decisions.favourable).any():
        limits.append(
            "Calibration is that among the accepted: nothing is known of the refused at the same"
            " score."
        )
    columns = (
        Column("grouping", "by"),
        Column("group", "group"),
        Column("bin", "score"),
        Column("n", "decisions"),
        Column("score", "mean score"),
        Column("rate", "good outcomes", "share", ("low", "high")),
    )
    about = (
        f"Good outcomes by tenth of the score, with Agresti and Coull's {roles.level:.0%} interval."
        " Where the groups' rates at equal scores differ, the score means different things for"
        " them."
    )
    return Part("calibration", "Outcomes by score", about, rows, columns, limits=limits)


def _equal_scores_part(rows: list[dict[str, Cell]], roles: Roles) -> Part:
    columns = (
        Column("grouping", "by"),
        Column("group", "group"),
        Column("reference", "against"),
        Column("difference", "difference", "points", ("low", "high"), True),
    )
    findings = []
    for row in rows:
        value, low, high = (number_of(row, key) for key in ("difference", "low", "high"))
        if low > 0.0 or high < 0.0:
            size = told(Estimate(value, low, high), "share", points=True)
            findings.append(
                f"By {row['grouping']}, good outcomes at equal scores: {row['group']} minus"
                f" {row['reference']} {size}."
            )
    about = (
        "Difference of good outcomes within tenths of the score (Mantel-Haenszel), with"
        f" {roles.level:.0%} intervals."
    )
    return Part("equal_scores", "Outcomes at equal scores", about, rows, columns, findings)
