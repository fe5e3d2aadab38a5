"""Gaps between groups: against the reference, and the largest one of all pairs."""

import dataclasses

import numpy as np

from fairgym.audit.groups import compared, correlations_of, reference_of, scored, shares_of
from fairgym.audit.parts import Cell, Column, Part, number_of
from fairgym.audit.profiles import read_profile
from fairgym.audit.roles import REFERENCES, Roles
from fairgym.audit.table import Decisions
from fairgym.results.numbers import Estimate, interval, number_told, told
from fairgym.statistics.clusters import correlations, effective_shares
from fairgym.statistics.pairs import PairGaps, holm, pair_gaps
from fairgym.statistics.proportions import (
    SMALL,
    Shares,
    difference_interval,
    equality_test,
    odds_ratio_interval,
    ratio_interval,
)
from fairgym.utils.changes import unknown

POOLED = "all others"
MOST_PAIRS = 300  # of groups, that the table of pairs lists
_ABOVE = "scores above the median"


def gaps(decisions: Decisions, roles: Roles) -> list[Part]:
    """Return the tables of gaps against the reference, of all pairs, and of the largest gaps.

    Raises:
        FairgymError: The reference is no group.
    """
    names = {name for codes in decisions.groupings.values() for name in codes.names}
    if roles.reference and roles.reference not in {*REFERENCES, *names}:
        raise unknown("reference", roles.reference, [*REFERENCES, *sorted(names)])
    found = _tables(decisions, roles)
    above = scored(decisions, roles)
    if above is not None:
        for part in _tables(above, roles):
            name, title = f"scoring_{part.name}", f"{part.title}, in scores above the median"
            told_of = [text.replace("favourable decisions", _ABOVE) for text in part.findings]
            found.append(
                dataclasses.replace(part, name=name, title=title, findings=told_of, limits=())
            )
    return found


def _tables(decisions: Decisions, roles: Roles) -> list[Part]:
    against: list[dict[str, Cell]] = []
    pairs: list[dict[str, Cell]] = []
    largest: list[dict[str, Cell]] = []
    findings, limits = [], []
    for grouping in decisions.groupings:
        used = np.flatnonzero(compared(decisions, grouping, roles))
        if len(used) < 2:
            limits.append(f"By {grouping} there are no two groups large enough to compare.")
            continue
        names = [decisions.groupings[grouping].names[group] for group in used]
        shares, between = shares_of(decisions, grouping), correlations_of(decisions, grouping)
        rows = _against(decisions, grouping, roles, shares, between)
        if between is not None:
            between = between[np.ix_(used, used)]
        shares = shares[used]
        every = pair_gaps(shares, roles.level, between)
        against += rows
        listed = _pairs(grouping, names, every)
        limits += _few(grouping, names, shares)
        largest.append(_largest(grouping, names, shares, every))
        findings += _findings(largest[-1], listed, rows, roles)
        if len(names) > 2 and len(listed) <= MOST_PAIRS:
            pairs += listed
    found = [_gaps_part(against, roles, findings, limits)]
    if pairs:
        found.append(_pairs_part(pairs, roles))
    if largest:
        found.append(_largest_part(largest, roles))
    return found


def _few(grouping: str, names: list[str], shares: Shares) -> list[str]:
    """Sentence about groups with too few decisions of one kind for sure intervals."""
    rarer = shares.n * np.minimum(shares.rate, 1.0 - shares.rate)
    found = [name for name, number in zip(names, rarer, strict=True) if number < SMALL - 1e-9]
    if not found:
        return []
    more = f" and {len(found) - 8} more" * (len(found) > 8)
    return [
        f"By {grouping}, fewer than {SMALL:g} favourable or unfavourable decisions (counted as"
        f" independent): {', '.join(found[:8])}{more}. Intervals of their differences, and more so"
        " of their ratios, may then be too narrow."
    ]


def _against(
    decisions: Decisions,
    grouping: str,
    roles: Roles,
    shares: Shares,
    between: np.ndarray | None,
) -> list[dict[str, Cell]]:
    """Rows of the gaps of one grouping's groups against the reference."""
    codes = decisions.groupings[grouping]
    used = compared(decisions, grouping, roles)
    reference = reference_of(decisions, grouping, roles)
    others = np.array([group for group in np.flatnonzero(used) if group != reference], int)
    if roles.reference == "pooled":
        sides = [_pooled(decisions, grouping, int(group)) for group in others]
        arrays = zip(*((one.rate, one.n, one.degrees) for one, _ in sides), strict=True)
        theirs = Shares(*map(np.array, arrays)) if sides else shares[others]
        rho = np.array([correlation for _, correlation in sides])
        name = POOLED
    elif reference is None or not len(others):
        return []
    else:
        theirs = shares[np.full(len(others), reference)]
        rho = np.zeros(len(others)) if between is None else between[others, reference]
        name = codes.names[reference]
    ours = shares[others]
    weight = codes.counts(decisions.weight).astype(float)[others]
    p = equality_test(ours, theirs, rho)
    columns: dict[str, np.ndarray] = {
        "n": codes.counts()[others],
        "rate": ours.rate,
        "reference_rate": theirs.rate,
    }
    for key, function in (
        ("difference", difference_interval),
        ("ratio", ratio_interval),
        ("odds_ratio", odds_ratio_interval),
    ):
        columns[key], columns[f"{key}_low"], columns[f"{key}_high"] = function(
            ours, theirs, roles.level, rho
        )
    target = (roles.line or 1.0) * theirs.rate
    lacking = np.maximum(target - ours.rate, 0.0) * weight
    columns |= {"people_short": np.ceil(lacking - 1e-9).astype(int)}
    columns |= {"p": p, "p_holm": holm(p)}
    return [
        {"grouping": grouping, "group": codes.names[group], "reference": name}
        | {key: values[place].item() for key, values in columns.items()}
        for place, group in enumerate(others)
    ]


