"""How concentrated favourable decisions and amounts are, over persons and over groups."""

import math

import numpy as np

from fairgym.audit.groups import compared
from fairgym.audit.parts import Cell, Column, Part
from fairgym.audit.roles import Roles
from fairgym.audit.table import Decisions
from fairgym.statistics.intervals import t_quantile

TOP = 0.1  # share of the persons who received most
LONGEST = 500.0  # half of an interval of logarithms
HEAVY = 0.01  # share of the total of one person, above which intervals are told to be too narrow

FAVOURABLE, AMOUNT = "favourable decisions", "amount"


def concentration(decisions: Decisions, roles: Roles) -> list[Part]:
    """Return Gini, Theil and top share of what was received; none without amounts and persons."""
    person, rows, limits = decisions.person, [], []
    repeats = person is not None and len(person) > 0 and int(np.bincount(person).max()) > 1
    if decisions.amount is None and not repeats:
        return []
    weight = np.ones(decisions.rows) if decisions.weight is None else decisions.weight
    received = {}
    if repeats:
        received[FAVOURABLE] = decisions.favourable * weight
    if decisions.amount is not None:
        unknown = decisions.favourable & np.isnan(decisions.amount)
        amount = np.where(decisions.favourable, np.nan_to_num(decisions.amount), 0.0)
        if (amount < 0.0).any():
            limits.append("Amounts below 0 have no Gini coefficient; there is no table of amounts.")
        else:
            received[AMOUNT] = amount * weight
        if unknown.any():
            limits.append(
                f"{int(unknown.sum()):,} favourable decisions without an amount count as 0 in the"
                " concentration of amounts."
            )
    for of, values in received.items():
        rows += _over_persons(decisions, of, values, roles, limits)
        rows += _over_groups(decisions, of, values, weight, roles)
    columns = (
        Column("of", "of"),
        Column("over", "over"),
        Column("number", "number"),
        Column("gini", "Gini", "", ("gini_low", "gini_high")),
        Column("theil", "Theil", "", ("theil_low", "theil_high")),
        Column("top", "share of the top", "share", ("top_low", "top_high")),
        Column("who", "top"),
    )
    about = (
        f"Gini coefficient and Theil index of what persons received, and the share of the"
        f" {TOP:.0%} who received most, with {roles.level:.0%} intervals; refused persons received"
        " 0. Over groups: of the mean per decision, each group weighted by its decisions; the top"
        " is the group with the highest mean, and its share of the total."
    )
    return [Part("concentration", "Concentration", about, rows, columns, limits=limits)]


def gini(values: np.ndarray) -> tuple[float, float]:
    """Return the Gini coefficient and its standard error (R. Davidson 2009).

    Args:
        values: What each person received, at least 0 and not all 0.

    Examples:
        >>> import numpy as np
        >>> from fairgym.audit.concentration import gini
        >>> round(gini(np.array([0.0, 0.0, 0.0, 1.0]))[0], 3)
        0.75
    """
    x = np.sort(values)
    n, mean = len(x), float(x.mean())
    rank = (2.0 * np.arange(1, n + 1) - 1.0) / n
    found = float(rank @ x) / (n * mean) - 1.0
    influence = (rank - found - 1.0) * x - 2.0 / n * np.cumsum(x)
    return found, _error(influence) / mean


def theil(values: np.ndarray) -> tuple[float, float]:
    """Return the Theil index, mean of x / m log(x / m), and its standard error.

    Args:
        values: What each person received, at least 0 and not all 0.
    """
    x = values / values.mean()
    own = np.where(x > 0.0, x * np.log(np.where(x > 0.0, x, 1.0)), 0.0)
    found = float(own.mean())
    return max(found, 0.0), _error(own - (found + 1.0) * x)


def top_share(values: np.ndarray, part: float = TOP) -> tuple[float, float]:
    """Return the share of the total that the top part receives, and its standard error.

    Args:
        values: What each person received, at least 0 and not all 0.
        part: Share of the persons.
    """
    x = np.sort(values)[::-1]
    cut = float(x[min(math.ceil(part * len(x)) - 1, len(x) - 1)])
    over = np.maximum(x - cut, 0.0)
    found = (float(over.mean()) + part * cut) / float(x.mean())
    return found, _error(over - found * x) / float(x.mean())


def _over_persons(
    decisions: Decisions, of: str, values: np.ndarray, roles: Roles, limits: list[str]
) -> list[dict[str, Cell]]:
    """Row of the persons, or of the decisions if no column tells persons apart."""
    total, over = values, "decisions"
    if decisions.person is not None:
        total = np.bincount(np.unique(decisions.person, return_inverse=True)[1], values)
        over = "persons"
    if len(total) < max(roles.suppress, 2) or not total.sum() > 0.0:
        return []
    if total.max() > HEAVY * total.sum():
        limits.append(
            f"One of the {over} has more than {HEAVY:.0%} of the total {of}: intervals of the"
            " concentration are then too narrow, those of the Theil index most."
        )
    row: dict[str, Cell] = {"of": of, "over": over, "number": len(total)}
    for key, (value, error) in (
        ("gini", gini(total)),
        ("theil", theil(total)),
        ("top", top_share(total)),
    ):
        low, high = _limits(value, error, key != "theil", t_quantile(roles.level, len(total) - 1))
        row |= {key: value, f"{key}_low": low, f"{key}_high": high}
    return [row | {"who": f"{TOP:.0%}"}]


def _over_groups(
    decisions: Decisions, of: str, values: np.ndarray, weight: np.ndarray, roles: Roles
) -> list[dict[str, Cell]]:
    """Row of every grouping, over its compared groups."""
    rows = []
    for grouping, codes in decisions.groupings.items():
        used = np.flatnonzero(compared(decisions, grouping, roles))
        total, size = (codes.counts(one)[used] for one in (values, weight))
        if len(used) < 2 or not total.sum() > 0.0:
            continue
        share, mean = size / size.sum(), total / size
        relative = mean / float(share @ mean)
        logs = np.log(np.where(relative > 0.0, relative, 1.0))
        apart = np.abs(relative[:, None] - relative)
        best = int(np.argmax(mean))
        rows.append(
            {
                "of": of,
                "over": grouping,
                "number": len(used),
                "gini": float(share @ apart @ share) / 2.0,
                "theil": max(float(share @ (relative * logs)), 0.0),
                "top": float(total[best] / total.sum()),
                "top_size": float(share[best]),
                "who": codes.names[used[best]],
            }
        )
    return rows


def _limits(value: float, error: float, share: bool, quantile: float) -> tuple[float, float]:
    """Return limits that are symmetric for the logit of a share, else for the logarithm."""
    if not value > 0.0 or (share and not value < 1.0):
        return value, value
    half = min(quantile * error / (value * (1.0 - value) if share else value), LONGEST)
    if not share:
        return value * math.exp(-half), value * math.exp(half)
    odds = value / (1.0 - value)
    ends = odds * math.exp(-half), odds * math.exp(half)
    return ends[0] / (1.0 + ends[0]), ends[1] / (1.0 + ends[1])


def _error(influence: np.ndarray) -> float:
    """Return the standard error of a mean of influences."""
    return float(influence.std(ddof=1)) / math.sqrt(len(influence))
