"""Adjusted gaps: statsmodels by hand, Simpson's paradox, and data that a regression cannot use."""

from typing import Any

import numpy as np
import pytest

from fairgym.audit import Roles, read_decisions
from fairgym.audit.adjusted import adjusted
from fairgym.audit.columns import Codes
from fairgym.audit.examples import example_config
from fairgym.audit.parts import number_of
from fairgym.audit.regression import regression
from fairgym.audit.write import read_config
from fairgym.statistics.strata import Rows


def example(name, **changes) -> Any:
    given, _, _ = read_config(example_config(name))
    roles = Roles(**(given | changes))
    decisions = read_decisions(f"example:{name}", roles)
    return decisions, {part.name: part for part in adjusted(decisions, roles)}


def rows_of(parts, method):
    return [row for row in parts["adjusted"].rows if row["method"] == method]


def table(rows=1500, seed=3):
    rng = np.random.default_rng(seed)
    side, level = rng.integers(0, 2, rows), rng.integers(0, 3, rows)
    size, units = rng.normal(0.5 * side, 1.0), rng.integers(0, 60, rows)
    noise = rng.normal(0, 0.6, 60)[units]
    p = 1 / (1 + np.exp(-(0.2 - 0.6 * side + 0.5 * level - 0.4 * size + noise)))
    values = (rng.random(rows) < p).astype(float)
    columns = {"level": Codes(level.astype(np.int32), ("a", "b", "c")), "size": size}
    return values, side, columns, units


def by_hand(values, side, columns, **fit: Any) -> Any:
    api: Any = pytest.importorskip("statsmodels.api")
    level = columns["level"].codes
    design = np.column_stack([side, np.ones(len(side)), level == 1, level == 2, columns["size"]])
    return api.Logit(values, design.astype(float)).fit(disp=0, **fit)


def test_the_regression_is_that_of_statsmodels():
    values, side, columns, _ = table()
    fit = by_hand(values, side, columns)
    effect = fit.get_margeff(dummy=True)
    found, notes = regression(Rows(values, side, side * 0), columns, 0.95)
    assert found and not notes
    half = 1.959964 * effect.margeff_se[0]
    assert found.effect.value == pytest.approx(effect.margeff[0], abs=1e-7)
    assert found.effect.high - found.effect.value == pytest.approx(half, rel=1e-5)
    assert found.odds_ratio.value == pytest.approx(np.exp(fit.params[0]), rel=1e-6)
    assert found.odds_ratio.high == pytest.approx(np.exp(fit.conf_int()[0, 1]), rel=1e-5)


@pytest.mark.parametrize("equal", [True, False])
def test_clusters_make_the_sandwich_of_statsmodels(equal):
    values, side, columns, units = table()
    units = np.arange(1500) % 60 if equal else units
    fit = by_hand(values, side, columns, cov_type="cluster", cov_kwds={"groups": units})
    clustered, _ = regression(Rows(values, side, side * 0, None, units), columns, 0.95)
    assert clustered
    k = len(fit.params)
    error = fit.get_margeff(dummy=True).margeff_se[0]
    error /= np.sqrt((len(values) - 1) / (len(values) - k))  # theirs alone has this factor
    ratio = (clustered.effect.high - clustered.effect.value) / error
    if equal:
        assert ratio == pytest.approx(2.000995, rel=1e-4)
    else:  # a little longer, as some clusters are larger than others
        assert 2.000995 < ratio < 2.03


def test_weights_are_copies_and_the_parts_add_up():
    values, side, columns, _ = table(400)
    weight = np.random.default_rng(0).integers(1, 4, 400)
    again = np.repeat(np.arange(400), weight)
    copies = {"level": Codes(columns["level"].codes[again], ("a", "b", "c"))}
    copies["size"] = columns["size"][again]
    one, _ = regression(Rows(values, side, side * 0, weight.astype(float)), columns, 0.95)
    other, _ = regression(Rows(values[again], side[again], side[again] * 0), copies, 0.95)
    assert one and other
    for name in ("columns", "group", "partial_f"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-5)
    assert one.effect.value == pytest.approx(other.effect.value, rel=1e-6)
    raw = values[again][side[again] == 1].mean() - values[again][side[again] == 0].mean()
    assert other.columns + other.group == pytest.approx(raw)
    assert sum(other.by_column.values()) == pytest.approx(other.columns)
    assert set(other.by_column) == {"level", "size"}


def test_admissions_show_simpsons_paradox():
    pytest.importorskip("statsmodels")
    _, parts = example("admissions")
    (raw,), (strata,), (fit,) = (rows_of(parts, m) for m in ("raw", "strata", "regression"))
    assert raw["difference"] == pytest.approx(557 / 1835 - 1198 / 2691)
    assert raw["high"] < -0.11
    for row in (strata, fit):
        assert row["low"] < 0.0 < row["difference"] < 0.03 and row["accounted"] < -0.15
    assert "Adjusted, the gap has the other sign, though the intervals include 0" in "".join(
        parts["adjusted"].findings
    )
    for method in ("strata", "regression"):
        steps = [row for row in parts["accounted"].rows if row["method"] == method]
        assert steps[0]["step"] == "raw gap" and steps[-1]["step"] == "left"
        values = [number_of(row, "difference") for row in steps]
        assert sum(values[1:]) == pytest.approx(values[0]) == raw["difference"]


