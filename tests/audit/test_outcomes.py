"""Outcomes of the accepted, calibration, and error rates that need outcomes of the refused."""

from typing import Any

import numpy as np
import pytest

from fairgym.audit import Roles, read_decisions
from fairgym.audit.outcomes import outcomes
from fairgym.statistics.proportions import Shares, difference_interval, rate_interval


def made(rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    score = rng.normal(0.4 * (sex == "m"), 1.0)
    ok = score + rng.normal(0, 0.5, rows) > 0.2
    good = (rng.random(rows) < 1 / (1 + np.exp(-score - 0.5 * (sex == "f")))).astype(float)
    return {"ok": ok.astype(int), "sex": sex, "score": score, "paid": good}


def parts_of(table, **roles) -> Any:
    given = Roles(**{"decision": "ok", "groups": ("sex",), "outcome": "paid"} | roles)
    return {part.name: part for part in outcomes(read_decisions(table, given), given)}


def selective(table):
    return table | {"paid": np.where(table["ok"] == 1, table["paid"], np.nan)}


def test_outcomes_of_the_accepted_are_those_of_a_loop():
    table = made()
    parts = parts_of(selective(table))
    f, m = parts["outcomes"].rows
    shares = {}
    for row in (f, m):
        own = (table["sex"] == row["group"]) & (table["ok"] == 1)
        shares[row["group"]] = Shares.of(table["paid"][own].sum(), own.sum())
        low, high = rate_interval(shares[row["group"]])
        assert row["n"] == own.sum() and row["rate"] == pytest.approx(table["paid"][own].mean())
        assert (row["low"], row["high"]) == pytest.approx((float(low), float(high)))
    (row,) = [row for row in (f, m) if "difference" in row]
    expected = difference_interval(shares[row["group"]], shares[row["reference"]])
    keys = ("difference", "difference_low", "difference_high")
    assert [row[key] for key in keys] == pytest.approx([float(x) for x in expected])
    assert any("infra-marginality" in text for text in parts["outcomes"].limits)


def test_error_rates_without_outcomes_of_the_refused_are_refused():
    """Computed on the accepted alone, both rates would be 100%."""
    parts = parts_of(selective(made()))
    assert "error_rates" not in parts
    (told,) = [text for text in parts["outcomes"].limits if "not identifiable" in text]
    assert "outcomes of the refused, which are unknown (selective labels)" in told
    table = made()
    some = np.where((table["ok"] == 1) | (np.arange(3000) % 2 == 0), table["paid"], np.nan)
    parts = parts_of(table | {"paid": some})
    assert "error_rates" not in parts
    assert any("% of them (selective labels)" in text for text in parts["outcomes"].limits)


def test_error_rates_with_all_outcomes_are_those_of_a_loop():
    table = made()
    parts = parts_of(table)
    rows = parts["error_rates"].rows
    assert len(rows) == 4
    for row in rows:
        label = 1.0 if row["measure"] == "true positive rate" else 0.0
        own = (table["sex"] == row["group"]) & (table["paid"] == label)
        assert row["n"] == own.sum() and row["rate"] == pytest.approx(table["ok"][own].mean())
    assert not any("identifiable" in text for text in parts["outcomes"].limits)
    few = table["paid"].copy()
    few[np.flatnonzero(table["ok"] == 0)[:20]] = np.nan
    parts = parts_of(table | {"paid": few})
    assert any("leave out 20 refused cases" in text for text in parts["error_rates"].limits)


def test_error_rates_are_those_of_fairlearn():
    metrics = pytest.importorskip("fairlearn.metrics")
    table = made()
    theirs = metrics.MetricFrame(
        metrics={
            "true positive rate": metrics.true_positive_rate,
            "false positive rate": metrics.false_positive_rate,
        },
        y_true=table["paid"],
        y_pred=table["ok"],
        sensitive_features=table["sex"],
    ).by_group
    for row in parts_of(table)["error_rates"].rows:
        assert row["rate"] == pytest.approx(theirs[row["measure"]][row["group"]])


def test_calibration_by_tenths_of_the_score():
    table = made()
    parts = parts_of(table, score="score")
    edges = np.quantile(table["score"], np.arange(1, 10) / 10)
    place = np.searchsorted(edges, table["score"], side="right")
    rows = parts["calibration"].rows
    assert len(rows) == 20
    for number, row in enumerate(rows):
        own = (table["sex"] == row["group"]) & (place == number % 10)
        assert row["n"] == own.sum() and row["rate"] == pytest.approx(table["paid"][own].mean())
        assert row["score"] == pytest.approx(table["score"][own].mean())
    (gap,) = parts["equal_scores"].rows
    sign = 1 if gap["group"] == "f" else -1
    assert 0.05 < sign * gap["difference"] < 0.15, "0.5 in the logits, near the middle"
    assert any("good outcomes at equal scores" in text for text in parts["equal_scores"].findings)
    assert not parts["calibration"].limits
    alone = parts_of(selective(table), score="score")["calibration"]
    assert any("among the accepted" in text for text in alone.limits)


def test_tables_without_outcomes_have_no_such_chapter():
    table = made()
    roles = Roles(decision="ok", groups=("sex",))
    assert outcomes(read_decisions(table, roles), roles) == []
    table["paid"] = np.where(table["ok"] == 0, table["paid"], np.nan)
    parts = parts_of(table)
    assert not parts["outcomes"].rows
    assert "No outcome of an accepted case is known." in parts["outcomes"].limits