def _pooled(decisions: Decisions, grouping: str, group: int) -> tuple[Shares, float]:
    """Share of all groups but one, and its correlation with that of the one."""
    codes = decisions.groupings[grouping].codes
    side = np.where(codes < 0, -1, np.where(codes == group, 0, 1))
    both = effective_shares(decisions.favourable, side, 2, decisions.weight, decisions.units)
    between = correlations(decisions.favourable, side, 2, decisions.weight, decisions.units)
    return both[1], 0.0 if between is None else float(between[0, 1])


def _pairs(grouping: str, names: list[str], every: PairGaps) -> list[dict[str, Cell]]:
    return [
        {
            "grouping": grouping,
            "group": names[first],
            "other": names[second],
            "difference": float(every.gap[place]),
            "low": float(every.low[place]),
            "high": float(every.high[place]),
        }
        for place, (first, second) in enumerate(zip(every.first, every.second, strict=True))
    ]


def _largest(grouping: str, names: list[str], shares: Shares, every: PairGaps) -> dict[str, Cell]:
    place = int(every.widest)
    pair = sorted((int(every.first[place]), int(every.second[place])), key=lambda g: shares.rate[g])
    return {
        "grouping": grouping,
        "group": names[pair[0]],
        "rate": float(shares.rate[pair[0]]),
        "other": names[pair[1]],
        "other_rate": float(shares.rate[pair[1]]),
        "pairs": len(every.first),
        "gap": float(every.largest),
        "low": float(every.largest_low),
        "high": float(every.largest_high),
    }


def _findings(
    row: dict[str, Cell],
    pairs: list[dict[str, Cell]],
    against: list[dict[str, Cell]],
    roles: Roles,
) -> list[str]:
    """Sentences about the largest gap of a grouping, and about the people short of the line."""
    gap, low, high, rate, other = (
        number_of(row, key) for key in ("gap", "low", "high", "rate", "other_rate")
    )
    if len(pairs) == 1:  # the interval of the difference, with its sign
        ends = [number_of(pairs[0], key) for key in ("low", "high")]
        low, high = ends if number_of(pairs[0], "difference") > 0.0 else (-ends[1], -ends[0])
    size = told(Estimate(gap, low, high), "share", points=True)
    of = f", the largest gap of {row['pairs']} pairs" if row["pairs"] != 1 else ""
    found = [
        f"{'By' if low > 0.0 else 'Unclear: by'} {row['grouping']}, {row['group']} has"
        f" {number_told(rate, 'share')} favourable decisions and {row['other']}"
        f" {number_told(other, 'share')}: {size} less{of}."
    ]
    short = [one for one in against if number_of(one, "people_short") > 0]
    short.sort(key=lambda one: -number_of(one, "people_short"))
    for one in short[:1]:
        if number_of(one, "difference_high") >= 0.0:
            continue
        ratio, low, high = (number_of(one, f"ratio{end}") for end in ("", "_low", "_high"))
        goal = f"{number_told(roles.line, 'share')} of the rate" if roles.line else "the rate"
        found.append(
            f"{one['group']}: {read_profile(roles.profile).ratio}"
            f" {interval(Estimate(ratio, low, high))} to {one['reference']};"
            f" {number_of(one, 'people_short'):,.0f} more favourable decisions would give {goal} of"
            f" {one['reference']}."
        )
    return found


def _gaps_part(
    rows: list[dict[str, Cell]], roles: Roles, findings: list[str], limits: list[str]
) -> Part:
    goal = f"{number_told(roles.line, 'share')} of the rate" if roles.line else "the rate"
    columns = (
        Column("grouping", "by"),
        Column("group", "group"),
        Column("reference", "against"),
        Column("difference", "difference", "points", ("difference_low", "difference_high"), True),
        Column("ratio", read_profile(roles.profile).ratio, "", ("ratio_low", "ratio_high")),
        Column("odds_ratio", "odds ratio", "", ("odds_ratio_low", "odds_ratio_high")),
        Column("people_short", "short"),
        Column("p_holm", "p"),
    )
    about = (
        f"The group's rate minus the reference's (Newcombe's {roles.level:.0%} interval), their"
        " ratio and odds ratio (score intervals); short: favourable decisions that the group lacks"
        f" to reach {goal} of the reference; p: exact or z test of equal"
        " rates, adjusted by Holm's method for the groups of a column."
    )
    return Part("gaps", "Gaps against the reference", about, rows, columns, findings, limits)


def _pairs_part(rows: list[dict[str, Cell]], roles: Roles) -> Part:
    columns = (
        Column("grouping", "by"),
        Column("group", "group"),
        Column("other", "against"),
        Column("difference", "difference", "points", ("low", "high"), True),
    )
    about = (
        f"Differences of rates of all pairs; the {roles.level:.0%} intervals hold for all pairs of"
        " a column together (MOVER with Bonferroni's correction)."
    )
    return Part("pairs", "Gaps between all pairs", about, rows, columns)


def _largest_part(rows: list[dict[str, Cell]], roles: Roles) -> Part:
    columns = (
        Column("grouping", "by"),
        Column("group", "lowest"),
        Column("rate", "its rate", "share"),
        Column("other", "highest"),
        Column("other_rate", "its rate", "share"),
        Column("pairs", "pairs"),
        Column("gap", "largest gap", "points", ("low", "high")),
    )
    about = (
        f"Largest gap between two groups with a {roles.level:.0%} interval that allows for the"
        " choice among all pairs. A bootstrap of the largest gap does not: it finds a gap where"
        " there is none."
    )
    return Part("largest_gap", "Largest gap", about, rows, columns)
