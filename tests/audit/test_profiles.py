"""Standards as dated data, conditions, and words that are never printed."""

import re

import pytest
from decided import decisions_table

from fairgym.audit import Roles, audit
from fairgym.audit.parts import number_of
from fairgym.audit.profiles import (
    FOLDER,
    holds,
    profile_names,
    read_condition,
    read_profile,
    with_profile,
)
from fairgym.core import FairgymError

TABLE = decisions_table()
ROLES = Roles(decision="ok", groups=("sex", "race"), score="score")


def test_every_profile_is_dated_and_has_a_source():
    assert profile_names() == ["four-fifths", "ll144", "plain"]
    for name in profile_names():
        found = read_profile(name)
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", found.date) and found.title
        assert name == "plain" or found.source.startswith("https://")
    assert read_profile("plain").line == read_profile("ll144").line == 0.0
    assert read_profile("four-fifths").line == 0.8
    text = (FOLDER / "four-fifths.toml").read_text()
    assert "2026" in text and "Regulation B" in text


def test_settings_go_over_those_of_the_profile():
    assert with_profile(ROLES).reference == "largest"
    strict = with_profile(Roles(decision="ok", groups=("sex", "race"), profile="ll144"))
    assert (strict.reference, strict.cross, strict.min_share) == ("best", True, 0.02)
    both = Roles(decision="ok", groups=("sex", "race"), profile="ll144", reference="f")
    rows = audit(TABLE, both).part("gaps").rows
    best = {row["grouping"]: row["reference"] for row in rows}
    assert best["sex"] == "f" and best["race"] == best_of("race")
    own = with_profile(Roles(decision="ok", groups=("sex",), profile="ll144", reference="f"))
    assert own.reference == "f"


def best_of(column):
    """The group with the highest rate, of those that are not rare."""
    names = sorted({str(name) for name in TABLE[column]} - {"rare", "None"})
    favourable = TABLE["ok"] == "yes"
    return max(names, key=lambda name: favourable[TABLE[column] == name].mean())


def test_local_law_144_has_intersections_unknowns_and_scoring_rates():
    roles = Roles(decision="ok", groups=("sex", "race"), score="score", profile="ll144", suppress=0)
    found = audit(TABLE, roles)
    rows = found.part("rates").rows
    assert {row["grouping"] for row in rows} == {"sex", "race", "sex × race"}
    rare = [row for row in rows if "rare" in str(row["group"])]
    assert rare and all(str(row["note"]).startswith("not compared: under") for row in rare)
    assert "race unknown" in {row["what"] for row in found.part("data").rows}
    best = max(number_of(row, "rate") for row in rows if row["grouping"] == "sex")
    (ratio,) = (row for row in found.part("gaps").rows if row["grouping"] == "sex")
    lower = min(number_of(row, "rate") for row in rows if row["grouping"] == "sex")
    assert ratio["ratio"] == pytest.approx(lower / best)
    scored = {row["group"]: row for row in found.part("scoring_rates").rows}
    median = sorted(TABLE["score"])[999:1001]
    for sex in ("f", "m"):
        own = TABLE["score"][TABLE["sex"] == sex]
        assert scored[sex]["rate"] == pytest.approx((own > sum(median) / 2).mean())
    assert found.part("scoring_gaps").rows and "impact ratio" in " ".join(
        column.title for column in found.part("gaps").columns
    )
    assert any("set no threshold" in text for text in found.limits)
    assert not any(part.name.startswith("scoring") for part in audit(TABLE, ROLES).parts)


def test_four_fifths_counts_people_up_to_the_line():
    found = audit(TABLE, Roles(decision="ok", groups=("sex",), profile="four-fifths"))
    (row,) = found.part("gaps").rows
    short = 0.8 * number_of(row, "reference_rate") - number_of(row, "rate")
    assert row["people_short"] == max(0, -(-short * number_of(row, "n") // 1))
    assert any("Regulation B" in text and "2026" in text for text in found.limits)


def test_the_words_of_a_verdict_are_never_printed():
    for profile in profile_names():
        roles = Roles(decision="ok", groups=("sex", "race"), score="score", profile=profile)
        found = audit(TABLE, roles)
        texts = [*found.findings, *found.limits]
        for part in found.parts:
            table = part.table()
            texts += [
                part.title,
                part.about,
                *table.head,
                *(cell for row in table.rows for cell in row),
            ]
        said = re.findall(
            r"\b(fair|unfair|pass|passes|passed|compliant|compliance)\b", " ".join(texts)
        )
        assert said == []


def test_a_profile_of_ones_own(tmp_path):
    path = tmp_path / "house.toml"
    path.write_text('title = "House"\ndate = "2026-01-01"\nline = 0.9\nlimits = ["Own rule."]\n')
    found = audit(TABLE, Roles(decision="ok", groups=("sex",), profile=str(path)))
    assert found.roles.line == 0.9 and "Own rule." in found.limits
    for text, message in [
        ('date = "2026-01-01"', "must say the title"),
        ('title = "a"\ndate = "soon"', "must be like '2023-07-05', got 'soon'"),
        ('title = "a"\ndate = "2026-01-01"\nlin = 1', "unknown key 'lin'"),
        ('title = "a"\ndate = "2026-01-01"\nline = "much"', "line must be a number"),
    ]:
        path.write_text(text)
        with pytest.raises(FairgymError, match=message):
            read_profile(str(path))
    with pytest.raises(FairgymError, match="unknown profile 'four'"):
        read_profile("four")


def test_conditions_are_read_and_held_against_rows():
    assert read_condition("") == []
    assert read_condition("ratio<0.8") == [("ratio", "<", 0.8)]
    assert read_condition("difference_high < -5% and p_holm<=.05") == [
        ("difference_high", "<", -0.05),
        ("p_holm", "<=", 0.05),
    ]
    row = {"ratio": 0.75, "ratio_high": 0.9, "p": None, "n": 40}
    assert holds("ratio<0.8", row) and holds("ratio<0.8 and n>=40", row)
    assert not holds("ratio_high<0.8", row) and not holds("ratio<0.8 and p<1", row)
    assert not holds("", row)
    for text in ("ratio", "ratio<", "gap<0.8", "ratio<0.8.1", "ratio<0.8 or n>3", "p_low<1"):
        with pytest.raises(FairgymError, match="fail_if must"):
            read_condition(text)


def test_the_condition_is_checked_before_the_table_is_read():
    with pytest.raises(FairgymError, match="fail_if must be a condition"):
        audit("missing.csv", Roles(decision="ok", groups=("sex",), fail_if="ratio"))
    with pytest.raises(FairgymError, match="unknown profile"):
        audit("missing.csv", Roles(decision="ok", groups=("sex",), profile="moon"))
    found = audit(TABLE, Roles(decision="ok", groups=("sex",), fail_if="p<0.05"))
    assert [row["group"] for row in found.failing] == [found.part("gaps").rows[0]["group"]]
