"""Gini, Theil and top shares, against plain loops and the bootstrap."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from fairgym.audit import Roles, read_decisions
from fairgym.audit.concentration import concentration, gini, theil, top_share


def made(rows=2000, persons=300, seed=0):
    rng = np.random.default_rng(seed)
    who = rng.integers(0, persons, rows)
    sex = rng.choice(["f", "m"], persons)[who]
    return {
        "ok": (rng.random(rows) < 0.3 + 0.2 * (sex == "m")).astype(int),
        "sex": sex,
        "sum": rng.lognormal(3.0, 1.0, rows).round(2),
        "id": who,
    }


def rows_of(table, **roles) -> Any:
    given = Roles(**{"decision": "ok", "groups": ("sex",)} | roles)
    found = concentration(read_decisions(table, given), given)
    return {(row["of"], row["over"]): row for part in found for row in part.rows}, found


def test_coefficients_are_those_of_plain_loops():
    x = np.random.default_rng(0).lognormal(0, 1, 57) * (np.arange(57) % 4 > 0)
    apart = sum(abs(a - b) for a in x for b in x)
    assert gini(x)[0] == pytest.approx(apart / (2 * 57**2 * x.mean()))
    share = [one / x.mean() for one in x if one > 0]
    assert theil(x)[0] == pytest.approx(sum(s * np.log(s) for s in share) / 57)
    ordered = sorted(x, reverse=True)
    top = sum(ordered[:5]) + 0.7 * ordered[5]
    assert top_share(x, 0.1)[0] == pytest.approx(top / sum(x))
    for function in (gini, theil):
        assert function(np.full(9, 3.0)) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert top_share(np.full(10, 3.0)) == pytest.approx((0.1, 0.0), abs=1e-12)


def test_standard_errors_are_those_of_the_bootstrap():
    rng = np.random.default_rng(1)
    x = rng.gamma(1.5, 1.0, 800)
    for function in (gini, theil, top_share):
        drawn = [function(x[rng.integers(0, 800, 800)])[0] for _ in range(400)]
        assert function(x)[1] == pytest.approx(np.std(drawn), rel=0.15)


def test_persons_and_groups_of_a_table():
    table = made()
    rows, _ = rows_of(table, person="id", amount="sum")
    paid = table["sum"] * table["ok"]
    for of, values in (("favourable decisions", table["ok"]), ("amount", paid)):
        total = np.bincount(table["id"], values)[np.unique(table["id"])]
        row = rows[of, "persons"]
        assert row["number"] == len(total) and row["gini"] == pytest.approx(gini(total)[0])
        assert row["gini_low"] < row["gini"] < row["gini_high"]
        female = table["sex"] == "f"
        mean = [values[female].mean(), values[~female].mean()]
        share = np.array([female.mean(), 1 - female.mean()])
        row = rows[of, "sex"]
        expected = share[0] * share[1] * abs(mean[0] - mean[1]) / (share @ mean)
        assert row["gini"] == pytest.approx(expected)
        assert row["who"] == "m" and row["top"] == pytest.approx(
            values[~female].sum() / values.sum()
        )


def test_what_has_no_concentration_is_left_out_and_told():
    table = made()
    assert rows_of(table) == ({}, [])
    rows, _ = rows_of(table, amount="sum")
    assert set(rows) == {("amount", "decisions"), ("amount", "sex")}
    table["sum"][0] = -1.0
    table["ok"][0] = 1
    rows, (part,) = rows_of(table, amount="sum")
    assert not rows and "Amounts below 0" in part.limits[0]
    table["sum"][0] = np.nan
    _, (part,) = rows_of(table, amount="sum")
    assert part.limits[:1] == [
        "1 favourable decisions without an amount count as 0 in the concentration of amounts."
    ]


def test_a_person_who_has_much_of_the_total_is_told():
    table = made(4000, 1000) | {"sum": np.ones(4000)}
    _, (part,) = rows_of(table, person="id", amount="sum")
    assert part.limits == []
    table["sum"][np.flatnonzero(table["ok"])[0]] = 40.0
    _, (part,) = rows_of(table, person="id", amount="sum")
    assert part.limits == [
        "One of the persons has more than 1% of the total amount: intervals of the concentration"
        " are then too narrow, those of the Theil index most."
    ]


def test_limits_are_symmetric_for_the_logit_or_the_logarithm():
    table = made()
    rows, _ = rows_of(table, person="id")
    row = rows["favourable decisions", "persons"]
    total = np.bincount(table["id"], table["ok"])[np.unique(table["id"])]
    for key, function in (("gini", gini), ("theil", theil), ("top", top_share)):
        value, error = function(total)
        ends = np.array([row[f"{key}_low"], value, row[f"{key}_high"]])
        scale = np.log(ends) if key == "theil" else np.log(ends / (1 - ends))
        slope = 1 / value if key == "theil" else 1 / (value * (1 - value))
        half = stats.t.ppf(0.975, len(total) - 1) * error * slope
        np.testing.assert_allclose(np.diff(scale), half, rtol=1e-6)
