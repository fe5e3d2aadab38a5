"""Tables of the data, rates and gaps, against a groupby and the intervals of single pairs."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from decided import decisions_table

from fairgym.audit import Roles, audit, read_decisions
from fairgym.audit.parts import number_of
from fairgym.audit.rates import rates
from fairgym.core import FairgymError
from fairgym.statistics.pairs import holm
from fairgym.statistics.proportions import (
    Shares,
    difference_interval,
    equality_test,
    odds_ratio_interval,
    rate_interval,
    ratio_interval,
)

TABLE = decisions_table()
FRAME: Any = pd.DataFrame(TABLE).assign(ok=lambda frame: frame["ok"] == "yes")


def audited(**roles):
    return audit(TABLE, Roles(**{"decision": "ok", "groups": ("sex", "race")} | roles))


def rows_of(found, part, grouping=None):
    rows = found.part(part).rows
    return [row for row in rows if grouping in (None, row["grouping"])]


def shares(column, group):
    """Favourable and all decisions of a group, by pandas."""
    own = FRAME[FRAME[column] == group]["ok"]
    return Shares.of(own.sum(), own.size)


def test_rates_are_those_of_a_groupby():
    found = audited(cross=True)
    frame = FRAME.assign(**{"sex × race": FRAME["sex"] + " & " + FRAME["race"]})
    for grouping in ("sex", "race", "sex × race"):
        expected = frame.groupby(grouping)["ok"].agg(["size", "sum", "mean"])
        rows = rows_of(found, "rates", grouping)
        assert [row["group"] for row in rows] == list(expected.index)
        for row, (_, own) in zip(rows, expected.iterrows(), strict=True):
            if own["size"] < 10:
                assert "rate" not in row and row["note"] == "fewer than 10 decisions"
                continue
            assert (row["n"], row["favourable"]) == (own["size"], own["sum"])
            assert row["rate"] == pytest.approx(own["mean"])
            assert row["share"] == pytest.approx(own["size"] / expected["size"].sum())
            low, high = rate_interval(Shares.of(own["sum"], own["size"]))
            assert (row["low"], row["high"]) == pytest.approx((float(low), float(high)))


def test_rates_are_those_of_fairlearn():
    metrics = pytest.importorskip("fairlearn.metrics")
    known = FRAME.dropna(subset=["race"])
    frame = metrics.MetricFrame(
        metrics={"rate": metrics.selection_rate, "n": metrics.count},
        y_true=known["ok"],
        y_pred=known["ok"],
        sensitive_features=known[["sex", "race"]],
    )
    found = audited(cross=True, suppress=0)
    for row in rows_of(found, "rates", "sex × race"):
        own = frame.by_group.loc[tuple(str(row["group"]).split(" & "))]
        assert row["rate"] == pytest.approx(own["rate"]) and row["n"] == own["n"]
    one = metrics.MetricFrame(
        metrics=metrics.selection_rate,
        y_true=FRAME["ok"],
        y_pred=FRAME["ok"],
        sensitive_features=FRAME["sex"],
    )
    (gap,) = rows_of(found, "largest_gap", "sex")
    assert gap["gap"] == pytest.approx(one.difference())
    (row,) = rows_of(found, "gaps", "sex")
    assert row["ratio"] == pytest.approx(one.ratio())


def test_gaps_are_those_of_single_pairs():
    found = audited(reference="largest")
    rows = rows_of(found, "gaps", "race")
    assert [(row["group"], row["reference"]) for row in rows] == [("b", "a"), ("c", "a")]
    p = []
    for row in rows:
        ours, theirs = shares("race", row["group"]), shares("race", "a")
        for key, function in (
            ("difference", difference_interval),
            ("ratio", ratio_interval),
            ("odds_ratio", odds_ratio_interval),
        ):
            expected = tuple(map(float, function(ours, theirs)))
            assert (row[key], row[f"{key}_low"], row[f"{key}_high"]) == pytest.approx(expected)
        p.append(float(equality_test(ours, theirs)))
        assert row["p"] == pytest.approx(p[-1])
        lacking = float(np.maximum(theirs.rate - ours.rate, 0.0) * ours.n)
        assert row["people_short"] == np.ceil(lacking - 1e-9)
    assert [row["p_holm"] for row in rows] == pytest.approx(holm(p))


def test_the_reference_is_a_group_the_best_the_largest_or_all_others():
    def references(**roles):
        return {
            str(row["grouping"]): row["reference"] for row in audited(**roles).part("gaps").rows
        }

    largest = FRAME["race"].value_counts().index[0]
    assert references()["race"] == references(reference="largest")["race"] == largest
    best = FRAME[FRAME["race"] != "rare"].groupby("race")["ok"].mean().idxmax()
    assert references(reference="best") == {"sex": "m", "race": best}
    assert references(reference="c") == {"sex": FRAME["sex"].value_counts().index[0], "race": "c"}
    found = audited(reference="pooled")
    assert {row["reference"] for row in found.part("gaps").rows} == {"all others"}
    row = next(row for row in rows_of(found, "gaps", "race") if row["group"] == "b")
    others = FRAME[FRAME["race"].notna() & (FRAME["race"] != "b")]["ok"]
    expected = difference_interval(shares("race", "b"), Shares.of(others.sum(), others.size))
    assert (row["difference"], row["difference_low"]) == pytest.approx(
        tuple(map(float, expected[:2]))
    )
    with pytest.raises(FairgymError, match="unknown reference 'woman'; there are: best, largest"):
        audited(reference="woman")


def test_small_groups_are_listed_and_not_compared():
    found = audited()
    rare = next(row for row in rows_of(found, "rates") if row["group"] == "rare")
    assert set(rare) == {"grouping", "group", "note"}
    assert "rare" not in {row["group"] for row in found.part("gaps").rows}
    assert "By race, too few decisions to compare: rare." in found.limits
    shown = audited(suppress=0)
    rare = next(row for row in rows_of(shown, "rates") if row["group"] == "rare")
    assert number_of(rare, "n") < 10 and rare["note"] == "not compared: under 30 decisions"
    none = audited(min_n=5000)
    assert not none.part("gaps").rows and not none.findings
    assert "By sex there are no two groups large enough to compare." in none.limits


def test_the_largest_gap_is_that_of_the_widest_pair():
    found = audited()
    (row,) = rows_of(found, "largest_gap", "race")
    rates = FRAME[FRAME["race"] != "rare"].groupby("race")["ok"].mean()
    assert row["gap"] == pytest.approx(rates.max() - rates.min())
    assert (row["group"], row["other"]) == (rates.idxmin(), rates.idxmax())
    assert row["pairs"] == 3 and number_of(row, "low") <= number_of(row, "gap") <= number_of(
        row, "high"
    )
    pairs = rows_of(found, "pairs", "race")
    assert [(one["group"], one["other"]) for one in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert not rows_of(found, "pairs", "sex"), "one pair is in the table of gaps"


def test_persons_count_once():
    """Each decision twice by the same person: intervals as wide as without the copies."""
    once = {name: np.asarray(values)[:900] for name, values in TABLE.items()}
    twice = {name: np.concatenate([values, values]) for name, values in once.items()}
    twice["id"] = np.concatenate([np.arange(900)] * 2)
    roles = {"decision": "ok", "groups": ("sex",)}
    first = audit(once, Roles(**roles)).part("gaps").rows[0]
    second = audit(twice, Roles(**roles, person="id")).part("gaps").rows[0]
    plain = audit(twice, Roles(**roles)).part("gaps").rows[0]
    assert second["difference"] == pytest.approx(number_of(first, "difference"))
    assert second["difference_low"] == pytest.approx(number_of(first, "difference_low"), abs=5e-4)
    assert number_of(plain, "difference_low") > number_of(first, "difference_low") + 0.01


def test_weights_change_rates_and_widen_intervals():
    weight = np.where(FRAME["ok"], 2.0, 1.0)
    table = TABLE | {"w": weight}
    found = audit(table, Roles(decision="ok", groups=("sex",), weight="w"))
    for row in found.part("rates").rows:
        own = FRAME["sex"] == row["group"]
        assert row["rate"] == pytest.approx(np.average(FRAME["ok"][own], weights=weight[own]))
        assert number_of(row, "effective_n") < number_of(row, "n")
    ones = audit(TABLE | {"w": np.ones(2000)}, Roles(decision="ok", groups=("sex",), weight="w"))
    plain = audit(TABLE, Roles(decision="ok", groups=("sex",)))
    for one, other in zip(ones.part("gaps").rows, plain.part("gaps").rows, strict=True):
        assert one["difference_low"] == pytest.approx(number_of(other, "difference_low"), abs=2e-4)


def test_the_data_are_described():
    table = TABLE | {"ok": np.where(np.arange(2000) < 40, "", TABLE["ok"])}
    roles = Roles(decision="ok", groups=("sex", "race"), time="year", person="id", score="score")
    found = audit(table, roles)
    rows = {row["what"]: row for row in found.part("data").rows}
    assert rows["rows in the table"]["number"] == 2000 and rows["decisions"]["number"] == 1960
    assert rows["dropped: no ok"]["number"] == 40
    assert rows["periods (year)"]["number"] == 3
    assert rows["periods (year)"]["text"] == "1997 to 2002"
    unknown = int(FRAME["race"][40:].isna().sum())
    assert rows["race unknown"]["number"] == unknown
    assert rows["race unknown"]["share"] == pytest.approx(unknown / 1960)
    assert rows["persons (id)"]["number"] == len(np.unique(TABLE["id"][40:]))
    assert "40 rows (2.00%) were dropped: no ok." in found.limits


def test_findings_name_both_sides_and_what_is_unclear():
    found = audited()
    gap = found.findings[0]
    assert gap.startswith("By sex, f has ") and " favourable decisions and m " in gap
    assert " points [" in gap and "] less" in gap
    race = next(text for text in found.findings if "by race" in text.lower())
    assert race.startswith("Unclear: by race") and "the largest gap of 3 pairs" in race


def test_groups_that_differ_in_capital_letters_alone_are_told():
    table = {"ok": [1, 0] * 200, "g": ["Woman", "woman", "man", "a b"] * 100}
    found = rates(read_decisions(table, roles := Roles(decision="ok", groups=("g",))), roles)
    limits = [text for part in found for text in part.limits]
    (told,) = [text for text in limits if "capital letters" in text]
    assert "'Woman' and 'woman'" in told and "man'" in told and "a b" not in told
    table["g"] = ["woman", "man"] * 200
    found = rates(read_decisions(table, roles), roles)
    assert not any("capital letters" in text for part in found for text in part.limits)


def test_tables_that_leave_groups_out_are_named():
    table = {"ok": [1, 0] * 800, "g": [f"town {n % 25}" for n in range(1600)]}
    table |= {"score": list(range(1600))}

    def told(**more):
        roles = Roles(decision="ok", groups=("g",), **more)
        found = rates(read_decisions(table, roles), roles)
        return [text for part in found for text in part.limits if "largest of 25 groups" in text]

    assert told() == [], "the tables of rates and gaps have all groups"
    (one,) = told(score="score")
    assert "in the tables of scores;" in one