def test_mortgages_raw_and_adjusted():
    pytest.importorskip("statsmodels")
    _, parts = example("hmda")
    (raw,), (strata,), (fit,) = (rows_of(parts, m) for m in ("raw", "strata", "regression"))
    assert raw["difference"] == pytest.approx(-0.1906, abs=2e-3)  # denied 28.3% against 9.3%
    assert fit["low"] < -0.0604 < fit["high"] < 0.0
    assert fit["difference"] == pytest.approx(-0.0604, abs=5e-4)
    assert strata["comparable"] < 0.1
    assert any(
        "only 8.26% of the decisions about African American" in text
        for text in parts["adjusted"].limits
    )


def test_levels_without_variation_count_with_an_effect_of_zero():
    """The limit of the likelihood: as with that level's coefficient very large."""
    values, side, columns, _ = table()
    values[columns["level"].codes == 2] = 1.0
    found, notes = regression(Rows(values, side, side * 0), columns, 0.95)
    assert found and notes == ["all decisions are alike where level is c (separation)."]
    kept = columns["level"].codes < 2
    api: Any = pytest.importorskip("statsmodels.api")
    design = np.column_stack(
        [side, np.ones(len(side)), columns["level"].codes == 1, columns["size"]]
    ).astype(float)[kept]
    fit = api.Logit(values[kept], design).fit(disp=0)
    assert found.effect.value == pytest.approx(fit.get_margeff(dummy=True).margeff[0] * kept.mean())
    raw = values[side == 1].mean() - values[side == 0].mean()
    assert found.columns + found.group == pytest.approx(raw)


def test_what_a_regression_cannot_use_is_told_in_words():
    pytest.importorskip("statsmodels")
    values, side, columns, _ = table()
    strata = side * 0
    twice = columns | {"size again": 2.0 * columns["size"] + 1.0}
    found, notes = regression(Rows(values, side, strata), twice, 0.95)
    assert found
    assert notes == ["size again is determined by the columns before it, in part or as a whole."]
    same = {"own": Codes(side.astype(np.int32), ("x", "y"))}
    found, notes = regression(Rows(values, side, strata), same, 0.95)
    assert found is None and "tell the groups apart" in notes[-1]
    found, notes = regression(Rows(values * side, side, strata), columns, 0.95)
    assert found is None and "decisions of one kind only" in notes[-1]
    few = np.zeros(1500)
    few[np.flatnonzero(side == 0)[:5]] = few[np.flatnonzero(side == 1)[:5]] = 1.0
    found, notes = regression(Rows(few, side, strata), columns, 0.95)
    assert found is None and "10 decisions of the rarer kind are too few" in notes[-1]
    split = {"size": np.where(values == 1.0, 1.0, -1.0) + 0.01 * columns["size"]}
    found, notes = regression(Rows(values, side, strata), split, 0.95)
    assert found is None and "separation" in notes[-1]
    many = {"id": Codes(np.arange(1500, dtype=np.int32), tuple(map(str, range(1500))))}
    found, notes = regression(Rows(values, side, strata), many, 0.95)
    assert found is None and notes[0] == "id has more than 50 values; no regression on it."
    assert "no column is left" in notes[-1]
    found, notes = regression(Rows(values, side, strata), many | columns, 0.95)
    assert found and notes == ["id has more than 50 values; no regression on it."]


def test_rows_without_values_and_small_groups_are_told():
    values, side, columns, _ = table()
    size = columns["size"].astype(object)
    size[:150] = None
    frame = {"ok": values.astype(int), "sex": np.array(["m", "f"])[side], "size": size}
    roles = Roles(decision="ok", groups=("sex",), legit=("size",))
    part = adjusted(read_decisions(frame, roles), roles)[0]
    assert part.rows[0]["n"] == 1350
    assert any(text.startswith("150 decisions (10.0%) are left out") for text in part.limits)
    assert any("no result of unequal treatment" in text for text in part.limits)
    plain = Roles(decision="ok", groups=("sex",))
    assert adjusted(read_decisions(frame, plain), plain) == []


def test_without_statsmodels_strata_are_left(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "statsmodels", None)
    for name in [name for name in sys.modules if name.startswith("statsmodels.")]:
        monkeypatch.delitem(sys.modules, name)
    _, parts = example("admissions")
    assert not rows_of(parts, "regression") and rows_of(parts, "strata")
    (told,) = [text for text in parts["adjusted"].limits if "statsmodels" in text]
    assert "needs statsmodels: pip install" in told and "[audit]" in told
