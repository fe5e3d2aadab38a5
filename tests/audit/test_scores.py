"""Standardised differences of scores, and ratios at every cut score."""

from typing import Any

import numpy as np
import pytest

from fairgym.audit import Roles, read_decisions
from fairgym.audit.scores import scores
from fairgym.statistics.proportions import Shares, ratio_interval


def made(rows=1200, gap=0.4, spread=0.9):
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], rows, p=[0.4, 0.6])
    score = rng.normal(gap * (sex == "m"), np.where(sex == "m", 1.2, spread))
    return {"ok": (score > 0).astype(int), "sex": sex, "score": score, "id": np.arange(rows)}


def parts_of(table, **roles) -> Any:
    given = Roles(**{"decision": "ok", "groups": ("sex",), "score": "score"} | roles)
    return {part.name: part for part in scores(read_decisions(table, given), given)}


def test_the_standardised_difference_is_cohens_d():
    table = made()
    parts = parts_of(table)
    (row,) = parts["scores"].rows
    f, m = (table["score"][table["sex"] == sex] for sex in "fm")
    n, k = len(f), len(m)
    pooled = np.sqrt(((n - 1) * f.var(ddof=1) + (k - 1) * m.var(ddof=1)) / (n + k - 2))
    d = (f.mean() - m.mean()) / pooled
    half = 1.959964 * np.sqrt((n + k) / (n * k) + d**2 / (2 * (n + k)))
    assert (row["smd"], row["low"], row["high"]) == pytest.approx((d, d - half, d + half))
    assert row["mean"] == pytest.approx(f.mean())
    assert "standard deviations below m." in parts["scores"].findings[0]


def test_persons_count_once_and_weights_are_copies():
    table = made(spread=1.2)
    single = parts_of(table)["scores"].rows[0]
    twice = {name: np.concatenate([values] * 2) for name, values in table.items()}
    persons, weights = (
        parts_of(twice, person="id")["scores"].rows[0],
        parts_of(table | {"w": np.full(1200, 2.0)}, weight="w")["scores"].rows[0],
    )
    for row in (persons, weights):
        assert row["smd"] == pytest.approx(single["smd"], rel=2e-3)
        assert row["high"] - row["low"] == pytest.approx(single["high"] - single["low"], rel=0.04)


def test_ratios_at_every_cut_are_those_of_a_loop():
    table = made()
    table["score"] = np.round(table["score"] * 2)
    rows = parts_of(table)["cut_scores"].rows
    cuts = sorted(set(table["score"]))[1:]
    assert [row["cut"] for row in rows] == cuts
    for row in rows:
        f, m = (
            Shares.of((table["score"][own] >= row["cut"]).sum(), own.sum())
            for own in (table["sex"] == "f", table["sex"] == "m")
        )
        expected = [float(x) for x in ratio_interval(f, m)]
        found = [row[key] for key in ("ratio", "ratio_low", "ratio_high")]
        assert found == pytest.approx(expected, nan_ok=True)
    many = parts_of(made())["cut_scores"].rows
    assert len(many) == 50
    shares = [row["reference_rate"] for row in many]
    assert shares == sorted(shares, reverse=True)
    persons = parts_of(made(), person="id")["cut_scores"].rows
    assert len(persons) == 20
    with_cut = {row["cut"]: row for row in persons}
    score, male = made()["score"], made()["sex"] == "m"
    for cut, row in with_cut.items():
        assert row["reference_rate"] == pytest.approx((score[male] >= cut).mean())


def test_equal_scores_and_missing_ones():
    table = made()
    table["score"] = np.where(np.arange(1200) < 60, np.nan, 1.0)
    parts = parts_of(table)
    (row,) = parts["scores"].rows
    assert row["smd"] is None and not parts["cut_scores"].rows
    assert parts["scores"].limits == ["60 decisions without a score are left out of the scores."]
    roles = Roles(decision="ok", groups=("sex",))
    assert scores(read_decisions(made(), roles), roles) == []
