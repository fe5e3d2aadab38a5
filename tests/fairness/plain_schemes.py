"""Fairness schemes written again in plain NumPy, after the paper's definitions, in float64.

A trace is a dictionary: component -> array (steps, stakeholders), or (steps,) for one number.
"""

import numpy as np


def statuses(status, trace):
    """U after each step."""
    rows = np.asarray(trace[status.component], np.float64)
    kind, found = type(status).__name__, []
    for t in range(len(rows)):
        if kind == "Recent":
            found.append(rows[max(0, t + 1 - status.steps) : t + 1].sum(0))
            continue
        weights = status.discount ** np.arange(t, -1, -1.0)
        u = (weights[:, None] * rows[: t + 1]).sum(0)
        found.append(u - u.min() if kind == "Min" else u)
    return np.array(found)


def assessed(when, trace):
    """B after each step."""
    kind, steps = type(when).__name__, len(next(iter(trace.values())))
    if kind == "Always":
        return np.ones(steps, bool)
    if kind == "Counter":
        return np.array([t % when.period == 0 for t in range(1, steps + 1)])
    counted = np.asarray(trace[when.component], np.float64).reshape(steps, -1).sum(1)
    if kind == "When":
        return counted > 0
    reached = np.cumsum(counted) // when.amount
    return np.diff(reached, prepend=0.0) > 0


def aggregate(by, u):
    """W of one status vector."""
    kind, n = type(by).__name__, len(u)
    if kind == "Utilitarian":
        return u.sum()
    if kind == "Rawlsian":
        return u.min()
    if kind == "Nash":
        return np.log(np.prod(u + by.plus))
    if kind == "AlphaFair":
        x = u + by.plus
        p = 1 - by.alpha
        return np.log(x).sum() if p == 0 else ((x**p - 1) / p).sum()
    if kind == "GeneralisedGini":
        if by.weights:
            return sum(w * x for w, x in zip(by.weights, sorted(u), strict=True))
        return u.mean() - np.abs(u[:, None] - u[None]).sum() / (2 * n**2)  # mean (1 - Gini)
    if kind == "RelaxedParity":
        groups = by.groups or range(n)
        sums = [sum(x for x, g in zip(u, groups, strict=True) if g == k) for k in set(groups)]
        return -(max(sums) - min(sums))
    assert kind == "AllEqual"
    return float(max(u) - min(u) <= by.tolerance)


def over_time(temporal, values):
    """W_temporal of the assessments' values; 0 for none."""
    kind = type(temporal).__name__
    if not values:
        return 0.0
    if kind == "Sum":
        return sum(temporal.discount**k * w for k, w in enumerate(values))
    return {"Last": values[-1], "Mean": np.mean(values), "Least": min(values)}[kind]


def scores(scheme, trace):
    """Score after each step (definition 4.7)."""
    u, passed, found = statuses(scheme.status, trace), assessed(scheme.when, trace), []
    for t in range(len(u)):
        seen = u[: t + 1][passed[: t + 1]]
        if type(scheme.extended).__name__ == "StakeholderFirst":
            overall = (seen - seen.mean(1, keepdims=True)).sum(0) if len(seen) else 0 * u[0]
            found.append(-(overall**2).sum())
        else:
            values = [aggregate(scheme.extended.aggregation, x) for x in seen]
            found.append(over_time(scheme.extended.temporal, values))
    return np.array(found)
